"""Declared frames of what holds now beside the charges: commitments, budgets, the provider's own forecast.

Order of the flow: a source of costs states them in native money; the store keeps the last statement of each source;
publish makes series of them, and the recommender takes commitments as capacity that is paid for.
"""

from __future__ import annotations

from enum import StrEnum

import dataframely as dy


class CommitmentKind(StrEnum):
    """How capacity was bought in advance."""

    SAVINGS_PLAN = "savings-plan"
    RESERVATION = "reservation"
    CUD = "cud"


class CommitmentUnit(StrEnum):
    """What the quantity of a commitment counts."""

    INSTANCE = "instance"
    VCPU = "vcpu"
    GIB = "gib"
    GPU = "gpu"
    MONEY = "money"


class Commitment(dy.Schema):
    """What was bought in advance: machines, vCPUs or GiB, or an amount of money an hour.

    A resource-based commitment of Google has a row for its vCPUs and one for its GiB, as it is bought.
    """

    source = dy.String(primary_key=True, description="the source of costs that stated it, or settings")
    provider = dy.String(primary_key=True, description="aws, azure, gcp")
    account = dy.String(primary_key=True, description="the account, subscription or project that owns it")
    commitment_id = dy.String(primary_key=True, description="as the bill names it: an ARN, an id, a resource name")
    unit = dy.String(primary_key=True, description="a word of CommitmentUnit: what quantity counts")
    kind = dy.String(description="a word of CommitmentKind")
    plan_type = dy.String(description="Compute, EC2Instance, standard, convertible …; empty: none")
    region = dy.String(description="where it holds; empty: everywhere")
    instance_family = dy.String(description="m7i, Dsv5, n2; empty: any")
    instance_type = dy.String(description="m7i.xlarge; empty: any of the family")
    gpu_model = dy.String(description="of GPUs that were bought; empty: none")
    quantity = dy.Float64(min=0, description="how much of the unit; of money: per hour, in the currency")
    currency = dy.String(description="ISO 4217")
    cost_per_hour = dy.Float64(
        nullable=True,
        min=0,
        description="what an hour of all of it costs, upfront fees spread over the term; null: unknown",
    )
    starts_at = dy.Datetime(time_unit="us", time_zone="UTC")
    ends_at = dy.Datetime(time_unit="us", time_zone="UTC", description="when it lapses unless it is renewed")
    renews = dy.Bool(description="whether the provider renews it by itself")


class CommitmentUse(dy.Schema):
    """How far commitments were used, and how much of what they could cover they did cover, over a span of days."""

    source = dy.String(primary_key=True, description="the source of costs that stated it")
    provider = dy.String(primary_key=True, description="aws, azure, gcp")
    account = dy.String(primary_key=True, description="the account whose usage it is")
    scope = dy.String(primary_key=True, description="a commitment_id, or savings-plans, ec2-reservations: all of them")
    first_day = dy.Date()
    last_day = dy.Date(description="inclusive")
    used_ratio = dy.Float64(nullable=True, min=0, description="used of what was bought; null: not stated")
    coverage_ratio = dy.Float64(nullable=True, min=0, description="covered of what could be; null: not stated")
    unused_cost = dy.Decimal(38, 18, nullable=True, description="what was paid for and not used; null: not stated")
    currency = dy.String(description="ISO 4217")


class CommitmentRate(dy.Schema):
    """What a machine costs an hour under a commitment that could be bought now."""

    source = dy.String(primary_key=True, description="the source of costs that stated it")
    provider = dy.String(primary_key=True, description="aws")
    plan_type = dy.String(primary_key=True, description="Compute, EC2Instance")
    term_years = dy.UInt8(primary_key=True, min=1)
    payment = dy.String(primary_key=True, description="No Upfront, Partial Upfront, All Upfront")
    region = dy.String(primary_key=True)
    instance_type = dy.String(primary_key=True)
    operating_system = dy.String(primary_key=True, description="linux, windows")
    currency = dy.String(description="ISO 4217")
    rate_per_hour = dy.Float64(min=0, description="of one machine, as long as the plan covers it")


class NegotiatedPrice(dy.Schema):
    """What an agreement pays for a meter, beside its list price: evidence of a discount."""

    source = dy.String(primary_key=True, description="the source of costs that stated it")
    provider = dy.String(primary_key=True, description="azure")
    account = dy.String(primary_key=True, description="the billing account, or the profile of one")
    meter_id = dy.String(primary_key=True)
    product = dy.String(primary_key=True, description="empty: unknown")
    unit = dy.String(primary_key=True, description="what a price is of, as the provider words it: 1 Hour, 10 GB")
    effective_from = dy.Date(primary_key=True, description="from this day on")
    effective_to = dy.Date(nullable=True, description="up to this day; null: not said")
    meter = dy.String(description="empty: unknown")
    region = dy.String(description="region code, or the provider's zone; empty: all")
    list_price = dy.Decimal(38, 18, nullable=True, min=0, description="of one unit; null: not said")
    negotiated_price = dy.Decimal(38, 18, min=0, description="of one unit")
    currency = dy.String(description="ISO 4217")


class Budget(dy.Schema):
    """What somebody means to spend in a period."""

    source = dy.String(primary_key=True, description="the source of costs that stated it, or settings")
    provider = dy.String(primary_key=True, description="aws, azure, gcp; empty: all together")
    account = dy.String(primary_key=True, description="account, subscription, billing account; empty: all")
    scope = dy.String(primary_key=True, description="the budget's name")
    period = dy.String(description="month, quarter or year")
    amount = dy.Decimal(38, 18, min=0)
    currency = dy.String(description="ISO 4217")
    filters = dy.String(nullable=True, description="what it is limited to; null: all costs of the account")
    spent = dy.Decimal(38, 18, nullable=True, description="in this period so far, as the provider says")
    expected = dy.Decimal(38, 18, nullable=True, description="in the whole period, as the provider expects")


class ProviderForecast(dy.Schema):
    """What the provider expects a month to come to when it is over."""

    source = dy.String(primary_key=True)
    provider = dy.String(primary_key=True)
    account = dy.String(primary_key=True)
    month = dy.Date(primary_key=True, description="its first day")
    currency = dy.String(primary_key=True, description="ISO 4217")
    mid = dy.Decimal(38, 18, description="for the whole month, what is spent already included")
    lower = dy.Decimal(38, 18, nullable=True, description="of the provider's range; null: it states none")
    upper = dy.Decimal(38, 18, nullable=True)


class WorkloadCost(dy.Schema):
    """What a tool inside a cluster says that a workload cost on one day (UTC)."""

    source = dy.String(primary_key=True, description="the source of costs that stated it")
    cluster = dy.String(primary_key=True)
    namespace = dy.String(primary_key=True)
    workload_kind = dy.String(primary_key=True, description="deployment, statefulset …; empty: none")
    workload = dy.String(primary_key=True, description="empty: the part of the namespace that has none")
    day = dy.Date(primary_key=True)
    currency = dy.String(description="ISO 4217")
    vcpu_cost = dy.Float64()
    memory_cost = dy.Float64()
    gpu_cost = dy.Float64()
    network_cost = dy.Float64()
    other_cost = dy.Float64(description="volumes, load balancers, shared and external costs, adjustments")
    total_cost = dy.Float64(description="the sum of the parts")
    vcpu_hours = dy.Float64()
    memory_gib_hours = dy.Float64()
    gpu_hours = dy.Float64()
