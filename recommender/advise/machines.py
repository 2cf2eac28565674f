"""The machines of a plan: every workload's replicas at peak on nodes of the pool it is given, now and as planned.

A workload keeps its pool, the capacity type, the architecture and the GPU model that its place has; which machine type
of the pool holds it is open. A node gives what it leaves for pods and costs its cash price. System pods and workloads
of which nothing can be advised take their room too, where their pool is known; a DaemonSet takes it of every node.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from recommender.advise.decision import Decision
from recommender.advise.first_fit import Packed, packed
from recommender.advise.pods import Machine, Replicas

Place = tuple[str, str]
_RESOURCES = ("vcpu", "memory_gib", "gpu")
_SHAPES = ("to_vcpus", "to_memory_gib", "to_gpus")
_ROOM = ("to_allocatable_vcpus", "to_allocatable_memory_gib", "to_gpus")
_PRICES = ("to_gbp_per_vcpu_hour", "to_gbp_per_gib_hour", "to_gbp_per_gpu_hour")
_MACHINE = (
    "to_cluster",
    "to_pool",
    "to_instance_type",
    "to_capacity_type",
    "to_architecture",
    "to_gpu_model",
    "to_marginal_gbp_per_hour",
    "to_nodes_limited",
    *_SHAPES,
    *_ROOM[:2],
    *_PRICES,
)
_PODS = ("w", "replicas_peak", "gpu_model", *(f"{name}_request_peak" for name in _RESOURCES), *_MACHINE)


@dataclass(frozen=True, slots=True)
class PoolMachines:
    """What a pool's nodes can be."""

    machines: tuple[Machine, ...]
    nodes_max: int | None


def pool_machines(decision: Decision) -> dict[Place, PoolMachines]:
    """This will return the machine types of each pool: those of the fleet, and those that workloads run on."""
    types: dict[Place, dict[str, Machine]] = defaultdict(dict)
    seen = decision.workloads.unique(["to_cluster", "to_pool", "to_instance_type"], keep="first", maintain_order=True)
    for frame in (decision.fleet, seen):
        priced = frame.select(_MACHINE).filter(pl.col("to_vcpus").is_not_null())
        for row in priced.iter_rows(named=True):
            machine = _machine(row)
            if machine is not None:
                types[row["to_cluster"], row["to_pool"]].setdefault(machine.instance_type, machine)
    limited = (
        decision.fleet.filter("to_nodes_limited").group_by("to_cluster", "to_pool").agg(pl.col("to_nodes_max").max())
    )
    most = {(cluster, pool): nodes for cluster, pool, nodes in limited.iter_rows()}
    return {
        place: PoolMachines(tuple(found[name] for name in sorted(found)), most.get(place))
        for place, found in sorted(types.items())
    }


class Packer:
    """Packs pools; the same pods are packed once."""

    def __init__(self, pools: Mapping[Place, PoolMachines]) -> None:
        self.pools = pools
        self._known: dict[tuple[Place, tuple[Replicas, ...]], Packed] = {}

    def pack(self, place: Place, pods: Iterable[Replicas]) -> Packed:
        """This will place pods on the nodes of a pool."""
        ordered = tuple(sorted(pods, key=lambda one: (one.w, one.count, one.need)))
        if (place, ordered) not in self._known:
            self._known[place, ordered] = _packed(list(ordered), self.pools[place])
        return self._known[place, ordered]


def pods_by_pool(
    rows: pl.DataFrame, pools: Mapping[Place, PoolMachines], *, running: bool
) -> dict[Place, list[Replicas]]:
    """This will return the pods of workloads at their places, by pool; places without a known machine are left out.

    Args:
        rows: workloads with `to_…`.
        pools: from pool_machines.
        running: whether they run there already, so that a replica needs no more than a node gives.
    """
    found: dict[Place, list[Replicas]] = defaultdict(list)
    # What is on every node takes no node: nodes leave less for the others (place.overhead).
    for row in rows.filter(~pl.col("per_node")).select(_PODS).iter_rows(named=True):
        pool = pools.get((row["to_cluster"], row["to_pool"]))
        pods = None if pool is None else _replicas(row, pool, running=running)
        if pods is not None:
            found[row["to_cluster"], row["to_pool"]].append(pods)
    return found


