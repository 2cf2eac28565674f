"""The burst stage's answer becomes advice: to burst, to come home, to buy; and what could not be judged, with reasons.

Usage that was seen before a burst was carried out asks for no other one. What somebody decided is kept: dismissed
advice does not come back while the dismissal holds, and a snooze keeps away all advice of the same kind on the class.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

import polars as pl

from recommender.advise.capacity_burst import burst_advice
from recommender.advise.capacity_question import CapacityQuestion
from recommender.advise.capacity_record import CAPACITY_GAP, CAPACITY_KINDS, CapacityRecommendation
from recommender.advise.capacity_return import return_advice
from recommender.advise.capacity_worth import worth_advice
from recommender.advise.plan import NotEnoughData
from recommender.burst.legal import Destination
from recommender.forecast.grid import Reason


@dataclass(frozen=True, slots=True)
class Held:
    """What was decided about advice on owned capacity.

    Args:
        dismissed: ids of advice.
        snoozed: groups of advice.
        destinations: who decided against a burst to where, in a sentence.
    """

    dismissed: Collection[str]
    snoozed: Collection[str]
    destinations: Mapping[Destination, str]


NOTHING_HELD = Held((), (), {})


def capacity_advice(question: CapacityQuestion, held: Held = NOTHING_HELD) -> tuple[CapacityRecommendation, ...]:
    """This will return all advice on owned capacity, bursts first, by cluster.

    Args:
        question: the evaluation.
        held: decisions of people.
    """
    seen_before = _seen_before_their_burst(question)
    bursts = (one for one in burst_advice(question, held.destinations) if one.target.cluster not in seen_before)
    found = [*bursts, *return_advice(question), *worth_advice(question)]
    kept = [one for one in found if one.id not in held.dismissed and one.group not in held.snoozed]
    return tuple(sorted(kept, key=lambda one: (CAPACITY_KINDS.index(one.kind), one.group, one.id)))


def _seen_before_their_burst(question: CapacityQuestion) -> set[str]:
    """Clusters whose last sample began before their last burst was carried out: what it relieves would burst twice."""
    found = set()
    for burst in question.running:
        cluster = burst.advice.target.cluster
        last = question.demand.filter(cluster=cluster)["timestamp"].max()
        if not isinstance(last, datetime) or last < burst.started_at:
            found.add(cluster)
    return found


def capacity_gaps(question: CapacityQuestion) -> tuple[NotEnoughData, ...]:
    """This will say of which owned capacity nothing, or nothing of the next hour, is known, and what has no place."""
    return tuple(sorted([*_unknown(question), *_not_foretold(question), *_no_place(question)], key=_order))


def not_judged(clusters: Collection[str], why: str) -> tuple[NotEnoughData, ...]:
    """This will say of owned clusters that they could not be judged at all.

    Args:
        clusters: their names.
        why: what failed.
    """
    return tuple(
        NotEnoughData(
            cluster=cluster,
            reason=f"{CAPACITY_GAP}failed",
            why=f"its owned capacity was not judged: {why}",
            next_step="Run tuppence burst, which shows the same failure with its remedy.",
        )
        for cluster in sorted(clusters)
    )


def _unknown(question: CapacityQuestion) -> list[NotEnoughData]:
    return [
        NotEnoughData(
            cluster=row["cluster"],
            reason=CAPACITY_GAP + row["reason"],
            why=f"its owned capacity is not known: {row['why']}",
            next_step=row["next_step"],
        )
        for row in question.bursts.unknown.iter_rows(named=True)
    ]


def _not_foretold(question: CapacityQuestion) -> list[NotEnoughData]:
    """One a cluster and reason; a class that nobody asks for lacks no forecast."""
    judged = question.bursts.capacity.select("cluster", "resource", "resource_class")
    rows = question.forecasts.not_forecast.filter(pl.col("reason") != Reason.ALL_ZERO.value).join(
        judged, on=judged.columns, how="semi"
    )
    grouped = rows.sort("cluster", "reason", "resource", "resource_class").group_by(
        "cluster", "reason", maintain_order=True
    )
    return [
        NotEnoughData(
            cluster=str(cluster),
            reason=f"{CAPACITY_GAP}no-forecast",
            why=f"its next hour is not foretold ({_classes(own)}: {own['why'][0]}), so demand alone starts a burst",
            next_step=own["next_step"][0],
        )
        for (cluster, _), own in grouped
    ]


def _classes(rows: pl.DataFrame) -> str:
    return ", ".join(f"{resource} {name}" for resource, name in rows.select("resource", "resource_class").iter_rows())


def _no_place(question: CapacityQuestion) -> list[NotEnoughData]:
    """Clusters that are short and of which nothing may or can leave."""
    short = question.bursts.triggers.filter("is_needed")
    away = question.bursts.overflow["cluster"].unique().to_list()
    found = []
    for (cluster,), rows in short.filter(~pl.col("cluster").is_in(away)).group_by("cluster", maintain_order=True):
        waiting = question.bursts.waiting.filter(cluster=cluster)["replicas"].sum()
        found.append(
            NotEnoughData(
                cluster=str(cluster),
                reason=f"{CAPACITY_GAP}no-place",
                why=f"it is short of {_classes(rows)}, and nothing may or need leave; {waiting} replicas wait",
                next_step="Run tuppence burst for the rules that keep them; allow another place, or extend the pool.",
            )
        )
    return found


def _order(one: NotEnoughData) -> tuple[str, str, str]:
    return (one.cluster, one.reason, one.why)
