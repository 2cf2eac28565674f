"""Which days of what was paid may be compared: whole ones, of accounts whose exports state every day in question.

Pure; a part of comparing days. Promises that a day that may still grow, a month that was never imported and an account
that was not known yet are never taken for a day on which nothing was spent.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from exporters.core.cost_change_frames import Span
from exporters.core.cost_frames import FILES

BILL: Final = ["provider", "billing_account"]
WEEK_DAYS: Final = 7
KNOWN_DAYS: Final = 120
"""How far back it is looked whether an account was known before a bill; a quarter and a bill."""

ACCOUNT: Final = pl.when(pl.col("sub_account") != "").then("sub_account").otherwise("billing_account").alias("account")
"""Whose cost it is: the sub-account where there is one."""


def stated_days(days: pl.DataFrame) -> pl.DataFrame:
    """This will return provider, billing_account and charge_day of every day that is stated whole.

    A bill states its days from its first one on, or from its first charge on where nothing was known before, up to the
    last day that it has whole. A day without charges between the two cost nothing. An export states one account; a
    source that is asked states all of its accounts alike.

    Args:
        days: rows of PoundCost with whole_until, the last whole day of the account.
    """
    of_export = pl.when(pl.col("source") == FILES).then("billing_account").otherwise(pl.lit(""))
    statement = ["source", "provider", "stated_of"]
    known = days.with_columns(stated_of=of_export).with_columns(first_known=pl.col("charge_day").min().over(statement))
    bill = [*statement, "billing_period"]
    spans = known.group_by(bill).agg(
        pl.col("first_known").first(), first_charge=pl.col("charge_day").min(), reached=pl.col("reached").max()
    )
    first = (
        pl.when(pl.col("first_known") < pl.col("billing_period"))
        .then("billing_period")
        .otherwise(pl.max_horizontal("first_charge", "billing_period"))
    )
    accounts = known.group_by(*bill, "billing_account").agg(pl.col("whole_until").max())
    whole = (
        accounts.join(spans, on=bill)
        .with_columns(first=first, last=pl.min_horizontal("reached", "whole_until"))
        .filter(pl.col("first") <= pl.col("last"))
    )
    each = whole.with_columns(charge_day=pl.date_ranges("first", "last")).explode("charge_day")
    return each.select(*BILL, "charge_day").unique()


def last_days(days: pl.DataFrame, *, not_before_days: int | None = None) -> pl.DataFrame:
    """This will return provider, billing_account and last_day: the last whole day of each account.

    Args:
        days: rows of PoundCost with whole_until.
        not_before_days: accounts that are more days behind the one that has come furthest are left out; None: none is.
    """
    found = days.group_by(BILL).agg(last_day=pl.col("whole_until").max()).drop_nulls()
    if not_before_days is None:
        return found
    return found.filter(pl.col("last_day") >= pl.col("last_day").max() - pl.duration(days=not_before_days))


def within(days: pl.DataFrame, last: pl.DataFrame, needed_days: int) -> pl.DataFrame:
    """This will leave out the years that do not matter: rows more than some days before the earliest last day.

    Args:
        days: rows of PoundCost.
        last: provider, billing_account and last_day of the accounts that are wanted.
        needed_days: how many.
    """
    return days.filter(pl.col("charge_day") > pl.lit(last["last_day"].min(), pl.Date) - pl.duration(days=needed_days))


def comparable(days: pl.DataFrame, last: pl.DataFrame, span: Span) -> pl.DataFrame:
    """This will return the rows of `last` whose account states every day of the span and of the one before.

    Args:
        days: rows of PoundCost with whole_until.
        last: provider, billing_account and last_day of the accounts that are wanted.
        span: how many days are compared.
    """
    wanted = _days_of_both(last, span)
    missing = wanted.join(stated_days(within(days, last, KNOWN_DAYS)), on=[*BILL, "charge_day"], how="anti")
    return last.join(missing, on=BILL, how="anti")


def in_both_spans(days: pl.DataFrame, last: pl.DataFrame, span: Span) -> pl.DataFrame:
    """This will return the rows of both spans of what is comparable, with account, last_day and is_after."""
    whole = _days_of_both(comparable(days, last, span), span)
    return days.join(whole, on=[*BILL, "charge_day"]).with_columns(ACCOUNT)


def _days_of_both(last: pl.DataFrame, span: Span) -> pl.DataFrame:
    """Every day of both spans with is_after: false for the span before."""
    offsets = pl.DataFrame({"offset": [*range(span.days), *range(WEEK_DAYS, WEEK_DAYS + span.days)]})
    return last.join(offsets, how="cross").select(
        *BILL,
        "last_day",
        charge_day=pl.col("last_day") - pl.col("offset") * pl.duration(days=1),
        is_after=pl.col("offset") < span.days,
    )
