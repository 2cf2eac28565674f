"""Raw AWS frames as the fetch leaves them, and short ways to look at what the row rule made of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import polars as pl

from exporters.fetch.aws_instance_types import (
    DEVICE_SCHEMA,
    INSTANCE_TYPE_SCHEMA,
    SPOT_SCHEMA,
    device_rows,
    instance_type_row,
    spot_row,
)
from exporters.fetch.aws_price_list import PRODUCT_COLUMNS, TRANSFER_COLUMNS, raw_schema, read_item
from exporters.fetch.contract import Fetched, Skipped
from exporters.normalise.chosen import Chosen, Filters
from exporters.normalise.row_rules.aws import choose
from tests.fakes.aws_rows import Json, instance_type, machine, transfer

NOW = datetime(2026, 7, 21, 9, tzinfo=UTC)
LINUX = Filters(operating_systems=("linux",), capacity_types=("on-demand", "spot"))
M5 = machine("m5.large", "eu-west-2", "0.1110000000", sku="M5")


def fetched(
    products: Sequence[Json],
    *,
    types: Mapping[str, Sequence[Json]] | None = None,
    spot: Sequence[Json] | None = None,
    transfers: Sequence[Json] | None = None,
    skipped: Sequence[Skipped] = (),
) -> Fetched:
    """Raw frames as the fetch leaves them; types not given are plain 2 vCPU, 8 GiB machines, egress is flat."""
    names = {(p["product"]["attributes"]["regionCode"], p["product"]["attributes"]["instanceType"]) for p in products}
    regions = sorted({region for region, _ in names}) or ["eu-west-2"]
    described = types or {r: [instance_type(name) for region, name in sorted(names) if region == r] for r in regions}
    tier = [("0", "Inf", "0.09")]
    flat = [
        transfer("AWS Outbound", "DataTransfer-Out-Bytes", region, tier, sku=region, currency=currency)
        for region in regions
        for currency in [{"cn-north-1": "CNY", "eusc-de-east-1": "EUR"}.get(region, "USD")]
    ]
    every = [(region, item) for region, items in described.items() for item in items]
    frames = {
        "products": _raw(products, PRODUCT_COLUMNS, ["OnDemand", "Reserved"]),
        "transfers": _raw(flat if transfers is None else transfers, TRANSFER_COLUMNS, ["OnDemand"]),
        "instance_types": pl.LazyFrame([instance_type_row(*one) for one in every], schema=INSTANCE_TYPE_SCHEMA),
        "devices": pl.LazyFrame([row for one in every for row in device_rows(*one)], schema=DEVICE_SCHEMA),
        "regions": pl.LazyFrame({"region": regions}),
    }
    if spot is not None:
        rows = [spot_row("eu-west-2", item | {"Timestamp": datetime.fromisoformat(item["Timestamp"])}) for item in spot]
        frames["spot"] = pl.LazyFrame(rows, schema=SPOT_SCHEMA)
    return Fetched(source="aws", observed_at=NOW, frames=frames, skipped=tuple(skipped))


def _raw(items: Sequence[Json], columns: Any, terms: list[str]) -> pl.LazyFrame:
    rows = [row for item in items for row in read_item(json.dumps(item), columns, terms=terms, where="test")]
    return pl.LazyFrame(rows, schema=raw_schema(columns))


def choose_linux(products: Sequence[Json], **more: Any) -> Chosen:
    return choose(
        fetched(products, **more), Filters(operating_systems=("linux",), capacity_types=("on-demand", "spot"))
    )


def prices(chosen: Chosen) -> dict[str, Decimal]:
    return dict(chosen.prices.select("instance_type", "price_per_hour").iter_rows())


def reasons(chosen: Chosen) -> dict[str, int]:
    return dict(chosen.rejects.group_by("reason").agg(pl.col("rows").sum()).iter_rows())
