"""What happened to advice in a week: the ledger's events become one line each. Pure; the ledger is read by the caller.

New is what began a life in the week; advice that is proposed again while it lives is not new. What nobody renewed or
decided expires by time alone, without an event, and is told all the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from recommender.advise.record import State
from recommender.ledger.events import Event, EventKind
from recommender.ledger.standing import Standing, standing
from recommender.ledger.store import Histories


class Happened(StrEnum):
    """What can happen to advice in a week, in the order of the report."""

    NEW = "new"
    ACCEPTED = "accepted"
    IMPLEMENTED = "implemented"
    VERIFIED = "verified"
    DISMISSED = "dismissed"
    SNOOZED = "snoozed"
    REOPENED = "reopened"
    EXPIRED = "expired"
    SUPERSEDED = "superseded"


@dataclass(frozen=True, slots=True)
class WeekEvent:
    """One thing that happened.

    Args:
        recommendation_id: to which advice.
        what: the word.
        at: when (UTC).
        author: who.
        reason: why, in the author's words.
        until: of dismissals and snoozes; None: for good, or it is neither.
        proposal: the event whose document says what the advice was.
    """

    recommendation_id: str
    what: Happened
    at: datetime
    author: str
    reason: str
    until: datetime | None
    proposal: Event


def week_events(histories: Histories, *, since: datetime, until: datetime) -> tuple[WeekEvent, ...]:
    """This will return what happened from one moment to before another, by kind, then time.

    Args:
        histories: all events, those of each recommendation in their order.
        since: the first moment (UTC).
        until: the moment after the last (UTC).
    """
    order = list(Happened)
    found = (one for events in histories.values() for one in _of(events, since, until))
    return tuple(sorted(found, key=lambda one: (order.index(one.what), one.at, one.recommendation_id)))


def _of(events: Sequence[Event], since: datetime, until: datetime) -> Iterator[WeekEvent]:
    now = standing(events, at=until)
    if now is None:
        return
    if since <= now.opened_at < until:
        opened = next(one for one in events if one.at == now.opened_at)
        yield _line(opened, Happened.NEW, now.proposal)
    proposal = events[0]
    for event in events:
        if event.at >= until:
            break
        if event.kind is EventKind.PROPOSED:
            proposal = event
        elif event.at >= since:
            yield _line(event, Happened(event.kind.value), proposal)
    yield from _lapsed(now, since, until)


def _lapsed(now: Standing, since: datetime, until: datetime) -> Iterator[WeekEvent]:
    if now.state is State.EXPIRED and now.last.kind is not EventKind.EXPIRED and since <= now.since < until:
        yield WeekEvent(now.recommendation_id, Happened.EXPIRED, now.since, "", now.reason, None, now.proposal)


def _line(event: Event, what: Happened, proposal: Event) -> WeekEvent:
    return WeekEvent(event.recommendation_id, what, event.at, event.author, event.reason, event.until, proposal)
