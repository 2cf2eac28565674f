"""The choice of a forecast: by past forecasts that had come due, and by nothing that came later."""

from __future__ import annotations

import numpy as np

from recommender.forecast.backtest import backtest
from recommender.forecast.candidates import CANDIDATES
from tests.recommender.forecast.series import grid, office_hours

NAMES = [one.name for one in CANDIDATES]


def noisy(values: list[float], spread: float) -> list[float]:
    return list(np.maximum(np.array(values) + np.random.default_rng(7).normal(0, spread, len(values)), 0))


def test_a_daily_habit_is_not_left_to_persistence() -> None:
    found = backtest(grid(noisy(office_hours(14), 1.0), horizon=2), backtest_days=7)
    assert NAMES[found.peak.chosen[-1]] != "persistence"
    assert found.peak.scores[found.peak.chosen[-1], -1] < 0.5


def test_a_walk_without_a_habit_is_left_to_persistence() -> None:
    walk = np.abs(500 + np.cumsum(np.random.default_rng(3).normal(0, 5, 24 * 14)))
    found = backtest(grid(list(walk), horizon=2), backtest_days=7)
    assert NAMES[found.end.chosen[-1]] == "persistence"


def test_a_constant_is_left_to_persistence_and_bounded_by_itself() -> None:
    found = backtest(grid([7.0] * 24 * 4), backtest_days=3)
    assert NAMES[found.peak.chosen[-1]] == "persistence"
    assert found.p90[-1] == 7


def test_the_straight_line_is_never_chosen_even_where_it_is_the_best() -> None:
    found = backtest(grid([float(n) for n in range(24 * 6)], horizon=2), backtest_days=4)
    assert "straight-line" not in {NAMES[number] for number in found.end.chosen}


def test_choices_and_bounds_of_the_past_do_not_depend_on_what_came_later() -> None:
    days = noisy(office_hours(10), 2.0)
    whole = backtest(grid(days, horizon=2), backtest_days=5)
    part = backtest(grid(days[:-24], horizon=2), backtest_days=5)
    last = len(part.origins) - 1
    np.testing.assert_array_equal(part.peak.chosen, whole.peak.chosen[: last + 1])
    # A regression is fitted anew every six hours counted from the end; a day is a multiple of that.
    np.testing.assert_array_equal(part.p90, whole.p90[: last + 1])


def test_a_candidate_that_needs_a_longer_history_is_judged_on_the_days_it_has() -> None:
    # The first week is wild and the second a copy of it: only the weekly naive is right, on fewer days.
    week = list(np.random.default_rng(5).uniform(10, 50, 24 * 7))
    found = backtest(grid(week + week, horizon=1), backtest_days=14)
    assert NAMES[found.peak.chosen[-1]] == "seasonal-naive-168h"
