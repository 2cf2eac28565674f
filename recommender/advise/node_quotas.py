"""Quotas of clusters and regions, held for whole nodes: what a cloud counts is machines, not shares of them.

    moves that find nodes, quotas, packing → moves that would take the nodes over a quota

The constraint of the same name (place/constraints/quota.py) counts shares of nodes, as if every node filled. Here the
nodes of every pool under a quota are packed with what runs there at peak, once with all movers at both ends, because
moves are carried out in any order, and once with them gone from where they were. Nodes that packing needs now are
no fault of a move: a move may fill them up even where they exceed the quota.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from recommender.advise.decision import Decision
from recommender.advise.first_fit import Packed
from recommender.advise.machines import Packer, Place, PoolMachines, pods_by_pool
from recommender.advise.pods import Machine, Replicas

_ROUNDING = 1e-9
_MOST_PASSED_OVER = 20
"""Moves of one quota that are left out one by one while later ones are still tried."""

_REQUESTS = {"vcpus": "vcpu_request_peak", "gpus": "gpu_request_peak"}
_UNITS = {"vcpus": "vCPU", "gpus": "GPU", "nodes": "nodes"}


@dataclass(frozen=True, slots=True)
class NodeQuota:
    """A quota and the pools that it counts.

    Args:
        scope: the cluster, or provider and region, in words.
        resource: vcpus, gpus or nodes.
        most: the quota.
        places: the pools.
        elsewhere: what workloads of no known pool request of it at peak.
    """

    scope: str
    resource: str
    most: float
    places: frozenset[Place]
    elsewhere: float


def node_quotas(decision: Decision, pools: Mapping[Place, PoolMachines]) -> list[NodeQuota]:
    """This will list the quotas of clusters and regions that have a number, with their pools, in the order of names."""
    names = ["to_cluster", "to_pool", "to_provider", "to_region"]
    sites = pl.concat(frame.select(names).unique() for frame in (decision.fleet, decision.workloads)).unique()
    known = pl.DataFrame(list(pools), schema=dict.fromkeys(names[:2], pl.String), orient="row")
    running = decision.workloads.filter(~pl.col("per_node"))
    lost = running.join(known, on=names[:2], how="anti")
    there = sites.join(known, on=names[:2], how="semi")
    return [
        one
        for keys, resources, quotas in (
            (names[:1], ("vcpus", "gpus", "nodes"), decision.cluster_quotas),
            (names[2:], ("vcpus", "gpus"), decision.region_quotas),
        )
        for quota in quotas.sort(pl.all()).iter_rows(named=True)
        for one in _of_quota(quota, keys, resources, there, lost)
    ]


def _of_quota(
    quota: Mapping[str, Any], keys: Sequence[str], resources: Sequence[str], there: pl.DataFrame, lost: pl.DataFrame
) -> list[NodeQuota]:
    at = {key: quota[key.removeprefix("to_")] for key in keys}
    here = [pl.col(key) == value for key, value in at.items()]
    places = frozenset(there.filter(here).select("to_cluster", "to_pool").rows())
    requests = lost.filter(here)
    return [
        NodeQuota(
            scope=" in ".join(at.values()),
            resource=name,
            most=quota[name],
            places=places,
            elsewhere=float(requests[_REQUESTS[name]].sum()) if name in _REQUESTS else 0.0,
        )
        for name in resources
        if quota[name] is not None
    ]


def over_quota(decision: Decision, packer: Packer, moving: pl.DataFrame) -> dict[int, str]:
    """This will name the workloads whose moves would take packed nodes over a quota, with the reason.

    Those owed to a rule come first, then those that disturb least for what they save.

    Args:
        decision: what was worked out.
        packer: of its pools.
        moving: the pairs to carry out, those that find a node.
    """
    limits = (decision.cluster_quotas, decision.region_quotas)
    if moving.is_empty() or all(quotas.is_empty() for quotas in limits):
        return {}
    quotas = node_quotas(decision, packer.pools)
    trial = _Trial(decision.workloads, moving, packer)
    kept = _order(moving)
    gone: dict[int, str] = {}
    settled = False
    while not settled:
        # What stays where it is because of one quota still takes its room under another.
        settled = True
        for quota in quotas:
            left_out = trial.left_out(quota, kept)
            kept = [w for w in kept if w not in left_out]
            gone |= left_out
            settled = settled and not left_out
    return gone


def _order(moving: pl.DataFrame) -> list[int]:
    owed = pl.col("must_move")
    disturbs = pl.when(owed).then(0.0).otherwise(pl.col("disruption") / pl.col("saving_gbp_per_hour"))
    ordered = moving.sort(~owed, disturbs, -pl.col("saving_gbp_per_hour"), "w")
    return [int(w) for w in ordered["w"]]


class _Trial:
    """Whole nodes of pools for any set of moves."""

    def __init__(self, workloads: pl.DataFrame, moving: pl.DataFrame, packer: Packer) -> None:
        self._packer = packer
        self._running = pods_by_pool(workloads, packer.pools, running=True)
        self._arriving = pods_by_pool(moving, packer.pools, running=False)

    def left_out(self, quota: NodeQuota, kept: Sequence[int]) -> dict[int, str]:
        """Moves into the pools of a quota to leave out so that the rest keep it, in the order of `kept`."""
        arrivals = {one.w for place in quota.places for one in self._arriving.get(place, [])}
        others = [w for w in kept if w not in arrivals]
        most = max(quota.most, self._used(quota, frozenset(), frozenset()))

        def peak(some: Sequence[int]) -> float:
            moved = frozenset([*others, *some])
            return max(self._used(quota, moved, frozenset()), self._used(quota, moved, moved))

        def why(some: Sequence[int]) -> str:
            unit = _UNITS[quota.resource]
            return (
                f"on whole nodes, beside what runs there at its peak, it takes {quota.scope} to {peak(some):g} {unit}; "
                f"the quota is {quota.most:g}"
            )

        order = [w for w in kept if w in arrivals]
        good = _fitting(order, lambda some: peak(some) <= most + _ROUNDING)
        return {w: why([*good, w]) for w in order if w not in set(good)}

    def _used(self, quota: NodeQuota, moved: frozenset[int], left: frozenset[int]) -> float:
        """What the nodes count, with some moves arrived and some workloads gone from where they were."""
        return quota.elsewhere + sum(
            _count(self._at(place, moved, left), self._packer.pools[place].machines, quota.resource)
            for place in sorted(quota.places)
        )

    def _at(self, place: Place, moved: frozenset[int], left: frozenset[int]) -> Packed:
        pods: list[Replicas] = [one for one in self._running.get(place, []) if one.w not in left]
        pods += [one for one in self._arriving.get(place, []) if one.w in moved]
        return self._packer.pack(place, pods)


def _fitting(order: Sequence[int], fit: Callable[[Sequence[int]], bool]) -> list[int]:
    """Those that fit together, the first ones first; of the later ones too, as long as few were passed over."""
    good: list[int] = []
    rest = list(order)
    for _ in range(_MOST_PASSED_OVER):
        if fit([*good, *rest]):
            return [*good, *rest]
        least, most = 0, len(rest)
        while most - least > 1:
            middle = (least + most) // 2
            least, most = (middle, most) if fit([*good, *rest[:middle]]) else (least, middle)
        good += rest[:least]
        rest = rest[least + 1 :]
    return good


def _count(packed: Packed, machines: Sequence[Machine], resource: str) -> float:
    of_node = {one.instance_type: {"vcpus": one.vcpus, "gpus": one.room[2], "nodes": 1.0}[resource] for one in machines}
    return sum(count * of_node[name] for name, count in packed.nodes)
