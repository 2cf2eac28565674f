"""What happened in a week is what its events say, and what time alone did."""

from __future__ import annotations

from datetime import timedelta

from recommender.ledger.events import Event
from recommender.week.events import Happened, week_events
from tests.builders import NOON
from tests.recommender.ledger.happened import event, story

WEEK = timedelta(days=7)


def told(*events: Event, from_hours: float = -1.0, to_hours: float = 167.0) -> list[tuple[str, str]]:
    found = week_events(
        {"abc123": events}, since=NOON + timedelta(hours=from_hours), until=NOON + timedelta(hours=to_hours)
    )
    return [(one.what.value, one.author) for one in found]


def test_what_is_proposed_for_the_first_time_is_new_and_decisions_follow() -> None:
    assert told(*story("proposed", "accepted", "implemented")) == [
        ("new", "ann"),
        ("accepted", "ann"),
        ("implemented", "ann"),
    ]


def test_advice_that_is_proposed_again_while_it_lives_is_not_new() -> None:
    assert told(event("proposed"), event("proposed", 2, hours=24), from_hours=12) == []


def test_advice_that_comes_back_after_its_end_is_new_again() -> None:
    again = event("proposed", 3, hours=30)
    assert told(event("proposed"), event("expired", 2, hours=2), again, from_hours=12) == [("new", "ann")]


def test_what_nobody_renewed_has_expired_without_an_event() -> None:
    [one] = week_events({"abc123": (event("proposed"),)}, since=NOON + WEEK, until=NOON + 2 * WEEK)
    assert (one.what, one.at, one.reason) == (Happened.EXPIRED, NOON + WEEK, "nobody renewed or decided it")


def test_what_happened_before_or_after_is_of_other_weeks() -> None:
    events = story("proposed", "dismissed")
    assert told(*events, from_hours=2) == []
    assert told(*events, to_hours=1) == [("new", "ann")]


def test_a_dismissal_keeps_its_reason_and_its_end() -> None:
    refused = event("dismissed", 2, hours=1, reason="not before Christmas", until=NOON + WEEK)
    found = week_events({"abc123": (event("proposed"), refused)}, since=NOON, until=NOON + WEEK)
    assert [(one.what, one.reason, one.until) for one in found if one.what is Happened.DISMISSED] == [
        (Happened.DISMISSED, "not before Christmas", NOON + WEEK)
    ]


def test_an_empty_ledger_has_an_empty_week() -> None:
    assert week_events({}, since=NOON, until=NOON + WEEK) == ()
