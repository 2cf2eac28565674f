"""The exchange rate that a provider's own pound list implies, to set beside ours. Both packages may read it.

A provider that quotes both its native price and pounds (Azure, GCP) converts at a rate of its own, fixed by the month;
the median over its offers shows that rate to three or four digits, because each quoted price is rounded.
"""

from __future__ import annotations

import polars as pl

from exporters.core.money import GBP


def implied_rates(offers: pl.DataFrame) -> pl.DataFrame:
    """This will return the pounds per unit of native currency that each provider's own pound prices imply.

    Args:
        offers: rows with provider, currency, price_per_hour and provider_gbp_per_hour.

    Returns:
        provider, currency, gbp_per_unit; one row for each pair that has a pound price, sorted.
    """
    quoted = offers.filter(pl.col("provider_gbp_per_hour").is_not_null(), pl.col("currency") != GBP)
    rate = pl.col("provider_gbp_per_hour") / pl.col("price_per_hour").cast(pl.Float64)
    return (
        quoted.group_by("provider", "currency")
        .agg(gbp_per_unit=rate.median())
        .select("provider", "currency", "gbp_per_unit")
        .sort("provider", "currency")
    )
