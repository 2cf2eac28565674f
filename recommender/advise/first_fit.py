"""Pods onto the nodes of one pool: how many nodes of which machine type, what they cost, what they must cost at least.

Pods are placed whole workloads at a time, the largest first, each replica on the first node with room. The bound is
that of volumes: each resource divided by what the machine gives of it for a pound. Where the two differ and the pool
is small, the packing solver (place/packing) looks for fewer nodes.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from recommender.advise.node_bound import lower_bound, too_many
from recommender.advise.pods import Machine, Replicas, may_hold
from recommender.place.packing.problem import Effort, Limit, NodeOffer, Pod
from recommender.place.packing.solve import pack

_ROUNDING = 1e-9
_OPEN_NODES = 512
"""Nodes that a workload is tried on; of more, those opened last."""

_MOST_KINDS = 12
_MOST_PODS = 150
_EFFORT = Effort(
    rounds=40, labels=200, node_nodes=200, branches=3, integer_nodes=50, near_columns=50, gap_ratio=_ROUNDING
)

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Packed:
    """A pool's nodes.

    Args:
        nodes: machine type and how many.
        unplaced: numbers of the workloads for which there are not enough nodes.
        gbp_per_hour: cash price of the nodes.
        bound_gbp_per_hour: what nodes for the same pods cost at least.
    """

    nodes: tuple[tuple[str, int], ...]
    unplaced: frozenset[int]
    gbp_per_hour: float
    bound_gbp_per_hour: float


def packed(pods: list[Replicas], machines: list[Machine], nodes_max: int | None) -> Packed:
    """This will place the pods of one pool.

    Args:
        pods: one entry a workload, in any order.
        machines: the pool's types, in any order.
        nodes_max: nodes of all types together; None: no limit.
    """
    types, ordered = _in_order(pods, machines)
    counts, unplaced = _tried(ordered, types, nodes_max)
    bound = lower_bound([one for one in ordered if one.w not in unplaced], types)
    if unplaced or _weight(types, counts) > bound + _ROUNDING:
        solved = _solved(ordered, types, nodes_max)
        if solved is not None and (unplaced or _weight(types, solved[0]) < _weight(types, counts) - _ROUNDING):
            counts, unplaced = solved[0], frozenset()
            bound = lower_bound(ordered, types)
        if solved is not None and not unplaced:
            bound = max(bound, min(solved[1], _weight(types, counts)))
    cost = sum(types[number].gbp_per_hour * count for number, count in counts.items())
    in_cash = all(one.gbp_per_hour == one.weight for one in types)
    return Packed(
        nodes=tuple((types[number].instance_type, count) for number, count in sorted(counts.items())),
        unplaced=unplaced,
        gbp_per_hour=cost,
        bound_gbp_per_hour=min(bound, cost) if in_cash else 0.0,
    )


def without_node(pods: list[Replicas], machines: list[Machine], nodes_max: int | None) -> frozenset[int]:
    """This will return the numbers of the workloads that `packed` finds no nodes for, looking for no cheaper ones."""
    types, ordered = _in_order(pods, machines)
    _, unplaced = _tried(ordered, types, nodes_max)
    return frozenset() if unplaced and _solved(ordered, types, nodes_max) is not None else unplaced


def _in_order(pods: list[Replicas], machines: list[Machine]) -> tuple[list[Machine], list[Replicas]]:
    types = sorted(machines, key=lambda one: one.instance_type)
    largest = [max((one.room[axis] for one in types), default=0.0) for axis in range(3)]
    return types, sorted(pods, key=lambda one: (-_size(one, largest), one.w))


def _tried(pods: list[Replicas], types: list[Machine], nodes_max: int | None) -> tuple[Counter[int], frozenset[int]]:
    """The cheapest nodes; where a limit leaves some without, the fewest, if they hold more workloads."""
    cheap = _filled(pods, types, nodes_max, fewest=False)
    if not cheap[1] or len(types) == 1:
        return cheap
    return min(cheap, _filled(pods, types, nodes_max, fewest=True), key=lambda one: len(one[1]))


def _filled(
    pods: list[Replicas], types: list[Machine], nodes_max: int | None, *, fewest: bool
) -> tuple[Counter[int], frozenset[int]]:
    """Nodes by type and the workloads that have none, pods in their order."""
    filling = _Filling(types, nodes_max, fewest=fewest)
    unplaced = frozenset(one.w for one in pods if not filling.place(one))
    return Counter(filling.types), unplaced


class _Filling:
    """The nodes of a pool while they fill; new ones are the cheapest for what is left, or the fewest."""

    def __init__(self, types: list[Machine], nodes_max: int | None, *, fewest: bool) -> None:
        self._fewest = fewest
        self._machines = types
        self._most = math.inf if nodes_max is None else nodes_max
        self._rooms: Floats = np.array([one.room for one in types], dtype=np.float64).reshape(-1, 3)
        self._count = 0
        self._free: Floats = np.empty((64, 3))
        self._types: npt.NDArray[np.int64] = np.empty(64, dtype=np.int64)

    @property
    def types(self) -> list[int]:
        """The machine type of each node, in the order of opening."""
        opened: list[int] = self._types[: self._count].tolist()
        return opened

    def place(self, pods: Replicas) -> bool:
        """This will place all pods of a workload, or none."""
        usable = np.array([may_hold(one, pods) for one in self._machines], dtype=bool)
        if not usable.any():
            return False
        tried = slice(max(0, self._count - _OPEN_NODES), self._count)
        held = _times(self._free[tried], pods.need)
        if not usable.all():
            held[~usable[self._types[tried]]] = 0
        reached = np.minimum(held.cumsum(), pods.count)
        left = pods.count - (int(reached[-1]) if reached.size else 0)
        number, per_node = self._best(pods, usable, left) if left else (0, 1)
        opened = -(-left // per_node)
        if self._count + opened > self._most:
            return False
        need = np.array(pods.need)
        if left < pods.count:
            reached[1:] -= reached[:-1].copy()
            self._free[tried] -= reached[:, None] * need
        if opened:
            self._open(number, opened, per_node, left, need)
        return True

    def _open(self, number: int, opened: int, per_node: int, left: int, need: Floats) -> None:
        """New nodes, all but the last of them full."""
        end = self._count + opened
        if end > self._types.size:
            size = max(end, 2 * self._types.size)
            self._free = np.resize(self._free, (size, 3))
            self._types = np.resize(self._types, size)
        self._free[self._count : end] = self._rooms[number] - per_node * need
        self._free[end - 1] = self._rooms[number] - (left - per_node * (opened - 1)) * need
        self._types[self._count : end] = number
        self._count = end

    def _best(self, pods: Replicas, usable: npt.NDArray[np.bool_], left: int) -> tuple[int, int]:
        """The machine type to open for what is left, and how many pods a node of it holds."""
        each = [_times_in(one.room, pods.need) for one in self._machines]

        def order(number: int) -> tuple[float, float, int]:
            nodes = -(-left // each[number])
            price = nodes * self._machines[number].weight
            return (nodes, -each[number], number) if self._fewest else (price, nodes, number)

        best = min(np.flatnonzero(usable).tolist(), key=order)
        return best, each[best]


def _times(room: Floats, need: tuple[float, float, float]) -> npt.NDArray[np.int64]:
    """How many pods fit in each row of room."""
    each = [room[:, axis] / need[axis] for axis in range(3) if need[axis] > 0]
    fits = each[0]
    for more in each[1:]:
        np.minimum(fits, more, out=fits)
    whole: npt.NDArray[np.int64] = np.maximum(fits + _ROUNDING, 0.0).astype(np.int64)
    return whole


def _times_in(room: tuple[float, float, float], need: tuple[float, float, float]) -> int:
    """How many pods fit in an empty node."""
    return max(0, min(int(give / ask + _ROUNDING) for give, ask in zip(room, need, strict=True) if ask > 0))


def _size(pods: Replicas, largest: list[float]) -> float:
    """The greatest share of the largest machine that one pod takes."""
    shares = [need / room if room else math.inf for need, room in zip(pods.need, largest, strict=True) if need]
    return max(shares)


def _weight(types: list[Machine], counts: Counter[int]) -> float:
    return sum(types[number].weight * count for number, count in counts.items())


def _solved(pods: list[Replicas], types: list[Machine], nodes_max: int | None) -> tuple[Counter[int], float] | None:
    """Nodes for all pods and the certified bound of the solver; None: too large to ask, or some pod has no node."""
    if len({(one.need, one.kind, one.gpu_model) for one in pods}) > _MOST_KINDS:
        return None
    if sum(one.count for one in pods) > _MOST_PODS or too_many(pods, types, nodes_max):
        return None
    asked = tuple(
        Pod(
            id=f"{one.w}/{number}",
            vcpus=one.need[0],
            memory_gib=one.need[1],
            gpus=one.need[2],
            gpu_models=frozenset({one.gpu_model} - {""}),
            allowed=frozenset({one.kind}) if one.kind else None,
        )
        for one in pods
        for number in range(one.count)
    )
    # In parts of the dearest machine: the solver's tolerances are absolute, and prices twice as high pack alike.
    unit = max((one.weight for one in types), default=1.0)
    offers = tuple(
        NodeOffer(
            one.instance_type, "", one.kind, one.room[0], one.room[1], one.weight / unit, one.room[2], one.gpu_model
        )
        for one in types
    )
    limits = () if nodes_max is None else (Limit("nodes", tuple((one.id, 1.0) for one in offers), float(nodes_max)),)
    answer = pack(asked, offers, limits, _EFFORT)
    if answer.unplaced:
        return None
    numbers = {one.instance_type: number for number, one in enumerate(types)}
    counts: Counter[int] = Counter()
    for group in answer.nodes:
        counts[numbers[group.offer]] += group.count
    return counts, answer.lower_bound_gbp_per_hour * unit
