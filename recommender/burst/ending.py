"""When a burst goes home: on room that was seen to be free, after the minimum runtime. Never on a forecast.

The whole burst must fit beside what runs and waits at home now, gang by gang, and must have fitted in the evaluations
before. Bursts go home dearest first, each with what those before it leave.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
Amounts = dict[tuple[str, str], float]


@dataclass(frozen=True, slots=True)
class AtHome:
    """One cluster as it was seen.

    Args:
        mix: what runs and waits.
        shapes: its owned nodes.
        admitted: what they admit.
        demand: Demand of the cluster.
    """

    mix: Sequence[Unit]
    shapes: Sequence[Shape]
    admitted: Admitted
    demand: pl.DataFrame


def returns(active: dy.DataFrame[ActiveBurst], home: AtHome, settings: BurstSettings, *, at: datetime) -> list[Row]:
    """This will say of each burst of one cluster whether it goes home now.

    Args:
        active: bursts of the cluster.
        home: the cluster.
        settings: evaluations in a row with room, and the least time that a burst stays.
        at: the evaluation time (UTC).

    Returns:
        Rows of Return.
    """
    nodes = FreeNodes(home.shapes)
    full = [one for one in in_order(home.mix, home.shapes) if not nodes.place(one) and one not in home.admitted.never]
    last = _last_demand(home.demand, settings.idle_evaluations)
    taken: Amounts = {}
    rows = []
    for burst in active.sort(["gbp_per_hour", *ActiveBurst.primary_key()], descending=[True] + [False] * 5).to_dicts():
        units = _units(burst)
        why = (
            _too_early(burst, settings, at)
            or _waits(full)
            or _no_room_before(units, last, home.admitted, taken, settings)
            or _no_room_now(nodes, units)
        )
        if why is None:
            taken = _added(taken, units)
        seen = f"room for it was seen in the last {settings.idle_evaluations} evaluations"
        key = {name: burst[name] for name in ActiveBurst.primary_key()}
        saves = burst["gbp_per_hour"]
        rows.append({**key, "is_due": why is None, "saves_gbp_per_hour": saves, "why": why or seen})
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


def _waits(full: list[Unit]) -> str | None:
    return f"{sum(one.replicas for one in full)} replicas still find no room at home" if full else None


def _last_demand(demand: pl.DataFrame, evaluations: int) -> dict[tuple[str, str], list[float]]:
    rows = demand.sort("timestamp").group_by(SERIES_KEY[1:]).agg(pl.col("demand").tail(evaluations))
    return {(resource, name): values for resource, name, values in rows.iter_rows()}


def _no_room_before(
    units: list[Unit],
    last: dict[tuple[str, str], list[float]],
    admitted: Admitted,
    taken: Amounts,
    settings: BurstSettings,
) -> str | None:
    """The resource of which the last evaluations did not all leave enough, as a sentence."""
    for key, need in sorted(_added({}, units).items()):
        seen = last.get(key, [])
        room = admitted.amounts.get(key)
        if len(seen) < settings.idle_evaluations and key in last:
            return f"only {len(seen)} evaluations were seen"
        if room is not None and any(value + need + taken.get(key, 0.0) > room + 1e-9 for value in seen):
            return f"{' '.join(key)} had no room for it in one of the last {settings.idle_evaluations} evaluations"
    return None


def _added(amounts: Amounts, units: list[Unit]) -> Amounts:
    found = dict(amounts)
    for unit in units:
        for key, amount in unit.amounts().items():
            found[key] = found.get(key, 0.0) + amount
    return found


def _no_room_now(nodes: FreeNodes, units: list[Unit]) -> str | None:
    """Places all units or none."""
    before = nodes.state()
    if all(nodes.place(unit) for unit in units):
        return None
    nodes.restore(before)
    return "it does not fit on the owned nodes, gang by gang"
