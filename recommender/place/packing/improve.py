"""Local search on a whole plan: no pod twice, each node as cheap as its contents allow, two nodes merged into one.

Each step keeps the plan whole and within the limits and makes it cheaper, or leaves it as it is.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from recommender.place.packing.columns import Column, column_cost
from recommender.place.packing.draft import Draft, draft_of, open_demand
from recommender.place.packing.items import Model
from recommender.place.packing.knapsack import Floats

_LEAST_GAIN = 1e-9
_MERGED_AT_MOST = 400


def improved(model: Model, draft: Draft) -> Draft:
    """This will return a plan that costs at most as much, in which every pod stands exactly once."""
    nodes = _exact(model, draft)
    room = _Room(model, nodes)
    nodes = [_cheapest(model, room, node) for node in nodes]
    if len(nodes) <= _MERGED_AT_MOST:
        nodes = _merged(model, room, nodes)
    return draft_of(model, list(Counter(nodes).items()), draft.homes)


class _Room:
    """What is left of the limits while nodes are exchanged."""

    def __init__(self, model: Model, nodes: list[Column]) -> None:
        self._weights = np.array([limit.weights for limit in model.limits], dtype=np.float64).reshape(
            len(model.limits), len(model.offers)
        )
        self._left = np.array([limit.bound for limit in model.limits]) - self._uses(nodes)

    def allows(self, out: list[Column], into: list[Column]) -> bool:
        """Whether the limits still hold once some nodes stand for others."""
        return bool((self._uses(into) - self._uses(out) <= self._left + _LEAST_GAIN).all())

    def exchange(self, out: list[Column], into: list[Column]) -> None:
        """Count the exchange."""
        self._left = self._left + self._uses(out) - self._uses(into)

    def _uses(self, nodes: list[Column]) -> Floats:
        total = np.zeros(len(self._weights))
        for node in nodes:
            total = total + self._weights[:, node.offer]
        return total


def _exact(model: Model, draft: Draft) -> list[Column]:
    """The nodes one by one, without pods that already stand elsewhere, the dearest nodes first to be emptied."""
    nodes = [column for column, count in draft.nodes for _ in range(count)]
    over = -open_demand(model, draft.homes)
    for node in nodes:
        for item, held in node.contents:
            over[model.row_of[node.offer, item]] += held
    kept = []
    for node in sorted(nodes, key=lambda one: (-float(model.prices[one.offer]), one.offer, one.contents)):
        contents = []
        for item, held in node.contents:
            row = int(model.row_of[node.offer, item])
            spare = min(held, max(int(over[row]), 0))
            over[row] -= spare
            if held > spare:
                contents.append((item, held - spare))
        kept.append(Column(node.offer, tuple(contents)))
    return [node for node in kept if node.contents]


def _cheapest(model: Model, room: _Room, node: Column) -> Column:
    """The node on the cheapest offer that holds its contents and fills the same cover rows."""
    for offer in _cheaper(model, node.contents, column_cost(model, node)):
        other = Column(offer, node.contents)
        if _rows(model, other) == _rows(model, node) and room.allows([node], [other]):
            room.exchange([node], [other])
            return other
    return node


def _merged(model: Model, room: _Room, nodes: list[Column]) -> list[Column]:
    """The nodes after two at a time were put on one cheaper node, as long as that helps."""
    found = True
    while found:
        found = False
        for first in range(len(nodes)):
            for second in range(first + 1, len(nodes)):
                one = _together(model, room, nodes[first], nodes[second])
                if one is not None:
                    nodes = [*nodes[:first], *nodes[first + 1 : second], *nodes[second + 1 :], one]
                    found = True
                    break
            if found:
                break
    return nodes


def _together(model: Model, room: _Room, first: Column, second: Column) -> Column | None:
    counts = Counter(dict(first.contents))
    counts.update(dict(second.contents))
    contents = tuple(sorted(counts.items()))
    rows = {**_rows(model, first), **_rows(model, second)}
    for offer in _cheaper(model, contents, column_cost(model, first) + column_cost(model, second)):
        other = Column(offer, contents)
        if _rows(model, other) == rows and room.allows([first, second], [other]):
            room.exchange([first, second], [other])
            return other
    return None


def _rows(model: Model, node: Column) -> dict[int, int]:
    return {item: int(model.row_of[node.offer, item]) for item, _ in node.contents}


def _cheaper(model: Model, contents: tuple[tuple[int, int], ...], cost: float) -> list[int]:
    """Offers on which the contents cost less than that, the cheapest first."""
    items = np.array([item for item, _ in contents])
    held = np.array([held for _, held in contents])
    costs = model.prices + model.surcharges[:, items] @ held
    holds = (model.gives >= held @ model.needs[items]).all(axis=1) & model.usable[:, items].all(axis=1)
    offers = np.flatnonzero(holds & (costs < cost - _LEAST_GAIN))
    return [int(offer) for offer in offers[np.lexsort((offers, costs[offers]))]]
