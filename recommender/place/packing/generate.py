"""Column generation: price every offer at the dual prices, add what pays, until nothing does; and the bound it proves.

The bound is Farley's (1990): dual prices scaled down until no node is worth more than it costs are feasible for the
dual of the complete master problem, whatever columns are missing. Surcharges are never negative, so that they may stay
unscaled.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recommender.place.packing.columns import ColumnPool
from recommender.place.packing.items import Ints, Model, Rows
from recommender.place.packing.knapsack import Floats, Knapsack
from recommender.place.packing.master import Master, Solved, left_out_price

_CONVERGED = 1e-7
_NEAR = 30


@dataclass(frozen=True, slots=True)
class Generated:
    """The linear programme over all columns, as far as it was solved.

    Args:
        solved: the last solution.
        bound: certified lower bound, £/h.
        rounds: of pricing.
    """

    solved: Solved
    bound: float
    rounds: int


def generate(
    *,
    model: Model,
    pool: ColumnPool,
    master: Master,
    knapsack: Knapsack,
    rows: tuple[Rows, ...],
    rounds: int,
    cutoff: float,
    exactly: bool = True,
) -> Generated:
    """This will add columns until none pays, or until the bound reaches the cutoff.

    Args:
        model: the question.
        pool: the columns; grows.
        master: the master problem under the rows; grows.
        knapsack: packs one node.
        rows: limits and branching rows of the master.
        rounds: of pricing, at most.
        cutoff: a bound from here on makes the branch useless (£/h).
        exactly: whether to go on until no column pays; else until none is found with little effort.
    """
    bound, done, found = 0.0, 0, True
    solved = master.solve()
    while found and done < rounds and bound < min(cutoff, solved.value * (1 - _CONVERGED)):
        done += 1
        for exact in (False, True) if exactly else (False,):
            priced = _price(model, knapsack, solved, rows, exact=exact)
            bound = max(bound, _bound(model, rows, solved, priced.worth))
            found = pool.extend(priced.columns)
            if found or bound >= solved.value * (1 - _CONVERGED):
                break
        if found:
            master.add_columns()
            solved = master.solve()
    return Generated(solved, bound, done)


def near_columns(
    model: Model, knapsack: Knapsack, cover: Floats, *, within: float, columns: int
) -> list[tuple[int, Ints]]:
    """This will return columns that cost at most so much more than they are worth, the nearest first.

    A plan that is cheaper than the best known by some amount has no column whose reduced cost exceeds the gap to the
    bound, so that these are the columns to choose from.

    Args:
        model: the question, without branching rows.
        knapsack: packs one node.
        cover: dual price of each cover row.
        within: the most that a column may cost beyond its worth, £/h.
        columns: how many at most.
    """
    duals = np.append(cover, 0.0)
    found: list[tuple[float, int, Ints]] = []
    for offer, price in enumerate(model.prices.tolist()):
        values = duals[model.row_of[offer]] - model.surcharges[offer]
        counts = np.where(model.usable[offer], model.counts, 0)
        patterns = knapsack.near(values, counts, model.gives[offer], threshold=price - within, patterns=_NEAR)
        found += [(price - float(values @ one), offer, one) for one in patterns]
    found.sort(key=lambda one: (one[0], one[1], one[2].tolist()))
    return [(offer, one) for _, offer, one in found[:columns]]


@dataclass(frozen=True, slots=True)
class _Priced:
    worth: Floats
    columns: list[tuple[int, Ints]]


def _price(model: Model, knapsack: Knapsack, solved: Solved, rows: tuple[Rows, ...], *, exact: bool) -> _Priced:
    """What each offer's best node is worth, branching rows included, and the nodes worth more than they cost."""
    extra = np.zeros(len(model.offers))
    added = np.zeros(model.surcharges.shape)
    for dual, row in zip(solved.bounds.tolist(), rows, strict=True):
        if row.item is None:
            extra += dual * np.array(row.weights)
        else:
            added[:, row.item] += dual * np.array(row.weights)
    cover = np.append(solved.cover, 0.0)
    worth = np.zeros(len(model.offers))
    columns = []
    for offer, price in enumerate(model.prices.tolist()):
        values = cover[model.row_of[offer]] - model.surcharges[offer] + added[offer]
        counts = np.where(model.usable[offer], model.counts, 0)
        packed = knapsack.best(values, counts, model.gives[offer], threshold=price - float(extra[offer]), exact=exact)
        worth[offer] = packed.at_most + extra[offer]
        columns += [(offer, contents) for contents in packed.patterns]
    return _Priced(worth, columns)


def _bound(model: Model, rows: tuple[Rows, ...], solved: Solved, worth: Floats) -> float:
    """Farley's bound: the dual value, scaled down by how much the best node is worth more than it costs.

    Only offers without a limit decide the scale. What a limited offer is still worth too much (a free node of an owned
    pool always is) is charged to its limit's price instead, for as many units as the limit has.
    """
    in_gangs = {row for gang in model.gangs for _, cover in gang for row in cover}
    alone = [row for row in range(len(model.demand)) if row not in in_gangs]
    value = float(solved.cover[alone] @ model.demand[alone])
    penalty = left_out_price(model)
    for gang in model.gangs:
        members = sum(int(model.demand[row]) for row in gang[0][1])
        homes = [sum(float(solved.cover[row] * model.demand[row]) for row in cover) for _, cover in gang]
        value += min(penalty * members, *homes)
    value += float(sum(dual * row.bound for dual, row in zip(solved.bounds.tolist(), rows, strict=True)))
    limits = [row for row in rows if row.at_most and row.item is None]
    weights = np.array([row.weights for row in limits]).reshape(len(limits), len(model.offers))
    over = (worth > model.prices) & ~(weights > 0).any(axis=0)
    scale = float(np.min(model.prices[over] / worth[over], initial=1.0))
    return max(0.0, value * scale - _charged(limits, weights, excess=np.maximum(scale * worth - model.prices, 0.0)))


def _charged(limits: list[Rows], weights: Floats, *, excess: Floats) -> float:
    """What limits must cost so that no offer of theirs exceeds its price; each offer is left to its first limit."""
    charged, left = 0.0, excess.copy()
    for row, weight in zip(limits, weights, strict=True):
        uses = weight > 0
        charged += float(np.max(left[uses] / weight[uses], initial=0.0)) * row.bound
        left[uses] = 0.0
    return charged
