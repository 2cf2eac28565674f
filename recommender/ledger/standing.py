"""Events become a state: where each recommendation is in its life at a moment. Pure; the clock is an argument.

    proposed ─→ open ─→ accepted ─→ implemented ─→ verified
                 │ ↖ reopened, or its time is over
                 ├─→ dismissed, snoozed
                 └─→ expired, superseded ─→ open again when it is proposed again

Time alone moves a state too: a snooze and a dismissal end at their `until`, and advice that nobody renewed expires.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from exporters.core.errors import SettingsError
from recommender.advise.record import State
from recommender.ledger.events import Event, EventKind

_LIVE = frozenset({State.OPEN, State.ACCEPTED})
_FROM: Mapping[EventKind, frozenset[State]] = {
    EventKind.PROPOSED: _LIVE | {State.EXPIRED, State.SUPERSEDED, State.IMPLEMENTED, State.VERIFIED},
    EventKind.ACCEPTED: frozenset({State.OPEN}),
    EventKind.DISMISSED: _LIVE | {State.SNOOZED},
    EventKind.SNOOZED: _LIVE | {State.SNOOZED},
    EventKind.REOPENED: frozenset({State.ACCEPTED, State.DISMISSED, State.SNOOZED, State.IMPLEMENTED}),
    EventKind.IMPLEMENTED: _LIVE | {State.EXPIRED, State.SUPERSEDED},
    EventKind.VERIFIED: frozenset({State.IMPLEMENTED}),
    EventKind.EXPIRED: _LIVE,
    EventKind.SUPERSEDED: _LIVE,
}
"""The states that an event may happen in. Who carried out advice that had expired has carried it out all the same."""
_TO: Mapping[EventKind, State] = {
    EventKind.PROPOSED: State.OPEN,
    EventKind.ACCEPTED: State.ACCEPTED,
    EventKind.DISMISSED: State.DISMISSED,
    EventKind.SNOOZED: State.SNOOZED,
    EventKind.REOPENED: State.OPEN,
    EventKind.IMPLEMENTED: State.IMPLEMENTED,
    EventKind.VERIFIED: State.VERIFIED,
    EventKind.EXPIRED: State.EXPIRED,
    EventKind.SUPERSEDED: State.SUPERSEDED,
}


class IllegalTransitionError(SettingsError):
    """A decision does not fit the state that the recommendation is in."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a recommendation is in its life.

    Args:
        recommendation_id: whose.
        state: the state.
        since: when it came into it.
        author: who brought it there.
        reason: why.
        until: how long a snooze or a dismissal holds; None: for good, or it is neither.
        opened_at: when it was first proposed in this life; advice that comes back after its end begins a new one.
        proposal: the last `proposed`.
        implemented_at: when the move was made; None: it was not.
        successor_id: the advice that took its place.
        last: the last event.
    """

    recommendation_id: str
    state: State
    since: datetime
    author: str
    reason: str
    until: datetime | None
    opened_at: datetime
    proposal: Event
    implemented_at: datetime | None
    successor_id: str | None
    last: Event

    @property
    def is_live(self) -> bool:
        """Whether it waits for somebody: open or accepted."""
        return self.state in _LIVE


def standing(events: Iterable[Event], *, at: datetime) -> Standing | None:
    """This will fold the events of one recommendation, in their order, into its state at a moment.

    Args:
        events: by sequence; those written after `at` are left out.
        at: the moment (UTC).

    Returns:
        None: nothing had happened by then.

    Raises:
        IllegalTransitionError: an event does not fit the state before it.
    """
    current: Standing | None = None
    for event in events:
        if event.at > at:
            break
        current = after(current, event)
    return None if current is None else lapsed(current, at=at)


def after(current: Standing | None, event: Event) -> Standing:
    """This will return the state after one more event.

    Raises:
        IllegalTransitionError: the event does not fit the state.
    """
    if current is None:
        if event.kind is not EventKind.PROPOSED:
            raise _refused(event, None)
        return _opened(event)
    now = lapsed(current, at=event.at)
    if now.state not in _FROM[event.kind]:
        raise _refused(event, now)
    if event.kind is EventKind.PROPOSED:
        return replace(now, proposal=event, last=event) if now.is_live else _opened(event)
    return replace(
        now,
        state=_TO[event.kind],
        since=event.at,
        author=event.author,
        reason=event.reason,
        until=event.until,
        implemented_at=_implemented_at(now, event),
        successor_id=event.successor_id,
        last=event,
    )


def lapsed(current: Standing, *, at: datetime) -> Standing:
    """This will return what time alone has made of a state by a moment."""
    now = current
    if now.until is not None and now.until <= at and now.state in {State.DISMISSED, State.SNOOZED}:
        now = replace(now, state=State.OPEN, since=now.until, until=None, reason="")
    expires_at = now.proposal.expires_at
    if now.is_live and expires_at is not None and expires_at <= at:
        now = replace(now, state=State.EXPIRED, since=max(expires_at, now.since), reason="nobody renewed or decided it")
    return now


def decided_by(now: Standing) -> str:
    """This will say in a sentence who decided, when, for how long and why."""
    end = "" if now.until is None else f" until {now.until:%-d %B %Y}"
    reason = f": {now.reason}" if now.reason else ""
    return f"{now.author} {now.state.value} it on {now.since:%-d %B %Y}{end}{reason}"


def _opened(event: Event) -> Standing:
    return Standing(
        recommendation_id=event.recommendation_id,
        state=State.OPEN,
        since=event.at,
        author=event.author,
        reason=event.reason,
        until=None,
        opened_at=event.at,
        proposal=event,
        implemented_at=None,
        successor_id=None,
        last=event,
    )


def _implemented_at(now: Standing, event: Event) -> datetime | None:
    if event.kind is EventKind.IMPLEMENTED:
        return event.happened_at or event.at
    return None if event.kind is EventKind.REOPENED else now.implemented_at


def _refused(event: Event, now: Standing | None) -> IllegalTransitionError:
    state = "was never proposed" if now is None else f"is {now.state.value}"
    fits = ", ".join(sorted(one.value for one in _FROM[event.kind]))
    return IllegalTransitionError(
        f"it {state}, and only advice that is {fits} can be {event.kind.value}",
        where=f"recommendation {event.recommendation_id}",
        next_step=f"See where it stands: tuppence list --state {now.state.value}."
        if now is not None
        else "Run tuppence recommend, which proposes.",
    )
