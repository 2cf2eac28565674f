"""Declared frames: what passes between stages, column by column, with units.

Order of the flow: row rules give ListPrice, Shape and EgressListPrice in native money; conversion and the split
give Offer and EgressRate in pounds; Reject counts what was left out; SetAside holds prices that wait for
confirmation; FxRate is the table that everything converts at. Empty string, not null, stands for "no zone",
"no GPU" and "any region", so that keys join.
"""

from __future__ import annotations

from decimal import Decimal

import dataframely as dy
import polars as pl

OFFER_KEY = ("provider", "region", "zone", "instance_type", "operating_system", "capacity_type")
"""The six columns that name an offer; exactly one row each after the row rule."""

EGRESS_KEY = ("provider", "from_region", "destination", "to_region", "tier_start_gib")

ZERO = Decimal(0)

ILLUSTRATIVE = "illustrative"
"""In the note of a price that shows what a price looks like, and is not one."""


def is_illustrative() -> pl.Expr:
    """This will tell offers and egress rates that are only illustrative."""
    return pl.col("note").fill_null("").str.contains(ILLUSTRATIVE, literal=True)


class OfferKey(dy.Schema):
    """The key of an offer."""

    provider = dy.String(primary_key=True, description="aws, gcp, azure, onprem or a price book's own word")
    region = dy.String(primary_key=True, description="the provider's region code")
    zone = dy.String(primary_key=True, description="the provider's zone; empty: the whole region")
    instance_type = dy.String(primary_key=True)
    operating_system = dy.String(primary_key=True, description="linux or windows")
    capacity_type = dy.String(primary_key=True, description="on-demand, spot, committed-1y, committed-3y, owned")


class ListPrice(OfferKey):
    """The one row that a source's row rule chose for an offer, in the provider's currency."""

    currency = dy.String(description="ISO 4217")
    price_per_hour = dy.Decimal(32, 12, min_exclusive=ZERO, description="native money per machine-hour, exact")
    price_per_vcpu_hour = dy.Decimal(32, 12, nullable=True, min=ZERO, description="native, where components are sold")
    price_per_gib_hour = dy.Decimal(32, 12, nullable=True, min=ZERO, description="native, where components are sold")
    price_per_gpu_hour = dy.Decimal(32, 12, nullable=True, min=ZERO, description="native, where components are sold")
    marginal_price_per_hour = dy.Decimal(32, 12, nullable=True, min=ZERO, description="owned: energy of one more hour")
    provider_gbp_per_hour = dy.Float64(nullable=True, description="GBP that the provider itself quotes")
    sku_id = dy.String(nullable=True)
    effective_from = dy.Datetime(time_unit="us", time_zone="UTC", nullable=True)
    note = dy.String(nullable=True, description="illustrative, or what else a reader must know")


class Shape(dy.Schema):
    """What a machine type consists of."""

    provider = dy.String(primary_key=True)
    region = dy.String(primary_key=True, description="empty: the same in every region")
    instance_type = dy.String(primary_key=True)
    vcpus = dy.Float64(min_exclusive=0)
    memory_gib = dy.Float64(min_exclusive=0)
    gpu_model = dy.String(description="canonical model (core/data/gpu_models.csv); empty: no GPU")
    gpus = dy.Float64(min=0, description="whole GPUs; fractions count (g6f.large is 0.125)")
    accelerator_model = dy.String(description="TPU, Trainium, Inferentia; not a GPU; empty: none")
    accelerators = dy.Float64(min=0)
    architecture = dy.String(description="amd64 or arm64")
    family = dy.String(description="c6i, n2, Dsv5: letters before the size")
    generation = dy.String(description="groups families that differ only in GiB per vCPU: 6i of c6i, m6i, r6i")
    shape_source = dy.String(description="api, packaged, book or rate-card")


