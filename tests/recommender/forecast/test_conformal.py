"""Bounds by past errors, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recommender.forecast.conformal import bounded, pinball

NAN = float("nan")


def test_pinball_costs_nine_times_as_much_below_as_above() -> None:
    assert pinball(np.array([12.0, 8.0]), np.array([10.0, 10.0])) == pytest.approx([0.9 * 2, 0.1 * 2])


def test_the_bound_is_the_conformal_quantile_of_the_errors_that_had_come_due() -> None:
    # Nineteen errors 1 to 19: the ⌈0.9 × 20⌉ = 18th smallest is 18.
    errors = np.arange(1.0, 21.0)
    bounds = bounded(np.full(20, 100.0), 100.0 + errors, due=1, window=50, least=10)
    assert bounds[19] == 118
    assert np.isnan(bounds[9])
    assert bounds[10] == 100 + 10


def test_an_error_that_is_not_due_yet_does_not_count() -> None:
    actuals = np.array([1.0, 1.0, 1.0, 99.0, NAN, NAN])
    assert bounded(np.zeros(6), actuals, due=2, window=10, least=1)[4] == 1
    assert bounded(np.zeros(6), actuals, due=2, window=10, least=1)[5] == 99


def test_only_the_latest_errors_count() -> None:
    actuals = np.array([50.0, 1.0, 2.0, 3.0, NAN])
    assert bounded(np.zeros(5), actuals, due=1, window=3, least=1)[4] == 3


@given(st.lists(st.floats(-1e6, 1e6), min_size=30, max_size=60))
def test_the_bound_holds_at_least_nine_of_ten_errors_it_was_made_of(errors: list[float]) -> None:
    actuals = np.array([*errors, NAN])
    bound = bounded(np.zeros(len(actuals)), actuals, due=1, window=len(errors), least=10)[-1]
    assert np.mean(np.array(errors) <= bound) >= 0.9
