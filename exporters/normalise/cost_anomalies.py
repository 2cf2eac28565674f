"""From days to those that cost more than was to be expected: each series judged by its own past, robustly.

Pure. Promises that only whole days are judged and judge, that a series too young to be judged is not, and that what
comes every week, or on the same day of every month (fees and tax on the 1st), is expected once it has come before.

What is expected of a day is the median of the same weekday of the weeks before. How far a day may lie from that comes
from how far the days before lay from what was expected of them: ``1.4826 · median |error|``, which of normal errors is
their standard deviation (P. J. Rousseeuw and C. Croux, "Alternatives to the Median Absolute Deviation", 1993). The
score is the excess in these; past 3.5 is the bound that B. Iglewicz and D. Hoaglin give (NIST/SEMATECH e-Handbook of
Statistical Methods, 1.3.5.17, Detection of Outliers). Neither the median nor the spread is moved by a few outliers, so
that an anomaly stays one while it holds, until after about two weeks it is what is usual.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import dataframely as dy
import polars as pl

from exporters.core.cost_change_frames import SERIES_KEY, CostAnomaly
from exporters.normalise.cost_spans import ACCOUNT, BILL, KNOWN_DAYS, stated_days, within

MONTHS_REMEMBERED: Final = 3
"""A fee that comes once a quarter is known by it."""
_MOST_DAYS_OF_MONTHS: Final = 31 * MONTHS_REMEMBERED
_FEWEST_WEEKS: Final = 2
_FEWEST_ERRORS: Final = 7
_NORMAL: Final = 1.4826
_KEY: Final = list(SERIES_KEY)
_SERIES: Final = [*_KEY, "weekday"]


@dataclass(frozen=True, slots=True)
class AnomalyRules:
    """When a day is an anomaly.

    Args:
        history_days: whole days before it that a day is judged by, whole weeks of them.
        threshold: robust standard deviations above what is expected.
        minimum_gbp: an excess below it is none.
        minimum_ratio: nor is an excess below this share of what is expected.
    """

    history_days: int = 28
    threshold: float = 3.5
    minimum_gbp: float = 10.0
    minimum_ratio: float = 0.2


def judge_days(
    days: pl.DataFrame,
    last: pl.DataFrame,
    rules: AnomalyRules,
    *,
    judged_days: int = 1,
    basis: Literal["billed", "effective"] = "effective",
) -> dy.DataFrame[CostAnomaly]:
    """This will return every series' last days with what was expected of them; series too young have none.

    Args:
        days: rows of PoundCost with whole_until.
        last: provider, billing_account and last_day of the accounts that are wanted.
        rules: when a day is an anomaly.
        judged_days: how many days of each series are judged, ending with its last.
        basis: which cost.
    """
    needed = judged_days + 2 * rules.history_days + _MOST_DAYS_OF_MONTHS
    series = _series(days, last, f"{basis}_gbp", needed_days=needed)
    judged = _with_spread(_with_expectation(series, rules), rules).filter(
        pl.col("scale").is_not_null(),
        pl.col("day") > pl.col("last_day") - pl.duration(days=judged_days),
    )
    expected, margin = pl.col("expected_gbp"), rules.threshold * pl.col("scale")
    fees = _with_monthly(judged, series, rules)
    measured = fees.with_columns(scale=pl.max_horizontal("scale", _least_scale(rules))).with_columns(
        excess_gbp=pl.col("cost_gbp") - expected,
        lower_gbp=pl.max_horizontal(expected - margin, pl.min_horizontal(expected, 0.0)),
        upper_gbp=expected + margin,
    )
    scored = measured.with_columns(score=pl.col("excess_gbp") / pl.col("scale")).with_columns(
        is_anomaly=pl.col("score") > rules.threshold
    )
    return CostAnomaly.validate(scored.select(CostAnomaly.column_names()).sort(*_KEY, "day"), cast=True)


def _series(days: pl.DataFrame, last: pl.DataFrame, amount: str, *, needed_days: int) -> pl.DataFrame:
    """A row for every stated day of every series: cost_gbp (nought where there was no charge), weekday, last_day.

    A series whose account two payers bill has the days that both state.
    """
    known = within(days, last, needed_days + KNOWN_DAYS)
    wanted = known.join(last, on=BILL).with_columns(ACCOUNT)
    recent = pl.col("last_day") - pl.duration(days=needed_days)
    rows = wanted.filter(pl.col("charge_day") > recent, pl.col("charge_day") <= pl.col("last_day"))
    payers = rows.group_by(*_KEY, "billing_account").agg(pl.col("last_day").first())
    stated = stated_days(known).rename({"charge_day": "day"}).join(payers, on=BILL)
    grid = (
        stated.filter(pl.col("day") > recent, pl.col("day") <= pl.col("last_day"))
        .group_by(*_KEY, "day")
        .agg(pl.col("last_day").min(), payers=pl.len())
        .join(payers.group_by(_KEY).agg(of=pl.len()), on=_KEY)
        .filter(pl.col("payers") == pl.col("of"))
    )
    costs = rows.group_by(*_KEY, day="charge_day").agg(cost_gbp=pl.col(amount).sum().cast(pl.Float64))
    filled = grid.join(costs, on=[*_KEY, "day"], how="left").with_columns(pl.col("cost_gbp").fill_null(0.0))
    return filled.with_columns(weekday=pl.col("day").dt.weekday()).sort(*_KEY, "day")


def _with_expectation(series: pl.DataFrame, rules: AnomalyRules) -> pl.DataFrame:
    """Adds expected_gbp of each day, by the same weekday of the weeks before; null where there are too few."""
    by_weekday = series.sort("day").rolling(
        "day", period=f"{rules.history_days}d", offset=f"-{rules.history_days + 1}d", closed="right", group_by=_SERIES
    )
    medians = by_weekday.agg(expected=pl.col("cost_gbp").median(), weeks=pl.len())
    known = medians.select(*_SERIES, "day", expected_gbp=pl.when(pl.col("weeks") >= _FEWEST_WEEKS).then("expected"))
    return series.join(known, on=[*_SERIES, "day"], how="left")


def _with_spread(expected: pl.DataFrame, rules: AnomalyRules) -> pl.DataFrame:
    """Adds history_days and scale: the spread of errors before each day, but never so small that trifles count."""
    error = (pl.col("cost_gbp") - pl.col("expected_gbp")).abs()
    before = expected.sort("day").rolling(
        "day", period=f"{rules.history_days}d", offset=f"-{rules.history_days + 1}d", closed="right", group_by=_KEY
    )
    spreads = before.agg(spread=_NORMAL * error.median(), errors=error.count(), history_days=pl.len())
    enough = (pl.col("errors") >= _FEWEST_ERRORS) & pl.col("expected_gbp").is_not_null()
    return expected.join(spreads, on=[*_KEY, "day"], how="left").with_columns(
        scale=pl.when(enough).then(
            pl.max_horizontal("spread", rules.minimum_gbp / rules.threshold, _least_scale(rules))
        )
    )


def _least_scale(rules: AnomalyRules) -> pl.Expr:
    """The scale below which an excess would count that is small beside what is expected."""
    return rules.minimum_ratio * pl.col("expected_gbp").abs() / rules.threshold


def _with_monthly(judged: pl.DataFrame, series: pl.DataFrame, rules: AnomalyRules) -> pl.DataFrame:
    """Adds to what is expected what the same day of a month before had beyond the weeks that followed it, if much.

    The weeks after it tell, so that a fee is known from the first one on, however young the series was then.
    """
    after = series.sort("day").rolling("day", period="27d", offset="0d", closed="right", group_by=_SERIES)
    beyond = series.join(after.agg(usual=pl.col("cost_gbp").median()), on=[*_SERIES, "day"], how="left").select(
        *_KEY, "day", beyond=pl.col("cost_gbp") - pl.col("usual")
    )
    rows = judged
    for months in range(1, MONTHS_REMEMBERED + 1):
        name = f"beyond_{months}"
        rows = rows.with_columns(month_before=pl.col("day").dt.offset_by(f"-{months}mo")).join(
            beyond.rename({"day": "month_before", "beyond": name}), on=[*_KEY, "month_before"], how="left"
        )
        rows = rows.with_columns(pl.when(pl.col(name) > rules.threshold * pl.col("scale")).then(name).alias(name))
    fees = [pl.col(f"beyond_{months}") for months in range(1, MONTHS_REMEMBERED + 1)]
    return rows.with_columns(expected_gbp=pl.col("expected_gbp") + pl.coalesce(*fees, 0.0))
