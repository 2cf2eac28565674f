"""Quarters are those of the calendar, by London's clock."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from recommender.week.quarter import Quarter, measured_in
from tests.recommender.report.a_week import move


@pytest.mark.parametrize(
    ("moment", "first", "title"),
    [
        (datetime(2026, 11, 29, 23, 59, tzinfo=UTC), date(2026, 10, 1), "October to December 2026"),
        (datetime(2027, 1, 1, tzinfo=UTC), date(2027, 1, 1), "January to March 2027"),
        # Half past eleven at night in UTC is the next day in summer.
        (datetime(2026, 6, 30, 23, 30, tzinfo=UTC), date(2026, 7, 1), "July to September 2026"),
    ],
)
def test_a_moment_lies_in_one_quarter(moment: datetime, first: date, title: str) -> None:
    assert (Quarter.of(moment), Quarter.of(moment).title) == (Quarter(first), title)


def test_a_measurement_counts_in_the_quarter_in_which_its_days_end() -> None:
    before = move("early", at=datetime(2026, 9, 30, 22, tzinfo=UTC), identifier="a")
    after = move("late", at=datetime(2026, 10, 2, tzinfo=UTC), identifier="b")
    assert [one.title for one in measured_in([before, after], Quarter(date(2026, 10, 1)))] == ["late"]
