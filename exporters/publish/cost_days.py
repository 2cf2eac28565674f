"""Which days count: how far each account's costs are whole, and the windows that days belong to.

Pure. Promises that no window is shown before it is whole (yesterday, last month) or when its source stopped days ago
(month to date).
"""

from __future__ import annotations

from datetime import date, timedelta
from enum import StrEnum
from typing import Final

import polars as pl

from exporters.core.cost_frames import FILES

ALL: Final = "all"
"""The label of what is not limited to a provider, an account or a scope."""
RATIO_DAYS: Final = 30
MOST_DAYS_BEHIND: Final = 3
"""Month to date is absent once the last whole day is older: an export that stopped is not shown as what was spent."""
ACCOUNT: Final = pl.when(pl.col("sub_account") != "").then("sub_account").otherwise("billing_account")


class Window(StrEnum):
    """Spans of whole days that costs are added up over."""

    LAST_WHOLE_DAY = "last_whole_day"
    YESTERDAY = "yesterday"
    MONTH_TO_DATE = "month_to_date"
    LAST_MONTH = "last_month"


def with_reach(days: pl.DataFrame) -> pl.DataFrame:
    """This will add whole_until: the last day that an account's costs are whole, with no open day before it.

    A source that is asked states all its accounts, those without a charge too, so that it reaches as far for each.
    """
    bill = ["source", "provider", "billing_account"]
    first_open = pl.col("charge_day").filter(~pl.col("is_whole")).min().over(bill)
    of_files = pl.col("reached").max().over(bill)
    reached = pl.when(pl.col("source") == FILES).then(of_files).otherwise(pl.col("reached").max().over("source"))
    return days.with_columns(whole_until=pl.min_horizontal(reached, first_open - pl.duration(days=1)))


def recent_days(days: pl.DataFrame) -> pl.DataFrame:
    """This will keep the last 30 whole days of each account, over which ratios are taken.

    Args:
        days: see with_reach.
    """
    until = pl.col("whole_until")
    return days.filter(pl.col("charge_day") <= until, pl.col("charge_day") > until - pl.duration(days=RATIO_DAYS))


def in_windows(days: pl.DataFrame, today: date) -> pl.DataFrame:
    """This will return days once for every window that they belong to and that is whole, with a column window.

    Args:
        days: see with_reach.
        today: the day it is (UTC).
    """
    yesterday = today - timedelta(days=1)
    first = today.replace(day=1)
    first_of_last = (first - timedelta(days=1)).replace(day=1)
    day, until = pl.col("charge_day"), pl.col("whole_until")
    chosen = {
        Window.YESTERDAY: days.filter(day == yesterday, until >= yesterday),
        Window.MONTH_TO_DATE: days.filter(
            day >= first, day <= until, until >= today - timedelta(days=1 + MOST_DAYS_BEHIND)
        ),
        Window.LAST_MONTH: days.filter(
            day.is_between(first_of_last, first, closed="left"), until >= first - timedelta(days=1)
        ),
    }
    return pl.concat(rows.with_columns(window=pl.lit(name.value)) for name, rows in chosen.items())


def last_whole_day(days: pl.DataFrame, today: date) -> pl.DataFrame:
    """This will return the last whole day of each account, unless it is days ago, with a column window.

    Yesterday is whole only once it has settled, and by default nothing of it has before today is over.

    Args:
        days: see with_reach.
        today: the day it is (UTC).
    """
    until = pl.col("whole_until")
    recent = until >= today - timedelta(days=1 + MOST_DAYS_BEHIND)
    return days.filter(pl.col("charge_day") == until, recent).with_columns(window=pl.lit(Window.LAST_WHOLE_DAY.value))
