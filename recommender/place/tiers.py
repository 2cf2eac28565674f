"""What a month's volume costs on a price list with tiers."""

from __future__ import annotations

import polars as pl

PATH = ("path_provider", "path_region", "path_destination", "path_to_region")
"""Columns that name one price list: provider, region the bytes leave, destination, region they reach (or any)."""

PROVENANCE = ("source", "currency", "gbp_per_unit", "fx_date", "fx_source", "observed_at", "note")
"""Where a price list comes from, and the rate it was converted at."""

_RATE_COLUMNS = ("provider", "from_region", "destination", "to_region")


def cost_of_volume(volumes: pl.DataFrame, rates: pl.DataFrame) -> pl.DataFrame:
    """This will price `gib_per_month` on each row's path, every tier for its own part of the volume.

    Args:
        volumes: the columns of PATH and gib_per_month.
        rates: EgressRate.

    Returns:
        The rows in their order with gbp_per_month: null where the path has no price list, or one that does not begin
        at its first GiB.
    """
    numbered = volumes.with_row_index("__row")
    part = (
        (pl.col("gib_per_month") - pl.col("tier_start_gib"))
        .clip(lower_bound=0.0)
        .clip(upper_bound=pl.col("tier_end_gib") - pl.col("tier_start_gib"))
    )
    billed = (
        numbered.select("__row", *PATH, "gib_per_month")
        .join(_price_lists(rates), on=list(PATH), how="inner", maintain_order="left_right")
        .group_by("__row", maintain_order=True)
        .agg(
            gbp_per_month=pl.when(pl.col("tier_start_gib").min() == 0).then((part * pl.col("gbp_per_gib")).sum()),
        )
    )
    return numbered.join(billed, on="__row", how="left", maintain_order="left").drop("__row")


def provenance(rates: pl.DataFrame) -> pl.DataFrame:
    """This will return where each path's price list comes from: the columns of PATH and of PROVENANCE."""
    return (
        _one_list_a_path(rates)
        .group_by(_RATE_COLUMNS, maintain_order=True)
        .agg(pl.col(PROVENANCE).first())
        .rename(dict(zip(_RATE_COLUMNS, PATH, strict=True)))
    )


def _price_lists(rates: pl.DataFrame) -> pl.DataFrame:
    end = pl.col("tier_start_gib").shift(-1).over(_RATE_COLUMNS).fill_null(float("inf"))
    return (
        _one_list_a_path(rates)
        .with_columns(tier_end_gib=end)
        .select(*_RATE_COLUMNS, "tier_start_gib", "tier_end_gib", "gbp_per_gib")
        .rename(dict(zip(_RATE_COLUMNS, PATH, strict=True)))
    )


def _one_list_a_path(rates: pl.DataFrame) -> pl.DataFrame:
    """The tiers of one source a path, in order: a price book's, which may hold a contract, before the provider's."""
    not_book = pl.col("source") != "book"
    return rates.sort([*_RATE_COLUMNS, not_book, "source", "tier_start_gib"]).filter(
        pl.col("source") == pl.col("source").first().over(_RATE_COLUMNS)
    )
