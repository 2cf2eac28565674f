"""Between choosing and splitting: each price gets the exchange rate of its currency, or is left out.

Promises that every row that comes out carries rate, day and source of the rate, and that no rate is guessed. The
pound is always worth one pound, whatever the table holds.
"""

from __future__ import annotations

from datetime import datetime

import dataframely as dy
import polars as pl

from exporters.core.frames import EgressListPrice, EgressRate, FxRate
from exporters.core.money import GBP
from exporters.core.words import RejectReason
from exporters.normalise.chosen import Sorted, count_rejects


def with_rate(
    rows: pl.DataFrame, fx: dy.DataFrame[FxRate], *, observed_at: datetime, region: str, example: str
) -> Sorted:
    """This will put gbp_per_unit, fx_date and fx_source beside each row with a currency.

    Args:
        rows: rows with a column `currency`.
        fx: the rate table of this refresh.
        observed_at: when the source gave the rows; the day of the pound's own rate.
        region: the region column, for the reject count.
        example: a column to quote in the reject.

    Returns:
        The rows whose currency has a rate; the others counted as no-exchange-rate.
    """
    pound = pl.DataFrame(
        {"currency": [GBP], "gbp_per_unit": [1.0], "rate_date": [observed_at.date()], "fx_source": ["none"]}
    )
    table = pl.concat([fx.filter(pl.col("currency") != GBP).select(pound.columns), pound]).rename(
        {"rate_date": "fx_date"}
    )
    rated = rows.join(table, on="currency", how="left", maintain_order="left")
    known = pl.col("gbp_per_unit").is_not_null()
    return Sorted(
        good=rated.filter(known),
        rejects=count_rejects(
            rated.filter(~known),
            reason=pl.lit(RejectReason.NO_RATE.value),
            example=pl.format("{} ({})", pl.col(example), pl.col("currency")),
            region=pl.col(region),
        ),
    )


def in_pounds(column: str) -> pl.Expr:
    """This will express a native amount in pounds at the rate of its row; null stays null."""
    return pl.col(column).cast(pl.Float64) * pl.col("gbp_per_unit")


def convert_egress(
    egress: dy.DataFrame[EgressListPrice], fx: dy.DataFrame[FxRate], *, source: str, observed_at: datetime
) -> Sorted:
    """This will express egress tiers in pounds.

    Returns:
        Rows of EgressRate, sorted by key; those without an exchange rate counted.
    """
    rated = with_rate(egress, fx, observed_at=observed_at, region="from_region", example="destination")
    rows = rated.good.with_columns(
        gbp_per_gib=in_pounds("price_per_gib"),
        source=pl.lit(source),
        observed_at=pl.lit(observed_at, dtype=pl.Datetime("us", "UTC")),
    )
    valid = EgressRate.validate(rows.select(EgressRate.column_names()).sort(EgressRate.primary_key()), cast=True)
    return Sorted(good=valid, rejects=rated.rejects)
