"""Azure for the packaged tables: VM shapes, and offers chosen by the written row rule from two dated lists.

Regions whose Retail Prices meters are to hand (METERED) take both prices from them. Elsewhere only a list of
on-demand prices by size is to hand, in which some sizes carry the Windows price; a size is kept where its price
stands to the metered Linux price as its whole family does, for Windows adds a fixed sum per vCPU (Retail Prices API:
meters of "... Windows" products).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path

import polars as pl
from packaged_azure_shapes import family_of, shapes
from packaged_table import Row, Shape, missing, offer

METERS = "prices/azure_retail_radar_2026-08/azure_vm_meters.parquet"
METERS_DAY = "2026-08-20"
ON_DEMAND = "prices/azure_ondemand_karpenter_2026-06/azure_ondemand.csv"
ON_DEMAND_DAY = "2026-06-18"
METERED = ("westeurope", "francecentral")
REGIONS = ("uksouth", "ukwest", "northeurope", "westeurope", "francecentral", "swedencentral", "germanywestcentral")

FAMILIES = (
    "Dsv5", "Esv5", "Dlsv5", "Dasv5", "Easv5", "Dpsv5", "Fsv2", "Dsv3", "Esv3", "NCadsA100v4", "NCadsH100v5",
    "NCadisH100v5", "NVadsA10v5", "NVadmsA10v5", "NCasT4v3", "NDisrH100v5", "NDisrH200v5", "NDisrMI300Xv5",
)  # fmt: skip
LEVELS = (Decimal("0.75"), Decimal("1.15"))
"""A family's Linux price level in a region, against a metered one, lies between these; else it is not confirmed."""

UNCONFIRMED = {
    ("ukwest", "Standard_ND96isr_H200_v5"): "a lone GPU size in a region that lists no other",
    ("swedencentral", "Standard_ND96isr_MI300X_v5"): "off the region's price level by 8 %: may be the Windows price",
}

Key = tuple[str, str, str]
"""Region, size, capacity type."""

Prices = dict[Key, Decimal]
"""USD per hour."""


def offers(data: Path) -> tuple[dict[str, Shape], list[Row], list[Row]]:
    """Shapes, price book rows, and what could not be had."""
    known = shapes(data)
    chosen = {name: shape for name, shape in known.items() if _wanted(name)}
    metered, lost = _single(_meters(data, chosen, windows=False))
    windows, _ = _single(_meters(data, chosen, windows=True))
    listed = _on_demand(data, chosen)
    lost += _drop_disagreeing(metered, windows, listed)
    surcharge = {
        key[:2]: windows[key] - price for key, price in metered.items() if key in windows and key[2] == "on-demand"
    }
    prices, refused = _elsewhere(listed, metered, surcharge, chosen)
    book = [
        offer("azure", region, name, chosen[name], capacity=capacity, price=price, day=day, note="")
        for found, day in ((metered, METERS_DAY), (prices, ON_DEMAND_DAY))
        for (region, name, capacity), price in found.items()
    ]
    why = "no dated source newer than 12 months has spot prices of this region"
    lost += [missing("azure", region, "spot", why) for region in REGIONS if region not in METERED]
    return known, book, lost + refused


def _wanted(name: str) -> bool:
    return family_of(name)[0] in FAMILIES and not re.match(r"Standard_[A-Z]+\d+-\d", name)


def _plain(name: str) -> str:
    """``NC16asT4 v3`` and ``Standard_NC16as_T4_v3`` are one size; meters spell it either way."""
    return re.sub(r"[^a-z0-9]", "", name.lower()).removeprefix("standard")


def _meters(data: Path, chosen: Mapping[str, Shape], *, windows: bool) -> dict[Key, set[Decimal]]:
    """On-demand and Spot meters of the sizes; never Low Priority, Cloud Services, dedicated hosts, Basic, Promo."""
    spelled = {_plain(name): name for name in chosen}
    rows = pl.read_parquet(data / METERS).filter(
        pl.col("region").is_in(METERED),
        pl.col("type") == "Consumption",
        pl.col("unitOfMeasure") == "1 Hour",
        pl.col("market").is_in(["on_demand", "spot"]),
        pl.col("windows") == windows,
        *(~pl.col(flag) for flag in ("cloudservices", "dedicated", "basic", "promo")),
    )
    found: dict[Key, set[Decimal]] = {}
    for region, sku, market, price in rows.select("region", "skuName", "market", "retailPrice").iter_rows():
        name = spelled.get(_plain(sku.removesuffix(" Spot")))
        if name and price > 0:
            capacity = "spot" if market == "spot" else "on-demand"
            found.setdefault((region, name, capacity), set()).add(Decimal(repr(price)))
    return found


def _single(found: Mapping[Key, set[Decimal]]) -> tuple[Prices, list[Row]]:
    """The offers with exactly one price; two are ambiguous and leave the offer out."""
    ambiguous = [
        missing("azure", key[0], f"{key[1]} {key[2]}", "the meters hold two different prices")
        for key, prices in found.items()
        if len(prices) > 1
    ]
    return {key: next(iter(prices)) for key, prices in found.items() if len(prices) == 1}, ambiguous


def _on_demand(data: Path, chosen: Mapping[str, Shape]) -> Prices:
    table = pl.read_csv(data / ON_DEMAND, infer_schema=False).filter(
        pl.col("region").is_in(REGIONS), pl.col("sku").is_in(list(chosen))
    )
    return {
        (region, name, "on-demand"): Decimal(price) for region, name, price in table.iter_rows() if Decimal(price) > 0
    }


def _drop_disagreeing(metered: Prices, windows: Prices, listed: Prices) -> list[Row]:
    """Where the lists disagree the Linux meter stands if the other list holds the Windows meter; else neither does."""
    unclear = [key for key, price in metered.items() if key in listed and listed[key] not in {price, windows.get(key)}]
    for key in unclear:
        del metered[key]
    return [
        missing("azure", key[0], f"{key[1]} {key[2]}", "two sources disagree and neither is the Windows price")
        for key in unclear
    ]


def _elsewhere(
    listed: Prices, metered: Prices, surcharge: Mapping[tuple[str, str], Decimal], chosen: Mapping[str, Shape]
) -> tuple[Prices, list[Row]]:
    """On-demand offers of regions without meters: at their family's level there, not a Windows surcharge above it."""
    sizes: dict[tuple[str, str], dict[str, tuple[Decimal, Decimal]]] = {}
    for region, name, _ in listed:
        home = next((home for home in METERED if (home, name, "on-demand") in metered), None)
        if region not in METERED and home is not None:
            linux = metered[home, name, "on-demand"]
            sizes.setdefault((region, chosen[name].family), {})[name] = (linux, surcharge.get((home, name), linux / 10))
    kept: Prices = {}
    lost: list[Row] = []
    for (region, _), references in sizes.items():
        level = min(listed[region, name, "on-demand"] / linux for name, (linux, _) in references.items())
        for name, (linux, extra) in references.items():
            price = listed[region, name, "on-demand"]
            why = UNCONFIRMED.get((region, name))
            if why is None and not LEVELS[0] < level < LEVELS[1]:
                why = "its price cannot be confirmed as the Linux price"
            if why is None and price > level * linux + extra / 2:
                why = "the dated source carries the Windows price here"
            if why is None:
                kept[region, name, "on-demand"] = price
            else:
                lost.append(missing("azure", region, f"{name} on-demand", why))
    return kept, lost
