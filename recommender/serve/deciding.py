"""The edge to the ledger: what happened to one recommendation, and a decision about it, if nothing changed meanwhile.

The check and the event are one transaction, so that of two people who decide at once one is told of the other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

import structlog

from exporters.core.clock import Clock
from exporters.core.errors import SettingsError
from recommender.advise.capacity_record import advice_of
from recommender.advise.plan import Plan
from recommender.advise.record import State
from recommender.ledger.decide import Decision, next_event, now_standing
from recommender.ledger.events import Event, EventKind
from recommender.ledger.memory import standings_at
from recommender.ledger.standing import IllegalTransitionError, Standing, after, decided_by
from recommender.ledger.store import Ledger, Reader
from recommender.serve.advice_index import Advice
from recommender.settings import LedgerSettings

_log = structlog.get_logger(__name__)

WAIT_SECONDS = 2.0
"""How long a page waits for a ledger that another process has locked."""

KEPT = frozenset({State.DISMISSED, State.SNOOZED, State.ACCEPTED, State.IMPLEMENTED, State.VERIFIED})
"""States in which advice is listed although the plan does not give it any more."""


class ConflictError(Exception):
    """Somebody else was faster, or the decision does not fit.

    Args:
        now: where the recommendation stands.
        why: in a sentence.
    """

    def __init__(self, now: Standing, why: str) -> None:
        super().__init__(why)
        self.now = now
        self.why = why


class NotProposedError(Exception):
    """The ledger does not know the recommendation."""


@dataclass(frozen=True, slots=True)
class Story:
    """What the ledger knows of one recommendation.

    Args:
        events: oldest first; empty: nothing.
        now: where it stands; None: it is not known.
        record: as last proposed.
    """

    events: tuple[Event, ...] = ()
    now: Standing | None = None
    record: Advice | None = None

    @property
    def sequence(self) -> int:
        """The number of the last event; 0: there is none."""
        return self.events[-1].sequence if self.events else 0


class Desk:
    """Reads and decides.

    Args:
        settings: of the ledger, as they are now; None: there is no ledger.
        clock: the time.
    """

    def __init__(self, settings: Callable[[], LedgerSettings] | None, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock

    def story(self, advice_id: str) -> Story:
        """This will read what happened.

        Raises:
            StoreError: the ledger could not be read.
        """
        if self._settings is None:
            return Story()
        with self._ledger().reading() as reader:
            return _story(reader, advice_id, at=self._clock.now())

    def decide(self, advice_id: str, decision: Decision, *, seen: int | None) -> Standing:
        """This will write a decision down.

        Args:
            advice_id: the whole id.
            decision: what was decided.
            seen: the number of the last event that whoever decides knew of; None: whatever happened.

        Raises:
            NotProposedError: the ledger does not know it.
            ConflictError: something happened meanwhile, or the decision does not fit; nothing was written.
            SettingsError: the decision lacks something.
            StoreError: the ledger could not be written.
        """
        if self._settings is None:
            raise NotProposedError
        if decision.until is not None and decision.until <= self._clock.now():
            raise SettingsError(
                f"It would end on {decision.until:%-d %B %Y, %H:%M} UTC, which is not in the future",
                where="until",
                next_step="Give a later time.",
            )
        made: list[Standing] = []

        def events(reader: Reader) -> tuple[Event, ...]:
            at = self._clock.now()
            history = reader.history(advice_id)
            if not history:
                raise NotProposedError
            before = now_standing(history, at=at)
            if seen is not None and before.last.sequence != seen:
                raise ConflictError(before, f"It was changed meanwhile: {_told(before)}.")
            event = next_event(before, decision, at=at)
            try:
                made[:] = [after(before, event)]
            except IllegalTransitionError as error:
                raise ConflictError(before, f"{error.what[:1].upper()}{error.what[1:]}.") from error
            return (event,)

        self._ledger().add(events)
        _log.info("decided", recommendation=advice_id, decision=decision.kind.value, author=decision.author)
        return made[-1]

    def _ledger(self) -> Ledger:
        assert self._settings is not None
        return Ledger.at(self._settings(), lock_wait_seconds=WAIT_SECONDS)


def kept_beside(settings: LedgerSettings, plan: Plan, *, at: datetime) -> tuple[Advice, ...]:
    """This will return advice that was decided or carried out and that the plan does not give any more.

    Raises:
        TuppenceError: the ledger cannot be read.
    """
    given = {one.id for one in plan.recommendations} | {one.id for one in plan.capacity}
    with Ledger.at(settings).reading() as reader:
        standings = standings_at(reader.histories(), at=at)
        wanted = [one for one in standings.values() if one.state in KEPT and one.recommendation_id not in given]
        texts = reader.documents(one.proposal for one in wanted)
    return tuple(
        _as_standing(advice_of(texts[one.recommendation_id, one.proposal.sequence]), one)
        for one in sorted(wanted, key=lambda one: one.since, reverse=True)
    )


def allowed(state: State) -> tuple[EventKind, ...]:
    """This will return what may be decided of advice in a state, in the order of the forms."""
    return _ALLOWED.get(state, ())


_ALLOWED = {
    State.OPEN: (EventKind.ACCEPTED, EventKind.SNOOZED, EventKind.DISMISSED, EventKind.IMPLEMENTED),
    State.ACCEPTED: (EventKind.IMPLEMENTED, EventKind.SNOOZED, EventKind.DISMISSED, EventKind.REOPENED),
    State.SNOOZED: (EventKind.REOPENED, EventKind.SNOOZED, EventKind.DISMISSED),
    State.DISMISSED: (EventKind.REOPENED,),
    State.IMPLEMENTED: (EventKind.REOPENED,),
    State.EXPIRED: (EventKind.IMPLEMENTED,),
    State.SUPERSEDED: (EventKind.IMPLEMENTED,),
}


def _story(reader: Reader, advice_id: str, *, at: datetime) -> Story:
    events = reader.history(advice_id)
    if not events:
        return Story()
    now = now_standing(events, at=at)
    text = reader.documents([now.proposal]).get((advice_id, now.proposal.sequence))
    return Story(events, now, None if text is None else _as_standing(advice_of(text), now))


def _as_standing(record: Advice, now: Standing) -> Advice:
    return record.model_copy(update={"state": now.state, "proposed_at": now.opened_at})


def _told(now: Standing) -> str:
    decided = now.state in KEPT
    return decided_by(now) if decided else f"it is {now.state.value} since {now.since:%-d %B %Y, %H:%M} UTC"
