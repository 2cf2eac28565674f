"""A plan made by diving: take the node that the linear programme wants most, and solve it again for the pods left.

New columns are generated for what is left after each step, so that the last nodes fit the last pods; the columns also
serve the integer programme afterwards.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from recommender.place.packing.columns import Column, ColumnPool
from recommender.place.packing.draft import Draft, cheapest_homes, draft_of, open_demand
from recommender.place.packing.generate import generate
from recommender.place.packing.items import Ints, Model, Rows
from recommender.place.packing.knapsack import Floats, Knapsack
from recommender.place.packing.master import Master

_ROUNDS = 8
_WHOLE = 1e-6


def dive(model: Model, pool: ColumnPool, knapsack: Knapsack, cover: Floats, nodes: Floats) -> Draft | None:
    """This will make a plan; None where the limits stop it before every pod has a node.

    Args:
        model: the question.
        pool: the columns; grows.
        knapsack: packs one node.
        cover: dual prices of the cover rows in the linear programme to start from.
        nodes: nodes of each column in it.
    """
    homes = cheapest_homes(model, cover)
    left = _settled(model, open_demand(model, homes), model.limits)
    taken: list[tuple[Column, int]] = []
    while True:
        best = _most_wanted(left, pool, nodes)
        if best is None:
            return None
        column, times = best
        taken.append((column, times))
        left = _without(left, column, times)
        if not left.demand.any():
            return draft_of(model, taken, homes)
        master = Master(left, pool, left.limits)
        found = generate(
            model=left,
            pool=pool,
            master=master,
            knapsack=knapsack,
            rows=left.limits,
            rounds=_ROUNDS,
            cutoff=math.inf,
            exactly=False,
        )
        nodes = found.solved.nodes


def _most_wanted(left: Model, pool: ColumnPool, nodes: Floats) -> tuple[Column, int] | None:
    """The column with the largest share of a node, or with the most whole nodes, that still fills something."""
    order = np.lexsort((np.arange(len(nodes)), -nodes))
    for number in order.tolist():
        if nodes[number] <= _WHOLE:
            return None
        column = pool.columns[number]
        fills = [(int(left.row_of[column.offer, item]), held) for item, held in column.contents]
        needed = min((int(left.demand[row]) // held for row, held in fills if left.demand[row]), default=None)
        if needed is None:
            continue
        times = max(1, min(int(nodes[number] + _WHOLE), needed))
        if all(row.weights[column.offer] * times <= row.bound + _WHOLE for row in left.limits if row.at_most):
            return column, times
    return None


def _without(left: Model, column: Column, times: int) -> Model:
    demand = left.demand.copy()
    for item, held in column.contents:
        row = left.row_of[column.offer, item]
        demand[row] = max(int(demand[row]) - held * times, 0)
    limits = tuple(replace(row, bound=row.bound - row.weights[column.offer] * times) for row in left.limits)
    return _settled(left, demand, limits)


def _settled(model: Model, demand: Ints, limits: tuple[Rows, ...]) -> Model:
    """The question for the pods left, each gang at its home, without offers that the limits no longer allow."""
    wanted = np.append(demand, 0)[model.row_of]
    for row in limits:
        wanted[np.array(row.weights) > row.bound + _WHOLE] = 0
    return replace(
        model,
        demand=demand,
        counts=np.append(demand, 0)[model.row_of].max(axis=0, initial=0),
        usable=wanted > 0,
        gangs=(),
        limits=limits,
    )
