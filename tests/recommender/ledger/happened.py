"""Events of one recommendation for tests: proposed on a Monday at noon, living for a week, unless a test says so."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from recommender.ledger.events import Event, EventKind
from tests.builders import NOON

WEEK = timedelta(days=7)
DAY = timedelta(days=1)


def event(kind: EventKind | str, sequence: int = 1, *, hours: float = 0.0, **changes: Any) -> Event:
    """This will return an event some hours after noon."""
    proposed = {"etag": "e1", "expires_at": NOON + timedelta(hours=hours) + WEEK, "xor_group": "a/b/c/d"}
    values: dict[str, Any] = {
        "recommendation_id": "abc123",
        "sequence": sequence,
        "kind": EventKind(kind),
        "at": NOON + timedelta(hours=hours),
        "author": "ann",
    } | (proposed if kind == EventKind.PROPOSED else {})
    return Event(**values | changes)


def story(*kinds: str, hours_between: float = 1.0, **changes: Any) -> Sequence[Event]:
    """This will return events of the given kinds, an hour after each other; a snooze and a dismissal hold a day."""
    told = []
    for n, kind in enumerate(kinds):
        hours = n * hours_between
        ends = {"until": NOON + timedelta(hours=hours) + DAY} if kind in {"snoozed", "dismissed"} else {}
        told.append(event(kind, n + 1, hours=hours, **ends | changes))
    return told
