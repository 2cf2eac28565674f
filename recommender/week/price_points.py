"""What a report shows of a day's prices: the cheapest on-demand hour of a vCPU and of each GPU model, by region.

    a day's offers → one point a region and unit

A pure function of frames. Every day keeps the exchange rate of its own snapshot: what it cost then is not rewritten.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import date

import polars as pl

from exporters.core.frames import is_illustrative
from exporters.core.words import CapacityType, OperatingSystem

VCPU = "vCPU"
COLUMNS = (
    "provider",
    "region",
    "operating_system",
    "capacity_type",
    "gpu_model",
    "gpus",
    "accelerators",
    "gbp_per_vcpu_hour",
    "gbp_per_gpu_hour",
    "note",
)
"""The columns of offers that points are made from."""

Region = tuple[str, str]


def points_of(
    offers: pl.DataFrame, *, day: date, regions: Collection[Region], gpu_models: Collection[str]
) -> pl.DataFrame:
    """This will return the points of one day.

    Args:
        offers: of a snapshot, at least COLUMNS.
        day: of the snapshot.
        regions: the wanted ones, by provider and code.
        gpu_models: the wanted ones.

    Returns:
        Rows of charts.frames.PricePoint.
    """
    wanted = pl.DataFrame(list(regions), schema=["provider", "region"], orient="row").cast(pl.String)
    linux = pl.col("operating_system") == OperatingSystem.LINUX.value
    bought = pl.col("capacity_type") == CapacityType.ON_DEMAND.value
    listed = offers.filter(linux, bought, ~is_illustrative()).join(wanted, on=["provider", "region"], how="semi")
    plain = listed.filter(pl.col("gpus") == 0, pl.col("accelerators") == 0)
    with_gpu = listed.filter(pl.col("gpus") > 0, pl.col("gpu_model").is_in(list(gpu_models)))
    by_region = [
        _cheapest(plain.with_columns(unit=pl.lit(VCPU)), "gbp_per_vcpu_hour"),
        _cheapest(with_gpu.with_columns(unit="gpu_model"), "gbp_per_gpu_hour"),
    ]
    return pl.concat(by_region).select(pl.lit(day).alias("day"), "provider", "region", "unit", "gbp_per_hour")


def _cheapest(offers: pl.DataFrame, price: str) -> pl.DataFrame:
    return (
        offers.filter(pl.col(price).is_not_null())
        .group_by("provider", "region", "unit")
        .agg(gbp_per_hour=pl.col(price).min())
        .sort("provider", "region", "unit")
    )
