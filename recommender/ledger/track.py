"""The ledger's record in a few figures: how much was decided, taken and measured. What a roll-out is judged by."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from recommender.advise.assess_gates import Track
from recommender.ledger.events import SCHEDULER, TUPPENCE, Event, EventKind
from recommender.ledger.measurement import Outcome, Realised, Savings
from recommender.ledger.store import Histories

_TAKEN = {EventKind.ACCEPTED, EventKind.IMPLEMENTED}
_DECISIONS = _TAKEN | {EventKind.DISMISSED, EventKind.REOPENED}


def track_of(histories: Histories, measured: Iterable[Realised], *, at: datetime) -> Track:
    """This will sum up what the ledger knew at a moment.

    Of each recommendation the last decision counts, whether it lives or not; who reopened it has not decided.

    Args:
        histories: all events.
        measured: what was verified by then.
        at: the moment (UTC); later events are not looked at.
    """
    told = [[event for event in events if event.at <= at] for events in histories.values()]
    last = [decided[-1].kind for events in told if (decided := _decisions(events))]
    verified = [one for one in measured if one.outcome is Outcome.MEASURED]
    savings = Savings.of(verified)
    evaluated = [event.at for events in told for event in events if event.author == TUPPENCE]
    return Track(
        first_evaluated_at=min(evaluated, default=None),
        decided=sum(kind is not EventKind.REOPENED for kind in last),
        taken=sum(kind in _TAKEN for kind in last),
        verified=len(verified),
        realised_gbp=savings.realised_gbp,
        predicted_gbp=savings.predicted_gbp,
        scheduler_moves=sum(_by_scheduler(events) for events in told),
    )


def _decisions(events: Sequence[Event]) -> list[Event]:
    return [event for event in events if event.kind in _DECISIONS]


def _by_scheduler(events: Sequence[Event]) -> int:
    return sum(event.kind is EventKind.IMPLEMENTED and event.author == SCHEDULER for event in events)
