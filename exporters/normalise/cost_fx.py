"""Between days in native money and days in pounds: each converts at the rate of its own day.

Pure. Promises that rate, day and source of the rate travel with every amount, that a day without a rate of its own
(weekends, holidays) takes the last one before it, and that a currency without a rate has no pounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

import dataframely as dy
import polars as pl

from exporters.core.cost_frames import COST, COST_KEY, CostReject, CostRejects, DailyCost, PoundCost
from exporters.core.money import GBP

RATE_SCHEMA = pl.Schema(
    {"currency": pl.String(), "rate_date": pl.Date(), "gbp_per_unit": COST, "fx_source": pl.String()}
)
RATE_COLUMNS = tuple(RATE_SCHEMA)
"""A history of rates: pounds per unit of a currency from each day on."""


@dataclass(frozen=True, slots=True)
class Converted:
    """Days in pounds, and what has no rate."""

    days: dy.DataFrame[PoundCost]
    rejects: dy.DataFrame[CostRejects]


def in_pounds(days: pl.DataFrame, history: pl.DataFrame, *, file: str) -> Converted:
    """This will convert days at their own rates.

    Args:
        days: rows of DailyCost with reached and is_whole.
        history: see RATE_SCHEMA; of several rates of one day the last row counts. A rate by contract holds always.
        file: the export, for the count of rejects.
    """
    pound = pl.DataFrame(
        {"currency": [GBP], "rate_date": [date.min], "gbp_per_unit": [1], "fx_source": ["none"]}, schema=RATE_SCHEMA
    )
    rates = pl.concat([history.filter(pl.col("currency") != GBP).select(RATE_COLUMNS), pound])
    rates = rates.unique(["currency", "rate_date"], keep="last").rename({"rate_date": "fx_date"})
    rated = days.sort("charge_day").join_asof(
        rates.sort("fx_date"),
        left_on="charge_day",
        right_on="fx_date",
        by="currency",
        coalesce=False,
        check_sortedness=False,
    )
    known = pl.col("gbp_per_unit").is_not_null()
    good = rated.filter(known).with_columns(
        fx_date=pl.when(pl.col("fx_date") == date.min).then("charge_day").otherwise("fx_date"),
        billed_gbp=pl.col("billed_cost") * pl.col("gbp_per_unit"),
        effective_gbp=pl.col("effective_cost") * pl.col("gbp_per_unit"),
        list_gbp=pl.col("list_cost") * pl.col("gbp_per_unit"),
    )
    left_out = (
        rated.filter(~known)
        .select(
            file=pl.lit(file),
            reason=pl.lit(CostReject.NO_RATE.value),
            rows="rows",
            example=pl.format("{} {} {}", "currency", "provider", "charge_day"),
        )
        .group_by("file", "reason")
        .agg(pl.col("rows").sum(), pl.col("example").min())
    )
    return Converted(
        days=PoundCost.validate(good.select(PoundCost.column_names()).sort(COST_KEY), cast=True),
        rejects=CostRejects.validate(left_out, cast=True),
    )


def native(days: dy.DataFrame[PoundCost]) -> pl.DataFrame:
    """This will return days as they were before they were converted."""
    return days.select(*DailyCost.column_names(), "reached", "is_whole")
