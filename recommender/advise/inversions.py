"""Machines of the fleet whose spot price is not below on-demand: told, because nobody should run there on spot."""

from __future__ import annotations

import polars as pl

from exporters.core.money import rate
from exporters.store.read import Prices
from recommender.advise.plan import PriceWarning
from recommender.place.offered import offered

_MACHINE = ("provider", "region", "zone", "instance_type")


def inversions(prices: Prices, pools: pl.DataFrame) -> tuple[PriceWarning, ...]:
    """This will list the machines in spot pools that are as dear as on-demand, or dearer.

    Args:
        prices: usable prices.
        pools: the fleet.
    """
    spot = pools.filter(pl.col("capacity_type") == "spot").select(*_MACHINE, "capacity_type")
    dear = _price(prices, spot).rename({"gbp": "spot"})
    plain = _price(prices, spot.with_columns(capacity_type=pl.lit("on-demand"))).rename({"gbp": "on_demand"})
    both = dear.join(plain, on=_MACHINE, how="inner").filter(pl.col("spot") >= pl.col("on_demand")).sort(_MACHINE)
    return tuple(
        PriceWarning(
            provider=row["provider"],
            region=row["region"],
            instance_type=row["instance_type"],
            what=f"spot costs {rate(row['spot'])} an hour, on-demand {rate(row['on_demand'])}",
        )
        for row in both.iter_rows(named=True)
    )


def _price(prices: Prices, places: pl.DataFrame) -> pl.DataFrame:
    """The price of the whole machine, put together from its parts."""
    whole = (
        pl.col("vcpus") * pl.col("gbp_per_vcpu_hour")
        + pl.col("memory_gib") * pl.col("gbp_per_gib_hour")
        + pl.col("gpus") * pl.col("gbp_per_gpu_hour")
    )
    return offered(prices.offers, places, dearest_zone=False).select(*_MACHINE, gbp=whole)
