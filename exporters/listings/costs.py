"""What was paid as lists: totals of an import, costs by service, account, owner or month. Frames in, frames out.

Amounts are added up exactly and rounded to pennies once, at the end; so rows may differ from their total by a penny.
"""

from __future__ import annotations

from enum import StrEnum

import dataframely as dy
import polars as pl

from exporters.core.cost_frames import PoundCost
from exporters.core.money import pence, pounds

POUND_SUMS = ("billed_gbp", "effective_gbp", "list_gbp")
NATIVE = ("billed_cost", "effective_cost")
NOBODY = "nobody"
"""Who bears a cost that no owner tag stands on."""
OLD_RATE_DAYS = 7
"""Longer than the longest run of days without a rate of the ECB, Easter."""


class CostBy(StrEnum):
    """What costs may be listed by."""

    SERVICE = "service"
    REGION = "region"
    ACCOUNT = "account"
    OWNER = "owner"
    PROVIDER = "provider"
    CATEGORY = "category"
    MONTH = "month"
    DAY = "day"


_BY = {
    CostBy.SERVICE: pl.col("service"),
    CostBy.REGION: pl.col("region"),
    CostBy.ACCOUNT: pl.when(pl.col("sub_account") != "").then("sub_account").otherwise("billing_account"),
    CostBy.OWNER: pl.when(pl.col("owner") != "").then("owner").otherwise(pl.lit(NOBODY)),
    CostBy.PROVIDER: None,
    CostBy.CATEGORY: pl.col("charge_category"),
    CostBy.MONTH: pl.col("charge_day").dt.strftime("%Y-%m"),
    CostBy.DAY: pl.col("charge_day"),
}


def totals(days: dy.DataFrame[PoundCost]) -> pl.DataFrame:
    """This will return what an import came to by month, provider and currency, to the penny, native and in pounds."""
    key = ["month", "provider", "currency"]
    rows = days.with_columns(month=pl.col("charge_day").dt.strftime("%Y-%m")).group_by(key)
    summed = rows.agg(
        pl.col("rows").sum().alias("charges"),
        *(pl.col(name).sum() for name in (*NATIVE, "billed_gbp", "effective_gbp")),
        pl.col("charge_day").filter(~pl.col("is_whole")).n_unique().alias("open_days"),
    )
    return _to_pence(summed.sort(key), (*NATIVE, "billed_gbp", "effective_gbp"))


def costs_by(days: pl.DataFrame, by: CostBy) -> pl.DataFrame:
    """This will return costs by one column, dearest first (months and days in order), and to the penny.

    Args:
        days: rows of PoundCost.
        by: what they are added up by, of each provider.
    """
    chosen = _BY[by]
    key = ["provider"] if chosen is None else ["provider", by.value]
    labelled = days if chosen is None else days.with_columns(chosen.alias(by.value))
    summed = labelled.group_by(key).agg(
        *_pound_sums(),
        pl.col("charge_day").filter(~pl.col("is_whole")).n_unique().alias("open_days"),
    )
    in_order = (
        summed.sort([by.value, "provider"])
        if by in {CostBy.MONTH, CostBy.DAY}
        else summed.sort(["effective_gbp", *key], descending=[True, *(False for _ in key)])
    )
    return _to_pence(in_order, POUND_SUMS)


def at_old_rates(days: pl.DataFrame) -> pl.DataFrame:
    """This will return currency, first and last day, date and source of rates over a week older than their day.

    A rate by contract or of a month (HMRC) is meant to hold longer.

    Args:
        days: rows of PoundCost.
    """
    is_old = pl.col("charge_day") - pl.col("fx_date") > pl.duration(days=OLD_RATE_DAYS)
    daily = ~pl.col("fx_source").is_in(["contract", "hmrc", "none"])
    return (
        days.filter(is_old, daily)
        .group_by("currency", "fx_date", "fx_source")
        .agg(first=pl.col("charge_day").min(), last=pl.col("charge_day").max())
        .sort("currency", "fx_date")
    )


def total_of(days: pl.DataFrame) -> pl.DataFrame:
    """This will return one row with the sums of pounds, to the penny."""
    return _to_pence(days.select(pl.lit("all").alias("total"), *_pound_sums()).unique(), POUND_SUMS)


def for_reading(rows: pl.DataFrame) -> pl.DataFrame:
    """This will write every amount of pounds as a person reads it: £1,234.56."""
    return rows.with_columns(
        pl.col(name).map_elements(pounds, return_dtype=pl.String) for name in rows.columns if name.endswith("_gbp")
    )


def discounts_for_reading(found: pl.DataFrame) -> pl.DataFrame:
    """This will write discounts (rows of Discount) as a person reads them, with their evidence."""
    hours = pl.col("vcpu_hours").round(0).cast(pl.Int64)
    return for_reading(
        found.select(
            "provider",
            *(pl.col(name).replace("", "all").alias(name) for name in ("region", "instance_family")),
            "capacity_type",
            "verdict",
            *_in_pence("list_gbp", "paid_gbp"),
            discount=(pl.col("discount_ratio") * 100).map_elements(_percent, return_dtype=pl.String),
            days="days",
            vcpu_hours=pl.when(hours > 0).then(hours),
            charges="charges",
            left_out="charges_left_out",
        )
    )


def _in_pence(*names: str) -> list[pl.Expr]:
    return [pl.col(name).map_elements(pence, return_dtype=pl.Decimal(38, 2)) for name in names]


def _percent(number: float) -> str:
    return f"{number:.1f} %"


def _pound_sums() -> list[pl.Expr]:
    """What charges come to; at list price only where every one of them has a list price."""
    every_has = pl.col("rows_without_list_cost").sum() == 0
    listed = pl.when(every_has).then(pl.col("list_gbp").sum()).alias("list_gbp")
    return [pl.col("billed_gbp").sum(), pl.col("effective_gbp").sum(), listed]


def _to_pence(rows: pl.DataFrame, columns: tuple[str, ...]) -> pl.DataFrame:
    return rows.with_columns(
        pl.Series(name, [None if amount is None else pence(amount) for amount in rows[name]], dtype=pl.Decimal(38, 2))
        for name in columns
    )
