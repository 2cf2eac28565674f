"""Google Cloud network SKUs to egress prices: internet, region pairs and zones, tier by tier.

The row rule. A SKU is one of the three by its whole description (data transfer out; the older word is egress):

* ``Network Internet Data Transfer Out from X to Y``, group PremiumInternetEgress: to the internet. Google sells by
  where the traffic goes; the price kept is to the first of INTERNET_DESTINATIONS that is sold from the region, and
  the note names it.
* ``Network Inter Region Data Transfer Out from X to Y``: from the SKU's regions to those of place Y; a pair without
  one takes ``… Inter Region within <continent>``, noted.
* ``Network Inter Zone Data Transfer Out``: billed to the sender only.

Places are names, not codes. Y is looked up in core/data/regions.csv, and in what the catalogue itself says about X of
other SKUs ("Americas" is its three oldest American regions). A tier starts in GiB; free tiers are rows with price 0.
A SKU with a tier that is absent, negative or in another currency or unit is refused whole, never tier by tier.
Source: Cloud Billing Catalog API; wording as in infracost (internal/resources/google/network_egress_internal.go).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import dataframely as dy
import polars as pl

from exporters.core.frames import EgressListPrice, Reject
from exporters.core.geography import regions as known_regions
from exporters.core.money import NATIVE
from exporters.core.words import ANY_REGION, EgressDestination, RejectReason
from exporters.normalise.chosen import count_rejects, merge_rejects

NATIVE_CURRENCY = "USD"
UNIT = "GiBy"

INTERNET_DESTINATIONS = ("EMEA", "Western Europe", "Europe", "Americas")
"""Where the internet is, in order: users of a European company are nearest to the first; all regions sell the last."""

_INTERNET = r"^Network Internet (?:Data Transfer Out|Egress) from (.+) to (.+)$"
_PAIR = r"^Network Inter Region (?:Data Transfer Out|Egress) from (.+) to (.+)$"
_WITHIN = r"^Network (?:Data Transfer|Egress) (?:GCP|Google Cloud) Inter Region within (.+)$"
_ZONE = r"^Network Inter Zone (?:Data Transfer Out|Egress)$"

_WITHIN_NAMES = {"Northern America": "North America"}
"""Continents as the catalogue writes them, where regions.csv writes another."""

_PAIR_KEY = ("from_region", "destination", "to_region")


@dataclass(frozen=True, slots=True)
class Egress:
    """Egress list prices and the counts of SKUs left out."""

    prices: dy.DataFrame[EgressListPrice]
    rejects: dy.DataFrame[Reject]


def egress(skus: pl.DataFrame, *, regions: Sequence[str]) -> Egress:
    """This will return the egress prices from the asked regions and the counts of the rest.

    Args:
        skus: the raw frame ``skus`` of the source.
        regions: regions that traffic leaves from.
    """
    rated = _rated(_traffic(skus))
    sound = rated.filter(pl.col("reason").is_null())
    places = _places(skus)
    placed = _to_regions(_from_regions(sound, places, regions), places)
    known = placed.filter(pl.col("to_region").is_not_null() & (pl.col("to_region") != pl.col("from_region")))
    best = known.filter(pl.col("rank") == pl.col("rank").min().over(_PAIR_KEY)).unique([*_PAIR_KEY, "signature"])
    marked = best.with_columns(single=pl.len().over(_PAIR_KEY) == 1)
    return Egress(
        prices=_list_prices(marked.filter("single")),
        rejects=merge_rejects(
            _refused(_from_regions(rated.filter(pl.col("reason").is_not_null()), places, regions), pl.col("reason")),
            _refused(placed.filter(pl.col("to_region").is_null()), pl.lit(RejectReason.UNKNOWN_REGION.value)),
            _refused(marked.filter(~pl.col("single")), pl.lit(RejectReason.AMBIGUOUS.value)),
        ),
    )


def _traffic(skus: pl.DataFrame) -> pl.DataFrame:
    """SKUs of machine traffic with `destination`, the place they go `to`, and a rank: the lowest of a key is taken."""
    text = pl.col("description")
    internet, pair = text.str.extract_groups(_INTERNET), text.str.extract_groups(_PAIR)
    within = text.str.extract(_WITHIN, 1)
    kinds = {
        "internet": text.str.contains(_INTERNET) & (pl.col("resource_group") == "PremiumInternetEgress"),
        "pair": text.str.contains(_PAIR),
        "within": text.str.contains(_WITHIN),
        "zone": text.str.contains(_ZONE),
    }
    kind = pl.coalesce(pl.when(condition).then(pl.lit(name)) for name, condition in kinds.items())
    destination = {"internet": "internet", "pair": "region", "within": "region", "zone": "zone"}
    return (
        skus.with_columns(
            kind=kind,
            origin=pl.coalesce(internet.struct.field("1"), pair.struct.field("1"), pl.lit("")),
            to=pl.coalesce(internet.struct.field("2"), pair.struct.field("2"), within),
        )
        .filter(pl.col("kind").is_not_null())
        .with_columns(
            destination=pl.col("kind").replace_strict(destination, return_dtype=pl.String),
            rank=pl.when(pl.col("kind") == "internet")
            .then(
                pl.col("to").replace_strict(
                    {name: rank for rank, name in enumerate(INTERNET_DESTINATIONS)}, default=None, return_dtype=pl.Int32
                )
            )
            .otherwise((pl.col("kind") == "within").cast(pl.Int32)),
        )
        .filter(pl.col("rank").is_not_null())
    )


def _rated(rows: pl.DataFrame) -> pl.DataFrame:
    """One row a SKU with its tiers in order; `reason` says why its price list cannot be used."""
    price = pl.col("price").cast(pl.Float64, strict=False)
    first = pl.col("tier_start").min()
    reason = (
        pl.when((pl.col("currency") != NATIVE_CURRENCY).any())
        .then(pl.lit(RejectReason.CURRENCY.value))
        .when((pl.col("usage_unit") != UNIT).any())
        .then(pl.lit(RejectReason.UNIT.value))
        .when(pl.col("price").is_null().any() | first.is_null() | (first != 0))
        .then(pl.lit(RejectReason.ABSENT.value))
        .when(price.is_null().any() | ~price.is_finite().all())
        .then(pl.lit(RejectReason.NOT_A_NUMBER.value))
        .when((price < 0).any())
        .then(pl.lit(RejectReason.NEGATIVE.value))
        .when(pl.col("tier_start").n_unique() != pl.len())
        .then(pl.lit(RejectReason.AMBIGUOUS.value))
    )
    head = ["sku_id", "description", "service_regions", "kind", "destination", "origin", "to", "rank"]
    return rows.group_by(head, maintain_order=True).agg(
        reason=reason,
        tiers=pl.struct("tier_start", "price").sort_by("tier_start"),
        signature=pl.concat_str(pl.col("tier_start"), pl.lit("="), pl.col("price")).sort_by("tier_start").str.join(";"),
        effective_from=pl.col("effective_time").max(),
    )


def _places(skus: pl.DataFrame) -> pl.DataFrame:
    """Place names and the regions they mean: place, place_region."""
    gcp = known_regions().filter(pl.col("provider") == "gcp")
    tabled = gcp.select(place=pl.col("place").str.split("|"), place_region="region").explode("place")
    described = (
        skus.select(place=pl.col("description").str.extract(_PAIR, 1), place_region=pl.col("service_regions"))
        .filter(pl.col("place").is_not_null())
        .explode("place_region")
        .filter(pl.col("place_region") != "global")
    )
    return pl.concat([tabled, described]).unique(maintain_order=True)


def _from_regions(rows: pl.DataFrame, places: pl.DataFrame, regions: Sequence[str]) -> pl.DataFrame:
    """One row a SKU and asked region it leaves from; a SKU of the region "global" leaves from the place in its name."""
    exploded = rows.explode("service_regions").rename({"service_regions": "from_region"})
    everywhere = pl.col("from_region") == "global"
    named = everywhere & (pl.col("origin") != "")
    by_place = (
        exploded.filter(named)
        .drop("from_region")
        .join(places.rename({"place": "origin", "place_region": "from_region"}), on="origin", how="inner")
    )
    by_list = (
        exploded.filter(everywhere & ~named)
        .drop("from_region")
        .join(pl.DataFrame({"from_region": list(regions)}, schema={"from_region": pl.String}), how="cross")
    )
    spread = pl.concat([exploded.filter(~everywhere), by_place, by_list], how="diagonal")
    return spread.filter(pl.col("from_region").is_in(list(regions)))


def _to_regions(rows: pl.DataFrame, places: pl.DataFrame) -> pl.DataFrame:
    """One row a SKU, region it leaves from and region it goes to; `to_region` is null if the place is unknown."""
    anywhere = rows.filter(pl.col("destination") != EgressDestination.REGION.value).with_columns(
        to_region=pl.lit(ANY_REGION)
    )
    pairs = rows.filter(pl.col("kind") == "pair").join(
        places.rename({"place": "to", "place_region": "to_region"}), on="to", how="left"
    )
    gcp = known_regions().filter(pl.col("provider") == "gcp").select("region", "continent")
    within = (
        rows.filter(pl.col("kind") == "within")
        .with_columns(continent=pl.col("to").replace(_WITHIN_NAMES))
        .join(gcp.rename({"region": "to_region"}), on="continent", how="left")
        .join(gcp.rename({"region": "from_region", "continent": "from_continent"}), on="from_region", how="left")
        .filter((pl.col("from_continent") == pl.col("continent")) | pl.col("to_region").is_null())
        .drop("continent", "from_continent")
    )
    return pl.concat([anywhere, pairs, within])


def _list_prices(rows: pl.DataFrame) -> dy.DataFrame[EgressListPrice]:
    note = {"internet": "to ", "within": "list price within "}
    prices = (
        rows.explode("tiers")
        .unnest("tiers")
        .select(
            "from_region",
            "destination",
            "to_region",
            "effective_from",
            provider=pl.lit("gcp"),
            tier_start_gib=pl.col("tier_start"),
            currency=pl.lit(NATIVE_CURRENCY),
            price_per_gib=pl.col("price").cast(NATIVE),
            note=pl.col("kind").replace_strict(note, default=None, return_dtype=pl.String) + pl.col("to"),
        )
    )
    order = ["from_region", "destination", "to_region", "tier_start_gib"]
    return EgressListPrice.validate(prices.select(EgressListPrice.column_names()).sort(order), cast=True)


def _refused(rows: pl.DataFrame, reason: pl.Expr, region: str = "from_region") -> dy.DataFrame[Reject]:
    return count_rejects(
        rows,
        reason=reason,
        example=pl.concat_str("sku_id", pl.lit(" "), "description"),
        region=pl.col(region),
    )
