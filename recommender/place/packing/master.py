"""The master problem: how many nodes of each column, at least cost, so that every pod has a room.

Rows: one cover row for each item (for each cluster where the item's gang may go), one for each gang, one for each
limit and branching row. Columns: nodes; for each gang and cluster the choice of that cluster; for each item and gang
the choice to leave it out, at a price above that of any plan; the like for each branching row that asks for at least
some nodes, so that there is always a solution.
"""

from __future__ import annotations

from dataclasses import dataclass

import highspy
import numpy as np

from recommender.place.packing.columns import ColumnPool, column_cost, row_sum
from recommender.place.packing.highs import quiet_solver
from recommender.place.packing.items import Model, Rows
from recommender.place.packing.knapsack import Floats

_INFINITY = highspy.kHighsInf
_LEFT_OUT = 1e-6


@dataclass(frozen=True, slots=True)
class Solved:
    """A solution of the linear programme.

    Args:
        value: £/h, with what leaving pods out is priced at.
        cover: dual price of each cover row, never negative.
        bounds: dual price of each limit and branching row: never positive where at most, never negative else.
        nodes: how many of each column.
        left_out: whether something has no room.
    """

    value: float
    cover: Floats
    bounds: Floats
    nodes: Floats
    left_out: bool


@dataclass(frozen=True, slots=True)
class Chosen:
    """A solution of the integer programme over the columns known.

    Args:
        nodes: column and how many of it, in the order of columns.
        homes: for each gang, the number of its cluster; None: left out.
        left_out: pods without room, for each cover row; the cover rows of a gang left out count too.
    """

    nodes: tuple[tuple[int, int], ...]
    homes: tuple[int | None, ...]
    left_out: tuple[int, ...]


class Master:
    """The master problem under some branching rows; columns are added as they are found.

    Args:
        model: the question.
        pool: the columns.
        rows: limits, then branching rows.
    """

    def __init__(self, model: Model, pool: ColumnPool, rows: tuple[Rows, ...]) -> None:
        self._model = model
        self._pool = pool
        self._rows = rows
        self._covers = len(model.demand)
        self._first_bound = self._covers + len(model.gangs)
        self._solver = quiet_solver()
        self._added = 0
        self._build_rows()
        self._build_choices()
        self.add_columns()

    def add_columns(self) -> None:
        """This will take in the columns that the pool has gained."""
        for column in self._pool.columns[self._added :]:
            entries = [(row, float(held)) for row, held in self._pool.rows(column)]
            sums = ((self._first_bound + at, row_sum(row, column)) for at, row in enumerate(self._rows))
            entries += [(at, value) for at, value in sums if value]
            most = _INFINITY if self._model.usable[column.offer].any() else 0.0
            self._add(column_cost(self._model, column), entries, most=most)
        self._added = len(self._pool.columns)

    def solve(self) -> Solved:
        """This will solve the linear programme from the last basis."""
        self._solver.run()
        solution = self._solver.getSolution()
        values = np.array(solution.col_value)
        duals = np.array(solution.row_dual)
        bounds = duals[self._first_bound :]
        at_most = np.array([row.at_most for row in self._rows], dtype=bool)
        return Solved(
            value=self._solver.getObjectiveValue(),
            cover=np.maximum(duals[: self._covers], 0.0),
            bounds=np.where(at_most, np.minimum(bounds, 0.0), np.maximum(bounds, 0.0)),
            nodes=values[self._choices :],
            left_out=bool((values[self._leaving] > _LEFT_OUT).any()),
        )

    def solve_integer(self, *, nodes: int, gap_ratio: float) -> Chosen | None:
        """This will solve the integer programme over the columns known; None where the search found no plan.

        Args:
            nodes: most branch-and-bound nodes.
            gap_ratio: stop within this of the best over these columns.
        """
        solver = self._solver
        columns = self._choices + self._added
        every = np.arange(columns, dtype=np.int32)
        solver.changeColsIntegrality(columns, every, np.array([highspy.HighsVarType.kInteger] * columns))
        solver.setOptionValue("mip_max_nodes", nodes)
        solver.setOptionValue("mip_rel_gap", gap_ratio)
        solver.run()
        found = solver.getInfo().primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
        values = np.rint(np.array(solver.getSolution().col_value)).astype(int) if found else None
        solver.changeColsIntegrality(columns, every, np.array([highspy.HighsVarType.kContinuous] * columns))
        return None if values is None else self._chosen(values.tolist())

    def _chosen(self, values: list[int]) -> Chosen:
        homes: list[int | None] = []
        at = self._covers
        left_out = values[: self._covers]
        for gang in self._model.gangs:
            picked = [number for number in range(len(gang)) if values[at + number]]
            homes.append(picked[0] if picked else None)
            if not picked:
                for row in gang[0][1]:
                    left_out[row] = int(self._model.demand[row])
            at += len(gang) + 1
        nodes = tuple((column, count) for column, count in enumerate(values[self._choices :]) if count > 0)
        return Chosen(nodes, tuple(homes), tuple(left_out))

    def _build_rows(self) -> None:
        gang_rows = {row for gang in self._model.gangs for _, rows in gang for row in rows}
        for row, demand in enumerate(self._model.demand.tolist()):
            self._row(0.0 if row in gang_rows else float(demand), _INFINITY)
        for _ in self._model.gangs:
            self._row(1.0, _INFINITY)
        for extra in self._rows:
            low, high = (-_INFINITY, extra.bound) if extra.at_most else (extra.bound, _INFINITY)
            self._row(low, high)

    def _build_choices(self) -> None:
        penalty = left_out_price(self._model)
        self._leaving = list(range(self._covers))
        for row in range(self._covers):
            self._add(penalty, [(row, 1.0)])
        at = self._covers
        for gang, homes in enumerate(self._model.gangs):
            for _, rows in homes:
                entries = [(row, -float(self._model.demand[row])) for row in rows]
                self._add(0.0, [*entries, (self._covers + gang, 1.0)])
            members = sum(int(self._model.demand[row]) for row in homes[0][1])
            self._add(penalty * members, [(self._covers + gang, 1.0)])
            at += len(homes) + 1
            self._leaving.append(at - 1)
        for number, extra in enumerate(self._rows):
            if not extra.at_most:
                self._add(2 * penalty, [(self._first_bound + number, 1.0)])
                at += 1
        self._choices = at

    def _row(self, low: float, high: float) -> None:
        self._solver.addRow(low, high, 0, np.array([], dtype=np.int32), np.array([]))

    def _add(self, cost: float, entries: list[tuple[int, float]], *, most: float = _INFINITY) -> None:
        rows = np.array([row for row, _ in entries], dtype=np.int32)
        self._solver.addCol(cost, 0.0, most, len(entries), rows, np.array([value for _, value in entries]))


def left_out_price(model: Model) -> float:
    """This will return the price of leaving one pod out: more than any plan that gives each pod its own node."""
    dearest = np.where(model.usable, model.prices[:, None] + model.surcharges, 0.0).max(axis=0, initial=0.0)
    return 1.0 + float(dearest @ model.counts)
