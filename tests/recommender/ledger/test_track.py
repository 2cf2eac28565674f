"""The ledger's record: what was decided, taken, measured and moved by schedulers by a moment."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

from recommender.advise.assess_gates import Track
from recommender.ledger.events import SCHEDULER, TUPPENCE, Event
from recommender.ledger.measurement import Outcome, Realised
from recommender.ledger.track import track_of
from tests.builders import NOON
from tests.recommender.ledger.happened import event, story

DAY = timedelta(days=1)


def histories(**told: list[Event]) -> dict[str, tuple[Event, ...]]:
    return {name: tuple(events) for name, events in told.items()}


def measured(outcome: Outcome, realised: str | None, predicted: str | None) -> Realised:
    return Realised(
        recommendation_id="abc123",
        title="Move",
        outcome=outcome,
        why="…",
        implemented_at=NOON,
        window_start=NOON,
        window_end=NOON + 14 * DAY,
        realised_gbp=None if realised is None else Decimal(realised),
        predicted_gbp=None if predicted is None else Decimal(predicted),
    )


def test_an_empty_ledger_has_no_record() -> None:
    assert track_of({}, (), at=NOON) == Track()


def test_of_each_recommendation_the_last_decision_counts() -> None:
    told = histories(
        taken=list(story("proposed", "accepted")),
        done=list(story("proposed", "accepted", "implemented")),
        no=list(story("proposed", "accepted", "dismissed")),
        back=list(story("proposed", "accepted", "reopened")),
        later=list(story("proposed", "snoozed")),
        open=list(story("proposed")),
    )
    made = track_of(told, (), at=NOON + DAY)
    assert (made.decided, made.taken) == (3, 2)


def test_what_came_later_is_not_known_yet() -> None:
    told = histories(one=list(story("proposed", "accepted")))
    assert track_of(told, (), at=NOON).decided == 0
    assert track_of(told, (), at=NOON + timedelta(hours=1)).decided == 1


def test_the_record_begins_with_the_first_evaluation_and_not_with_what_people_did() -> None:
    told = histories(one=[event("proposed", author=TUPPENCE, hours=3.0), event("accepted", 2, hours=1.0)])
    assert track_of(told, (), at=NOON + DAY).first_evaluated_at == NOON + timedelta(hours=3)


def test_moves_of_schedulers_are_those_that_they_are_the_author_of() -> None:
    told = histories(
        scheduler=[*story("proposed"), event("implemented", 2, hours=1.0, author=SCHEDULER)],
        person=list(story("proposed", "implemented")),
    )
    assert track_of(told, (), at=NOON + DAY).scheduler_moves == 1


def test_only_what_was_measured_is_added_up() -> None:
    rows = [
        measured(Outcome.MEASURED, "80.00", "100.00"),
        measured(Outcome.MEASURED, "-5.00", "20.00"),
        measured(Outcome.NOT_MOVED, None, None),
    ]
    made = track_of({}, rows, at=NOON)
    assert (made.verified, made.realised_gbp, made.predicted_gbp) == (2, Decimal("75.00"), Decimal("120.00"))
