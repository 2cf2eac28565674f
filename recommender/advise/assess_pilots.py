"""The second part of the assessment: which workloads suit a pilot, and what keeps the others out of one.

    workloads, where the rules let them be, what is advised → candidates in order, the others with every reason

Pure. A workload of which something is not known does not suit: nothing said about its class is not "unregulated".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import dataframely as dy
import polars as pl

from exporters.core.units import SECONDS_PER_HOUR
from recommender.advise.assess_record import NotForPilot, Obstacle, PilotCandidate
from recommender.advise.plan import Plan
from recommender.advise.record import Recommendation, State
from recommender.frames import WORKLOAD_KEY, ClusterCost, UsageSample
from recommender.rollout_settings import RolloutSettings
from recommender.settings import Policy

Key = tuple[str, ...]
Row = Mapping[str, Any]
_LIVE = {State.OPEN, State.ACCEPTED}


@dataclass(frozen=True, slots=True)
class Field:
    """What the choice of pilots looks at.

    Args:
        workloads: the columns of Workload, gbp_per_hour (null: not known) and reason (why; null: it is known).
        samples: all usage that was read, for the time since which a workload is known.
        costs: every workload in every cluster.
        plan: what is advised, and of what nothing can be said.
        policy: the classes.
        until: the end of usage (UTC).
        min_coverage_ratio: below it there is not enough data.
    """

    workloads: pl.DataFrame
    samples: dy.DataFrame[UsageSample]
    costs: dy.DataFrame[ClusterCost]
    plan: Plan
    policy: Policy
    until: datetime
    min_coverage_ratio: float


def pilots(field: Field, settings: RolloutSettings) -> tuple[tuple[PilotCandidate, ...], tuple[NotForPilot, ...]]:
    """This will part the workloads, without system pods, into those that suit a pilot and those that do not.

    Those that suit are ranked: the greatest open saving first, because a pilot is to show one; then the least state;
    then the least cost, because less is at stake.
    """
    days = _history_days(field)
    elsewhere = _elsewhere(field.costs)
    unknown = {_key_of(one.model_dump()): one.why for one in field.plan.not_enough_data}
    advised = {_key_of(one.target.model_dump()): one for one in field.plan.recommendations if one.state in _LIVE}
    suits: list[PilotCandidate] = []
    others: list[NotForPilot] = []
    for row in field.workloads.filter(~pl.col("is_system")).sort(WORKLOAD_KEY).iter_rows(named=True):
        key = _key_of(row)
        known = row | {"history_days": days.get(key, 0.0), "elsewhere": elsewhere.get(key, ())}
        found = tuple(_obstacles(known, field, settings, unknown.get(key)))
        if found:
            others.append(NotForPilot(**_named(row), obstacles=found))
        else:
            suits.append(_candidate(known, advised.get(key)))
    ranked = sorted(suits, key=_order)
    return tuple(one.model_copy(update={"rank": rank}) for rank, one in enumerate(ranked, start=1)), tuple(others)


def _order(one: PilotCandidate) -> tuple[Any, ...]:
    key = (one.cluster, one.namespace, one.workload_kind, one.workload)
    return (-(one.saving_gbp_per_month or 0), one.state_gib, one.gbp_per_hour, key)


def _candidate(row: Row, advice: Recommendation | None) -> PilotCandidate:
    saves = advice is not None and advice.monthly is not None
    return PilotCandidate(
        **_named(row),
        rank=1,
        residency_class=row["residency_class"],
        state_gib=row["state_gib"],
        history_days=row["history_days"],
        gbp_per_hour=round(row["gbp_per_hour"], 6),
        other_clusters=row["elsewhere"],
        recommendation_id=advice.id if advice is not None else None,
        saving_gbp_per_month=advice.monthly.saving.p50 if saves and advice and advice.monthly else None,
    )


def _obstacles(row: Row, field: Field, settings: RolloutSettings, unknown: str | None) -> Iterator[Obstacle]:
    yield from _of_the_policy(row, field.policy)
    if row["local_volume"]:
        yield Obstacle(rule="local-volume", why="it is bound to a node's local volumes")
    if row["state_gib"] > settings.max_state_gib:
        why = f"{row['state_gib']:g} GiB of state move with it, more than {settings.max_state_gib:g}"
        yield Obstacle(rule="state", why=why)
    if row["history_days"] < settings.min_history_days:
        why = f"it is known for {row['history_days']:g} days, less than {settings.min_history_days:g}"
        yield Obstacle(rule="history", why=why)
    if row["coverage_ratio"] < field.min_coverage_ratio:
        why = f"its cluster was observed for {row['coverage_ratio']:.0%} of the window"
        yield Obstacle(rule="coverage", why=f"{why}, less than {field.min_coverage_ratio:.0%}")
    if unknown is not None:
        yield Obstacle(rule="not-enough-data", why=unknown)
    if row["gbp_per_hour"] is None or row["reason"] is not None:
        yield Obstacle(rule="no-price", why=f"what it costs now is not known ({row['reason'] or 'no price'})")
    elif not row["elsewhere"]:
        yield Obstacle(rule="nowhere-else", why="no other cluster is allowed, priced and has room")


def _of_the_policy(row: Row, policy: Policy) -> Iterator[Obstacle]:
    if row["criticality"] != "low":
        yield Obstacle(rule="critical", why=f"its criticality is {row['criticality']}; a pilot takes low only")
    if row["interruption_tolerance"] == "none":
        yield Obstacle(rule="not-tolerant", why="policy does not say that it tolerates interruptions")
    name = row["residency_class"]
    if name not in policy.classes:
        yield Obstacle(rule="unclassified", why="no rule says what class it is of, so that it may be regulated")
    elif basis := policy.classes[name].legal_basis:
        yield Obstacle(rule="regulated", why=f"its class {name} rests on {basis}")


def _history_days(field: Field) -> dict[Key, float]:
    """Days from the first sample with a replica to the end of usage."""
    rows = (
        field.samples.filter((pl.col("replicas") > 0) & (pl.col("timestamp") < field.until))
        .group_by(WORKLOAD_KEY)
        .agg(first=pl.col("timestamp").min())
    )
    day = 24 * SECONDS_PER_HOUR
    return {
        _key_of(row): round((field.until - row["first"]).total_seconds() / day, 2) for row in rows.iter_rows(named=True)
    }


def _elsewhere(costs: dy.DataFrame[ClusterCost]) -> dict[Key, tuple[str, ...]]:
    """Clusters other than the workload's own that are allowed and have room."""
    rows = (
        costs.filter(pl.col("allowed") & pl.col("has_room") & (pl.col("to_cluster") != pl.col("cluster")))
        .group_by(WORKLOAD_KEY)
        .agg(there=pl.col("to_cluster").unique().sort())
    )
    return {_key_of(row): tuple(row["there"]) for row in rows.iter_rows(named=True)}


def _named(row: Row) -> dict[str, Any]:
    return {name: row[name] for name in WORKLOAD_KEY} | {"owner": row["owner"] or None}


def _key_of(row: Row) -> Key:
    return tuple(row[name] or "" for name in WORKLOAD_KEY)
