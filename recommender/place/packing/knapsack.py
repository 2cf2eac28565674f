"""The best contents of one node at given values of its items: an exact integer knapsack in three dimensions.

Partial packings are extended item by item, the most decided item first. A partial packing is given up as soon as its
Lagrangian bound (value so far + price of what is left of the node + what the later items earn beyond that price; any
prices give a bound, those of the linear relaxation the sharpest: Fisher 1981) cannot beat the best packing known. Where
too many stay open, the branch and cut of HiGHS packs the node instead.
"""

from __future__ import annotations

from dataclasses import dataclass

import highspy
import numpy as np
import numpy.typing as npt

from recommender.place.packing.highs import quiet_solver
from recommender.place.packing.items import Ints
from recommender.place.packing.node_programme import packed_by_integer_programme
from recommender.place.packing.problem import Effort

Floats = npt.NDArray[np.float64]
_EPSILON = 1e-9
_KEPT = 4


@dataclass(frozen=True, slots=True)
class Packed:
    """What a node is worth at most, and packings above the threshold.

    Args:
        at_most: no packing is worth more; exact unless the search was cut off.
        patterns: count of each item, best first.
    """

    at_most: float
    patterns: tuple[Ints, ...]


class Knapsack:
    """Packs nodes with items of fixed needs; values change from call to call.

    Args:
        needs: items × 3.
        effort: partial packings and branch-and-bound nodes for one node.
    """

    def __init__(self, needs: Ints, effort: Effort) -> None:
        self._needs = needs
        self._effort = effort
        self._relaxation = _Relaxation(needs)

    def best(self, values: Floats, counts: Ints, gives: Ints, *, threshold: float, exact: bool) -> Packed:
        """This will find packings worth more than the threshold, or prove that there is none.

        Args:
            values: of one pod of each item.
            counts: most pods of each item; 0 where the node may not hold it.
            gives: what the node holds (3).
            threshold: packings worth less are of no interest.
            exact: whether to go on where partial packings are too many; else `at_most` is then a bound only.
        """
        most = self._most(values, counts, gives)
        wanted = np.flatnonzero(most > 0)
        if threshold < 0 and wanted.size == 0:
            return Packed(0.0, (np.zeros_like(counts),))
        if float(values[wanted] @ most[wanted]) <= threshold + _EPSILON:
            return Packed(max(threshold, 0.0), ())
        relaxed, prices = self._relaxation.solve(values, most, gives)
        if relaxed <= threshold + _EPSILON:
            return Packed(max(relaxed, 0.0), ())
        order = self._order(wanted, values, most, prices)
        first = self._filled(order, prices, values, most, gives)
        floor = max(threshold, float(values @ first))
        found, beyond = self._search(order, values, most, gives, prices=prices, floor=floor)
        worth = [(float(values @ one), one) for one in (first, *found)]
        worth.sort(key=lambda one: -one[0])
        if exact and beyond > max(threshold, worth[0][0]):
            pattern, bound = packed_by_integer_programme(
                self._needs, values, most, gives, nodes=self._effort.node_nodes
            )
            worth.insert(0, (float(values @ pattern), pattern))
            worth.sort(key=lambda one: -one[0])
            beyond = min(beyond, bound)
        patterns = tuple(one for value, one in worth if value > threshold + _EPSILON)
        return Packed(max(threshold, worth[0][0], beyond), patterns)

    def near(self, values: Floats, counts: Ints, gives: Ints, *, threshold: float, patterns: int) -> list[Ints]:
        """This will return the best packings worth more than the threshold, at most so many; not always all of them.

        Args:
            values: of one pod of each item.
            counts: most pods of each item; 0 where the node may not hold it.
            gives: what the node holds (3).
            threshold: packings worth less are of no interest.
            patterns: how many packings at most.
        """
        most = self._most(values, counts, gives)
        wanted = np.flatnonzero(most > 0)
        if wanted.size == 0:
            return []
        relaxed, prices = self._relaxation.solve(values, most, gives)
        if relaxed <= threshold:
            return []
        order = self._order(wanted, values, most, prices)
        found, _ = self._search(order, values, most, gives, prices=prices, floor=threshold, kept=patterns)
        return [one for one in found if float(values @ one) > threshold]

    def _most(self, values: Floats, counts: Ints, gives: Ints) -> Ints:
        room = np.min(np.where(self._needs > 0, gives // np.maximum(self._needs, 1), counts[:, None]), axis=1)
        return np.where(values > _EPSILON, np.minimum(room, counts), 0)

    def _order(self, wanted: Ints, values: Floats, most: Ints, prices: Floats) -> Ints:
        """The most decided item first: the one that gains or loses most beside the price of its room."""
        profit = values[wanted] - self._needs[wanted] @ prices
        return wanted[np.lexsort((wanted, -np.abs(profit) * most[wanted]))]

    def _search(
        self,
        order: Ints,
        values: Floats,
        most: Ints,
        gives: Ints,
        *,
        prices: Floats,
        floor: float,
        kept: int | None = None,
    ) -> tuple[list[Ints], float]:
        """The best packings worth at least the floor, and what a packing that was given up could be worth.

        Without a number to keep, the floor rises to the best packing found, and a few of the best are returned.
        """
        needs = self._needs[order]
        gain = np.maximum(values[order] - needs @ prices, 0.0) * most[order]
        later = np.concatenate([np.cumsum(gain[::-1])[::-1][1:], [0.0]])
        labels = self._effort.labels
        left, worth = gives[None, :].astype(np.int64), np.zeros(1)
        trail: list[tuple[Ints, Ints]] = []
        beyond = 0.0
        for stage, item in enumerate(order.tolist()):
            left, worth, parent, taken = _extended(left, worth, needs[stage], float(values[item]), int(most[item]))
            if kept is None:
                floor = max(floor, float(worth.max(initial=0.0)))
            bound = worth + left @ prices + later[stage]
            still = np.flatnonzero(bound > floor - _EPSILON)
            if still.size > labels:
                ranked = still[np.lexsort((still, -bound[still]))]
                beyond = max(beyond, float(bound[ranked[labels]]))
                still = np.sort(ranked[:labels])
            left, worth = left[still], worth[still]
            trail.append((parent[still], taken[still]))
        ends = np.lexsort((np.arange(worth.size), -worth))[: kept or _KEPT].tolist()
        return [_contents(trail, order, end, most.size) for end in ends], beyond

    def _filled(self, order: Ints, prices: Floats, values: Floats, most: Ints, gives: Ints) -> Ints:
        """A good packing by taking items in the order of what they earn beyond the price of the room they take."""
        rank = np.lexsort((order, self._needs[order] @ prices / values[order]))
        left = gives.copy()
        contents = np.zeros_like(most)
        for item in order[rank].tolist():
            need = self._needs[item]
            asks = need > 0
            fits = int(np.min(left[asks] // need[asks])) if asks.any() else int(most[item])
            contents[item] = min(fits, int(most[item]))
            left = left - contents[item] * need
        return contents


class _Relaxation:
    """The linear relaxation, kept between calls so that each solve starts from the last basis."""

    def __init__(self, needs: Ints) -> None:
        self._needs = needs
        self._size = len(needs)
        self._scale = np.maximum(needs.max(axis=0, initial=1), 1).astype(np.float64)
        self._solver = quiet_solver()
        self._solver.setOptionValue("presolve", "off")
        rows = [0, 1, 2]
        for _ in rows:
            self._solver.addRow(-highspy.kHighsInf, 0.0, 0, np.array([], dtype=np.int32), np.array([]))
        for need in needs / self._scale:
            self._solver.addCol(0.0, 0.0, 0.0, 3, np.array(rows, dtype=np.int32), need)
        self._solver.changeObjectiveSense(highspy.ObjSense.kMaximize)
        self._columns = np.arange(self._size, dtype=np.int32)

    def solve(self, values: Floats, most: Ints, gives: Ints) -> tuple[float, Floats]:
        """This will return the bound of the relaxation and the price of each resource, recomputed from the prices."""
        solver = self._solver
        solver.changeColsCost(self._size, self._columns, np.maximum(values, 0.0))
        solver.changeColsBounds(self._size, self._columns, np.zeros(self._size), most.astype(np.float64))
        for row in range(3):
            solver.changeRowBounds(row, -highspy.kHighsInf, float(gives[row] / self._scale[row]))
        solver.run()
        prices = np.abs(np.array(solver.getSolution().row_dual)) / self._scale
        return self._bound(values, most, gives, prices), prices

    def _bound(self, values: Floats, most: Ints, gives: Ints, prices: Floats) -> float:
        return float(gives @ prices + np.maximum(values - self._needs @ prices, 0.0) @ most)


def _extended(left: Ints, worth: Floats, need: Ints, value: float, most: int) -> tuple[Ints, Floats, Ints, Ints]:
    """Every partial packing with 0, 1, … pods of one more item, as far as they fit."""
    asks = need > 0
    fits = np.min(left[:, asks] // need[asks], axis=1) if asks.any() else np.full(len(left), most)
    fits = np.minimum(fits, most)
    parent = np.repeat(np.arange(len(left)), fits + 1)
    starts = np.cumsum(fits + 1) - (fits + 1)
    taken = np.arange(parent.size) - starts[parent]
    return left[parent] - taken[:, None] * need, worth[parent] + taken * value, parent, taken


def _contents(trail: list[tuple[Ints, Ints]], order: Ints, end: int, items: int) -> Ints:
    contents = np.zeros(items, dtype=np.int64)
    for stage in range(len(trail) - 1, -1, -1):
        parent, taken = trail[stage]
        contents[order[stage]] = taken[end]
        end = int(parent[end])
    return contents
