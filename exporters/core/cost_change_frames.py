"""Declared frames of what changed in what was paid: changes by cause, and days that cost more than was to be expected.

Order of the flow: days in pounds (PoundCost) are compared (CostChange) and judged (CostAnomaly); publish makes series
of both, and the commands print them.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import dataframely as dy

SERIES_KEY: Final = ("provider", "account", "service")
"""What a change or an anomaly is of; the account is the sub-account where there is one."""


class Span(StrEnum):
    """How many whole days are compared; those before lie a week earlier, so that weekdays match."""

    DAY = "day"
    WEEK = "week"

    @property
    def days(self) -> int:
        """How many days it has."""
        return 1 if self is Span.DAY else 7


class Cause(StrEnum):
    """Why a cost changed. The parts of all causes add up to the change."""

    USAGE = "usage"
    PRICE = "price"
    MIX = "mix"
    COMMITMENTS = "commitments"
    FX = "fx"
    NEW = "new"
    GONE = "gone"
    ONE_OFF = "one-off"
    UNMEASURED = "unmeasured"

    @property
    def column(self) -> str:
        """Its column in CostChange."""
        return f"{self.value.replace('-', '_')}_gbp"


class CostChange(dy.Schema):
    """By how much a service of an account cost more than a week before, and why."""

    provider = dy.String(primary_key=True)
    account = dy.String(primary_key=True)
    service = dy.String(primary_key=True)
    span = dy.String(description="a word of Span")
    last_day = dy.Date(description="the last day of the span; the span before ends seven days earlier")
    region = dy.String(description="the region whose cost changed most; empty: global")
    region_change_gbp = dy.Float64(description="by how much it changed")
    before_gbp = dy.Decimal(38, 18)
    after_gbp = dy.Decimal(38, 18)
    change_gbp = dy.Decimal(38, 18, description="after less before; what follows adds up to it")
    usage_gbp = dy.Float64(description="more or less was used, at the mean of both average prices")
    price_gbp = dy.Float64(description="the price of a unit changed within its kind")
    mix_gbp = dy.Float64(description="usage moved between regions, families or markets")
    commitments_gbp = dy.Float64(description="usage moved under commitments or from under them; unused commitments")
    fx_gbp = dy.Float64(description="the rates of exchange changed")
    new_gbp = dy.Float64(description="usage of a service that the account did not use before")
    gone_gbp = dy.Float64(description="usage of a service that the account does not use any more")
    one_off_gbp = dy.Float64(description="purchases, tax, credits, adjustments")
    unmeasured_gbp = dy.Float64(description="usage whose quantity or unit is not stated, so that nobody can tell")


class CostAnomaly(dy.Schema):
    """A whole day, how much of a service it was to be expected to cost, and how far from that it is."""

    provider = dy.String(primary_key=True)
    account = dy.String(primary_key=True)
    service = dy.String(primary_key=True)
    day = dy.Date(primary_key=True)
    cost_gbp = dy.Float64()
    expected_gbp = dy.Float64(description="by the same weekdays before, and the same day of months before")
    lower_gbp = dy.Float64(description="of the expected range")
    upper_gbp = dy.Float64(description="of the expected range: a day above it is an anomaly")
    excess_gbp = dy.Float64(description="cost less expected")
    score = dy.Float64(description="excess in robust standard deviations")
    history_days = dy.UInt32(description="whole days that it is judged by")
    is_anomaly = dy.Bool()
