"""Weeks are London's, Monday to Monday."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from recommender.week.calendar import Week


@pytest.mark.parametrize("text", ["2026-W48", "2026W48", "2026-11-23", "2026-11-25", "2026-11-29"])
def test_a_week_is_read_from_its_number_or_any_of_its_days(text: str) -> None:
    assert Week.parse(text) == Week(date(2026, 11, 23))


@pytest.mark.parametrize("text", ["2026-W54", "last", "2026-13-01", ""])
def test_what_is_no_week_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        Week.parse(text)


def test_a_week_is_named_by_its_monday_and_its_number() -> None:
    assert Week.parse("2026-W48").title == "Week of 23 November 2026"
    # 1 January 2027 is a Friday, so it lies in the last week of 2026 (ISO 8601).
    assert Week.parse("2027-01-01").id == "2026-W53"


def test_the_last_whole_week_ends_before_now() -> None:
    assert Week.last_whole(datetime(2026, 11, 30, 0, 0, tzinfo=UTC)).id == "2026-W48"
    assert Week.last_whole(datetime(2026, 11, 29, 23, 59, tzinfo=UTC)).id == "2026-W47"


def test_monday_begins_by_londons_clock() -> None:
    # In summer London's Monday begins at 23:00 UTC on Sunday.
    assert Week.of(datetime(2026, 7, 5, 23, 30, tzinfo=UTC)) == Week(date(2026, 7, 6))


@pytest.mark.parametrize(("week", "hours"), [("2026-03-29", 167), ("2026-10-25", 169), ("2026-11-25", 168)])
def test_a_week_in_which_the_clocks_change_is_an_hour_shorter_or_longer(week: str, hours: int) -> None:
    assert Week.parse(week).window.seconds == hours * 3600
