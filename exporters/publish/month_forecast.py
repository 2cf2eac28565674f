"""From days that were paid to what the month will come to, with a range: weekly shape, last week's level, past errors.

Pure. What was billed so far stands as it is; each day to come is expected at the level of the last seven whole days in
the weekly shape of the last 28; what is no usage (tax, support, subscriptions) is expected on the same days of the
month as last month. The range are the 10th and 90th percentile of what the same forecast, made on past days, was off by
(rolling origin; R. J. Hyndman and G. Athanasopoulos, Forecasting: Principles and Practice, 5.10). Promises that there
is no forecast from days that are not whole, nor from less than two weeks of them.
"""

from __future__ import annotations

import calendar
import math
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Final

import polars as pl

SHAPE_DAYS: Final = 28
LEVEL_DAYS: Final = 7
LEAST_DAYS: Final = 14
LEAST_ORIGINS: Final = 10
"""Past forecasts below which percentiles say nothing; the spread of single days is used then."""
P10: Final = 0.1
P90: Final = 0.9
Z90: Final = 1.2816
"""The 90th percentile of the normal distribution, in standard deviations."""


@dataclass(frozen=True, slots=True)
class MonthForecast:
    """What a month is expected to be billed, in pounds: in eight of ten such months within the bounds."""

    lower: float
    mid: float
    upper: float


def month_forecast(days: pl.DataFrame, *, whole_until: date, month: date) -> MonthForecast | None:
    """This will return what a month comes to; None: there are too few whole days.

    Args:
        days: rows of PoundCost of one scope, all of their sources whole until the same day.
        whole_until: the last whole day; not after the month.
        month: its first day.
    """
    whole = days.filter(pl.col("charge_day") <= whole_until)
    usage = _by_day(whole.filter(pl.col("charge_category") == "Usage"))
    if not usage or whole_until - min(usage) < timedelta(days=LEAST_DAYS - 1):
        return None
    end = month.replace(day=calendar.monthrange(month.year, month.month)[1])
    ahead = range(max(1, (month - whole_until).days), (end - whole_until).days + 1)
    spent = sum(_by_day(whole.filter(pl.col("charge_day") >= month)).values())
    recurring = _recurring(whole, after=max(whole_until, month - timedelta(days=1)), end=end)
    series = _filled(usage, until=whole_until)
    expected = _expected(series, whole_until, ahead)
    lower, upper = _spread(series, whole_until, ahead)
    fixed = spent + recurring
    return MonthForecast(lower=fixed + expected * lower, mid=fixed + expected, upper=fixed + expected * upper)


def _by_day(rows: pl.DataFrame) -> dict[date, float]:
    """Exact sums first, so that many small charges do not drift."""
    sums = rows.group_by("charge_day").agg(pl.col("billed_gbp").sum())
    return {day: float(amount or Decimal(0)) for day, amount in sums.iter_rows()}


def _filled(usage: dict[date, float], *, until: date) -> dict[date, float]:
    """A day without a charge within the series cost nothing."""
    first = min(usage)
    return {day: usage.get(day, 0.0) for n in range((until - first).days + 1) if (day := first + timedelta(days=n))}


def _recurring(whole: pl.DataFrame, *, after: date, end: date) -> float:
    """What was no usage on the days of last month that are yet to come in this one; credits are not foretold."""
    first_of_last = (end.replace(day=1) - timedelta(days=1)).replace(day=1)
    day = pl.col("charge_day")
    still_to_come = day.dt.day() > (after.day if after.month == end.month else 0)
    rows = whole.filter(
        ~pl.col("charge_category").is_in(["Usage", "Credit", "Adjustment"]),
        day.is_between(first_of_last, end.replace(day=1), closed="left"),
        still_to_come,
    )
    return float(rows["billed_gbp"].sum() or 0)


def _expected(series: dict[date, float], origin: date, ahead: range) -> float:
    """What days so far ahead of the origin come to: the weekday's mean, at the level of the last week."""
    weeks = min(SHAPE_DAYS, (origin - min(series)).days + 1) // 7
    past = [series[origin - timedelta(days=n)] for n in range(7 * weeks)]
    if not sum(past):
        return 0.0
    level = weeks * sum(past[:LEVEL_DAYS]) / sum(past)
    return sum(_weekday_mean(series, origin, origin + timedelta(days=n)) for n in ahead) * level


def _weekday_mean(series: dict[date, float], origin: date, day: date) -> float:
    """Of the last four such weekdays up to the origin."""
    last = day - timedelta(days=7 * (((day - origin).days + 6) // 7))
    alike = [series[one] for n in range(SHAPE_DAYS // 7) if (one := last - timedelta(weeks=n)) in series]
    return sum(alike) / len(alike) if alike else 0.0


def _spread(series: dict[date, float], origin: date, ahead: range) -> tuple[float, float]:
    """The lower and upper bound as factors of what is expected."""
    ratios = _past_ratios(series, origin, ahead)
    if len(ratios) >= LEAST_ORIGINS:
        table = pl.Series(ratios)
        bounds = [table.quantile(level, interpolation="linear") or 0.0 for level in (P10, P90)]
        return min(1.0, bounds[0]), max(1.0, bounds[1])
    return _spread_of_days(series, origin, ahead)


def _past_ratios(series: dict[date, float], origin: date, ahead: range) -> list[float]:
    """What days after past origins came to, as a factor of what had been expected of them."""
    first = min(series) + timedelta(days=LEAST_DAYS - 1)
    origins = [first + timedelta(days=n) for n in range((origin - first).days - ahead.stop + 2)]
    found = []
    for one in origins if ahead else ():
        expected = _expected(series, one, ahead)
        actual = sum(series[one + timedelta(days=n)] for n in ahead)
        if expected > 0:
            found.append(actual / expected)
    return found


def _spread_of_days(series: dict[date, float], origin: date, ahead: range) -> tuple[float, float]:
    """From single days off their weekday's mean, taken as moving together within a week, which makes it wider."""
    expected = _expected(series, origin, ahead)
    if expected <= 0:
        return 1.0, 1.0
    days = [day for n in range(SHAPE_DAYS) if (day := origin - timedelta(days=n)) in series]
    variance = sum((series[day] - _weekday_mean(series, origin, day)) ** 2 for day in days) / len(days)
    half = Z90 * math.sqrt(variance * len(ahead) * min(len(ahead), 7)) / expected
    return max(0.0, 1 - half), 1 + half