def pack_pools(
    workloads: pl.DataFrame, moving: pl.DataFrame, packer: Packer
) -> tuple[dict[Place, Packed], dict[Place, Packed]]:
    """This will pack every pool that has pods, in the order of its name: now, and once the moves are made.

    Args:
        workloads: every workload at its present place.
        moving: those that move, at their planned place.
        packer: of the fleet's pools.
    """
    here = pods_by_pool(workloads, packer.pools, running=True)
    arriving = pods_by_pool(moving, packer.pools, running=False)
    now = {place: packer.pack(place, here[place]) for place in sorted(here)}
    gone = set(moving["w"])
    then = {}
    for place in sorted(here.keys() | arriving.keys()):
        pods = [*(one for one in here.get(place, []) if one.w not in gone), *arriving.get(place, [])]
        then[place] = packer.pack(place, pods)
    return now, then


def on_named_types(
    workloads: pl.DataFrame, pools: Mapping[Place, PoolMachines], now: Mapping[Place, Packed]
) -> dict[Place, Packed]:
    """This will pack what runs now on the machine types that usage names for it, pool by pool.

    Args:
        workloads: every workload at its present place.
        pools: from pool_machines.
        now: from pack_pools; stands where a pool has one type anyway.
    """
    several = {place: pool for place, pool in pools.items() if place in now and len(pool.machines) > 1}
    if not several:
        return dict(now)
    types = dict(workloads.select("w", "to_instance_type").iter_rows())
    found = dict(now)
    for place, pods in sorted(pods_by_pool(workloads, several, running=True).items()):
        pool = several[place]
        own = tuple(replace(one, kind=f"{one.kind}/{one.instance_type}") for one in pool.machines)
        pinned = [replace(one, kind=f"{one.kind}/{types[one.w]}") if one.kind else one for one in pods]
        found[place] = _packed(pinned, PoolMachines(own, pool.nodes_max))
    return found


def _packed(pods: list[Replicas], pool: PoolMachines) -> Packed:
    return packed(pods, list(pool.machines), pool.nodes_max)


def _machine(row: Mapping[str, Any]) -> Machine | None:
    """A node in cash, as place.cost counts it; None: it would be free without a limit, which nothing is."""
    full = sum(row[shape] * row[price] for shape, price in zip(_SHAPES, _PRICES, strict=True))
    committed = row["to_capacity_type"].startswith("committed") and row["to_nodes_limited"]
    cash = row["to_marginal_gbp_per_hour"] if row["to_capacity_type"] == "owned" else 0.0 if committed else full
    weight = cash or full
    if cash is None or weight <= 0:
        return None
    room = tuple(float(row[name]) for name in _ROOM)
    return Machine(
        instance_type=row["to_instance_type"],
        kind=_kind(row),
        room=(room[0], room[1], room[2]),
        gpu_model=row["to_gpu_model"] or "",
        gbp_per_hour=cash,
        weight=weight,
        vcpus=row["to_vcpus"],
    )


def _kind(row: Mapping[str, Any]) -> str:
    return f"{row['to_capacity_type']}/{row['to_architecture']}"


def _replicas(row: Mapping[str, Any], pool: PoolMachines, *, running: bool) -> Replicas | None:
    """A workload's pods; one whose machine is not known may be on any of the pool; None: it requests nothing."""
    replicas = max(row["replicas_peak"], 1.0)
    need = [row[f"{name}_request_peak"] / replicas for name in _RESOURCES]
    known = row["to_vcpus"] is not None
    if running:
        own = [one for one in pool.machines if one.instance_type == row["to_instance_type"]] or pool.machines
        need = [min(amount, max(one.room[axis] for one in own)) for axis, amount in enumerate(need)]
    if not any(need):
        return None
    return Replicas(
        w=row["w"],
        count=math.ceil(replicas - 1e-9),
        need=(need[0], need[1], need[2]),
        kind=_kind(row) if known and row["to_architecture"] else "",
        gpu_model=(row["to_gpu_model"] or "") if known else row["gpu_model"],
    )
