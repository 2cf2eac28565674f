"""Each way to foretell, by hand, and that none of them looks ahead."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recommender.forecast.candidates import CANDIDATES, foretold
from tests.recommender.forecast.series import grid, office_hours

NAMES = [one.name for one in CANDIDATES]


def row(name: str, values: list[float | None], **where: object) -> list[float]:
    return list(foretold(grid(values, **where))[NAMES.index(name)])  # type: ignore[arg-type]


def test_persistence_repeats_the_last_value() -> None:
    assert row("persistence", [1.0, 2.0, 3.0]) == [1, 2, 3]


def test_the_seasonal_naives_repeat_the_hour_aimed_at_a_day_and_a_week_before() -> None:
    hours = [float(n) for n in range(24 * 8)]
    assert row("seasonal-naive-24h", hours)[100] == 101 - 24
    assert row("seasonal-naive-168h", hours)[180] == 181 - 168
    assert np.isnan(row("seasonal-naive-24h", hours)[10])


def test_the_seasonal_median_takes_the_middle_day_and_shifts_it_by_how_far_off_now_is() -> None:
    # Three days at 10, 20 and 90 all day: the median is 20. The fourth day stands at 25 so far: 5 above it.
    hours = [10.0] * 24 + [20.0] * 24 + [90.0] * 24 + [25.0] * 5
    assert row("seasonal-median-level-now", hours)[-1] == 20 + 5
    assert row("seasonal-median-level-1h", hours)[-1] == 20 + 5


def test_holt_winters_by_hand() -> None:
    # First day: 0 but for 24 at hour 1, so the level is 1 and the season −1, 23 and −1 …
    hours = [0.0, 24.0] + [0.0] * 22 + [2.0]
    level = 0.3 * (2 - -1) + 0.7 * 1
    assert row("holt-winters", hours)[24] == pytest.approx(level + 23)


def test_holt_winters_is_not_moved_by_what_is_not_known() -> None:
    hours: list[float | None] = [*office_hours(2), None, None, None, 10.0]
    found = row("holt-winters", hours)
    assert np.isnan(found[-2])
    assert found[-1] == pytest.approx(10, abs=0.5)


def test_a_regression_finds_a_series_that_is_twice_yesterday() -> None:
    wave = [5 + np.sin(hour / 24 * 2 * np.pi) + 0.5 * np.cos(hour * 1.7) for hour in range(24)]
    days = [value * 1.1**day for day in range(8) for value in wave]
    found = row("calendar-regression", days)
    assert found[-2] == pytest.approx(days[-1], rel=0.03)


def test_a_straight_line_is_run_on() -> None:
    assert row("straight-line", [1.0, 2.0, 3.0, 4.0], horizon=2)[-1] == pytest.approx(6)


def test_only_the_straight_line_is_for_comparison_only() -> None:
    assert [one.name for one in CANDIDATES if one.is_baseline_only] == ["straight-line"]


@settings(max_examples=15, deadline=None)
@given(
    start=st.lists(st.floats(0, 1000), min_size=24 * 4, max_size=24 * 4),
    one=st.lists(st.none() | st.floats(0, 1000), min_size=30, max_size=30),
    other=st.lists(st.none() | st.floats(0, 1000), min_size=30, max_size=30),
    horizon=st.integers(1, 3),
)
def test_no_candidate_looks_ahead(
    start: list[float], one: list[float | None], other: list[float | None], horizon: int
) -> None:
    # Two histories that agree until now give the same forecasts until now, whatever comes after.
    first = foretold(grid([*start, *one, 1.0], horizon=horizon))[:, : len(start)]
    second = foretold(grid([*start, *other, 1.0], horizon=horizon))[:, : len(start)]
    np.testing.assert_array_equal(first, second)
