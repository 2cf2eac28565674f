"""Days that cost more than was to be expected: found when they are, and not when they are usual."""

from __future__ import annotations

import random
from datetime import date, timedelta
from typing import Any

import polars as pl
import pytest

from exporters.normalise.cost_anomalies import AnomalyRules, judge_days
from tests.exporters.normalise.cost_rows import LAST, OF_AWS, Row, cost, known, series

FEW = AnomalyRules(minimum_gbp=1)
WEEK = [100, 100, 100, 100, 100, 40, 40]


def judged(rows: list[Row], *, days: int = 1, rules: AnomalyRules = FEW, first: date | None = None) -> pl.DataFrame:
    """The judged days of the only series; the account is known since a day, by default the first charge."""
    since = first or min(row["charge_day"] for row in rows)
    start = cost(since, 0, service="Known", billing_period=since.replace(day=1), reached=LAST)
    every = known([start, *rows]).filter((pl.col("service") != "Known") | (pl.col("charge_day") == since))
    every = every.with_columns(reached=pl.lit(LAST))
    found = judge_days(every, OF_AWS, rules, judged_days=days)
    return found.filter(pl.col("service") != "Known")


def verdict(rows: list[Row], **of: Any) -> dict[str, Any]:
    """What is said of the last day."""
    return judged(rows, **of).tail(1).to_dicts()[0]


def test_a_day_is_judged_by_the_same_weekday_before() -> None:
    """Fridays to Thursdays: 40 is right on two days of the week and an outlier on the others."""
    amounts = WEEK * 6
    found = judged(series(amounts), days=7)
    assert found["expected_gbp"].to_list() == [float(amount) for amount in WEEK]
    assert not found["is_anomaly"].any()


