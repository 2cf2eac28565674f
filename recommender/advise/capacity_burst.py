"""What leaves a full owned pool becomes a record: one for each pool that it leaves for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta

import polars as pl

from exporters.core.money import rate
from exporters.core.units import HOURS_PER_MONTH
from recommender.advise.capacity_question import DIGITS, CapacityQuestion, Row, group_of, place_of
from recommender.advise.capacity_record import (
    CapacityMove,
    CapacityNodes,
    CapacityPlace,
    CapacityRecommendation,
    CapacityTarget,
)
from recommender.advise.capacity_refused import refused_places
from recommender.advise.capacity_trust import forecast_doubts, risk, shortage, trigger_of
from recommender.advise.identity import advice_id, etag
from recommender.advise.record import Kind
from recommender.burst.legal import Destination
from recommender.forecast.frames import RESOURCES
from recommender.frames import WORKLOAD_KEY

LIFE = timedelta(hours=24)
"""A burst that is still needed is renewed by every evaluation; one that nobody renewed for a day is over."""
_URGENT = (RESOURCES[2], *RESOURCES[:2])


def burst_advice(question: CapacityQuestion, dismissed: Mapping[Destination, str]) -> Iterator[CapacityRecommendation]:
    """This will yield one record for each cluster that is short and pool that its overflow leaves for.

    Args:
        question: the evaluation.
        dismissed: who decided against a burst to where, in a sentence.
    """
    keys = ["cluster", "to_cluster", "to_pool"]
    for key, rows in question.bursts.overflow.sort(keys).group_by(keys, maintain_order=True):
        cluster, to_cluster, to_pool = (str(part) for part in key)
        nodes = question.bursts.nodes.filter(cluster=cluster, to_cluster=to_cluster, to_pool=to_pool)
        yield _record(question, rows, nodes.sort("nodes", "to_instance_type", descending=[True, False]), dismissed)


def _record(
    question: CapacityQuestion, rows: pl.DataFrame, nodes: pl.DataFrame, dismissed: Mapping[Destination, str]
) -> CapacityRecommendation:
    moves = tuple(_moves(question, rows))
    target = _target(question, rows["cluster"][0], moves)
    machines = [question.machine(*one) for one in nodes.select("to_cluster", "to_pool", "to_instance_type").rows()]
    place = place_of(machines[0])
    finder = question.finder()
    prices = tuple(finder.as_offered("recommended", machine) for machine in machines)
    used = _nodes(nodes)
    cost = round(sum(one.gbp_per_hour for one in used) + sum(one.other_gbp_per_hour for one in moves), DIGITS)
    minutes = max(one.minimum_runtime_minutes for one in moves)
    earliest = question.at + timedelta(minutes=minutes)
    trigger = trigger_of(question, target)
    assert trigger is not None, "what overflows was triggered"
    return CapacityRecommendation(
        id=burst_id(Kind.BURST, target, place),
        etag=etag(moves, used, cost, prices),
        kind=Kind.BURST,
        title=f"Burst {_count(moves)} from {target.cluster} to {place.cluster}, pool {place.pool}",
        target=target,
        recommended=place,
        moves=moves,
        nodes=used,
        cost_delta_gbp_per_hour=cost,
        one_off_gbp=round(sum(one.one_off_gbp for one in moves), DIGITS),
        latest_useful_start=trigger["latest_start"],
        earliest_return=earliest,
        minimum_runtime_minutes=minutes,
        shortage=shortage(question, target),
        prices=prices,
        risk=risk(
            question,
            target,
            prices,
            forecast_doubts(question, target),
            interruptions_per_month=_interruptions(question, moves, place) * HOURS_PER_MONTH,
        ),
        refused=refused_places(question, moves, (place.cluster, place.pool), dismissed),
        explanation=tuple(_explanation(question, trigger, target, moves, used)),
        group=group_of(target, Kind.BURST),
        proposed_at=question.at,
        expires_at=question.at + LIFE,
    )


def burst_id(kind: Kind, target: CapacityTarget, to: CapacityPlace, *more: str) -> str:
    """This will return the id of advice about owned capacity; it does not change with prices."""
    key = (target.cluster, target.pool, target.resource, target.resource_class, *more)
    return advice_id(kind, workload=key, cluster=to.cluster, pool=to.pool)


def _target(question: CapacityQuestion, cluster: str, moves: Sequence[CapacityMove]) -> CapacityTarget:
    """The short class that what leaves makes room in: GPUs before vCPUs, because they are what cannot be had."""
    short = question.bursts.triggers.filter(pl.col("cluster") == cluster, pl.col("is_needed"))
    classes = sorted(short.select("resource", "resource_class").rows(), key=lambda one: (_URGENT.index(one[0]), one[1]))
    helped = [one for one in classes if one[0] != "gpu" or any(move.replica_gpus > 0 for move in moves)]
    return question.target(cluster, *(helped or classes)[0])


def _moves(question: CapacityQuestion, rows: pl.DataFrame) -> Iterator[CapacityMove]:
    facts = question.workloads.select(*WORKLOAD_KEY, "owner", "criticality")
    hours = question.settings.expected_hours
    summed = rows.group_by(WORKLOAD_KEY).agg(
        pl.col("replicas", "waiting_replicas", "nodes_gbp_per_hour", "one_off_gbp").sum(),
        pl.col("gang_size", "replica_vcpus", "replica_memory_gib", "replica_gpus", "minimum_runtime_minutes").max(),
        pl.col("gpu_model").first(),
        other_gbp_per_hour=pl.col("other_gbp_per_hour").sum() - pl.col("one_off_gbp").sum() / hours,
    )
    for row in summed.join(facts, on=WORKLOAD_KEY, how="left").sort(WORKLOAD_KEY).iter_rows(named=True):
        # What was spread is taken out again: a rounding error below zero is no income.
        other = max(0.0, row["other_gbp_per_hour"])
        money = {
            "nodes_gbp_per_hour": row["nodes_gbp_per_hour"],
            "other_gbp_per_hour": other,
            "gbp_per_hour": row["nodes_gbp_per_hour"] + other,
            "one_off_gbp": row["one_off_gbp"],
        }
        texts = {name: row[name] or None for name in ("gpu_model", "owner", "criticality")}
        yield CapacityMove(
            **{name: row[name] for name in (*WORKLOAD_KEY, *_COUNTS)},
            **{name: round(value, DIGITS) for name, value in money.items()},
            **texts,
        )


_COUNTS = (
    "replicas",
    "waiting_replicas",
    "gang_size",
    "replica_vcpus",
    "replica_memory_gib",
    "replica_gpus",
    "minimum_runtime_minutes",
)


def _nodes(nodes: pl.DataFrame) -> tuple[CapacityNodes, ...]:
    return tuple(
        CapacityNodes(
            instance_type=row["to_instance_type"],
            capacity_type=row["to_capacity_type"],
            nodes=row["nodes"],
            gbp_per_hour=round(row["gbp_per_hour"], DIGITS),
        )
        for row in nodes.iter_rows(named=True)
    )


def _interruptions(question: CapacityQuestion, moves: Sequence[CapacityMove], place: CapacityPlace) -> float:
    """Expected interruptions an hour of what leaves, a workload's by the share of its replicas that leaves."""
    total = 0.0
    for one in moves:
        own = question.places.pairs.filter(
            *(pl.col(column) == getattr(one, name) for column, name in zip(_PAIR_KEY, WORKLOAD_KEY, strict=True)),
            pl.col("to_cluster") == place.cluster,
            pl.col("to_pool") == place.pool,
            pl.col("to_instance_type") == place.instance_type,
        )
        for row in own.select("interruptions_per_hour", "replicas_mean").iter_rows(named=True):
            share = one.replicas / max(float(one.replicas), row["replicas_mean"])
            total += (row["interruptions_per_hour"] or 0.0) * share
    return total


