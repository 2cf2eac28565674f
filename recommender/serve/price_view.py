"""Prices as the explorer shows them: the cheapest by unit, region and capacity type, and a table of models by place.

Pure. Illustrative prices of the packaged book stand for nothing and are left out; how many is said.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

import polars as pl

from exporters.core.frames import OFFER_KEY, is_illustrative
from exporters.core.money import GBP, rate
from exporters.core.words import CapacityType, EgressDestination
from exporters.store.read import Prices
from recommender.report import words

SHOWN = 200
"""Rows of a table at most; the rest is counted."""


class Unit(StrEnum):
    """What is priced."""

    VCPU = "vcpu"
    GPU = "gpu"
    ACCELERATOR = "accelerator"
    EGRESS = "egress"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What of the prices is wanted; empty: any."""

    unit: Unit = Unit.VCPU
    model: str = ""
    provider: str = ""
    region: str = ""
    capacity_type: str = ""
    operating_system: str = "linux"


@dataclass(frozen=True, slots=True)
class PriceRow:
    """One price; ratio is of the dearest that is shown, for bars."""

    what: str
    where: str
    how: str
    machine: str
    price: str
    ratio: float
    native: str
    seen: str
    source: str


@dataclass(frozen=True, slots=True)
class Cell:
    """One field of the table by place; empty: no such price."""

    text: str
    is_best: bool = False


