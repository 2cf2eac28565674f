"""The next hour of every series, and the reason of those that have none."""

from __future__ import annotations

from datetime import timedelta

import polars as pl
import pytest

from recommender.forecast.forecast import Forecasts, forecast
from recommender.forecast.frames import Demand
from recommender.settings import ForecastSettings
from tests.recommender.forecast.series import MONDAY, demand, office_hours

SETTINGS = ForecastSettings(time_zone="UTC")
DAYS = 14
AT = MONDAY + timedelta(days=DAYS, minutes=5)


def of(values: list[float | None], **settings: object) -> Forecasts:
    return forecast(demand(values), SETTINGS.model_copy(update=settings), at=AT)


def reason(found: Forecasts) -> str:
    assert found.forecasts.is_empty()
    return str(found.not_forecast["reason"].item())


def test_an_hour_before_the_office_opens_the_forecast_rises() -> None:
    at = MONDAY + timedelta(days=DAYS - 1, hours=8, minutes=5)
    found = forecast(demand(office_hours(DAYS)), SETTINGS, at=at).forecasts.row(0, named=True)
    assert found["demand"] == 10
    assert found["p90"] == pytest.approx(40)
    assert found["visible_until"] == MONDAY + timedelta(days=DAYS - 1, hours=8)
    assert found["horizon_seconds"] == 7200


def test_an_hour_that_has_only_just_ended_is_not_looked_at() -> None:
    at = MONDAY + timedelta(days=DAYS, minutes=4)
    found = forecast(demand([5.0] * 24 * DAYS), SETTINGS, at=at).forecasts
    assert found["visible_until"].item() == MONDAY + timedelta(days=DAYS, hours=-1)


def test_what_comes_after_the_evaluation_changes_nothing() -> None:
    calm = [10.0, 12.0, 11.0] * 8 * DAYS
    at = MONDAY + timedelta(days=DAYS - 2)
    later = [*calm[: 24 * (DAYS - 2)], *([900.0] * 48)]
    first, second = (forecast(demand(values), SETTINGS, at=at) for values in (calm, later))
    assert first.forecasts.equals(second.forecasts)
    assert first.accuracy.equals(second.accuracy)


def test_the_bound_is_never_under_the_expectation_nor_either_under_zero() -> None:
    found = of([max(0.0, 50.0 - hour) for hour in range(24 * DAYS)]).forecasts.row(0, named=True)
    assert 0 <= found["p50"] <= found["p90"]


def test_a_constant_is_forecast_as_itself_and_says_that_a_naive_is_used() -> None:
    found = of([3.0] * 24 * DAYS).forecasts.row(0, named=True)
    assert (found["p50"], found["p90"], found["model"]) == (3, 3, "persistence")
    assert not found["beats_both_naives"]
    assert "no candidate beats both naives" in found["verdict"]


def test_accuracy_is_shown_for_every_candidate_and_by_hand_for_a_naive() -> None:
    # 10 and 30 in turn: two hours ahead the last value is always right, and so is the day before.
    found = of([10.0, 30.0] * 12 * DAYS).accuracy
    assert found.height == 9
    persistence = found.filter(model="persistence").row(0, named=True)
    assert persistence["wape_ratio"] == 0
    assert persistence["mase_ratio"] is None
    assert persistence["coverage_p90_ratio"] == 1


def test_the_scaled_error_is_that_of_the_naive_of_a_day() -> None:
    # Two days at 10, two at 20 in turn: the day before is wrong on every other day, the last value for two hours only.
    found = of([10.0 if day % 4 < 2 else 20.0 for day in range(DAYS) for _ in range(24)]).accuracy
    seasonal = found.filter(model="seasonal-naive-24h")["mase_ratio"].item()
    assert seasonal == 1
    assert found.filter(model="persistence")["mase_ratio"].item() < 0.2


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.0] * 24 * DAYS, "all-zero"),
        ([1.0], "one-point"),
        ([*([None] * (24 * DAYS - 40)), *([5.0] * 40)], "too-short"),
        ([5.0 if hour % 4 else None for hour in range(24 * DAYS - 1)] + [None] * 0, "coverage"),
        ([*([5.0] * (24 * DAYS - 6)), *([None] * 6)], "gap-at-end"),
        ([*([5.0] * 100), float("nan"), *([5.0] * (24 * DAYS - 101))], "not-finite"),
        ([*([5.0] * 100), -1.0, *([5.0] * (24 * DAYS - 101))], "negative"),
    ],
)
def test_what_cannot_be_forecast_says_why(values: list[float | None], expected: str) -> None:
    assert reason(of(values)) == expected


def test_no_series_gives_empty_frames() -> None:
    found = forecast(Demand.create_empty(), SETTINGS, at=AT)
    assert all(frame.is_empty() for frame in (found.forecasts, found.accuracy, found.recent, found.not_forecast))


def test_one_bad_series_does_not_take_the_others_along() -> None:
    both = pl.concat([demand(office_hours(DAYS)), demand([0.0] * 24 * DAYS, resource_class="L4")])
    found = forecast(Demand.validate(both), SETTINGS, at=AT)
    assert found.forecasts["resource_class"].to_list() == ["H100"]
    assert found.not_forecast["resource_class"].to_list() == ["L4"]


def test_the_last_bounds_are_kept_for_the_trigger() -> None:
    recent = of(office_hours(DAYS)).recent
    assert recent.height == 24
    assert recent["visible_until"].max() == MONDAY + timedelta(days=DAYS)


def test_five_minute_samples_are_forecast_thirteen_steps_ahead() -> None:
    values = [value for value in office_hours(4) for _ in range(12)]
    at = MONDAY + timedelta(days=4, minutes=5)
    found = forecast(demand(values, step=300), SETTINGS, at=at).forecasts
    assert found["horizon_seconds"].item() == 13 * 300


def test_the_order_of_the_rows_changes_nothing() -> None:
    rows = demand(office_hours(DAYS))
    shuffled = Demand.validate(rows.sample(fraction=1, shuffle=True, seed=1))
    assert forecast(rows, SETTINGS, at=AT).forecasts.equals(forecast(shuffled, SETTINGS, at=AT).forecasts)