def test_worked_by_hand() -> None:
    """The last eight Thursdays cost 100 ± 2, the four before the judged one 98, 102, 98, 102: 100 is expected.

    Every other day lies ±2 from the mean of two of each before it, so |error| is 2 throughout (the median of 98, 102,
    98, 102 is 100) and the spread 1.4826 × 2 = 2.9652. The floors, 1/3.5 and 0.2 × 100/3.5 = 5.714, are above it.
    """
    amounts = [98.0 if day // 7 % 2 else 102.0 for day in range(8 * 7)]
    row = verdict(series([*amounts, *[100.0] * 6, 130.0]), rules=AnomalyRules(minimum_gbp=1, minimum_ratio=0.01))
    assert (row["expected_gbp"], row["excess_gbp"]) == (100, 30)
    assert row["score"] == pytest.approx(30 / 2.9652)
    assert row["upper_gbp"] == pytest.approx(100 + 3.5 * 2.9652)
    assert row["lower_gbp"] == pytest.approx(100 - 3.5 * 2.9652)
    floored = verdict(series([*amounts, *[100.0] * 6, 130.0]))
    assert floored["score"] == pytest.approx(30 / (0.2 * 100 / 3.5))


def test_a_series_that_never_varied_is_judged_by_the_smallest_amount_that_counts() -> None:
    steady = [10.0] * 42
    assert not verdict(series([*steady, 11.9]))["is_anomaly"]
    assert verdict(series([*steady, 12.1]))["is_anomaly"]
    assert not verdict(series([*steady, 12.1]), rules=AnomalyRules(minimum_gbp=5))["is_anomaly"]


@pytest.mark.parametrize(("history", "count"), [(20, 0), (21, 1)])
def test_a_series_is_judged_from_the_day_on_that_three_weeks_are_known(history: int, count: int) -> None:
    found = judged(series([10.0] * history + [99.0]))
    assert found.height == count
    assert found["history_days"].to_list() == [history] * count


def test_a_new_service_of_a_known_account_is_an_anomaly_by_its_amount() -> None:
    since = LAST - timedelta(days=60)
    row = verdict([cost(LAST, 25)], first=since, rules=AnomalyRules(minimum_gbp=10))
    assert (row["expected_gbp"], row["excess_gbp"], row["is_anomaly"]) == (0, 25, True)
    assert not verdict([cost(LAST, 9)], first=since, rules=AnomalyRules(minimum_gbp=10))["is_anomaly"]


def with_fees(amounts: dict[date, float], *, since: date, until: date) -> list[Row]:
    """Ten pounds a day, and fees on some days."""
    days = [since + timedelta(days=number) for number in range((until - since).days + 1)]
    usage = [cost(day, 10) for day in days]
    return usage + [cost(day, amounts[day], charge_category="Tax") for day in days if day in amounts]


def on_the_first(rows: list[Row]) -> dict[str, Any]:
    """What is said of 1 September, with all days up to it whole."""
    first = date(2024, 9, 1)
    every = known(rows, whole_until=first).filter(pl.col("service") != "Known")
    return judge_days(every, OF_AWS.with_columns(last_day=pl.lit(first)), FEW).to_dicts()[0]


def test_fees_on_the_first_alarm_once_and_not_when_they_recur() -> None:
    first, july = date(2024, 9, 1), date(2024, 7, 1)
    fees = {july: 500.0, date(2024, 8, 1): 500.0, first: 500.0}
    assert on_the_first(with_fees({first: 500.0}, since=july, until=first))["is_anomaly"]
    recurring = on_the_first(with_fees(fees, since=july, until=first))
    assert (recurring["expected_gbp"], recurring["excess_gbp"], recurring["is_anomaly"]) == (510, 0, False)
    quarterly = {date(2024, 6, 1): 500.0, first: 500.0}
    assert not on_the_first(with_fees(quarterly, since=date(2024, 5, 20), until=first))["is_anomaly"]


def test_a_fee_on_the_first_day_that_is_known_at_all_is_remembered() -> None:
    first, august = date(2024, 9, 1), date(2024, 8, 1)
    fees = {august: 500.0, first: 505.0}
    assert not on_the_first(with_fees(fees, since=august, until=first))["is_anomaly"]


def test_a_fee_that_doubles_is_an_anomaly_by_what_it_grew() -> None:
    fees = {date(2024, 8, 1): 500.0, date(2024, 9, 1): 1_000.0}
    row = on_the_first(with_fees(fees, since=date(2024, 7, 1), until=date(2024, 9, 1)))
    assert (row["excess_gbp"], row["is_anomaly"]) == (500, True)


def test_a_step_is_found_on_its_day_holds_for_days_and_becomes_what_is_usual() -> None:
    step = WEEK * 8 + [2 * amount for amount in WEEK * 4]
    found = judged(series(step), days=28)["is_anomaly"].to_list()
    assert found[:7] == [True] * 7
    assert not any(found[-7:])


def test_a_restated_day_is_judged_once_by_what_it_came_to_last() -> None:
    amounts = [10.0] * 42
    assert verdict(series([*amounts, 50.0]))["excess_gbp"] == 40
    again = judged([*series([*amounts, 50.0]), cost(LAST, -30, charge_category="Adjustment")])
    assert again.select("cost_gbp", "is_anomaly").rows() == [(20.0, True)]
    assert judged([*series([*amounts, 50.0]), cost(LAST, -40, charge_category="Adjustment")])["excess_gbp"].item() == 0


def test_a_day_that_is_not_whole_is_not_judged() -> None:
    days = known(series([10.0] * 60 + [99.0]), whole_until=LAST - timedelta(days=1))
    assert judge_days(days, OF_AWS, FEW).is_empty()


def seasonal(days: int, *, seed: int, noise: float = 0.08) -> list[float]:
    """Costs with a week's shape and normal noise, as shares of the cost."""
    rng = random.Random(seed)
    return [round(amount * rng.gauss(1, noise), 4) for _, amount in zip(range(days), WEEK * days, strict=False)]


def many(number: int, days: int, *, factor: float = 1, noise: float = 0.08) -> list[Row]:
    """Series of noise; their last day is multiplied."""
    found = []
    for seed in range(number):
        amounts = seasonal(days, seed=seed, noise=noise)
        found += series([*amounts[:-1], amounts[-1] * factor], service=f"S{seed}")
    return found


@pytest.mark.parametrize("noise", [0.03, 0.08, 0.2])
def test_of_weekly_noise_less_than_one_day_in_a_hundred_alarms(noise: float) -> None:
    found = judged(many(30, 120, noise=noise), days=60)
    assert found.height == 30 * 60
    assert found["is_anomaly"].mean() < 0.01


def test_a_cost_that_doubles_is_found_on_its_first_day_in_noise() -> None:
    assert judged(many(40, 60, factor=2))["is_anomaly"].mean() == 1
