"""How many nodes pods need at least, and what those must cost: proven by one resource at a time."""

from __future__ import annotations

import math

import numpy as np

from recommender.advise.pods import Machine, Replicas

_ROUNDING = 1e-9


def lower_bound(pods: list[Replicas], types: list[Machine]) -> float:
    """This will return the least that nodes for the pods weigh: each kind by its scarcest resource.

    Args:
        pods: that have nodes.
        types: the pool's; where a kind has one type, whole nodes are counted.
    """
    total = 0.0
    known = {one.kind for one in types}
    for kind in sorted(known):
        of_kind = [one for one in types if one.kind == kind]
        mine = [one for one in pods if one.kind == kind or (one.kind == "" and len(known) == 1)]
        if len(of_kind) == 1:
            nodes = max(
                _fewest([(one.need[axis], one.count) for one in mine], of_kind[0].room[axis]) for axis in range(3)
            )
            total += nodes * of_kind[0].weight
        else:
            sums = [sum(one.count * one.need[axis] for one in mine) for axis in range(3)]
            total += max(amount * _least(of_kind, axis) for axis, amount in enumerate(sums))
    return total


def _fewest(pods: list[tuple[float, int]], room: float) -> int:
    """The bound L2 of Martello and Toth (1990) on nodes of one resource: what is larger than half stands alone.

    Args:
        pods: need of one, and how many.
        room: of a node.
    """
    if room <= 0:
        return 0
    need = np.array([each / room for each, _ in pods], dtype=np.float64)
    order = np.argsort(need, kind="stable")
    need, count = need[order], np.array([number for _, number in pods], dtype=np.int64)[order]
    first_large = int(np.searchsorted(need, 0.5 + _ROUNDING, side="right"))
    small, large = need[:first_large], need[first_large:]
    alone = int(count[first_large:].sum())
    # Sums from each small need upwards, and of what large ones leave beside it, for every least need at once.
    above = np.concatenate([np.cumsum((count[:first_large] * small)[::-1])[::-1], [0.0]])
    beside = np.concatenate([[0.0], np.cumsum(count[first_large:] * (1.0 - large))])
    least = np.concatenate([[0.0], small[small > 0]])
    sums = above[np.searchsorted(small, least - _ROUNDING, side="left")]
    spare = beside[np.searchsorted(large, 1.0 - least + _ROUNDING, side="right")]
    return alone + math.ceil(max(0.0, float((sums - spare).max())) - 1e-6)


def _least(types: list[Machine], axis: int) -> float:
    return min((one.weight / one.room[axis] for one in types if one.room[axis] > 0), default=0.0)


def too_many(pods: list[Replicas], types: list[Machine], nodes_max: int | None) -> bool:
    """This will say whether the pods need more nodes than there are, were all nodes as large as the largest."""
    if nodes_max is None:
        return False
    rooms = [max((one.room[axis] for one in types), default=0.0) for axis in range(3)]
    return any(_fewest([(one.need[axis], one.count) for one in pods], rooms[axis]) > nodes_max for axis in range(3))
