"""Egress for the packaged tables: internet tiers, pairs of packaged regions, traffic between zones, in list money.

Where two dated lists are to hand they must agree, or nothing is written. Rates that one list alone states, or none of
a date, say so in the note; what is billed at both ends is written as the sum of both.
"""

from __future__ import annotations

import gzip
from decimal import Decimal
from itertools import permutations
from pathlib import Path
from typing import Any

import packaged_aws
import packaged_azure
import packaged_gcp
import polars as pl
import yaml
from packaged_table import Row

AWS_PAIRS = "reference/egress_prices/aws_transfer_costs_skyplane.csv"
AWS_TIERS = "prices/multi_cloud_spot_daily_coroot_2023-2024/internet_egress_2024-08-09.csv"

AZURE_ZONE_1 = ((0, "0"), (100, "0.087"), (10335, "0.083"), (51295, "0.07"), (153695, "0.05"), (512095, "0.05"))
"""GiB a month, USD per GiB: Retail Prices, Bandwidth, "Standard Data Transfer Out", zone 1 (Europe, North America)."""


def rates(data: Path) -> list[Row]:
    """Every row of the egress book."""
    return [*_aws(data), *_gcp(data), *_azure()]


def _rate(
    provider: str,
    source: str,
    destination: str,
    price: Decimal,
    *,
    day: str,
    note: str,
    target: str = "",
    tier: int = 0,
) -> Row:
    return {
        "provider": provider, "from_region": source, "destination": destination, "to_region": target,
        "tier_start_gib": Decimal(tier), "currency": "USD", "price_per_gib": price, "effective_from": day, "note": note,
    }  # fmt: skip


def _aws(data: Path) -> list[Row]:
    tiers = pl.read_csv(data / AWS_TIERS, infer_schema=False).filter(pl.col("provider") == "aws")
    pairs = pl.read_csv(data / AWS_PAIRS, infer_schema=False)
    cost = {(source, target): Decimal(price) for source, target, price in pairs.iter_rows()}
    rows: list[Row] = []
    for region in packaged_aws.REGIONS:
        for start, price in tiers.filter(pl.col("region") == region).select("from_gb", "usd_per_gb").iter_rows():
            if start == "0" and Decimal(price) != cost[region, "internet"]:
                raise ValueError(f"aws {region}: the two lists disagree on the first internet tier")
            note = "the account's free 100 GiB a month across regions are not in the list"
            rows.append(_rate("aws", region, "internet", Decimal(price), day="2024-08-09", note=note, tier=int(start)))
        note = "0.01 sending + 0.01 receiving: billed at both ends; not verified for this region"
        rows.append(_rate("aws", region, "zone", Decimal("0.02"), day="2026-07-20", note=note))
    for source, target in permutations(packaged_aws.REGIONS, 2):
        note = "single source"
        rows.append(_rate("aws", source, "region", cost[source, target], day="2024-01-09", note=note, target=target))
    return rows


def _gcp(data: Path) -> list[Row]:
    with gzip.open(data / packaged_gcp.MACHINES, "rt", encoding="utf-8") as file:
        machines: dict[str, Any] = yaml.load(file, Loader=yaml.CBaseLoader)  # noqa: S506 - the base loader makes only text
    internet = machines["compute"]["network"]["traffic"]["egress"]["internet"]["cost"]
    rows: list[Row] = []
    for region in packaged_gcp.REGIONS:
        for start, tier in ((0, "0-1"), (1024, "1-10"), (10240, "10n")):
            note = "premium tier, worldwide but China and Australia; the first GiB, free, is left out"
            price = Decimal(internet[tier][region]["month"])
            rows.append(_rate("gcp", region, "internet", price, day="2026-07-30", note=note, tier=start))
        note = "sender only; not verified for this region: one list says 0.00"
        rows.append(_rate("gcp", region, "zone", Decimal("0.01"), day="2026-05-06", note=note))
    for source, target in permutations(packaged_gcp.REGIONS, 2):
        note = "within Europe; single source"
        rows.append(_rate("gcp", source, "region", Decimal("0.02"), day="2026-05-06", note=note, target=target))
    return rows


def _azure() -> list[Row]:
    rows: list[Row] = []
    for region in packaged_azure.REGIONS:
        for start, price in AZURE_ZONE_1:
            note = "zone 1, Microsoft global network; the first 100 GiB a month are free"
            rows.append(_rate("azure", region, "internet", Decimal(price), day="2026-05-06", note=note, tier=start))
        note = "Microsoft announced no charge between zones (2024-06, 2025-02); meters still list 0.01"
        rows.append(_rate("azure", region, "zone", Decimal(0), day="2025-02-01", note=note))
    for source, target in permutations(packaged_azure.REGIONS, 2):
        note = "within a continent; single source"
        rows.append(_rate("azure", source, "region", Decimal("0.02"), day="2026-05-06", note=note, target=target))
    return rows
