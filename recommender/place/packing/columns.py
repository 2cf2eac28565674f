"""The columns of the master problem: one node of one offer and what it holds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from recommender.place.packing.items import Ints, Model, Rows


@dataclass(frozen=True, slots=True)
class Column:
    """One node and its contents.

    Args:
        offer: number of the offer in the model.
        contents: item and how many pods of it, in the order of items.
    """

    offer: int
    contents: tuple[tuple[int, int], ...]


def column_cost(model: Model, column: Column) -> float:
    """This will return what a node and its contents cost, £/h."""
    extra = sum(float(model.surcharges[column.offer, item]) * held for item, held in column.contents)
    return float(model.prices[column.offer]) + extra


def row_sum(row: Rows, column: Column) -> float:
    """This will return what a node adds to a limit or branching row."""
    weight = row.weights[column.offer]
    return weight if row.item is None else weight * dict(column.contents).get(row.item, 0)


class ColumnPool:
    """All columns found so far, each once, in the order in which they were found."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._known: set[Column] = set()
        self.columns: list[Column] = []

    def add(self, offer: int, contents: Ints) -> None:
        """This will take in a node of an offer with a count of each item."""
        filled = np.flatnonzero(contents)
        column = Column(offer, tuple(zip(filled.tolist(), contents[filled].tolist(), strict=True)))
        self.add_column(column)

    def add_column(self, column: Column) -> None:
        """This will take in a column; one that is known stays where it is."""
        if column not in self._known:
            self._known.add(column)
            self.columns.append(column)

    def extend(self, found: Iterable[tuple[int, Ints]]) -> bool:
        """This will take in several offers with their contents, and tell whether one of them was new."""
        before = len(self.columns)
        for offer, contents in found:
            self.add(offer, contents)
        return len(self.columns) > before

    def start(self) -> None:
        """This will add, for each item, the cheapest node per pod that holds only that item, for each cluster."""
        model = self._model
        for item, count in enumerate(model.counts.tolist()):
            best: dict[int, tuple[float, int, int]] = {}
            for offer in np.flatnonzero(model.usable[:, item]).tolist():
                asks = model.needs[item] > 0
                room = int(np.min(model.gives[offer][asks] // model.needs[item][asks])) if asks.any() else count
                held = min(count, room)
                row = int(model.row_of[offer, item])
                best[row] = min(
                    best.get(row, (np.inf, 0, 0)),
                    (float(model.prices[offer] / held + model.surcharges[offer, item]), offer, held),
                )
            for _, offer, held in best.values():
                contents = np.zeros_like(model.counts)
                contents[item] = held
                self.add(offer, contents)

    def rows(self, column: Column) -> Iterable[tuple[int, int]]:
        """This will give the cover rows that a column fills, and by how much."""
        return ((int(self._model.row_of[column.offer, item]), held) for item, held in column.contents)
