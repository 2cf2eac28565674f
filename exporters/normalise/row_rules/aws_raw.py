"""Normalise, AWS: what the rules for machines and for data transfer share: the currency of a region, terms in force."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import polars as pl

from exporters.core.errors import IntegrityError

CURRENCIES = {"cn-": "CNY", "eusc-": "EUR"}
"""Regions whose list prices are in their own currency; all others are in US dollars."""


def collected(rows: pl.LazyFrame) -> pl.DataFrame:
    """This will run a query over raw rows, block by block.

    Raises:
        IntegrityError: an offer file is torn in its middle, so that it is no longer UTF-8 or CSV.
    """
    try:
        return rows.collect(engine="streaming")
    except pl.exceptions.ComputeError as error:
        raise IntegrityError(
            f"the price list cannot be read ({str(error)[:200]})",
            where="aws",
            next_step="The last good prices stay; it will be fetched again at the next refresh.",
        ) from error


def currency_of(region: str) -> pl.Expr:
    """This will return the currency in which AWS lists prices of the region in a column."""
    code = pl.lit("USD")
    for prefix, currency in CURRENCIES.items():
        code = pl.when(pl.col(region).str.starts_with(prefix)).then(pl.lit(currency)).otherwise(code)
    return code


def in_force(rows: pl.DataFrame, now: datetime, *, per: Sequence[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """This will part rows into those of the term in force, and those whose product has none yet.

    During a price change a product has several terms; the one with the greatest effective date that is not in the
    future holds. The query API writes times, the offer files dates.

    Returns:
        The rows in force, with `effective` (UTC); one row of each product whose terms all lie in the future or have
        no readable date.
    """
    text = pl.col("effective_date")
    dated = rows.with_columns(
        effective=pl.coalesce(
            text.str.to_datetime("%Y-%m-%dT%H:%M:%SZ", strict=False, time_unit="us"),
            text.str.to_date("%Y-%m-%d", strict=False).cast(pl.Datetime("us")),
        ).dt.replace_time_zone("UTC")
    )
    past = dated.filter(pl.col("effective") <= now)
    current = past.filter(pl.col("effective") == pl.col("effective").max().over(per))
    return current, dated.join(current, on=per, how="anti").unique(per, keep="first", maintain_order=True)


def in_own_currency(rows: pl.DataFrame, *, region: str, price: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """This will part rows into those in the currency of their region (or without any price) and the others."""
    own = (pl.col("currency") == currency_of(region)).fill_null(value=False) | pl.col(price).is_null()
    return rows.filter(own), rows.filter(~own)
