"""Times are aware and in UTC, whatever they were written in."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from exporters.core.clock import LONDON, FixedClock, SystemClock, parse_utc


def test_a_time_without_offset_is_utc() -> None:
    assert parse_utc("2026-10-25T01:30:00") == datetime(2026, 10, 25, 1, 30, tzinfo=UTC)


def test_a_time_with_offset_is_moved_to_utc() -> None:
    assert parse_utc("2026-07-01T10:00:00+01:00") == datetime(2026, 7, 1, 9, tzinfo=UTC)


def test_what_is_not_a_time_is_refused() -> None:
    with pytest.raises(ValueError, match="Monday"):
        parse_utc("Monday")


def test_london_has_summer_time() -> None:
    assert datetime(2026, 7, 1, 9, tzinfo=UTC).astimezone(LONDON).hour == 10


def test_clocks_are_aware() -> None:
    moment = datetime(2026, 11, 30, tzinfo=UTC)
    assert FixedClock(moment).now() == moment
    assert SystemClock().now().utcoffset() is not None