@dataclass(frozen=True, slots=True)
class Grid:
    """A table by two words."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]


@dataclass(frozen=True, slots=True)
class Found:
    """What is shown.

    Args:
        rows: the cheapest first.
        total: of all rows, shown or not.
        grid: of GPUs and accelerators.
        left_out: illustrative prices.
    """

    rows: tuple[PriceRow, ...]
    total: int
    grid: Grid | None
    left_out: int


_OF = {
    Unit.VCPU: ("gbp_per_vcpu_hour", "", "vCPU-hour"),
    Unit.GPU: ("gbp_per_gpu_hour", "gpu_model", "GPU-hour"),
    Unit.ACCELERATOR: ("gbp_per_accelerator_hour", "accelerator_model", "accelerator-hour"),
}


def found(prices: Prices, wanted: Wanted, *, now: datetime) -> Found:
    """This will find the cheapest price of each place and way to buy."""
    if wanted.unit is Unit.EGRESS:
        return _egress(prices, wanted, now=now)
    column, model, _ = _OF[wanted.unit]
    offers = _of_unit(prices.offers, wanted.unit)
    real = offers.filter(~is_illustrative())
    kept = real.filter(*_conditions(wanted, model))
    by = [name for name in (model, "provider", "region", "capacity_type") if name]
    cheapest = kept.sort(column, *OFFER_KEY).unique(by, keep="first", maintain_order=True).sort(column, *by)
    dearest = cheapest[column].head(SHOWN).max()
    rows = tuple(
        _row(one, wanted.unit, dearest=dearest if isinstance(dearest, float) else 0.0, now=now)
        for one in cheapest.head(SHOWN).iter_rows(named=True)
    )
    return Found(rows, cheapest.height, _grid(cheapest, wanted), offers.height - real.height)


def choices(prices: Prices, unit: Unit) -> dict[str, list[str]]:
    """This will return what the form offers for a unit: models, providers, regions, ways to buy."""
    if unit is Unit.EGRESS:
        rates = prices.egress
        return {
            "model": [one.value for one in EgressDestination],
            "provider": _words(rates, "provider"),
            "region": _words(rates, "from_region"),
            "capacity_type": [],
        }
    offers = _of_unit(prices.offers, unit).filter(~is_illustrative())
    model = _OF[unit][1]
    return {
        "model": _words(offers, model) if model else [],
        "provider": _words(offers, "provider"),
        "region": _words(offers, "region"),
        "capacity_type": [one.value for one in CapacityType if one.value in set(offers["capacity_type"])],
    }


def _of_unit(offers: pl.DataFrame, unit: Unit) -> pl.DataFrame:
    if unit is Unit.VCPU:
        return offers.filter(pl.col("gpus") == 0, pl.col("accelerators") == 0)
    return offers.filter(pl.col("gpus" if unit is Unit.GPU else "accelerators") > 0)


def _conditions(wanted: Wanted, model: str) -> Iterator[pl.Expr]:
    yield pl.col("operating_system") == wanted.operating_system
    for name, value in (
        ("provider", wanted.provider),
        ("region", wanted.region),
        ("capacity_type", wanted.capacity_type),
        (model, wanted.model if model else ""),
    ):
        if value:
            yield pl.col(name) == pl.lit(value)


def _row(one: dict[str, Any], unit: Unit, *, dearest: float, now: datetime) -> PriceRow:
    column, model, _ = _OF[unit]
    devices = one["gpus"] if unit is Unit.GPU else one["accelerators"]
    shape = f"{one['vcpus']:g} vCPU, {one['memory_gib']:g} GiB"
    return PriceRow(
        what=words.shown(one[model]) if model else "vCPU",
        where=words.shown(" ".join(filter(None, (one["provider"], one["region"], one["zone"])))),
        how=one["capacity_type"],
        machine=words.shown(f"{one['instance_type']} ({shape}{f', {devices:g} × {one[model]}' if model else ''})"),
        price=rate(one[column]),
        ratio=one[column] / dearest if dearest else 0.0,
        native=words.shown(f"{one['price_per_hour'].normalize():f} {one['currency']}{_rate_of(one)}"),
        seen=_seen(one["observed_at"], now=now),
        source=words.shown("; ".join(filter(None, (one["source"], one["note"])))),
    )


def _egress(prices: Prices, wanted: Wanted, *, now: datetime) -> Found:
    real = prices.egress.filter(~is_illustrative())
    conditions = [
        pl.col(name) == pl.lit(value)
        for name, value in (
            ("provider", wanted.provider),
            ("from_region", wanted.region),
            ("destination", wanted.model or EgressDestination.INTERNET.value),
        )
        if value
    ]
    kept = real.filter(*conditions).sort("from_region", "provider", "to_region", "tier_start_gib")
    shown = kept.head(SHOWN)
    dearest = shown["gbp_per_gib"].max()
    rows = tuple(
        PriceRow(
            what=f"from {one['tier_start_gib']:,.0f} GiB a month" if one["tier_start_gib"] else "from the first GiB",
            where=words.shown(f"{one['provider']} {one['from_region']}"),
            how=words.shown(" ".join(filter(None, (one["destination"], one["to_region"])))),
            machine="",
            price="free" if one["gbp_per_gib"] == 0 else rate(one["gbp_per_gib"]),
            ratio=one["gbp_per_gib"] / dearest if isinstance(dearest, float) and dearest else 0.0,
            native=words.shown(f"{one['price_per_gib'].normalize():f} {one['currency']}{_rate_of(one)}"),
            seen=_seen(one["observed_at"], now=now),
            source=words.shown("; ".join(filter(None, (one["source"], one["note"])))),
        )
        for one in shown.iter_rows(named=True)
    )
    return Found(rows, kept.height, None, prices.egress.height - real.height)


def _grid(cheapest: pl.DataFrame, wanted: Wanted) -> Grid | None:
    """Of one model its regions by way to buy; of all models the cheapest of each provider."""
    column, model, unit = _OF[wanted.unit]
    if not model or cheapest.is_empty():
        return None
    if wanted.model:
        placed = cheapest.with_columns(place=pl.col("provider") + " " + pl.col("region"))
        head = [one.value for one in CapacityType if one.value in set(cheapest["capacity_type"])]
        title = f"{words.shown(wanted.model)} by region, £ a {unit}"
        return _crossed(placed, "place", "capacity_type", head=head, column=column, title=title)
    head = _words(cheapest, "provider")
    title = f"The cheapest by provider, £ a {unit}"
    return _crossed(cheapest, model, "provider", head=head, column=column, title=title)


def _crossed(rows: pl.DataFrame, down: str, across: str, *, head: list[str], column: str, title: str) -> Grid:
    least = rows.group_by(down, across).agg(pl.col(column).min())
    prices = {(one, other): price for one, other, price in least.iter_rows()}
    order = rows.group_by(down).agg(pl.col(column).min()).sort(column, down)[down].to_list()
    if down != "place":
        order = sorted(order)
    lines = []
    for name in order:
        known = [prices[name, other] for other in head if (name, other) in prices]
        cells = [prices.get((name, other)) for other in head]
        told = tuple(Cell("") if one is None else Cell(rate(one), is_best=one == min(known)) for one in cells)
        lines.append((words.shown(name), told))
    return Grid(title, tuple(words.shown(one) for one in head), tuple(lines[:SHOWN]))


def _rate_of(one: dict[str, Any]) -> str:
    if one["currency"] == GBP:
        return ""
    return f" × {one['gbp_per_unit']:.4f} ({one['fx_source']}, {one['fx_date']:%-d %B %Y})"


def _seen(at: datetime, *, now: datetime) -> str:
    return f"{words.day(at)}, {words.age(now - at)} old"


def _words(rows: pl.DataFrame, column: str) -> list[str]:
    return [one for one in rows[column].unique().sort().to_list() if one]
