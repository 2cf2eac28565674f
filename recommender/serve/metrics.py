"""The last plan and the health of the evaluations as metrics; families are made anew at each scrape."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Iterable, Iterator
from decimal import Decimal
from importlib.metadata import version

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from recommender.advise.plan import Plan
from recommender.serve.ahead import samples_ahead
from recommender.serve.catalogue import ADVICE, AHEAD, HEALTH, Kind, Metric
from recommender.serve.last_plan import LastPlan, State

Sample = tuple[str, tuple[str, ...], float]


class PlanCollector(Collector):
    """Turns what is known into metric families.

    Args:
        last: the last plan.
    """

    def __init__(self, last: LastPlan) -> None:
        self._last = last

    def collect(self) -> Iterator[Family]:
        """This will yield one family a row of the catalogue, all of one moment."""
        samples: dict[str, list[tuple[tuple[str, ...], float]]] = {one.name: [] for one in (*ADVICE, *AHEAD, *HEALTH)}
        for name, labels, value in _samples(self._last.state):
            samples[name].append((labels, value))
        for metric in (*ADVICE, *AHEAD, *HEALTH):
            yield _family(metric, samples[metric.name])


def registry(last: LastPlan) -> CollectorRegistry:
    """This will return the registry of the recommender, with those of the process beside its own."""
    made = CollectorRegistry()
    made.register(PlanCollector(last))
    ProcessCollector(registry=made)
    PlatformCollector(registry=made)
    GCCollector(registry=made)
    return made


def _samples(state: State) -> Iterator[Sample]:
    if state.served is not None:
        yield from _of_plan(state.served.plan)
    if state.ahead is not None:
        yield from samples_ahead(state.ahead)
    if state.savings is not None:
        yield "tuppence_saving_realised_gbp", (), float(state.savings.realised_gbp)
        yield "tuppence_saving_predicted_gbp", (), float(state.savings.predicted_gbp)
    if state.succeeded is not None:
        yield "tuppence_recommender_evaluation_success", (), float(state.succeeded)
        yield "tuppence_recommender_evaluation_duration_seconds", (), state.duration_seconds
    yield "tuppence_recommender_evaluations_total", (), state.evaluations
    yield "tuppence_recommender_evaluation_failures_total", (), state.failures
    yield "tuppence_recommender_config_last_reload_successful", (), float(state.reload_successful)
    if state.reloaded_at is not None:
        at = state.reloaded_at.timestamp()
        yield "tuppence_recommender_config_last_reload_success_timestamp_seconds", (), at
    yield "tuppence_build_info", (version("tuppence"), platform.python_version()), 1.0


def _of_plan(plan: Plan) -> Iterator[Sample]:
    numbers: Counter[tuple[str, ...]] = Counter()
    savings: dict[tuple[str, ...], Decimal] = {}
    for one in plan.recommendations:
        labels: tuple[str, ...] = (one.kind.value, one.state, one.risk.confidence.value)
        numbers[labels] += 1
        if one.monthly is not None:
            savings[labels] = savings.get(labels, Decimal(0)) + one.monthly.saving.p50
    yield from (("tuppence_recommendations", labels, number) for labels, number in numbers.items())
    for labels, saving in savings.items():
        yield "tuppence_recommendation_saving_gbp_per_month", labels, float(saving)
    summary = plan.summary
    yield "tuppence_recommender_current_gbp_per_hour", (), summary.current_gbp_per_hour
    yield "tuppence_recommender_planned_gbp_per_hour", (), summary.planned_gbp_per_hour
    yield "tuppence_recommender_lower_bound_gbp_per_hour", (), summary.lower_bound_gbp_per_hour
    yield "tuppence_recommender_breaches", (), len(plan.breaches)
    for reason, number in Counter(one.reason for one in plan.not_enough_data).items():
        yield "tuppence_recommender_not_enough_data", (reason,), number
    yield "tuppence_recommender_evaluation_timestamp_seconds", (), plan.generated_at.timestamp()
    yield "tuppence_recommender_usage_end_timestamp_seconds", (), plan.inputs.usage_window.end.timestamp()


def _family(metric: Metric, samples: Iterable[tuple[tuple[str, ...], float]]) -> Family:
    if metric.kind is Kind.INFO:
        info = InfoMetricFamily(metric.name.removesuffix("_info"), metric.help, labels=metric.labels)
        for labels, _ in samples:
            info.add_metric(labels, dict[str, str]())
        return info
    make = CounterMetricFamily if metric.kind is Kind.COUNTER else GaugeMetricFamily
    family = make(metric.name, metric.help, labels=metric.labels, unit=metric.unit)
    for labels, value in samples:
        family.add_metric(labels, value)
    return family
