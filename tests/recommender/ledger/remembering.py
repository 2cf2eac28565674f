"""Evaluations of the small fleet of tests/recommender/world.py with a real ledger on both sides of them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from recommender.advise.plan import Plan
from recommender.advise.record import Recommendation
from recommender.ledger.memory import memory_of, standings_at
from recommender.ledger.merge import Merged, merge
from recommender.ledger.preconditions import live_proposals
from recommender.ledger.standing import Standing
from recommender.ledger.store import Ledger, Reader
from tests.builders import NOON
from tests.recommender.world import GENERAL, METAL, plan, pools

WINDOW = timedelta(days=7)


def evaluated(ledger: Ledger, *rows: dict[str, Any], at: datetime = NOON, **changes: Any) -> Plan:
    """This will evaluate workloads on the on-demand pool and the owned one, unless changed, and write it down."""
    with ledger.reading() as reader:
        memory = memory_of(reader, at=at)
    inputs: dict[str, Any] = {"pools": pools(GENERAL, METAL), "usage_window": (at - WINDOW, at)} | changes
    start = inputs["usage_window"][0]
    made = plan(*rows, at=at, moves=memory.moves, holds=memory.holds(usage_start=start), **inputs)
    merged: list[Merged] = []

    def write(reader: Reader) -> Any:
        histories = reader.histories()
        merged[:] = [merge(made, histories, at=at, before=live_proposals(reader, histories, at=at))]
        return merged[0].events

    ledger.add(write)
    return merged[0].plan


def only(made: Plan) -> Recommendation:
    """This will return the one recommendation of a plan."""
    [one] = made.recommendations
    return one


def standing_of(ledger: Ledger, identifier: str, *, at: datetime) -> Standing:
    """This will return where a recommendation stands."""
    with ledger.reading() as reader:
        return standings_at(reader.histories(), at=at)[identifier]


def kinds(ledger: Ledger, identifier: str) -> list[str]:
    """This will return what happened to a recommendation."""
    with ledger.reading() as reader:
        return [event.kind.value for event in reader.histories()[identifier]]
