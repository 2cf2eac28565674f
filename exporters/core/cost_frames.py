"""Declared frames of what was really paid: charges as they are scanned, days as they are kept, days in pounds.

Order of the flow: a column map turns an export's columns into Charge; grouping makes DailyCost in native money; the
rate of each day makes PoundCost, which is what the store keeps and everything else reads. Empty string, not null,
stands for "none" in the columns of the key, so that keys join. Names and meanings of the columns are those of FOCUS
(https://focus.finops.org) in our spelling.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import dataframely as dy
import polars as pl

COST: Final = pl.Decimal(38, 18)
"""Money of a charge: a request may cost 0.0000000091 dollars, and ten million of them must still add up."""

FILES: Final = "files"
"""The source of costs that come from billing exports; others are named as in fetch/cost_registry.py."""

DAY_KEY: Final = ("source", "provider", "billing_account", "billing_period", "charge_day")
"""What a later export replaces as one: of a source, a provider's account, a bill, a day."""

COST_KEY: Final = (
    *DAY_KEY,
    "sub_account",
    "service",
    "region",
    "instance_family",
    "charge_category",
    "pricing_category",
    "commitment_discount_id",
    "commitment_status",
    "owner",
    "consumed_unit",
    "has_vcpu_hours",
    "currency",
)
"""The columns that name a row of DailyCost."""

NATIVE_SUMS: Final = ("billed_cost", "effective_cost", "list_cost", "contracted_cost")
MEASURES: Final = (*NATIVE_SUMS, "consumed_quantity", "vcpu_hours", "rows", "rows_without_list_cost")


class CostReject(StrEnum):
    """Why a charge was left out. Each is counted; none is guessed around."""

    ABSENT = "absent"
    NOT_A_NUMBER = "not-a-number"
    NEGATIVE = "negative"
    MALFORMED = "malformed"
    INSIDE_OUT = "period-inside-out"
    CURRENCY = "currency"
    NO_RATE = "no-exchange-rate"


class CommitmentStatus(StrEnum):
    """FOCUS CommitmentDiscountStatus; other charges have an empty one."""

    USED = "Used"
    UNUSED = "Unused"


class DiscountVerdict(StrEnum):
    """Whether what was paid says what the next hour will cost."""

    HOLDS = "holds"
    TOO_LITTLE = "too-little"
    IMPLAUSIBLE = "implausible"
    PARTS_DIFFER = "parts-differ"
    LIST_IS_ON_DEMAND = "list-is-on-demand"


class Charge(dy.Schema):
    """One row of an export, by our names. It is scanned, never kept."""

    charge_start = dy.Datetime(time_unit="us", time_zone="UTC", nullable=True)
    charge_end = dy.Datetime(time_unit="us", time_zone="UTC", nullable=True, description="exclusive")
    billing_period = dy.Date(nullable=True, description="first day of the billing period")
    provider = dy.String(nullable=True)
    billing_account = dy.String(nullable=True)
    sub_account = dy.String(nullable=True)
    service = dy.String(nullable=True)
    region = dy.String(nullable=True)
    sku_id = dy.String(nullable=True)
    resource_id = dy.String(nullable=True)
    details = dy.String(
        nullable=True,
        description="JSON of a charge by the hour that names machine and vCPUs; null: they are stated, or none",
    )
    machine = dy.String(nullable=True, description="m7i.xlarge, Standard_D4s_v5, N2: as the bill names it; null: none")
    charge_category = dy.String(nullable=True, description="Usage, Purchase, Tax, Credit, Adjustment")
    pricing_category = dy.String(nullable=True)
    commitment_discount_id = dy.String(nullable=True)
    commitment_status = dy.String(nullable=True, description="Used, Unused")
    tags = dy.String(nullable=True, description="JSON object")
    currency = dy.String(nullable=True)
    billed_cost = dy.Decimal(38, 18, nullable=True)
    effective_cost = dy.Decimal(38, 18, nullable=True)
    list_cost = dy.Decimal(38, 18, nullable=True)
    contracted_cost = dy.Decimal(38, 18, nullable=True)
    consumed_quantity = dy.Float64(nullable=True)
    consumed_unit = dy.String(nullable=True)
    vcpu_hours = dy.Float64(nullable=True, description="where unit, or unit and machine, say so")
    owner = dy.String(nullable=True, description="the value of the first owner tag that has one")
    reject = dy.String(nullable=True, description="a word of CostReject: why it is not counted")


