"""Branch and price: split on how many nodes of some offers a plan has, always at the branch with the lowest bound.

A plan has a whole number of nodes of each offer, of each cluster, of each GPU count and in all; where the linear
programme has a fraction, one branch takes at most the whole number below and the other at least the one above.
Every branch generates its own columns, so that its bound is certified; the lowest bound of the open branches is the
bound of the question. Branching on sums over columns leaves the knapsack as it is (Vanderbeck 2000).
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass

import numpy as np

from recommender.place.packing.columns import ColumnPool
from recommender.place.packing.dive import dive
from recommender.place.packing.draft import Draft, draft_of, greedy, left_by_item
from recommender.place.packing.generate import Generated, generate
from recommender.place.packing.improve import improved
from recommender.place.packing.items import Bools, Ints, Model, Rows
from recommender.place.packing.knapsack import Floats, Knapsack
from recommender.place.packing.master import Master
from recommender.place.packing.problem import Effort

_WHOLE = 1e-5
_EVERY = 10


@dataclass(frozen=True, slots=True)
class Searched:
    """What the search found.

    Args:
        draft: the best plan; None where limits leave no room for every pod.
        left_out: pods of each item that have no room, where there is no plan.
        bound: certified, £/h.
        duals: of the limits, at the first linear programme.
        branches: solved.
        rounds: of column generation.
    """

    draft: Draft | None
    left_out: Ints
    bound: float
    duals: Floats
    branches: int
    rounds: int


class Search:
    """One search; what it knows grows with every branch."""

    def __init__(self, model: Model, effort: Effort) -> None:
        self._model = model
        self._effort = effort
        self._knapsack = Knapsack(model.needs, effort)
        self._pool = ColumnPool(model)
        self._pool.start()
        self._sets = _offer_sets(model)
        self._best: Draft | None = None
        self._left = model.demand
        self._branches = 0
        self._rounds = 0

    def run(self) -> Searched:
        """This will search until the gap is closed or the effort is spent."""
        root = self._solve(())
        plan, self._left = greedy(self._model, self._pool.columns, root.solved.cover)
        self._take(None if self._left.any() else plan)
        self._take(dive(self._model, self._pool, self._knapsack, root.solved.cover, root.solved.nodes))
        self._take_integer()
        if self._best is None and root.solved.left_out:
            return self._searched(root, root.bound)
        return self._searched(root, self._branch(root))

    def _branch(self, root: Generated) -> float:
        """Split branches until none is open or the effort is spent; the bound that then holds."""
        open_branches: list[tuple[float, int, Generated, tuple[Rows, ...]]] = [(root.bound, 0, root, ())]
        closed = math.inf
        while open_branches and self._branches < self._effort.branches:
            bound, _, generated, rows = heapq.heappop(open_branches)
            split = None if bound >= self._enough() else self._split(generated)
            if split is None:
                closed = min(closed, bound)
                continue
            for row in split:
                branch = (*rows, row)
                child = self._solve(branch)
                entry = (max(child.bound, bound), self._branches, child, branch)
                if child.bound >= self._enough():
                    closed = min(closed, entry[0])
                else:
                    heapq.heappush(open_branches, entry)
                if self._branches % _EVERY == 0:
                    self._take_integer()
        if self._branches > 1:
            self._take_integer()
        return min([closed, *(entry[0] for entry in open_branches)])

    def _searched(self, root: Generated, bound: float) -> Searched:
        cost = math.inf if self._best is None else self._best.cost
        return Searched(
            draft=self._best,
            left_out=left_by_item(self._model, self._left),
            bound=min(bound, cost),
            duals=root.solved.bounds,
            branches=self._branches,
            rounds=self._rounds,
        )

    def _solve(self, rows: tuple[Rows, ...]) -> Generated:
        every = (*self._model.limits, *rows)
        master = Master(self._model, self._pool, every)
        found = generate(
            model=self._model,
            pool=self._pool,
            master=master,
            knapsack=self._knapsack,
            rows=every,
            rounds=self._effort.rounds,
            cutoff=self._enough(),
        )
        self._branches += 1
        self._rounds += found.rounds
        return found

    def _enough(self) -> float:
        """A bound from here on needs no further search."""
        return math.inf if self._best is None else self._best.cost * (1 - self._effort.gap_ratio)

    def _take(self, draft: Draft | None) -> None:
        if draft is None:
            return
        better = improved(self._model, draft)
        for column, _ in better.nodes:
            self._pool.add_column(column)
        if self._best is None or better.cost < self._best.cost:
            self._best = better

    def _take_integer(self) -> None:
        """Solve the integer programme over the columns found, and take the plan if it is better."""
        master = Master(self._model, self._pool, self._model.limits)
        chosen = master.solve_integer(nodes=self._effort.integer_nodes, gap_ratio=self._effort.gap_ratio / 2)
        if chosen is None:
            return
        if any(chosen.left_out):
            self._left = np.array(chosen.left_out, dtype=np.int64)
            return
        nodes = [(self._pool.columns[number], count) for number, count in chosen.nodes]
        self._take(draft_of(self._model, nodes, tuple(home for home in chosen.homes if home is not None)))

    def _split(self, generated: Generated) -> tuple[Rows, Rows] | None:
        """The set of offers whose nodes are most fractional, at most and at least; None where all are whole."""
        offers = np.zeros(len(self._model.offers))
        columns = self._pool.columns[: len(generated.solved.nodes)]
        np.add.at(offers, [column.offer for column in columns], generated.solved.nodes)
        best, most = None, _WHOLE
        for members in self._sets:
            nodes = float(offers[members].sum())
            fraction = min(nodes - math.floor(nodes), math.ceil(nodes) - nodes)
            if fraction > most + _WHOLE:
                best, most = (members, nodes), fraction
        if best is None:
            return None
        members, nodes = best
        weights = tuple(members.astype(float).tolist())
        least = float(math.floor(nodes))
        return Rows(weights, least, at_most=True), Rows(weights, least + 1, at_most=False)


def _offer_sets(model: Model) -> list[Bools]:
    """Sets of offers worth counting together, the widest first: all, by GPUs, by cluster, by class, each alone."""
    offers = model.offers
    gpus = sorted({offer.gpus for offer in offers})
    groups = [np.array([offer.gpus >= level for offer in offers], dtype=bool) for level in gpus]
    for names in ([offer.cluster for offer in offers], [offer.offer_class for offer in offers]):
        groups += [np.array([name == one for name in names], dtype=bool) for one in sorted(set(names))]
    groups += list(np.eye(len(offers), dtype=bool))
    unique = {group.tobytes(): group for group in groups if group.any()}
    return list(unique.values())
