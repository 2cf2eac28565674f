"""Rows for tests: complete, valid, and different from the default only where a test says so."""

from __future__ import annotations

from collections.abc import Hashable
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache
from typing import Any

import dataframely as dy
import polars as pl

from exporters.core.frames import EgressRate, FxRate, Offer
from exporters.core.words import Origin
from exporters.store.snapshot import Manifest, Snapshot

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
USD_RATE = 0.746330
"""GBP per USD from the ECB's reference rates of 30 October 2026: 0.8338 / 1.1172."""


def offer(**changes: Hashable) -> dy.DataFrame[Offer]:
    """This will return one offer: m5.large in London at 0.111 USD, split at 10.7 : 1, unless changed.

    gbp_per_hour follows from the native price and the rate unless it is given.
    """
    return _offer(tuple(sorted(changes.items())))


@cache  # checking all the columns takes most of the time of many a small test, and most ask for the same offers
def _offer(changes: tuple[tuple[str, Hashable], ...]) -> dy.DataFrame[Offer]:
    row: dict[str, Any] = {
        "provider": "aws",
        "region": "eu-west-2",
        "zone": "",
        "instance_type": "m5.large",
        "operating_system": "linux",
        "capacity_type": "on-demand",
        "currency": "USD",
        "price_per_hour": "0.111",
        "price_per_vcpu_hour": None,
        "price_per_gib_hour": None,
        "price_per_gpu_hour": None,
        "marginal_price_per_hour": None,
        "provider_gbp_per_hour": None,
        "sku_id": "SKU",
        "effective_from": None,
        "note": None,
        "vcpus": 2.0,
        "memory_gib": 8.0,
        "gpu_model": "",
        "gpus": 0.0,
        "accelerator_model": "",
        "accelerators": 0.0,
        "architecture": "amd64",
        "family": "m5",
        "generation": "5",
        "shape_source": "api",
        "gbp_per_gpu_hour": None,
        "gbp_per_accelerator_hour": None,
        "marginal_gbp_per_hour": None,
        "split_method": "fitted",
        "gbp_per_unit": USD_RATE,
        "fx_date": date(2026, 10, 30),
        "fx_source": "ecb",
        "source": "aws",
        "observed_at": NOON,
    } | dict(changes)
    gbp = row.setdefault("gbp_per_hour", float(Decimal(str(row["price_per_hour"]))) * row["gbp_per_unit"])
    share = gbp / (10.7 * row["vcpus"] + row["memory_gib"])
    row.setdefault("gbp_per_vcpu_hour", 10.7 * share)
    row.setdefault("gbp_per_gib_hour", share)
    return Offer.validate(pl.DataFrame([row], infer_schema_length=None).select(Offer.column_names()), cast=True)


def offers(*rows: dy.DataFrame[Offer]) -> dy.DataFrame[Offer]:
    """This will return several offers in one frame."""
    return Offer.validate(pl.concat(rows))


def egress_rate(**changes: Any) -> dy.DataFrame[EgressRate]:
    """This will return one egress rate: the first internet tier out of London, 0.09 USD, unless changed."""
    row: dict[str, Any] = {
        "provider": "aws",
        "from_region": "eu-west-2",
        "destination": "internet",
        "to_region": "",
        "tier_start_gib": 0.0,
        "currency": "USD",
        "price_per_gib": "0.09",
        "effective_from": None,
        "note": None,
        "gbp_per_unit": USD_RATE,
        "fx_date": date(2026, 10, 30),
        "fx_source": "ecb",
        "source": "aws",
        "observed_at": NOON,
    } | changes
    row.setdefault("gbp_per_gib", float(Decimal(str(row["price_per_gib"]))) * row["gbp_per_unit"])
    return EgressRate.validate(pl.DataFrame([row]).select(EgressRate.column_names()), cast=True)


def fx_table(**gbp_per_unit: float) -> dy.DataFrame[FxRate]:
    """This will return a rate table of 30 October 2026; default: USD at the ECB's rate, and GBP."""
    rates = {"GBP": 1.0, "USD": USD_RATE} | gbp_per_unit
    rows = [
        {"currency": name, "gbp_per_unit": rate, "rate_date": date(2026, 10, 30), "fx_source": "ecb"}
        for name, rate in sorted(rates.items())
    ]
    return FxRate.validate(pl.DataFrame(rows))


def snapshot(
    source: str = "aws", *, taken_at: datetime = NOON, max_age_hours: float | None = 48, **frames: Any
) -> Snapshot:
    """This will return a live snapshot with the given frames."""
    manifest = Manifest(source=source, taken_at=taken_at, origin=Origin.LIVE, max_age_hours=max_age_hours)
    return Snapshot(manifest=manifest, **frames)
