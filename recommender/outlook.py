"""The edge of forecast and burst: reads a longer history of usage, prices and the fleet, and hands them to the stages.

As in inputs.py, what is read depends on the settings and the evaluation time alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

import dataframely as dy
import polars as pl

from exporters.store.read import Prices
from recommender.advise.capacity import NOTHING_HELD, Held, capacity_advice, capacity_gaps
from recommender.advise.capacity_question import CapacityQuestion
from recommender.advise.capacity_record import CapacityRecommendation
from recommender.advise.capacity_return import active_bursts
from recommender.advise.plan import NotEnoughData
from recommender.burst.burst import BurstPlan, Observation, burst
from recommender.burst.legal import Limits, Places, legal_places
from recommender.forecast.demand import demand
from recommender.forecast.forecast import Forecasts, forecast
from recommender.forecast.frames import Demand
from recommender.frames import ClusterSample, UsageSample
from recommender.inputs import policy_of, prices_at, usage_at
from recommender.ledger.memory import Memory
from recommender.observe.coverage import Window, coverage_of
from recommender.observe.fleet import pools, quotas, region_quotas
from recommender.observe.latency import latencies
from recommender.observe.quotas_prometheus import namespace_quotas_at
from recommender.observe.usage import Usage
from recommender.observe.workloads import Observed, observe
from recommender.settings import RecommenderSettings


@dataclass(frozen=True, slots=True)
class Outlook:
    """What is known of the next hour, and what it rests on.

    Args:
        at: the evaluation time (UTC); a usage file that ends earlier is read as if it were then.
        forecasts: one hour ahead.
        demand: requested and waiting.
        usage: the history.
        seen: workloads of the usual window.
    """

    at: datetime
    forecasts: Forecasts
    demand: dy.DataFrame[Demand]
    usage: Usage
    seen: Observed


def outlook_at(settings: RecommenderSettings, *, at: datetime) -> Outlook:
    """This will read the history and forecast every series of it.

    Raises:
        TuppenceError: an input is missing or wrong.
    """
    window = None
    if settings.usage.prometheus is not None:
        last_hour = at.replace(minute=0, second=0, microsecond=0)
        window = Window.ending(last_hour, hours=24 * settings.forecast.history_days)
    usage, period = usage_at(settings, at=at, window=window)
    embargo = timedelta(seconds=settings.forecast.embargo_seconds)
    ended_before = period.end + timedelta(hours=1) <= at
    now = period.end + embargo if ended_before else at
    recent = Window.ending(period.end, hours=settings.usage.window_hours)
    seen = observe(usage, policy_of(settings), clusters=settings.clusters, window=recent)
    visible = _visible(usage, until=now - embargo, step_seconds=coverage_of(usage.observed, period).step_seconds)
    wanted = demand(visible.samples, visible.observed, seen.workloads)
    return Outlook(now, forecast(wanted, settings.forecast, at=now), wanted, visible, seen)


def _visible(usage: Usage, *, until: datetime, step_seconds: int) -> Usage:
    """The samples that had ended by then, whatever a file holds beyond."""
    ended = pl.col("timestamp") + timedelta(seconds=step_seconds) <= until
    return Usage(
        samples=UsageSample.validate(usage.samples.filter(ended)),
        stated=usage.stated,
        observed=ClusterSample.validate(usage.observed.filter(ended)),
    )


@dataclass(frozen=True, slots=True)
class Ahead:
    """The next hour.

    Args:
        forecasts: of every series.
        bursts: of the owned pools.
        capacity: advice on owned pools.
        gaps: what of them could not be judged.
        demand: the history that it rests on.
    """

    forecasts: Forecasts
    bursts: BurstPlan
    capacity: tuple[CapacityRecommendation, ...]
    gaps: tuple[NotEnoughData, ...]
    demand: dy.DataFrame[Demand] = field(default_factory=Demand.create_empty)


def ahead_at(settings: RecommenderSettings, *, at: datetime, memory: Memory | None = None) -> Ahead:
    """This will read everything, forecast, and say what overflows, where to, what comes home and what to buy.

    Args:
        settings: checked settings.
        at: the evaluation time (UTC).
        memory: bursts that run and decisions, from the ledger; None: there are none.

    Raises:
        TuppenceError: an input is missing or wrong; nothing is advised from half of them.
    """
    running, held = ((), NOTHING_HELD) if memory is None else (memory.running, memory.held)
    known, prices = outlook_at(settings, at=at), prices_at(settings, at=at)
    places = _places(settings, known, prices, held)
    seen = Observation(
        samples=known.usage.samples,
        observed=known.usage.observed,
        workloads=known.seen.workloads,
        demand=known.demand,
        forecasts=known.forecasts,
        active=active_bursts(running),
    )
    question = CapacityQuestion(
        bursts=burst(seen, places, policy=policy_of(settings), settings=settings.burst, at=known.at),
        places=places,
        prices=prices,
        workloads=known.seen.workloads,
        demand=known.demand,
        forecasts=known.forecasts,
        running=running,
        settings=settings.burst,
        at=at,
        expires_after_hours=settings.recommend.expires_after_hours,
    )
    advice, gaps = capacity_advice(question, held), capacity_gaps(question)
    return Ahead(known.forecasts, question.bursts, advice, gaps, known.demand)


def _places(settings: RecommenderSettings, known: Outlook, prices: Prices, held: Held) -> Places:
    return legal_places(
        prices=prices,
        workloads=known.seen.workloads,
        flows=known.seen.flows,
        pools=pools(settings.clusters),
        limits=Limits(
            quotas(settings.clusters),
            region_quotas(settings.region_quotas),
            namespace_quotas_at(settings, at=known.at),
        ),
        latency=latencies(settings.latency.file),
        policy=policy_of(settings),
        min_coverage_ratio=settings.usage.min_coverage_ratio,
        dismissed=tuple(held.destinations),
    )
