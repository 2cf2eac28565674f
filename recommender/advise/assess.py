"""The arrow plan → roll-out: an evaluation and what was seen become the assessment, the first step of a roll-out.

    clusters now + which workloads suit a pilot + the ledger's record → where each mode's next step stands

Pure: the same inputs give the same bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

import dataframely as dy
import polars as pl

from recommender.advise.assess_clusters import Seen, clusters_now
from recommender.advise.assess_gates import Found, Track
from recommender.advise.assess_pilots import Field, pilots
from recommender.advise.assess_record import Assessment, Mode, PendingElsewhere
from recommender.advise.assess_steps import steps
from recommender.advise.plan import Plan
from recommender.frames import WORKLOAD_KEY, ClusterCost
from recommender.observe.pending_scheduler import PendingOnOtherScheduler
from recommender.rollout_settings import RolloutSettings
from recommender.settings import Policy


@dataclass(frozen=True, slots=True)
class Ground:
    """What an assessment rests on.

    Args:
        plan: the advice, with states.
        costs: every workload in every cluster.
        costs_before: the same a day before; None: there were no prices or no usage.
        here: WORKLOAD_KEY, gbp_per_hour, full_gbp_per_hour and reason of each workload where it is, as cycle.costs_here
            gives them.
        seen: what was observed.
        track: the ledger's record.
        pending: pods that wait for another scheduler; None: the source of usage does not tell schedulers.
    """

    plan: Plan
    costs: dy.DataFrame[ClusterCost]
    costs_before: dy.DataFrame[ClusterCost] | None
    here: pl.DataFrame
    seen: Seen
    track: Track
    pending: dy.DataFrame[PendingOnOtherScheduler] | None


def assess(
    ground: Ground, policy: Policy, settings: RolloutSettings, *, mode: Mode, min_coverage_ratio: float
) -> Assessment:
    """This will tell where the fleet stands before a roll-out.

    Args:
        ground: what it rests on.
        policy: classes and thresholds.
        settings: what suits a pilot, and by which figures steps are judged.
        mode: the one that is set.
        min_coverage_ratio: below it a workload's cluster was not observed enough.
    """
    plan, seen = ground.plan, ground.seen
    clusters = clusters_now(seen)
    known = seen.workloads.join(ground.here, on=WORKLOAD_KEY, how="left", maintain_order="left")
    field = Field(
        workloads=known,
        samples=seen.samples,
        costs=ground.costs,
        plan=plan,
        policy=policy,
        until=seen.window.end,
        min_coverage_ratio=min_coverage_ratio,
    )
    suits, others = pilots(field, settings)
    pending = None if ground.pending is None else _pending(ground.pending)
    found = Found(
        plan=plan,
        clusters=clusters,
        pilots=suits,
        track=ground.track,
        costs=ground.costs,
        costs_before=ground.costs_before,
        pending=pending,
    )
    return Assessment(
        generated_at=plan.generated_at,
        usage_window=plan.inputs.usage_window,
        mode=mode,
        clusters=clusters,
        pilots=suits,
        not_for_pilot=others,
        steps=steps(found, settings, mode=mode, min_saving_ratio=policy.steady.min_saving_ratio),
        pending_on_other_scheduler=pending,
    )


def _pending(rows: dy.DataFrame[PendingOnOtherScheduler]) -> tuple[PendingElsewhere, ...]:
    return tuple(PendingElsewhere(**row) for row in rows.iter_rows(named=True))
