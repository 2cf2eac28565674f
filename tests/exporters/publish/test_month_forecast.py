"""What the month will come to: exact where days are alike, with a range that holds, and nothing from too few days."""

from __future__ import annotations

import random
from datetime import date, timedelta
from decimal import Decimal

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporters.publish.month_forecast import MonthForecast, month_forecast

NOVEMBER = date(2026, 11, 1)


def paid(amounts: dict[date, float], category: str = "Usage") -> pl.DataFrame:
    """Days of one scope."""
    return pl.DataFrame(
        [(day, category, Decimal(str(round(amount, 10)))) for day, amount in amounts.items()],
        schema={"charge_day": pl.Date, "charge_category": pl.String, "billed_gbp": pl.Decimal(38, 18)},
        orient="row",
    )


def daily(first: date, last: date, amount: float = 10.0, *, weekend: float | None = None) -> dict[date, float]:
    """The same each day, at weekends perhaps something else."""
    days = [first + timedelta(days=n) for n in range((last - first).days + 1)]
    return {day: amount if weekend is None or day.weekday() < 5 else weekend for day in days}


def foretold(days: pl.DataFrame, until: date, month: date = NOVEMBER) -> MonthForecast:
    """The forecast, which there is."""
    found = month_forecast(days, whole_until=until, month=month)
    assert found is not None
    return found


def test_equal_days_give_thirty_of_them_without_a_range() -> None:
    found = foretold(paid(daily(date(2026, 9, 1), date(2026, 11, 10))), date(2026, 11, 10))
    assert (found.lower, found.mid, found.upper) == pytest.approx((300, 300, 300))


def test_weekends_are_expected_as_weekends_were() -> None:
    """November 2026 has 21 working days and 9 days of weekends: 21 times 10 and 9 times 2."""
    found = foretold(paid(daily(date(2026, 9, 7), date(2026, 11, 8), weekend=2.0)), date(2026, 11, 8))
    assert (found.lower, found.mid, found.upper) == pytest.approx((228, 228, 228))


def test_a_new_level_is_taken_up_within_a_week() -> None:
    amounts = daily(date(2026, 9, 1), date(2026, 11, 3)) | daily(date(2026, 11, 4), date(2026, 11, 10), 20.0)
    found = foretold(paid(amounts), date(2026, 11, 10))
    assert found.mid == pytest.approx(3 * 10 + 7 * 20 + 20 * 20)
    assert found.upper > found.mid >= found.lower


def test_what_is_billed_once_a_month_is_expected_on_its_day_and_not_each_day() -> None:
    usage = paid(daily(date(2026, 9, 1), date(2026, 11, 10)))
    support = paid({date(2026, 10, 3): 29.0, date(2026, 11, 3): 29.0, date(2026, 10, 28): 50.0}, "Purchase")
    assert foretold(pl.concat([usage, support]), date(2026, 11, 10)).mid == pytest.approx(300 + 29 + 50)


def test_a_credit_counts_once_and_is_not_expected_again() -> None:
    usage = paid(daily(date(2026, 9, 1), date(2026, 11, 10)))
    credit = paid({date(2026, 11, 2): -40.0, date(2026, 10, 20): -40.0}, "Credit")
    assert foretold(pl.concat([usage, credit]), date(2026, 11, 10)).mid == pytest.approx(260)


def test_on_the_first_of_a_month_the_days_before_it_are_not_counted() -> None:
    found = foretold(paid(daily(date(2026, 9, 1), date(2026, 10, 29))), date(2026, 10, 29))
    assert found.mid == pytest.approx(300)


def test_at_the_end_of_the_month_it_is_what_was_billed() -> None:
    found = foretold(paid(daily(date(2026, 10, 1), date(2026, 11, 30))), date(2026, 11, 30))
    assert (found.lower, found.mid, found.upper) == pytest.approx((300, 300, 300))


def test_days_that_are_not_whole_are_not_looked_at() -> None:
    amounts = daily(date(2026, 9, 1), date(2026, 11, 10)) | {date(2026, 11, 11): 0.01}
    assert foretold(paid(amounts), date(2026, 11, 10)).mid == pytest.approx(300)


def test_less_than_two_weeks_say_nothing() -> None:
    days = paid(daily(date(2026, 11, 1), date(2026, 11, 13)))
    assert month_forecast(days, whole_until=date(2026, 11, 13), month=NOVEMBER) is None
    assert month_forecast(days.clear(), whole_until=date(2026, 11, 13), month=NOVEMBER) is None


def test_the_range_holds_what_happens_in_about_eight_of_ten_months() -> None:
    """Noisy months with weekends; with 200 of them, the share is within 0.08 of 0.8 in all but rare cases."""
    held = 0
    for seed in range(200):
        noise = random.Random(seed)
        shape = daily(date(2026, 8, 1), date(2026, 11, 30), 100.0, weekend=40.0)
        amounts = {day: amount * noise.lognormvariate(0, 0.2) for day, amount in shape.items()}
        found = foretold(paid(amounts), date(2026, 11, 12))
        total = sum(amount for day, amount in amounts.items() if day >= NOVEMBER)
        held += found.lower <= total <= found.upper
    assert 0.65 <= held / 200 <= 0.95


@settings(max_examples=40)
@given(st.lists(st.floats(0, 1000), min_size=14, max_size=70), st.integers(0, 29))
def test_the_middle_is_within_the_bounds_and_none_is_below_what_was_billed(amounts: list[float], back: int) -> None:
    until = date(2026, 11, 30) - timedelta(days=back)
    days = {until - timedelta(days=n): amount for n, amount in enumerate(amounts)}
    found = month_forecast(paid(days), whole_until=until, month=NOVEMBER)
    if found is not None:
        spent = sum(amount for day, amount in days.items() if day >= NOVEMBER)
        assert spent - 1e-6 <= found.lower <= found.mid + 1e-9
        assert found.mid <= found.upper + 1e-9
