"""Bursts that run, and the record that brings one home: on room that was seen, never on a forecast."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import dataframely as dy
import polars as pl

from exporters.core.money import rate
from recommender.advise.capacity_burst import LIFE, burst_id
from recommender.advise.capacity_question import DIGITS, CapacityQuestion, RunningBurst, group_of, place_of
from recommender.advise.capacity_record import CapacityMove, CapacityRecommendation
from recommender.advise.capacity_trust import risk, shortage
from recommender.advise.identity import etag
from recommender.advise.record import Kind
from recommender.burst.frames import ActiveBurst
from recommender.forecast.frames import UNKNOWN_CLASS
from recommender.frames import WORKLOAD_KEY

_KEY = (*WORKLOAD_KEY, "at_cluster")
_SIZES = ("gang_size", "replica_vcpus", "replica_memory_gib", "replica_gpus", "minimum_runtime_minutes")


def active_bursts(running: Iterable[RunningBurst]) -> dy.DataFrame[ActiveBurst]:
    """This will return bursts that run as the burst stage reads them: a row for each workload and cluster it is in.

    Where several bursts brought replicas of a workload to one cluster they count together, from the last one on.
    """
    rows = [_active(burst, move) for burst in running for move in burst.moves]
    frame = pl.DataFrame(rows, schema=ActiveBurst.create_empty().schema)
    together = frame.group_by(_KEY).agg(
        pl.col("started_at").max(), pl.col("replicas", "gbp_per_hour").sum(), pl.col("gpu_model", *_SIZES).max()
    )
    return ActiveBurst.validate(together.select(frame.columns).sort(_KEY))


def _active(burst: RunningBurst, move: CapacityMove) -> dict[str, Any]:
    assert burst.advice.recommended is not None, "a burst goes somewhere"
    return {
        **{name: getattr(move, name) for name in (*WORKLOAD_KEY, *_SIZES, "replicas", "gbp_per_hour")},
        "at_cluster": burst.advice.recommended.cluster,
        "started_at": burst.started_at,
        "gpu_model": "" if move.gpu_model in {None, UNKNOWN_CLASS} else move.gpu_model,
    }


def return_advice(question: CapacityQuestion) -> Iterator[CapacityRecommendation]:
    """This will yield a record for each burst of which something is due to come home."""
    due = set(question.bursts.returns.filter("is_due").select(_KEY).rows())
    together: dict[str, list[RunningBurst]] = {}
    for burst in question.running:
        together.setdefault(burst.advice.id, []).append(burst)
    for _, bursts in sorted(together.items()):
        moves = tuple(move for burst in bursts for move in burst.moves if _key(burst, move) in due)
        if moves:
            yield _record(question, bursts[-1].advice, _merged(moves))


def _key(burst: RunningBurst, move: CapacityMove) -> tuple[str, ...]:
    assert burst.advice.recommended is not None, "a burst goes somewhere"
    return (*(getattr(move, name) for name in WORKLOAD_KEY), burst.advice.recommended.cluster)


def _merged(moves: tuple[CapacityMove, ...]) -> tuple[CapacityMove, ...]:
    """One move a workload, also where the same burst was carried out twice."""
    found: dict[tuple[str, ...], CapacityMove] = {}
    for one in moves:
        key = tuple(getattr(one, name) for name in WORKLOAD_KEY)
        before = found.get(key)
        sums = ("replicas", "waiting_replicas", "nodes_gbp_per_hour", "other_gbp_per_hour", "gbp_per_hour")
        found[key] = (
            one
            if before is None
            else one.model_copy(update={name: getattr(one, name) + getattr(before, name) for name in sums})
        )
    return tuple(found[key] for key in sorted(found))


def _record(
    question: CapacityQuestion, burst: CapacityRecommendation, moves: tuple[CapacityMove, ...]
) -> CapacityRecommendation:
    target, current = burst.target, burst.recommended
    assert current is not None, "a burst goes somewhere"
    home = place_of(question.home(target.cluster, target.resource, target.resource_class))
    cost = -round(sum(one.gbp_per_hour for one in moves), DIGITS)
    prices = tuple(one.model_copy(update={"used_for": "current"}) for one in burst.prices)
    replicas = sum(one.replicas for one in moves)
    why = sorted({row["why"] for row in question.bursts.returns.filter("is_due", cluster=target.cluster).to_dicts()})
    return CapacityRecommendation(
        id=burst_id(Kind.BURST_RETURN, target, home, burst.id),
        etag=etag(moves, cost),
        kind=Kind.BURST_RETURN,
        title=f"Bring {replicas} replica{'' if replicas == 1 else 's'} home from {current.cluster} to {target.cluster}",
        target=target,
        recommended=home,
        current=current,
        burst_id=burst.id,
        moves=moves,
        cost_delta_gbp_per_hour=cost,
        shortage=shortage(question, target),
        prices=prices,
        risk=risk(question, target, prices, []),
        explanation=(
            f"{'; '.join(why)}: all of it fits on the owned nodes beside what runs there, and nothing waits at home.",
            f"Away it costs {rate(-cost)} an hour, as worked out when the burst was advised.",
            "Room that is only foretold brings nothing home.",
        ),
        group=group_of(target, Kind.BURST_RETURN, burst.id),
        proposed_at=question.at,
        expires_at=question.at + LIFE,
    )
