"""The edge of the assessment: reads usage with its history, prices, the fleet and the ledger, and writes nothing.

As in inputs.py, what is read depends on the settings and the evaluation time alone; the pods that wait for another
scheduler are those of that time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import dataframely as dy
import polars as pl

from exporters.core.errors import IntegrityError, PricesUnavailableError
from exporters.store.read import Prices
from recommender.advise.assess import Ground, assess
from recommender.advise.assess_clusters import Seen
from recommender.advise.assess_gates import Track
from recommender.advise.assess_record import Assessment
from recommender.advise.decision import Question
from recommender.cycle import Evaluation, costs_here
from recommender.frames import WORKLOAD_KEY, ClusterCost, Pool
from recommender.inputs import appraisal, policy_of, prices_at
from recommender.ledger.memory import Memory, memory_of, verified
from recommender.ledger.merge import merge
from recommender.ledger.preconditions import Proposed, live_proposals
from recommender.ledger.store import Histories, Ledger
from recommender.ledger.track import track_of
from recommender.observe.coverage import Window
from recommender.observe.fleet import pools
from recommender.observe.latency import latencies
from recommender.outlook import Outlook, outlook_at
from recommender.settings import RecommenderSettings
from recommender.watched import pending_at

DAY = timedelta(days=1)


def assessed(settings: RecommenderSettings, *, at: datetime, made: Evaluation | None = None) -> Assessment:
    """This will read everything once and assess it.

    Args:
        settings: checked settings.
        at: the evaluation time (UTC).
        made: the evaluation of that time, over the usual window, with states; None: it is not made yet.

    Raises:
        TuppenceError: an input is missing or wrong; nothing is said from half of them.
    """
    past = _past(settings, at=at)
    known = outlook_at(settings, at=at)
    now = made or _remembered(settings, past, at=at)
    window = Window(now.plan.inputs.usage_window.start, now.plan.inputs.usage_window.end)
    prices, fleet = prices_at(settings, at=at), pools(settings.clusters)
    here = costs_here(_question(settings, known, now, prices, fleet, at=at), now.flows, fleet)
    costs = _own_costs(here)
    ground = Ground(
        plan=now.plan,
        costs=now.costs,
        costs_before=_a_day_before(settings, prices, at=at),
        here=costs,
        seen=Seen(
            clusters=settings.clusters,
            pools=fleet,
            machines=prices.offers.select("provider", "region", "instance_type", "vcpus", "memory_gib", "gpus"),
            workloads=now.workloads,
            costs=now.workloads.join(costs, on=WORKLOAD_KEY, how="left"),
            samples=known.usage.samples,
            observed=known.usage.observed,
            window=window,
            nodes=known.seen.pools,
            forecasts=known.forecasts,
        ),
        track=past.track,
        pending=pending_at(settings, at=at),
    )
    return assess(
        ground,
        policy_of(settings),
        settings.rollout,
        mode=settings.recommend.mode,
        min_coverage_ratio=settings.usage.min_coverage_ratio,
    )


@dataclass(frozen=True, slots=True)
class _Past:
    histories: Histories
    memory: Memory
    proposals: Mapping[str, Proposed]
    track: Track


def _past(settings: RecommenderSettings, *, at: datetime) -> _Past:
    with Ledger.at(settings.ledger).reading() as reader:
        histories = reader.histories()
        return _Past(
            histories=histories,
            memory=memory_of(reader, at=at),
            proposals=live_proposals(reader, histories, at=at),
            track=track_of(histories, verified(reader, histories, at=at), at=at),
        )


def _remembered(settings: RecommenderSettings, past: _Past, *, at: datetime) -> Evaluation:
    made = appraisal(settings, at=at, memory=past.memory)
    return replace(made, plan=merge(made.plan, past.histories, at=at, before=past.proposals).plan)


def _a_day_before(settings: RecommenderSettings, now: Prices, *, at: datetime) -> dy.DataFrame[ClusterCost] | None:
    """Costs by prices and usage of a day before; None: there were not the same sources of prices, or no usage."""
    try:
        then = prices_at(settings, at=at - DAY, known_at=at)
        if set(now.offers["source"]) - set(then.offers["source"]):
            return None
        return appraisal(settings, at=at - DAY, known_at=at).costs
    except (PricesUnavailableError, IntegrityError):
        return None


def _question(
    settings: RecommenderSettings,
    known: Outlook,
    now: Evaluation,
    prices: Prices,
    fleet: dy.DataFrame[Pool],
    *,
    at: datetime,
) -> Question:
    window = now.plan.inputs.usage_window
    return Question(
        prices=prices,
        workloads=now.workloads,
        pools=fleet,
        policy=policy_of(settings),
        at=at,
        usage_window=(window.start, window.end),
        expires_after_hours=settings.recommend.expires_after_hours,
        min_coverage_ratio=settings.usage.min_coverage_ratio,
        latency=latencies(settings.latency.file),
        unfit=known.seen.not_enough_data,
        nodes_seen=known.seen.pools,
        commitments=now.commitments,
    )


def _own_costs(here: pl.DataFrame) -> pl.DataFrame:
    own = [pl.col("from_cluster").alias(name) if name == "cluster" else pl.col(name) for name in WORKLOAD_KEY]
    sure = pl.col("reason").is_null()
    return here.select(*own, "reason", *(pl.when(sure).then(name) for name in ("gbp_per_hour", "full_gbp_per_hour")))