_PAIR_KEY = ("from_cluster", *WORKLOAD_KEY[1:])


def _explanation(
    question: CapacityQuestion,
    trigger: Row,
    target: CapacityTarget,
    moves: Sequence[CapacityMove],
    nodes: Sequence[CapacityNodes],
) -> Iterator[str]:
    settings = question.settings
    yield f"{target.resource} {target.resource_class} of {target.cluster}: {trigger['why']}."
    node_money, other = sum(one.gbp_per_hour for one in nodes), sum(one.other_gbp_per_hour for one in moves)
    once = sum(one.one_off_gbp for one in moves)
    yield (
        f"An hour costs {rate(node_money)} for nodes and {rate(other)} for data leaving, expected interruptions and "
        f"distance; leaving costs {rate(once)} once."
    )
    bound = question.bursts.lower_bound_gbp_per_hour[target.cluster]
    yield (
        f"No choice of what leaves {target.cluster} costs less than {rate(bound)} an hour, with what leaving costs "
        f"once spread over {settings.expected_hours:g} hours."
    )
    if (start := trigger["latest_start"]) is not None:
        late = ", which has passed: pods will wait" if start <= question.at else ""
        yield f"Nodes must be asked for by {start:%Y-%m-%d %H:%M} UTC{late}."
    yield (
        "It comes home when all of it was seen to fit on the owned nodes in the last "
        f"{settings.idle_evaluations} evaluations, and its minimum runtime is over; never on a forecast."
    )
    if waiting := question.bursts.waiting.filter(cluster=target.cluster)["replicas"].sum():
        yield f"{waiting} replicas of {target.cluster} have no place anywhere; tuppence burst names them."


def _count(moves: Sequence[CapacityMove]) -> str:
    names = sorted({f"{one.namespace}/{one.workload}" for one in moves})
    replicas = sum(one.replicas for one in moves)
    what = f"{replicas} replica{'' if replicas == 1 else 's'} of"
    return f"{what} {names[0]}" if len(names) == 1 else f"{what} {len(names)} workloads"
