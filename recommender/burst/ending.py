"""When a burst goes home: on room that was seen to be free, after the minimum runtime. Never on a forecast.

The whole burst must fit beside what runs and waits at home now, gang by gang, and must have fitted in the evaluations
before. Bursts go home dearest first, each with what those before it leave.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import dataframely as dy
import polars as pl

from recommender.burst.admissible import Admitted, FreeNodes, Shape, in_order
from recommender.burst.frames import ActiveBurst
from recommender.burst.units import Unit
from recommender.forecast.demand import DEFAULT_ARCHITECTURE
from recommender.forecast.frames import SERIES_KEY, UNKNOWN_CLASS
from recommender.settings import BurstSettings

Row = dict[str, Any]


def returns(
    active: dy.DataFrame[ActiveBurst],
    *,
    mix: Sequence[Unit],
    shapes: Sequence[Shape],
    admitted: Admitted,
    demand: pl.DataFrame,
    settings: BurstSettings,
    at: datetime,
) -> list[Row]:
    """This will say of each burst of one cluster whether it goes home now.

    Args:
        active: bursts of the cluster.
        mix: what runs and waits at home.
        shapes: its owned nodes.
        admitted: what they admit.
        demand: Demand of the cluster.
        settings: evaluations in a row with room, and the least time that a burst stays.
        at: the evaluation time (UTC).

    Returns:
        Rows of Return.
    """
    nodes = FreeNodes(shapes)
    full = [one for one in in_order(mix, shapes) if not nodes.place(one) and one not in admitted.never]
    last = _last_demand(demand, settings.idle_evaluations)
    taken: dict[tuple[str, str], float] = {}
    rows = []
    for burst in active.sort(["gbp_per_hour", *ActiveBurst.primary_key()], descending=[True] + [False] * 5).to_dicts():
        units = _units(burst)
        why = _too_early(burst, settings, at) or (_waits(full) if full else None)
        why = why or _no_room_before(units, last, admitted, taken, settings)
        if why is None and not _fit(nodes, units):
            why = "it does not fit on the owned nodes, gang by gang"
        if why is None:
            for unit in units:
                for key, amount in unit.amounts().items():
                    taken[key] = taken.get(key, 0.0) + amount
        rows.append(
            {
                **{name: burst[name] for name in ActiveBurst.primary_key()},
                "is_due": why is None,
                "saves_gbp_per_hour": burst["gbp_per_hour"],
                "why": why or f"room for it was seen in the last {settings.idle_evaluations} evaluations",
            }
        )
    return rows


def _units(burst: Row) -> list[Unit]:
    size = burst["gang_size"]
    return [
        Unit(
            workload=(burst["cluster"], burst["namespace"], burst["workload_kind"], burst["workload"]),
            number=number,
            replicas=min(size, burst["replicas"] - start),
            vcpus=burst["replica_vcpus"],
            memory_gib=burst["replica_memory_gib"],
            gpus=burst["replica_gpus"],
            gpu_class=(burst["gpu_model"] or UNKNOWN_CLASS) if burst["replica_gpus"] > 0 else "",
            gpu_models=frozenset({burst["gpu_model"]} if burst["gpu_model"] else ()),
            architecture=DEFAULT_ARCHITECTURE,
        )
        for number, start in enumerate(range(0, burst["replicas"], size))
    ]


def _too_early(burst: Row, settings: BurstSettings, at: datetime) -> str | None:
    minutes = max(settings.min_runtime_minutes, burst["minimum_runtime_minutes"])
    ends: datetime = burst["started_at"] + timedelta(minutes=minutes)
    return f"its minimum runtime of {minutes:g} minutes ends at {ends:%Y-%m-%d %H:%M} UTC" if ends > at else None


def _waits(full: list[Unit]) -> str:
    return f"{sum(one.replicas for one in full)} replicas still find no room at home"


def _last_demand(demand: pl.DataFrame, evaluations: int) -> dict[tuple[str, str], list[float]]:
    rows = demand.sort("timestamp").group_by(SERIES_KEY[1:]).agg(pl.col("demand").tail(evaluations))
    return {(resource, name): values for resource, name, values in rows.iter_rows()}


def _no_room_before(
    units: list[Unit],
    last: dict[tuple[str, str], list[float]],
    admitted: Admitted,
    taken: dict[tuple[str, str], float],
    settings: BurstSettings,
) -> str | None:
    """The resource of which the last evaluations did not all leave enough, as a sentence."""
    needs: dict[tuple[str, str], float] = {}
    for unit in units:
        for key, amount in unit.amounts().items():
            needs[key] = needs.get(key, 0.0) + amount
    for key, need in sorted(needs.items()):
        seen = last.get(key, [])
        room = admitted.amounts.get(key)
        if len(seen) < settings.idle_evaluations and key in last:
            return f"only {len(seen)} evaluations were seen"
        if room is not None and any(value + need + taken.get(key, 0.0) > room + 1e-9 for value in seen):
            return f"{' '.join(key)} had no room for it in one of the last {settings.idle_evaluations} evaluations"
    return None


def _fit(nodes: FreeNodes, units: list[Unit]) -> bool:
    """Places all units or none."""
    before = nodes.state()
    if all(nodes.place(unit) for unit in units):
        return True
    nodes.restore(before)
    return False
