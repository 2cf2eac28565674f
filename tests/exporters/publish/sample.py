"""A small world of prices for the tests of the publish stage: round figures, one offer of each kind, hostile names."""

from __future__ import annotations

from datetime import date
from functools import cache
from typing import Any

import dataframely as dy

from exporters.core.frames import EgressRate, FxRate, Offer
from exporters.core.words import Origin
from exporters.store.read import Prices
from exporters.store.snapshot import FX_SOURCE, Manifest
from tests.builders import NOON, egress_rate, fx_table, offer, offers

HOSTILE = 'rack "7"\nÉtage \\1'
"""A name with a quote, a line feed, a backslash and a letter outside ASCII."""


def manifest(source: str, **changes: Any) -> Manifest:
    """A manifest of a snapshot taken at noon that is good for 48 hours."""
    return Manifest(**{"source": source, "taken_at": NOON, "origin": Origin.LIVE, "max_age_hours": 48.0} | changes)


def prices(**changes: Any) -> Prices:
    """Offers of three providers, egress in two tiers, and rates."""
    return Prices(
        **{
            "offers": _all_offers(),
            "egress": _two_tiers(),
            "fx": fx_table(),
            "used": (manifest("aws"), manifest("azure"), manifest("onprem"), manifest(FX_SOURCE)),
            "stale": (),
        }
        | changes
    )


@cache
def _all_offers() -> dy.DataFrame[Offer]:
    return offers(*_cloud_offers(), _owned_offer())


@cache
def _two_tiers() -> dy.DataFrame[EgressRate]:
    return EgressRate.validate(
        egress_rate(gbp_per_gib=0.0672).vstack(egress_rate(tier_start_gib=10240.0, gbp_per_gib=0.0634))
    )


def no_prices() -> Prices:
    """Prices of nothing at all."""
    return Prices(
        offers=Offer.create_empty(), egress=EgressRate.create_empty(), fx=FxRate.create_empty(), used=(), stale=()
    )


def _cloud_offers() -> tuple[Any, ...]:
    spot = {"capacity_type": "spot", "split_method": "fallback"}
    return (
        offer(gbp_per_hour=0.08, gbp_per_vcpu_hour=0.03, gbp_per_gib_hour=0.0025),
        offer(**spot, zone="eu-west-2a", gbp_per_hour=0.04, gbp_per_vcpu_hour=0.015, gbp_per_gib_hour=0.00125),
        offer(**spot, zone="eu-west-2b", gbp_per_hour=0.03, gbp_per_vcpu_hour=0.011, gbp_per_gib_hour=0.001),
        offer(
            instance_type="g6f.large",
            family="g6f",
            generation="6f",
            gpu_model="L4",
            gpus=0.125,
            gbp_per_hour=0.16,
            gbp_per_vcpu_hour=0.02,
            gbp_per_gib_hour=0.0025,
            gbp_per_gpu_hour=0.8,
            split_method="remainder",
        ),
        offer(
            instance_type="trn1.2xlarge",
            family="trn1",
            generation="1",
            accelerator_model="Trainium",
            accelerators=1.0,
            vcpus=8.0,
            memory_gib=32.0,
            gbp_per_hour=1.0,
            gbp_per_vcpu_hour=0.025,
            gbp_per_gib_hour=0.0025,
            gbp_per_accelerator_hour=0.72,
            split_method="remainder",
        ),
        offer(
            provider="azure",
            region="uksouth",
            instance_type="Standard_D4s_v5",
            family="Dsv5",
            generation="v5",
            price_per_hour="0.222",
            provider_gbp_per_hour=0.1665,
            vcpus=4.0,
            memory_gib=16.0,
            gbp_per_hour=0.16,
            gbp_per_vcpu_hour=0.03,
            gbp_per_gib_hour=0.0025,
            source="azure",
        ),
    )


def _owned_offer() -> Any:
    return offer(
        provider="onprem",
        region="london-dc1",
        instance_type=HOSTILE,
        capacity_type="owned",
        family="rack",
        generation="",
        currency="GBP",
        price_per_hour="0.05",
        gbp_per_unit=1.0,
        fx_date=date(2026, 11, 30),
        fx_source="none",
        gbp_per_hour=0.05,
        gbp_per_vcpu_hour=1.0e-7,
        gbp_per_gib_hour=0.0062,
        split_method="rate-card",
        source="onprem",
    )
