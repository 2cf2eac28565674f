"""The prices and data flows that a piece of advice rests on, as their sources gave them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import polars as pl

from exporters.core.words import NO_ZONE, OperatingSystem, PriceBasis
from exporters.store.read import Prices
from recommender.advise.record import EgressEvidence, PriceEvidence
from recommender.place.effective import with_discount
from recommender.place.tiers import PROVENANCE

_DIGITS = 9
Side = Literal["current", "recommended"]
_SIDES: tuple[tuple[Side, str], ...] = (("current", "from"), ("recommended", "to"))
_FOUND_BY = ("provider", "region", "instance_type", "capacity_type", "offer_zone", "source")


class PriceFinder:
    """Finds the offers of moves again.

    Args:
        prices: the prices that the plan rests on.
        moving: the chosen pairs; or places alone, with the one side that they have.
        sides: the sides that they have.
    """

    def __init__(self, prices: Prices, moving: pl.DataFrame, *, sides: tuple[tuple[Side, str], ...] = _SIDES) -> None:
        self._sides = sides
        self._manifests = {manifest.source: manifest for manifest in prices.used}
        offers = prices.offers.rename({"zone": "offer_zone"}).filter(
            pl.col("operating_system") == OperatingSystem.LINUX.value
        )
        wanted = pl.concat(
            moving.select(pl.col(f"{prefix}_{name}").alias(name) for name in _FOUND_BY) for _, prefix in sides
        )
        found = with_discount(offers.join(wanted.unique(), on=_FOUND_BY, how="semi"), prices.discounts)
        self._basis = prices.basis
        self._offers = {tuple(row[name] for name in _FOUND_BY): row for row in found.iter_rows(named=True)}
        self._told: dict[tuple[str, ...], PriceEvidence] = {}

    def of(self, row: Mapping[str, Any]) -> tuple[PriceEvidence, ...]:
        """This will return the offers of the place left and the place advised."""
        return tuple(self.as_offered(side, row, prefix) for side, prefix in self._sides)

    def as_offered(self, side: Side, row: Mapping[str, Any], prefix: str = "to") -> PriceEvidence:
        """This will return the offer of one place; the same offer is the same object, however many rest on it."""
        key = tuple(row[f"{prefix}_{name}"] for name in _FOUND_BY)
        told = self._told.get((side, *key))
        if told is None:
            told = self._told[side, *key] = self._evidence(side, self._offers[key])
        return told

    def _evidence(self, side: Side, offer: Mapping[str, Any]) -> PriceEvidence:
        manifest = self._manifests[offer["source"]]
        return PriceEvidence(
            used_for=side,
            source=offer["source"],
            snapshot_id=manifest.id,
            origin=manifest.origin.value,
            provider=offer["provider"],
            region=offer["region"],
            zone=None if offer["offer_zone"] == NO_ZONE else offer["offer_zone"],
            instance_type=offer["instance_type"],
            capacity_type=offer["capacity_type"],
            price_per_hour=float(offer["price_per_hour"]),
            max_age_hours=manifest.max_age_hours,
            **_both(offer, self._basis),
            **{name: _rounded(offer[name]) for name in _GBP},
            **{name: offer[name] for name in _AS_GIVEN},
        )


def _both(offer: Mapping[str, Any], basis: PriceBasis) -> dict[str, float | None]:
    """The price at either basis; nothing where no bill says that other than list is paid."""
    if not offer["discount_ratio"]:
        return {}
    own, paid = offer["gbp_per_hour"], 1 - offer["discount_ratio"]
    at_list = own if basis is PriceBasis.LIST else own / paid
    return {"list_gbp_per_hour": _rounded(at_list), "effective_gbp_per_hour": _rounded(at_list * paid)}


_GBP = ("gbp_per_hour", "gbp_per_vcpu_hour", "gbp_per_gib_hour", "gbp_per_gpu_hour", "marginal_gbp_per_hour")
_AS_GIVEN = ("currency", "split_method", "gbp_per_unit", "fx_date", "fx_source", "observed_at", "sku_id", "note")


class FlowFinder:
    """Finds the priced data flows of moves again.

    Args:
        prices: the prices that the plan rests on.
        lines: each flow's price at each region.
        moving: the chosen pairs.
    """

    def __init__(self, prices: Prices, lines: pl.DataFrame, moving: pl.DataFrame) -> None:
        self._manifests = {manifest.source: manifest for manifest in prices.used}
        kept = lines.join(moving.select("w"), on="w", how="semi")
        self._lines: dict[tuple[int, str, str], list[dict[str, Any]]] = {}
        for line in kept.sort("w", "provider", "region", "to", "direction").iter_rows(named=True):
            self._lines.setdefault((line["w"], line["provider"], line["region"]), []).append(line)

    def of(self, row: Mapping[str, Any]) -> tuple[EgressEvidence, ...]:
        """This will return the flows as priced at the place left and at the place advised."""
        return tuple(
            self._evidence(side, line)
            for side, prefix in _SIDES
            for line in self._lines.get((row["w"], row[f"{prefix}_provider"], row[f"{prefix}_region"]), [])
        )

    def _evidence(self, side: Side, line: Mapping[str, Any]) -> EgressEvidence:
        manifest = self._manifests.get(line["source"])
        return EgressEvidence(
            used_for=side,
            gbp_per_gib=round(line["gbp_per_gib"], _DIGITS),
            gbp_per_hour=round(line["gbp_per_hour"], _DIGITS),
            snapshot_id=None if manifest is None else manifest.id,
            origin=None if manifest is None else manifest.origin.value,
            **{name: line[name] for name in (*_FLOW, *PROVENANCE)},
        )


_FLOW = ("to", "direction", "gib_per_hour", "from_region", "basis")


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, _DIGITS)
