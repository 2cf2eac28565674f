"""Branch and price: split on how many nodes of some offers a plan has, always at the branch with the lowest bound.

A plan has a whole number of nodes of each offer, of each cluster, of each GPU count and in all; where the linear
programme has a fraction, one branch takes at most the whole number below and the other at least the one above; where
all are whole, the pods of an item on the nodes of an offer are counted instead. Every branch generates its own
columns, so that its bound is certified; the lowest bound of the open branches is the bound of the question. Branching
on sums over columns leaves the knapsack as it is (Vanderbeck 2000).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recommender.place.packing.columns import ColumnPool
from recommender.place.packing.dive import dive
from recommender.place.packing.draft import Draft, draft_of, greedy, left_by_item
from recommender.place.packing.generate import Generated, generate, near_columns
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
        self._tried = 0
        self._branches = 0
        self._rounds = 0

    def run(self) -> Searched:
        """This will search until the gap is closed or the effort is spent."""
        root = self._solve(())
        plan, self._left = greedy(self._model, self._pool.columns, root.solved.cover)
        self._take(None if self._left.any() else plan)
        self._plan_from(root)
        self._widen(root)
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
                    self._plan_from(child)
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

    def _plan_from(self, generated: Generated) -> None:
        """Dive from a linear programme, then choose among all columns."""
        solved = generated.solved
        self._take(dive(self._model, self._pool, self._knapsack, solved.cover, solved.nodes))
        self._take_integer()

    def _widen(self, root: Generated) -> None:
        """Choose again, with the columns added that a better plan could have."""
        if self._best is None or root.bound >= self._enough():
            return
        gap = self._best.cost - root.bound
        self._pool.extend(
            near_columns(self._model, self._knapsack, root.solved.cover, within=gap, columns=self._effort.near_columns)
        )
        self._take_integer()

    def _take_integer(self) -> None:
        """Solve the integer programme over the columns found, where some are new, and take the plan if it is better."""
        if self._tried == len(self._pool.columns):
            return
        self._tried = len(self._pool.columns)
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
        """The most fractional number of nodes, at most and at least; where all are whole, of pods on an offer."""
        held = np.zeros(self._model.usable.shape)
        offers = np.zeros(len(self._model.offers))
        columns = self._pool.columns[: len(generated.solved.nodes)]
        for column, nodes in zip(columns, generated.solved.nodes.tolist(), strict=True):
            offers[column.offer] += nodes
            for item, count in column.contents:
                held[column.offer, item] += nodes * count
        counted = [(members, None, float(offers[members].sum())) for members in self._sets]
        return _halved(counted) or _halved(
            [(_only(offer, len(offers)), int(item), float(held[offer, item])) for offer, item in np.argwhere(held)]
        )


def _halved(counted: Sequence[tuple[Bools, int | None, float]]) -> tuple[Rows, Rows] | None:
    """Two rows that part the most fractional of the sums; None where all are whole."""
    fractions = [min(total - math.floor(total), math.ceil(total) - total) for _, _, total in counted]
    most = max(fractions, default=0.0)
    if most <= _WHOLE:
        return None
    members, item, total = next(
        one for one, fraction in zip(counted, fractions, strict=True) if fraction >= most - _WHOLE
    )
    weights = tuple(members.astype(float).tolist())
    least = float(math.floor(total))
    return Rows(weights, least, at_most=True, item=item), Rows(weights, least + 1, at_most=False, item=item)


def _only(offer: int, size: int) -> Bools:
    members = np.zeros(size, dtype=bool)
    members[offer] = True
    return members


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
