"""A plan while it is being made: columns and how often, the home of each gang; and a first plan made greedily.

The greedy plan takes, again and again, the node whose contents are worth most at the dual prices per pound, counting
only pods that still have no room: first fit decreasing by the value in the linear programme.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recommender.place.packing.columns import Column, column_cost
from recommender.place.packing.items import Ints, Model
from recommender.place.packing.knapsack import Floats

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Draft:
    """A whole plan.

    Args:
        nodes: columns, each with how many nodes.
        homes: for each gang, the number of its cluster among those it may go to.
        cost: £/h.
    """

    nodes: tuple[tuple[Column, int], ...]
    homes: tuple[int, ...]
    cost: float


def draft_of(model: Model, nodes: list[tuple[Column, int]], homes: tuple[int, ...]) -> Draft:
    """This will price a plan; nodes that fill nothing are left out."""
    kept = sorted(((column, count) for column, count in nodes if column.contents), key=_order)
    cost = float(sum(column_cost(model, column) * count for column, count in kept))
    return Draft(tuple(kept), homes, cost)


def greedy(model: Model, columns: list[Column], cover: Floats) -> tuple[Draft, Ints]:
    """This will make a plan of the columns given.

    Args:
        model: the question.
        columns: to choose from.
        cover: dual price of each cover row.

    Returns:
        The plan, and for each cover row the pods for which the limits leave no room.
    """
    homes = cheapest_homes(model, cover)
    left = open_demand(model, homes)
    row_values = np.maximum(cover, _ROUNDING)
    room = np.array([limit.bound for limit in model.limits], dtype=np.float64)
    weights = np.array([limit.weights for limit in model.limits]).reshape(len(model.limits), len(model.offers))
    fills = [(column, column_cost(model, column), *_filled(model, column)) for column in columns]
    taken: dict[Column, int] = {}
    while left.any():
        best, best_ratio = None, 0.0
        for column, cost, rows, held in fills:
            if (weights[:, column.offer] > room + _ROUNDING).any():
                continue
            worth = float(row_values[rows] @ np.minimum(held, left[rows]))
            ratio = worth / max(cost, _ROUNDING)
            if ratio > best_ratio * (1 + _ROUNDING):
                best, best_ratio = (column, rows, held), ratio
        if best is None:
            break
        column, rows, held = best
        left[rows] = np.maximum(left[rows] - held, 0)
        room = room - weights[:, column.offer]
        taken[column] = taken.get(column, 0) + 1
    return draft_of(model, list(taken.items()), homes), left


def open_demand(model: Model, homes: tuple[int, ...]) -> Ints:
    """This will return how many pods each cover row asks for, once each gang has its home."""
    left = model.demand.copy()
    for gang, home in zip(model.gangs, homes, strict=True):
        for number, (_, rows) in enumerate(gang):
            if number != home:
                left[list(rows)] = 0
    return left


def left_by_item(model: Model, left: Ints) -> Ints:
    """This will turn pods without room, by cover row, into pods to leave out, by item; a gang only as a whole."""
    rows = [sorted(set(model.row_of[:, item].tolist()) - {-1}) for item in range(len(model.counts))]
    counts = np.array([int(left[one].max(initial=0)) for one in rows], dtype=np.int64)
    broken = {model.gang_of[item] for item in np.flatnonzero(counts).tolist()} - {-1}
    whole = np.array([gang in broken for gang in model.gang_of], dtype=bool)
    return np.where(whole, model.counts, counts)


def cheapest_homes(model: Model, cover: Floats) -> tuple[int, ...]:
    """This will return, for each gang, the home at which it is cheapest at the dual prices."""
    costs = [[float(cover[list(rows)] @ model.demand[list(rows)]) for _, rows in gang] for gang in model.gangs]
    return tuple(one.index(min(one)) for one in costs)


def _filled(model: Model, column: Column) -> tuple[Ints, Ints]:
    rows = np.array([model.row_of[column.offer, item] for item, _ in column.contents], dtype=np.int64)
    return rows, np.array([held for _, held in column.contents], dtype=np.int64)


def _order(one: tuple[Column, int]) -> tuple[int, tuple[tuple[int, int], ...]]:
    return one[0].offer, one[0].contents
