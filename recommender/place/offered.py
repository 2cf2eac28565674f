"""Which offer stands for a machine type at a place.

A contract price from a price book stands before a provider's list price for the same machine. A place whose zone is
known takes that zone's price, else the region's. Where the zone is not known and prices differ by zone, the place a
workload leaves is taken at its cheapest zone and the place it might go to at its dearest, so that a saving holds
wherever the nodes come up. Stale snapshots have been left out before; nothing is inferred from another capacity type.
"""

from __future__ import annotations

import dataframely as dy
import polars as pl

from exporters.core.frames import OFFER_KEY, Offer
from exporters.core.words import NO_ZONE, OperatingSystem
from recommender.frames import Offered

PLACE = ("provider", "region", "zone", "instance_type", "capacity_type")
_MACHINE = ("provider", "region", "instance_type", "capacity_type")


def offered(offers: dy.DataFrame[Offer], places: pl.DataFrame, *, dearest_zone: bool) -> dy.DataFrame[Offered]:
    """This will return one offer for each place that has a price.

    Args:
        offers: all usable prices.
        places: rows with the columns of PLACE.
        dearest_zone: of several zones with their own price take the dearest, else the cheapest.

    Returns:
        The distinct places that have a price; `offer_zone` and `source` find the offer again.
    """
    asked = places.select(PLACE).unique().sort(PLACE)
    zone, asked_zone = pl.col("offer_zone"), pl.col("zone")
    found = (
        asked.join(_one_a_key(offers).rename({"zone": "offer_zone"}), on=_MACHINE, how="inner")
        .filter((zone == asked_zone) | (zone == NO_ZONE) | (asked_zone == NO_ZONE))
        .with_columns(nearness=pl.when(zone == asked_zone).then(0).when(zone == NO_ZONE).then(1).otherwise(2))
        .sort([*PLACE, "nearness", "gbp_per_hour", "offer_zone"], descending=[False] * 6 + [dearest_zone, False])
        .unique(PLACE, keep="first", maintain_order=True)
        .with_columns(pl.col("gbp_per_gpu_hour").fill_null(0.0))
    )
    return Offered.validate(found.select(Offered.column_names()))


def _one_a_key(offers: pl.DataFrame) -> pl.DataFrame:
    return (
        offers.filter(pl.col("operating_system") == OperatingSystem.LINUX.value)
        .with_columns(from_book=pl.col("source") == "book")
        .sort([*OFFER_KEY, "from_book", "source"], descending=[False] * 6 + [True, False])
        .unique(OFFER_KEY, keep="first", maintain_order=True)
    )
