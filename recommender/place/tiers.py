"""What a month's volume costs on a price list with tiers."""

from __future__ import annotations

import polars as pl

PATH = ("path_provider", "path_region", "path_destination", "path_to_region")
"""Columns that name one price list: provider, region the bytes leave, destination, region they reach (or any)."""

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


def _price_lists(rates: pl.DataFrame) -> pl.DataFrame:
    """One price list a path: a price book's, which may hold a contract, before the provider's own."""
    key = list(_RATE_COLUMNS)
    not_book = pl.col("source") != "book"
    return (
        rates.sort([*key, not_book, "source", "tier_start_gib"])
        .filter(pl.col("source") == pl.col("source").first().over(key))
        .with_columns(tier_end_gib=pl.col("tier_start_gib").shift(-1).over(key).fill_null(float("inf")))
        .select(
            *(pl.col(name).alias(path) for name, path in zip(_RATE_COLUMNS, PATH, strict=True)),
            "tier_start_gib",
            "tier_end_gib",
            "gbp_per_gib",
        )
    )
