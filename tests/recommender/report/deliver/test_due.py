"""What is due: once a week by London's clock, caught up after downtime, tried again with patience, never sent twice."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from recommender.deliver_settings import DeliverSettings
from recommender.ledger.deliveries import Delivery, DeliveryState
from recommender.report.deliver.due import due, due_week, last_time
from recommender.week.calendar import Week

MONDAY_NINE = datetime(2026, 11, 30, 9, tzinfo=UTC)
WEEK = Week.parse("2026-W48")


def settings(*channels: dict[str, Any], **changes: Any) -> DeliverSettings:
    mail = {"type": "smtp", "name": "mail", "host": "mail.example", "sender": "a@b.c", "to": ["d@e.f"]}
    return DeliverSettings.model_validate({"channels": list(channels) or [mail]} | changes)


def step(state: DeliveryState, *, attempt: int = 1, at: datetime = MONDAY_NINE, scope: str = "") -> Delivery:
    return Delivery(1, at, WEEK.id, scope, "mail", state, attempt, "")


def due_now(known: Delivery | None = None, *, now: datetime = MONDAY_NINE, again: bool = False, **changes: Any) -> Any:
    steps = {} if known is None else {known.key: known}
    found = due(settings(**changes), WEEK, owners=["studio"], known=steps, now=now, again=again)
    return [(one.scope, one.channel, one.attempt) for one in found]


def test_on_monday_at_nine_the_week_before_is_due_and_not_a_minute_earlier() -> None:
    assert due_week(settings(), now=MONDAY_NINE) == WEEK
    early = MONDAY_NINE - timedelta(minutes=1)
    assert last_time(settings(), now=early) == MONDAY_NINE - timedelta(days=7)
    assert due_week(settings(), now=early) is None


def test_a_monday_that_was_missed_is_caught_up_for_three_days_and_no_longer() -> None:
    assert due_week(settings(), now=MONDAY_NINE + timedelta(hours=72)) == WEEK
    assert due_week(settings(), now=MONDAY_NINE + timedelta(hours=72, minutes=1)) is None


@pytest.mark.parametrize(
    ("monday", "utc_hour"),
    [("2026-03-30", 8), ("2026-10-26", 9)],
    ids=["the clocks went forward on Sunday", "the clocks went back on Sunday"],
)
def test_nine_is_nine_by_londons_clock_after_it_changed(monday: str, utc_hour: int) -> None:
    nine = datetime.fromisoformat(f"{monday}T{utc_hour:02}:00:00+00:00")
    assert last_time(settings(), now=nine) == nine
    week = due_week(settings(), now=nine)
    assert week is not None
    assert week.monday.isoformat() == (nine - timedelta(days=7)).date().isoformat()


def test_what_was_never_tried_is_due() -> None:
    assert due_now() == [("", "mail", 1)]


@pytest.mark.parametrize("state", [DeliveryState.SENT, DeliveryState.CLAIMED])
@pytest.mark.parametrize("again", [False, True])
def test_what_was_sent_or_is_being_sent_is_never_due(state: DeliveryState, again: bool) -> None:
    assert due_now(step(state), now=MONDAY_NINE + timedelta(hours=1), again=again) == []


def test_what_failed_is_due_again_after_a_pause_until_its_attempts_are_used_up() -> None:
    later = MONDAY_NINE + timedelta(minutes=10)
    assert due_now(step(DeliveryState.FAILED), now=later - timedelta(seconds=1)) == []
    assert due_now(step(DeliveryState.FAILED, attempt=5), now=later) == [("", "mail", 6)]
    assert due_now(step(DeliveryState.FAILED, attempt=6), now=later) == []
    assert due_now(step(DeliveryState.FAILED, attempt=6), now=later, again=True) == [("", "mail", 7)]


def test_a_person_who_asks_waits_for_no_pause_and_still_sends_nothing_that_may_have_arrived() -> None:
    steps = {one.key: one for one in (step(DeliveryState.FAILED, attempt=9),)}
    asked = due(settings(), WEEK, owners=[], known=steps, now=MONDAY_NINE, by_hand=True)
    assert [one.attempt for one in asked] == [10]
    unsure = {one.key: one for one in (step(DeliveryState.UNKNOWN),)}
    assert due(settings(), WEEK, owners=[], known=unsure, now=MONDAY_NINE, by_hand=True) == ()


def test_what_nobody_knows_of_is_sent_again_only_when_a_person_asks() -> None:
    assert due_now(step(DeliveryState.UNKNOWN), now=MONDAY_NINE + timedelta(hours=9)) == []
    assert due_now(step(DeliveryState.UNKNOWN), again=True) == [("", "mail", 2)]


def test_owners_get_their_own_all_of_them_or_those_that_are_named() -> None:
    def scopes(owners: list[str]) -> list[str]:
        channel = {"type": "file", "name": "f", "folder": "/tmp/x", "owners": owners}
        found = due(settings(channel), WEEK, owners=["studio", "", "radiology"], known={}, now=MONDAY_NINE)
        return [one.scope for one in found]

    assert scopes([]) == [""]
    assert scopes(["*"]) == ["radiology", "studio"]
    assert scopes(["studio", "nobody"]) == ["studio"]


@pytest.mark.parametrize("time", ["01:30", "25:00", "9:00"])
def test_a_time_that_may_not_be_is_refused(time: str) -> None:
    with pytest.raises(ValidationError):
        settings(time=time)


def test_mail_to_nobody_and_two_channels_of_one_name_are_refused() -> None:
    nobody = {"type": "smtp", "name": "mail", "host": "h", "sender": "a@b.c"}
    with pytest.raises(ValidationError, match="needs 'to'"):
        settings(nobody)
    twice = {"type": "file", "name": "f", "folder": "x"}
    with pytest.raises(ValidationError, match="named twice"):
        settings(twice, twice)
