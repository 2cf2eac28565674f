"""The machines of a plan: every workload's replicas at peak on nodes of the pool it is given, now and as planned.

A workload keeps its pool, the capacity type, the architecture and the GPU model that its place has; which machine type
of the pool holds it is open. A node gives what it leaves for pods and costs its cash price. System pods and workloads
of which nothing can be advised take their room too, where their pool is known.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from recommender.advise.build import DIGITS
from recommender.advise.decision import Decision
from recommender.advise.first_fit import Packed, packed
from recommender.advise.plan import Machines, NodeMix
from recommender.advise.pods import Machine, Replicas

BASIS = (
    "Packed nodes: replicas at peak on what nodes leave for pods, each workload in its pool, whole nodes at their cash "
    "price. Savings are shares of requests instead: they become money when nodes fall away."
)

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
    for row in rows.select(_PODS).iter_rows(named=True):
        pool = pools.get((row["to_cluster"], row["to_pool"]))
        pods = None if pool is None else _replicas(row, pool, running=running)
        if pods is not None:
            found[row["to_cluster"], row["to_pool"]].append(pods)
    return found


def pack_pools(
    workloads: pl.DataFrame, moving: pl.DataFrame, pools: Mapping[Place, PoolMachines]
) -> tuple[dict[Place, Packed], dict[Place, Packed]]:
    """This will pack every pool that has pods, in the order of its name: now, and once the moves are made.

    Args:
        workloads: every workload at its present place.
        moving: those that move, at their planned place.
        pools: from pool_machines.
    """
    here = pods_by_pool(workloads, pools, running=True)
    arriving = pods_by_pool(moving, pools, running=False)
    now = {place: _packed(here[place], pools[place]) for place in sorted(here)}
    gone = set(moving["w"])
    then = {}
    for place in sorted(here.keys() | arriving.keys()):
        pods = [*(one for one in here.get(place, []) if one.w not in gone), *arriving.get(place, [])]
        then[place] = now[place] if pods == here.get(place) else _packed(pods, pools[place])
    return now, then


def machines(now: Mapping[Place, Packed], then: Mapping[Place, Packed]) -> Machines:
    """This will add up the nodes now and as planned."""
    cost = sum(one.gbp_per_hour for one in then.values())
    bound = sum(one.bound_gbp_per_hour for one in then.values())
    return Machines(
        now_nodes=_nodes(now),
        planned_nodes=_nodes(then),
        now_gbp_per_hour=round(sum(one.gbp_per_hour for one in now.values()), DIGITS),
        planned_gbp_per_hour=round(cost, DIGITS),
        lower_bound_gbp_per_hour=round(bound, DIGITS),
        gap_ratio=round(max(0.0, cost / bound - 1.0), DIGITS) if bound > 0 else None,
        now_without_node=sum(len(one.unplaced) for one in now.values()),
        planned_without_node=sum(len(one.unplaced) for one in then.values()),
        basis=BASIS,
    )


def node_mix(
    placed: pl.DataFrame, then: Mapping[Place, Packed], pools: Mapping[Place, PoolMachines]
) -> tuple[NodeMix, ...]:
    """This will name the machines of each pool under the plan, beside the shares of the workloads placed there."""
    keys = ("to_cluster", "to_pool", "to_capacity_type", "to_instance_type")
    sums = placed.group_by(keys).agg(pl.col("gbp_per_hour").sum())
    shares = {(cluster, pool, capacity, name): gbp for cluster, pool, capacity, name, gbp in sums.iter_rows()}
    nodes: dict[tuple[str, str, str, str], tuple[int, float]] = {}
    for (cluster, pool), one in then.items():
        types = {machine.instance_type: machine for machine in pools[cluster, pool].machines}
        for name, count in one.nodes:
            machine = types[name]
            nodes[cluster, pool, machine.kind.split("/")[0], name] = (count, count * machine.gbp_per_hour)
    return tuple(
        NodeMix(
            cluster=key[0],
            pool=key[1],
            capacity_type=key[2],
            instance_type=key[3],
            nodes=nodes.get(key, (0, 0.0))[0],
            nodes_gbp_per_hour=round(nodes.get(key, (0, 0.0))[1], DIGITS),
            gbp_per_hour=round(shares.get(key, 0.0), DIGITS),
        )
        for key in sorted(shares.keys() | nodes.keys())
    )


def _packed(pods: list[Replicas], pool: PoolMachines) -> Packed:
    return packed(pods, list(pool.machines), pool.nodes_max)


def _nodes(pools: Mapping[Place, Packed]) -> int:
    return sum(count for one in pools.values() for _, count in one.nodes)


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
