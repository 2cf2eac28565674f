"""The last plan and the health of the evaluations as metrics; families are made anew at each scrape."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from importlib.metadata import version

from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from exporters.core.clock import Clock
from exporters.core.metrics import Labelled, family_of, registry_of
from recommender.advise.plan import OwnedPool, Plan
from recommender.advise.record import WorkloadName
from recommender.report.calibration import expected_savings
from recommender.serve.ahead import samples_ahead
from recommender.serve.catalogue import ADVICE, AHEAD, DELIVERY, HEALTH, OVERVIEW, SCORES, WATCH
from recommender.serve.last_plan import LastPlan, State
from recommender.serve.overview_samples import overview_samples
from recommender.serve.score_samples import score_samples
from recommender.serve.watch_samples import watch_samples

Sample = tuple[str, tuple[str, ...], float]

_CATALOGUE = (*ADVICE, *OVERVIEW, *AHEAD, *SCORES, *WATCH, *DELIVERY, *HEALTH)


class PlanCollector(Collector):
    """Turns what is known into metric families.

    Args:
        last: the last plan.
        clock: by which scores lapse.
    """

    def __init__(self, last: LastPlan, clock: Clock) -> None:
        self._last = last
        self._clock = clock

    def collect(self) -> Iterator[Family]:
        """This will yield one family a row of the catalogue, all of one moment."""
        samples: dict[str, list[Labelled]] = {one.name: [] for one in _CATALOGUE}
        for name, labels, value in _samples(self._last.state, now=self._clock.now()):
            samples[name].append((labels, value))
        for metric in _CATALOGUE:
            yield family_of(metric, samples[metric.name])


def registry(last: LastPlan, clock: Clock) -> CollectorRegistry:
    """This will return the registry of the recommender, with those of the process beside its own."""
    return registry_of(PlanCollector(last, clock))


def _samples(state: State, *, now: datetime) -> Iterator[Sample]:
    if state.served is not None:
        yield from _of_plan(state.served.plan)
        yield from overview_samples(state.served.plan, state.fleet)
        if state.learnt is not None:
            for kind, saving in expected_savings(state.served.plan, state.learnt.calibration).items():
                yield "tuppence_recommendation_saving_expected_gbp_per_month", (kind,), saving
    if state.ahead is not None:
        yield from samples_ahead(state.ahead)
    if state.scores is not None:
        yield from score_samples(state.scores, now=now)
    yield from watch_samples(state.pending)
    if state.savings is not None:
        yield "tuppence_saving_realised_gbp", (), float(state.savings.realised_gbp)
        yield "tuppence_saving_predicted_gbp", (), float(state.savings.predicted_gbp)
    if state.succeeded is not None:
        yield "tuppence_recommender_evaluation_success", (), float(state.succeeded)
        yield "tuppence_recommender_evaluation_duration_seconds", (), state.duration_seconds
    if state.verified_at is not None:
        yield "tuppence_recommender_verification_success", (), float(state.verification_succeeded)
        yield "tuppence_recommender_verification_timestamp_seconds", (), state.verified_at.timestamp()
    yield from _of_publication(state)
    yield from _of_delivery(state)
    yield "tuppence_recommender_evaluations_total", (), state.evaluations
    yield "tuppence_recommender_evaluation_failures_total", (), state.failures
    yield "tuppence_recommender_config_last_reload_successful", (), float(state.reload_successful)
    if state.reloaded_at is not None:
        at = state.reloaded_at.timestamp()
        yield "tuppence_recommender_config_last_reload_success_timestamp_seconds", (), at
    yield "tuppence_build_info", (version("tuppence"), platform.python_version()), 1.0


def _of_publication(state: State) -> Iterator[Sample]:
    if state.published_at is not None:
        yield "tuppence_recommender_publication_success", (), float(state.publication_succeeded)
        yield "tuppence_recommender_publication_timestamp_seconds", (), state.published_at.timestamp()
        yield "tuppence_recommender_objects_written_total", (), state.objects_written


def _of_delivery(state: State) -> Iterator[Sample]:
    if state.delivered_at is not None:
        yield "tuppence_recommender_delivery_success", (), float(state.delivery_succeeded)
        yield "tuppence_recommender_delivery_timestamp_seconds", (), state.delivered_at.timestamp()
    for channel, outcomes in state.deliveries.items():
        yield "tuppence_report_deliveries_total", (channel,), outcomes.sent
        yield "tuppence_report_delivery_failures_total", (channel,), outcomes.failed
        if outcomes.last_sent_at is not None:
            yield "tuppence_report_last_success_timestamp_seconds", (channel,), outcomes.last_sent_at.timestamp()


def _of_plan(plan: Plan) -> Iterator[Sample]:
    numbers: Counter[tuple[str, ...]] = Counter()
    savings: dict[tuple[str, ...], Decimal] = {}
    for one in plan.recommendations:
        labels: tuple[str, ...] = (one.kind.value, one.state, one.risk.confidence.value)
        numbers[labels] += 1
        if one.monthly is not None:
            savings[labels] = savings.get(labels, Decimal(0)) + one.monthly.saving.p50
    for capacity in plan.capacity:
        numbers[capacity.kind.value, capacity.state, capacity.risk.confidence.value] += 1
    yield from (("tuppence_recommendations", labels, number) for labels, number in numbers.items())
    for labels, saving in savings.items():
        yield "tuppence_recommendation_saving_gbp_per_month", labels, float(saving)
    yield from _withheld(plan)
    for pool in plan.owned_capacity:
        yield from _of_owned(pool)
    summary = plan.summary
    yield "tuppence_recommender_current_gbp_per_hour", (), summary.current_gbp_per_hour
    yield "tuppence_recommender_planned_gbp_per_hour", (), summary.planned_gbp_per_hour
    yield "tuppence_recommender_lower_bound_gbp_per_hour", (), summary.lower_bound_gbp_per_hour
    yield "tuppence_recommender_breaches", (), len(plan.breaches)
    for reason, number in Counter(one.reason for one in plan.not_enough_data).items():
        yield "tuppence_recommender_not_enough_data", (reason,), number
    yield "tuppence_recommender_evaluation_timestamp_seconds", (), plan.generated_at.timestamp()
    yield "tuppence_recommender_usage_end_timestamp_seconds", (), plan.inputs.usage_window.end.timestamp()


def _withheld(plan: Plan) -> Iterator[Sample]:
    """What each guard alone keeps back: of each workload the best offer."""
    best: dict[tuple[str, WorkloadName], float] = {}
    for one in plan.refused:
        if one.stage == "guard" and one.rule_costs_gbp_per_month is not None:
            key = (one.rule, one.workload)
            best[key] = max(best.get(key, 0.0), float(one.rule_costs_gbp_per_month))
    sums: dict[str, float] = {}
    for (rule, _), saving in best.items():
        sums[rule] = sums.get(rule, 0.0) + saving
    yield from (("tuppence_saving_withheld_gbp_per_month", (rule,), saving) for rule, saving in sums.items())


def _of_owned(pool: OwnedPool) -> Iterator[Sample]:
    labels = (pool.cluster, pool.pool, pool.instance_type)
    yield "tuppence_owned_used_ratio", (*labels, "now"), pool.used_ratio
    yield "tuppence_owned_used_ratio", (*labels, "planned"), pool.planned_used_ratio
    yield "tuppence_owned_shadow_price_gbp_per_vcpu_hour", labels, pool.shadow_gbp_per_vcpu_hour
    yield "tuppence_owned_shadow_price_gbp_per_gib_hour", labels, pool.shadow_gbp_per_gib_hour
    yield "tuppence_owned_shadow_price_gbp_per_gpu_hour", labels, pool.shadow_gbp_per_gpu_hour
