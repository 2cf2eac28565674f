"""The node mix of a plan: the nodes that there are, those that packing needs now, those that the plan needs.

Shares of requests say what a move is worth when every node fills again; here only nodes count. A pool saves what its
nodes cost now, by packing, less what they cost under the plan; where fewer nodes are there than packing needs at
everyone's peak, no more than those can fall away.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import polars as pl

from recommender.advise.build import DIGITS
from recommender.advise.current_nodes import Current, MixKey, Nodes
from recommender.advise.first_fit import Packed
from recommender.advise.machines import Place, PoolMachines
from recommender.advise.plan import Machines, NodeMix

BASIS = (
    "Packed nodes: replicas at peak on what nodes leave for pods, each workload in its pool, whole nodes at their cash "
    "price. Savings are shares of requests instead: they become money when nodes fall away."
)
_NOT_SEEN = "no node of this pool was seen"
_CLUSTER_NOT_SEEN = "no node of this cluster was seen"
_NONE: Packed = Packed(nodes=(), unplaced=frozenset(), gbp_per_hour=0.0, bound_gbp_per_hour=0.0)


def packed_as_current(basis: str, packed: Mapping[Place, Packed], pools: Mapping[Place, PoolMachines]) -> Current:
    """This will take packed nodes for those that there are, where nobody saw nodes.

    Args:
        basis: usage or packed.
        packed: nodes by pool.
        pools: from pool_machines.
    """
    nodes = {key: Nodes(count, gbp) for key, (count, gbp) in _by_key(packed, pools).items()}
    return Current("usage" if basis == "usage" else "packed", nodes, frozenset(cluster for cluster, _ in pools))


def machines(now: Mapping[Place, Packed], then: Mapping[Place, Packed], current: Current) -> Machines:
    """This will add up the nodes that there are, and those needed now and as planned."""
    cost = sum(one.gbp_per_hour for one in then.values())
    bound = sum(one.bound_gbp_per_hour for one in then.values())
    removed, added = _changed(now, then, current)
    return Machines(
        now_nodes=_count(now.values()),
        planned_nodes=_count(then.values()),
        now_gbp_per_hour=round(sum(one.gbp_per_hour for one in now.values()), DIGITS),
        planned_gbp_per_hour=round(cost, DIGITS),
        lower_bound_gbp_per_hour=round(bound, DIGITS),
        gap_ratio=round(max(0.0, cost / bound - 1.0), DIGITS) if bound > 0 else None,
        now_without_node=sum(len(one.unplaced) for one in now.values()),
        planned_without_node=sum(len(one.unplaced) for one in then.values()),
        nodes_removed=removed,
        nodes_added=added,
        saving_gbp_per_hour=round(_saving(now, then, current), DIGITS) + 0.0,
        basis=BASIS,
        **_current(current),
    )


def node_mix(
    placed: pl.DataFrame,
    now: Mapping[Place, Packed],
    then: Mapping[Place, Packed],
    pools: Mapping[Place, PoolMachines],
    current: Current,
    *,
    paid: Mapping[Place, Mapping[str, float]] = MappingProxyType({}),
) -> tuple[NodeMix, ...]:
    """This will name the machines of each pool now and under the plan, and the shares of the workloads placed there."""
    keys = ("to_cluster", "to_pool", "to_capacity_type", "to_instance_type")
    sums = placed.group_by(keys).agg(pl.col("gbp_per_hour").sort().sum())
    shares = {(cluster, pool, capacity, name): gbp for cluster, pool, capacity, name, gbp in sums.iter_rows()}
    before, after = _by_key(now, pools, paid), _by_key(then, pools, paid)
    seen = {key[:2] for key in current.nodes}
    return tuple(
        NodeMix(
            cluster=key[0],
            pool=key[1],
            capacity_type=key[2],
            instance_type=key[3],
            nodes=after.get(key, (0, 0.0))[0],
            nodes_gbp_per_hour=round(after.get(key, (0, 0.0))[1], DIGITS),
            gbp_per_hour=round(shares.get(key, 0.0), DIGITS),
            now_nodes=before.get(key, (0, 0.0))[0],
            now_gbp_per_hour=round(before.get(key, (0, 0.0))[1], DIGITS),
            **_here(key, current, seen),
        )
        for key in sorted(shares.keys() | before.keys() | after.keys() | current.nodes.keys())
    )


def _here(key: MixKey, current: Current, seen: set[tuple[str, str]]) -> dict[str, Any]:
    found = current.nodes.get(key)
    if found is None:
        if key[0] not in current.clusters:
            return {"note": _CLUSTER_NOT_SEEN}
        note = _NOT_SEEN if current.basis == "seen" and key[:2] not in seen else None
        return {"current_nodes": 0.0, "current_gbp_per_hour": 0.0, "note": note}
    price = None if found.gbp_per_hour is None else round(found.gbp_per_hour, DIGITS)
    return {"current_nodes": round(found.nodes, DIGITS), "current_gbp_per_hour": price, "note": found.why}


def _current(current: Current) -> dict[str, Any]:
    nodes = current.nodes.values()
    priced = [one.gbp_per_hour for one in nodes if one.gbp_per_hour is not None]
    return {
        "current_basis": current.basis,
        "current_nodes": round(sum(one.nodes for one in nodes), DIGITS),
        "current_gbp_per_hour": round(sum(priced), DIGITS) if priced else None,
        "current_nodes_without_price": round(sum(one.nodes for one in nodes if one.gbp_per_hour is None), DIGITS) + 0.0,
        "current_nodes_not_in_settings": round(sum(one.nodes for one in nodes if not one.in_settings), DIGITS) + 0.0,
    }


def _saving(now: Mapping[Place, Packed], then: Mapping[Place, Packed], current: Current) -> float:
    """Pool by pool; of a pool that shrinks no more than what its nodes cost that are there."""
    total = 0.0
    for place in sorted(now.keys() | then.keys()):
        before, after = now.get(place, _NONE).gbp_per_hour, then.get(place, _NONE).gbp_per_hour
        there = current.cost_of(*place)
        if after < before and there is not None:
            before = max(after, min(before, there))
        total += before - after
    return total


def _changed(now: Mapping[Place, Packed], then: Mapping[Place, Packed], current: Current) -> tuple[int, int]:
    """Nodes that fall away and nodes that are added, by pool and machine type; counted as in _saving."""
    removed = added = 0
    for place in now.keys() | then.keys():
        before, after = dict(now.get(place, _NONE).nodes), dict(then.get(place, _NONE).nodes)
        less = sum(max(0, count - after.get(name, 0)) for name, count in before.items())
        there = current.count_of(*place)
        kept = sum(min(count, after.get(name, 0)) for name, count in before.items())
        removed += less if there is None else max(0, min(less, int(there) - kept))
        added += sum(max(0, count - before.get(name, 0)) for name, count in after.items())
    return removed, added


def _count(pools: Iterable[Packed]) -> int:
    return sum(count for one in pools for _, count in one.nodes)


def _by_key(
    packed: Mapping[Place, Packed],
    pools: Mapping[Place, PoolMachines],
    paid: Mapping[Place, Mapping[str, float]] = MappingProxyType({}),
) -> dict[MixKey, tuple[int, float]]:
    """Nodes and their cash price by cluster, pool, capacity type and machine type; what is paid for costs nothing."""
    found: dict[MixKey, tuple[int, float]] = {}
    for (cluster, pool), one in packed.items():
        types = {machine.instance_type: machine for machine in pools[cluster, pool].machines}
        for name, count in one.nodes:
            machine, unpaid = types[name], max(0.0, count - paid.get((cluster, pool), {}).get(name, 0.0))
            found[cluster, pool, machine.kind.split("/")[0], name] = (count, unpaid * machine.gbp_per_hour)
    return found