class DailyCost(dy.Schema):
    """What one kind of charge of one account came to on one day (UTC), in the currency of the bill."""

    source = dy.String(primary_key=True, description="files, or the source that was asked")
    provider = dy.String(primary_key=True, description="aws, gcp, azure, or the provider's own name in lower case")
    billing_account = dy.String(primary_key=True)
    billing_period = dy.Date(primary_key=True, description="first day of the bill that it stands on")
    charge_day = dy.Date(primary_key=True, description="UTC day on which the charge period starts")
    sub_account = dy.String(primary_key=True, description="AWS account, Azure subscription, GCP project; empty: none")
    service = dy.String(primary_key=True)
    region = dy.String(primary_key=True, description="empty: global")
    instance_family = dy.String(primary_key=True, description="m7i, Dsv5, n2; empty: no machine, or unknown")
    charge_category = dy.String(primary_key=True, description="Usage, Purchase, Tax, Credit, Adjustment")
    pricing_category = dy.String(primary_key=True, description="Standard, Dynamic, Committed, Other; empty: none")
    commitment_discount_id = dy.String(primary_key=True)
    commitment_status = dy.String(primary_key=True)
    owner = dy.String(primary_key=True, description="who bears it, by an owner tag; empty: nobody")
    consumed_unit = dy.String(primary_key=True, description="what consumed_quantity counts; empty: unknown")
    has_vcpu_hours = dy.Bool(primary_key=True, description="whether its vCPU-hours are known")
    currency = dy.String(primary_key=True, description="ISO 4217, of the bill")
    billed_cost = dy.Decimal(38, 18, description="what the invoice says")
    effective_cost = dy.Decimal(38, 18, description="upfront fees and commitments spread over what they cover")
    list_cost = dy.Decimal(38, 18, description="at list price, of the rows that have one")
    contracted_cost = dy.Decimal(38, 18, description="at the negotiated price, of the rows that have one")
    consumed_quantity = dy.Float64(description="of rows that state it")
    vcpu_hours = dy.Float64()
    rows = dy.UInt32(min=1)
    rows_without_list_cost = dy.UInt32()


class PoundCost(DailyCost):
    """The same in pounds, at the rate of its own day, with how far the export had come when it was written."""

    gbp_per_unit = dy.Decimal(38, 18, description="the rate of exchange used")
    fx_date = dy.Date(description="the day of that rate: the charge's own, or the last one before it that has a rate")
    fx_source = dy.String(description="ecb, hmrc, contract, packaged or none")
    billed_gbp = dy.Decimal(38, 18)
    effective_gbp = dy.Decimal(38, 18)
    list_gbp = dy.Decimal(38, 18)
    reached = dy.Date(description="the last day of this bill that the export states whole, whether or not it cost")
    is_whole = dy.Bool(description="whether the day had ended and settled when the export was made")


class CostRejects(dy.Schema):
    """How many charges of an import were left out, and why."""

    file = dy.String(primary_key=True)
    reason = dy.String(primary_key=True, description="a word of CostReject")
    rows = dy.UInt32(min=1)
    example = dy.String(description="one of them, for a person to look up")


class RestatedDay(dy.Schema):
    """A day that a later export changed."""

    source = dy.String(primary_key=True)
    provider = dy.String(primary_key=True)
    billing_account = dy.String(primary_key=True)
    billing_period = dy.Date(primary_key=True)
    charge_day = dy.Date(primary_key=True)
    currency = dy.String(primary_key=True)
    billed_before = dy.Decimal(38, 18)
    billed_now = dy.Decimal(38, 18)
    effective_before = dy.Decimal(38, 18)
    effective_now = dy.Decimal(38, 18)


class Discount(dy.Schema):
    """How far below its list price a provider's compute was really paid, with the charges that say so.

    paid_gbp = list_gbp × (1 − discount_ratio). Amounts are evidence for a ratio, not sums for books: they are rounded.
    """

    provider = dy.String(primary_key=True)
    region = dy.String(primary_key=True, description="empty: all regions together")
    instance_family = dy.String(primary_key=True, description="m7i, Dsv5, n2; empty: all families together")
    capacity_type = dy.String(primary_key=True, description="on-demand or spot")
    verdict = dy.String(description="a word of DiscountVerdict; only one that holds changes a price")
    discount_ratio = dy.Float64(description="1 − paid_gbp ÷ list_gbp; below nought: paid more than list")
    list_gbp = dy.Float64(min_exclusive=0, description="of charges that have a list cost and were paid for")
    contracted_gbp = dy.Float64(description="the same charges at the negotiated price, of those that have one")
    effective_gbp = dy.Float64(description="the same charges at effective cost")
    billed_gbp = dy.Float64(description="the same charges on the invoice")
    adjustment_gbp = dy.Float64(max=0, description="discounts that the bill states on lines of their own")
    paid_gbp = dy.Float64(min_exclusive=0, description="the price without commitments, credits and tax")
    committed_list_gbp = dy.Float64(description="list cost of usage that commitments covered; in no other column")
    committed_gbp = dy.Float64(description="its effective cost: the price of the commitment, not of the machine")
    vcpu_hours = dy.Float64(min=0, description="of charges that state them")
    days = dy.UInt32(min=1, description="with a charge")
    first_day = dy.Date()
    last_day = dy.Date()
    accounts = dy.UInt32(min=1, description="sub-accounts, else billing accounts")
    charges = dy.UInt32(min=1)
    charges_left_out = dy.UInt32(description="without a list cost, or that nothing was paid for")