class EgressListPrice(dy.Schema):
    """One tier of one egress price, in the provider's currency. Free tiers are real rows with price 0."""

    provider = dy.String(primary_key=True)
    from_region = dy.String(primary_key=True)
    destination = dy.String(primary_key=True, description="internet, region, zone")
    to_region = dy.String(primary_key=True, description="empty: any")
    tier_start_gib = dy.Float64(primary_key=True, min=0, description="GiB a month from which the tier holds")
    currency = dy.String()
    price_per_gib = dy.Decimal(32, 12, min=ZERO, description="native money per GiB; both ends where both are billed")
    effective_from = dy.Datetime(time_unit="us", time_zone="UTC", nullable=True)
    note = dy.String(nullable=True)


class EgressRate(EgressListPrice):
    """One tier of one egress price, in pounds."""

    gbp_per_gib = dy.Float64(min=0)
    gbp_per_unit = dy.Float64(min_exclusive=0, description="the exchange rate used")
    fx_date = dy.Date(description="the day of that rate")
    fx_source = dy.String(description="ecb, hmrc, contract, packaged or none")
    source = dy.String(description="the source that gave the price")
    observed_at = dy.Datetime(time_unit="us", time_zone="UTC", description="when the source gave it")


class Offer(ListPrice):
    """One price for one machine, in native money and in pounds, with its parts.

    vcpus × gbp_per_vcpu_hour + memory_gib × gbp_per_gib_hour + gpus × gbp_per_gpu_hour
    + accelerators × gbp_per_accelerator_hour = gbp_per_hour, to 1e-9 of it.
    """

    vcpus = dy.Float64(min_exclusive=0)
    memory_gib = dy.Float64(min_exclusive=0)
    gpu_model = dy.String()
    gpus = dy.Float64(min=0)
    accelerator_model = dy.String()
    accelerators = dy.Float64(min=0)
    architecture = dy.String()
    family = dy.String()
    generation = dy.String()
    shape_source = dy.String()
    gbp_per_hour = dy.Float64(min_exclusive=0)
    gbp_per_vcpu_hour = dy.Float64(min=0)
    gbp_per_gib_hour = dy.Float64(min=0)
    gbp_per_gpu_hour = dy.Float64(nullable=True, min=0, description="null: no GPU")
    gbp_per_accelerator_hour = dy.Float64(nullable=True, min=0, description="null: no accelerator")
    marginal_gbp_per_hour = dy.Float64(nullable=True, min=0, description="owned: what one more hour really costs")
    split_method = dy.String(description="components, fitted, remainder, fallback or rate-card")
    gbp_per_unit = dy.Float64(min_exclusive=0, description="the exchange rate used")
    fx_date = dy.Date(description="the day of that rate")
    fx_source = dy.String(description="ecb, hmrc, contract, packaged or none")
    source = dy.String(description="the source that gave the price")
    observed_at = dy.Datetime(time_unit="us", time_zone="UTC", description="when the source gave it")


class FxRate(dy.Schema):
    """Pounds per unit of a currency, one row a currency: the table that a refresh converts at."""

    currency = dy.String(primary_key=True)
    gbp_per_unit = dy.Float64(min_exclusive=0)
    rate_date = dy.Date()
    fx_source = dy.String(description="ecb, hmrc, contract, packaged or none")


class Reject(dy.Schema):
    """How many rows were left out, and why."""

    reason = dy.String(primary_key=True, description="a word of RejectReason")
    region = dy.String(primary_key=True, description="empty: not tied to a region")
    rows = dy.UInt32()
    example = dy.String(description="one of them, for a person to look up")


class SetAside(OfferKey):
    """An offer whose price moved implausibly and waits for confirmation."""

    price_per_hour = dy.Decimal(32, 12, min_exclusive=ZERO)
    currency = dy.String()
    times_seen = dy.UInt32(min=1, description="equal refreshes in a row")
    believed_price_per_hour = dy.Decimal(32, 12, min_exclusive=ZERO, description="native, the last one published")
    believed_currency = dy.String(description="of the price last published")
