"""What offers really cost: list prices and the discounts that bills show become prices at the basis that counts.

    offers at list price × (1 − discount) → offers at effective price

Only what is bought by the hour has a discount: on demand and spot. Capacity that is owned or committed has its own
price, and the price of a book is already what was agreed. The discount of the machine's family in its region stands
before that of the family, and that before the one of all machines; without one an offer keeps its list price. Native
price and rate of exchange stay as the source gave them, so that both figures can be worked out again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import dataframely as dy
import polars as pl

from exporters.core.cost_frames import Discount
from exporters.core.frames import Offer
from exporters.core.words import PriceBasis
from exporters.store.read import BOOK_SOURCE, Prices
from recommender.place.offered import PLACE, offered

BOTH_SHOWN_FROM: Final = 0.10
"""Share of the list price by which the price really paid must differ for both to be shown."""

PRICES: Final = (
    *("gbp_per_hour", "gbp_per_vcpu_hour", "gbp_per_gib_hour"),
    *("gbp_per_gpu_hour", "gbp_per_accelerator_hour"),
)
_LEVELS: Final = (("region", "instance_family"), ("instance_family",), ())
"""From the nearest evidence to the widest; what a level is not of is empty in its rows."""
_NAMES: Final = ("region", "instance_family")


def at_basis(prices: Prices, discounts: dy.DataFrame[Discount], basis: PriceBasis) -> Prices:
    """This will return prices at a basis, with the discounts that are known beside them.

    Args:
        prices: at list price.
        discounts: those that hold.
        basis: effective: offers with a discount cost what is really paid; list: they stay as they are.
    """
    known = replace(prices, discounts=discounts, basis=basis)
    if basis is PriceBasis.LIST:
        return known
    rows = with_discount(prices.offers, discounts)
    paid = 1 - pl.col("discount_ratio").fill_null(0.0)
    return replace(known, offers=Offer.cast(rows.with_columns(pl.col(PRICES) * paid).select(prices.offers.columns)))


def with_discount(offers: pl.DataFrame, discounts: dy.DataFrame[Discount]) -> pl.DataFrame:
    """This will add the discount of each offer.

    Args:
        offers: rows of Offer.
        discounts: those that hold.

    Returns:
        The offers in their order with `discount_ratio` (null: list price), `discount_region` and
        `discount_instance_family`, which with provider and capacity type find the discount again.
    """
    rows = offers
    for number, level in enumerate(_LEVELS):
        beyond = [pl.col(name) == "" if name not in level else pl.col(name) != "" for name in _NAMES]
        here = discounts.filter(*beyond).select(
            "provider",
            "capacity_type",
            *(pl.col(name).alias(_offer_column(name)) for name in level),
            pl.struct("discount_ratio", "region", "instance_family").alias(f"_discount_{number}"),
        )
        on = ["provider", "capacity_type", *(_offer_column(name) for name in level)]
        rows = rows.join(here, on=on, how="left", maintain_order="left")
    levels = [f"_discount_{number}" for number in range(len(_LEVELS))]
    found = pl.when(pl.col("source") != BOOK_SOURCE).then(pl.coalesce(levels))
    return rows.with_columns(
        found.struct.field("discount_ratio"),
        found.struct.field("region").alias("discount_region"),
        found.struct.field("instance_family").alias("discount_instance_family"),
    ).drop(levels)


def used_discounts(prices: Prices, pools: pl.DataFrame) -> dy.DataFrame[Discount]:
    """This will return the discounts that stand for a machine of the fleet (rows of Pool)."""
    places = pools.select(PLACE).unique()
    chosen = offered(prices.offers, places, dearest_zone=True).select(*PLACE[:2], *PLACE[3:], "offer_zone", "source")
    offers = prices.offers.rename({"zone": "offer_zone"}).join(chosen, on=chosen.columns, how="semi")
    named = with_discount(offers, prices.discounts).select(
        "provider", "capacity_type", region="discount_region", instance_family="discount_instance_family"
    )
    return Discount.cast(prices.discounts.join(named, on=named.columns, how="semi").sort(Discount.primary_key()))


def _offer_column(name: str) -> str:
    return "family" if name == "instance_family" else name
