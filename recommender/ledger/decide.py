"""What a person decides about a recommendation becomes an event, if it fits the state that the advice is in."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from exporters.core.errors import SettingsError
from recommender.ledger.events import Event, EventKind
from recommender.ledger.standing import Standing, after, standing
from recommender.ledger.store import Histories, Ledger


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision, not yet checked against the state.

    Args:
        kind: accepted, dismissed, snoozed, reopened or implemented.
        author: who decides.
        reason: why; a dismissal must have one.
        until: how long a snooze or a dismissal holds; a snooze must have one.
        happened_at: when the move was made; None: now.
        evidence: of a move: who or what applied it (feedback.Evidence), as JSON; None: nobody said.
    """

    kind: EventKind
    author: str
    reason: str = ""
    until: datetime | None = None
    happened_at: datetime | None = None
    evidence: str | None = None


def decide(ledger: Ledger, prefix: str, decision: Decision, *, at: datetime) -> Standing:
    """This will write a decision down and return where the recommendation stands now.

    Args:
        ledger: where.
        prefix: the recommendation's id, or the beginning of it that no other has.
        decision: what was decided.
        at: now.

    Raises:
        SettingsError: no or several ids begin like that, or the decision lacks something.
        IllegalTransitionError: it does not fit the state; nothing was written.
        StoreError: the ledger could not be written.
    """
    made: list[Standing] = []

    def events(histories: Histories) -> tuple[Event, ...]:
        identifier = identified(histories, prefix)
        before = now_standing(histories[identifier], at=at)
        event = next_event(before, decision, at=at)
        made[:] = [after(before, event)]
        return (event,)

    ledger.add(lambda reader: events(reader.histories()))
    return made[-1]


def next_event(before: Standing, decision: Decision, *, at: datetime) -> Event:
    """This will turn a decision into the event that follows the last one.

    Raises:
        SettingsError: a reason or a time is missing, or a time is not where it must be.
    """
    moment = max(at, before.last.at)
    _check(decision, before, at=moment)
    return Event(
        recommendation_id=before.recommendation_id,
        sequence=before.last.sequence + 1,
        kind=decision.kind,
        at=moment,
        author=decision.author,
        reason=decision.reason,
        until=decision.until,
        happened_at=(decision.happened_at or moment) if decision.kind is EventKind.IMPLEMENTED else None,
        document=decision.evidence if decision.kind is EventKind.IMPLEMENTED else None,
    )


def now_standing(events: tuple[Event, ...], *, at: datetime) -> Standing:
    """This will return the state after all events, also if another machine's clock is ahead of this one's."""
    found = standing(events, at=max(at, events[-1].at))
    assert found is not None, "a history holds at least its first event"
    return found


def identified(histories: Histories, prefix: str) -> str:
    """This will return the only id that begins like that; a whole id is never ambiguous.

    Raises:
        SettingsError: there is none, or there are several.
    """
    if prefix in histories:
        return prefix
    found = sorted(one for one in histories if prefix and one.startswith(prefix))
    if len(found) == 1:
        return found[0]
    several = f"{len(found)} recommendations begin with that: {', '.join(found[:5])}"
    what = several if found else "there is no such recommendation"
    raise SettingsError(
        what, where=f"id {prefix!r}", next_step="Give more of the id; tuppence list shows those that are known."
    )


def _check(decision: Decision, before: Standing, *, at: datetime) -> None:
    where = f"recommendation {before.recommendation_id}"
    if not decision.author.strip():
        raise SettingsError("nobody is named who decides", where=where, next_step="Give --author, or set $USER.")
    if decision.kind is EventKind.DISMISSED and not decision.reason.strip():
        raise SettingsError("a dismissal needs a reason", where=where, next_step="Give one with --reason.")
    if decision.kind is EventKind.SNOOZED and decision.until is None:
        raise SettingsError("a snooze needs an end", where=where, next_step="Give one with --until.")
    if decision.until is not None and decision.until <= at:
        raise SettingsError(
            f"--until is {decision.until:%Y-%m-%d %H:%M} UTC, which is not in the future",
            where=where,
            next_step="Give a later time.",
        )
    if decision.happened_at is not None and not before.opened_at <= decision.happened_at <= at:
        raise SettingsError(
            f"a move at {decision.happened_at:%Y-%m-%d %H:%M} UTC was not made on this advice of "
            f"{before.opened_at:%Y-%m-%d %H:%M} UTC, or has not been made yet",
            where=where,
            next_step="Give the time of the move with --at, or leave it out for now.",
        )
