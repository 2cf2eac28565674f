"""Series on a regular grid: gaps, peaks, and lags by the clock on the wall."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

from recommender.forecast.grid import Reason, carried_forward, gridded, horizon_steps, step_for, trailing_mean
from tests.recommender.forecast.series import grid

NAN = float("nan")


def test_a_value_is_carried_over_at_most_a_quarter_of_an_hour() -> None:
    minutes = grid([1.0, None, None, None, None, 6.0], step=300)
    assert minutes.values.tolist()[:4] == [1, 1, 1, 1]
    assert np.isnan(minutes.values[4])
    assert minutes.values[5] == 6


def test_an_hourly_series_is_carried_over_one_step() -> None:
    hours = grid([1.0, None, None, 4.0])
    assert hours.values[1] == 1
    assert np.isnan(hours.values[2])


def test_what_was_carried_over_does_not_count_as_observed() -> None:
    assert grid([1.0, None, 3.0, 4.0]).coverage_ratio == 0.75


def test_carrying_forward_never_looks_at_a_later_value() -> None:
    before = carried_forward(np.array([1.0, NAN, NAN, NAN]), 1)
    after = carried_forward(np.array([1.0, NAN, NAN, 9.0]), 1)
    np.testing.assert_array_equal(before[:3], after[:3])


def test_the_peak_is_the_greatest_value_of_the_horizon_that_ends_with_a_step() -> None:
    assert grid([1.0, 5.0, 2.0, 3.0, 4.0], horizon=2).peaks().values.tolist() == [1, 5, 5, 3, 4]


def test_the_same_time_yesterday_is_the_same_hour_of_the_working_day_when_clocks_go_back() -> None:
    # Clocks in London went back on 25 October 2026 at 01:00 UTC. 09:00 GMT on the 25th follows 09:00 BST (08:00 UTC).
    hours = grid([float(n) for n in range(48)], start=datetime(2026, 10, 24, tzinfo=UTC), zone="Europe/London")
    nine_in_the_morning = 24 + 9
    assert hours.same_time(1, ahead=0)[nine_in_the_morning] == 8
    assert hours.same_time(1, ahead=1)[nine_in_the_morning] == 9


def test_the_same_time_yesterday_is_the_same_hour_of_the_working_day_when_clocks_go_forward() -> None:
    # Clocks went forward on 29 March 2026 at 01:00 UTC. 09:00 BST (08:00 UTC) follows 09:00 GMT (09:00 UTC).
    hours = grid([float(n) for n in range(48)], start=datetime(2026, 3, 28, tzinfo=UTC), zone="Europe/London")
    assert hours.same_time(1, ahead=0)[24 + 8] == 9


def test_a_lag_that_is_still_to_come_is_not_known() -> None:
    assert np.isnan(grid([1.0] * 30, horizon=2).same_time(0, ahead=1)).all()


def test_slots_are_steps_of_the_local_day() -> None:
    hours = grid([0.0, 1.0, 2.0], start=datetime(2026, 7, 1, tzinfo=UTC), zone="Europe/London")
    assert hours.slot(0).tolist() == [1, 2, 3]


def test_the_horizon_reaches_a_whole_hour_past_now_whatever_the_embargo() -> None:
    assert horizon_steps(300, horizon_seconds=3600, embargo_seconds=300) == 13
    assert horizon_steps(3600, horizon_seconds=3600, embargo_seconds=300) == 2
    assert horizon_steps(3600, horizon_seconds=3600, embargo_seconds=0) == 1


@pytest.mark.parametrize(("apart", "step"), [(60, 300), (300, 300), (301, 900), (1800, 1800), (7200, 3600)])
def test_the_grid_is_never_finer_than_the_samples(apart: float, step: int) -> None:
    assert step_for(apart) == step


def test_a_trailing_mean_leaves_out_what_is_not_known() -> None:
    assert trailing_mean(np.array([1.0, NAN, 3.0, 5.0]), 2).tolist() == [1, 1, 3, 4]


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([1.0], Reason.ONE_POINT),
        ([], Reason.ONE_POINT),
        ([1.0, NAN], Reason.NOT_FINITE),
        ([1.0, float("inf")], Reason.NOT_FINITE),
        ([1.0, -1.0], Reason.NEGATIVE),
        ([0.0, 0.0], Reason.ALL_ZERO),
    ],
)
def test_what_cannot_be_laid_on_a_grid_has_a_reason(values: list[float], reason: Reason) -> None:
    seconds = np.arange(len(values), dtype=np.int64) * 3600
    made = gridded(seconds, np.array(values), step_seconds=3600, until=99 * 3600, horizon=1, time_zone="UTC")
    assert isinstance(made, tuple)
    assert made[0] is reason


def test_samples_that_end_after_what_is_visible_are_left_out() -> None:
    seconds = np.array([0, 3600, 7200], dtype=np.int64)
    made = gridded(seconds, np.array([1.0, 2.0, 9.0]), step_seconds=3600, until=7200, horizon=1, time_zone="UTC")
    assert not isinstance(made, tuple)
    assert made.values.tolist() == [1, 2]
