"""From what was paid to discounts: how far below list price each provider's machines really cost, and how sure that is.

Pure; of the store's reading side, so that the exporter's metrics and the recommender's prices rest on the same figures.
Promises that a discount is a price that the next hour will have too: what commitments covered, credits, refunds, tax
and charges without a list cost are in no ratio, and a ratio without enough behind it has a verdict that says so.

The price of a charge is its ContractedCost, which FOCUS (https://focus.finops.org, metric ContractedCost) defines as
the negotiated price without commitments and credits, or its EffectiveCost where that is greater or the other is not
stated. AWS's Cost and Usage Report states no negotiated price, but each discount of a private agreement on a line of
its own beside the usage (line item types EdpDiscount, PrivateRateDiscount): those are spread over what they stand
beside. A refund is such a line too; it does not come every day.
"""

from __future__ import annotations

from datetime import date
from typing import Final

import dataframely as dy
import polars as pl

from exporters.core.cost_frames import COST, Discount, DiscountVerdict
from exporters.core.words import CapacityType

DISCOUNT_DAYS: Final = 30
"""A month: agreements hold for longer, and every day of a week counts alike often."""

MOST_DAYS_OLD: Final = 45
"""An account whose last whole day is older says nothing of today: a monthly export comes within a fortnight."""

MIN_LIST_GBP: Final = 50.0
"""Less is a few days of one machine: too little to price a fleet by."""

MIN_DAYS: Final = 7
"""A week, so that a day of free tier or trial is not the whole evidence."""

MIN_VCPU_HOURS: Final = 168.0
"""One vCPU for a week; only where a charge states vCPU-hours at all."""

PLAUSIBLE: Final = (-0.5, 0.95)
"""Deeper than 95 % is a grant or a fault; half as much again as list is another list."""

MOST_APART: Final = 0.05
"""By how much parts may differ from the whole that stands for those without evidence. A discount on the whole bill is
the same everywhere; one that was agreed for a family is not, and must not be given to others."""

RECURRING_SHARE: Final = 0.5
"""Share of the days with usage on which a discount line must come to be a price: a refund comes once."""

SPOT_BELOW: Final = 0.8
"""Of the on-demand list price of a vCPU-hour: spot charges listed higher are listed at the on-demand price, so that
their ratio is what spot saves, and no discount from the spot price."""

_LEVELS: Final = (("region", "instance_family"), ("instance_family",), ())
_CAPACITY_TYPES: Final = {"Standard": CapacityType.ON_DEMAND.value, "Dynamic": CapacityType.SPOT.value}
_SERVICE: Final = ("provider", "billing_account", "service")
_MACHINES: Final = (*_SERVICE, "region", "instance_family")
_SUMS: Final = (
    *("list_gbp", "contracted_gbp", "effective_gbp", "billed_gbp", "adjustment_gbp", "paid_gbp"),
    *("committed_list_gbp", "committed_gbp", "vcpu_hours", "listed_with_vcpu"),
)
_NOUGHT: Final = pl.lit(0).cast(COST)


def discounts(days: pl.DataFrame, *, until: date, last_days: int = DISCOUNT_DAYS) -> dy.DataFrame[Discount]:
    """This will say what was really paid below list price, by family and region, by family, and of all machines.

    Args:
        days: rows of PoundCost.
        until: the day it is (UTC).
        last_days: how many whole days before the last one of each account count.

    Returns:
        A row for each that was paid for, whatever its verdict; spot has none of all machines together, because what
        runs on spot changes.
    """
    charges = _priced(_recent(days, until=until, last_days=last_days))
    levels = [_level(charges, by) for by in _LEVELS]
    rows = pl.concat(levels).with_columns(verdict=_own_verdict())
    judged = _spot_against_on_demand(_parts_against_whole(rows))
    return Discount.validate(judged.select(Discount.column_names()).sort(Discount.primary_key()), cast=True)


def that_hold(found: dy.DataFrame[Discount]) -> dy.DataFrame[Discount]:
    """This will return the discounts that say what the next hour costs."""
    return Discount.cast(found.filter(pl.col("verdict") == DiscountVerdict.HOLDS.value))


def _recent(days: pl.DataFrame, *, until: date, last_days: int) -> pl.DataFrame:
    """The last whole days of every account whose export has not stopped long ago."""
    whole = days.filter(pl.col("is_whole"), pl.col("charge_day") <= until)
    last = pl.col("charge_day").max().over("provider", "billing_account")
    return whole.filter(
        last >= pl.lit(until) - pl.duration(days=MOST_DAYS_OLD),
        pl.col("charge_day") > last - pl.duration(days=last_days),
    )


def _priced(days: pl.DataFrame) -> pl.DataFrame:
    """Usage of machines, with what was paid for it, whether it counts, and what of it commitments covered."""
    usage = days.filter(pl.col("charge_category") == "Usage")
    spread = _with_adjustments(usage.filter(pl.col("instance_family") != ""), days, usage)
    contracted = pl.col("contracted_cost") * pl.col("gbp_per_unit")
    negotiated = contracted > 0
    bears = ~negotiated & (pl.col("effective_gbp") > 0)
    adjustment = pl.when(bears).then((pl.col("effective_gbp") * pl.col("adjusted")).cast(COST)).otherwise(_NOUGHT)
    is_covered = (pl.col("commitment_discount_id") != "") | (pl.col("commitment_status") != "")
    is_covered |= pl.col("pricing_category") == "Committed"
    machines = spread.with_columns(
        contracted_gbp=contracted.cast(COST),
        adjustment_gbp=adjustment,
        capacity_type=pl.col("pricing_category").replace_strict(_CAPACITY_TYPES, default=""),
        is_covered=is_covered,
    ).with_columns(
        paid_gbp=pl.when(negotiated)
        .then(pl.max_horizontal("contracted_gbp", "effective_gbp"))
        .otherwise(pl.col("effective_gbp") + pl.col("adjustment_gbp")),
    )
    has_list = (pl.col("rows_without_list_cost") == 0) & (pl.col("list_gbp") > 0)
    return machines.with_columns(counts=~is_covered & has_list & (pl.col("paid_gbp") > 0))


def _with_adjustments(machines: pl.DataFrame, days: pl.DataFrame, usage: pl.DataFrame) -> pl.DataFrame:
    """Adds adjusted, nought or less: what discount lines take off each pound of effective cost.

    A line that names a machine is spread over charges of that family, region and service; another over its service.
    """
    lines = days.filter(pl.col("charge_category") == "Adjustment", pl.col("billed_gbp") < 0)
    names_machine = pl.col("instance_family") != ""
    of_machines = _taken_off(lines.filter(names_machine), usage, _MACHINES)
    of_services = _taken_off(lines.filter(~names_machine), usage, _SERVICE)
    return (
        machines.join(of_machines.rename({"off": "off_machines"}), on=_MACHINES, how="left")
        .join(of_services.rename({"off": "off_services"}), on=_SERVICE, how="left")
        .with_columns(adjusted=pl.col("off_machines").fill_null(_NOUGHT) + pl.col("off_services").fill_null(_NOUGHT))
    )


def _taken_off(lines: pl.DataFrame, usage: pl.DataFrame, key: tuple[str, ...]) -> pl.DataFrame:
    """By key, what lines that come as often as usage does take off a pound of it."""
    effective = pl.col("effective_gbp")
    base = usage.group_by(key).agg(
        usage_days=pl.col("charge_day").n_unique(), base=effective.filter(effective > 0).sum()
    )
    every = lines.group_by(key).agg(line_days=pl.col("charge_day").n_unique(), discount=pl.col("billed_gbp").sum())
    together = every.join(base, on=key, how="inner").filter(
        pl.col("base") > 0, pl.col("line_days") >= RECURRING_SHARE * pl.col("usage_days")
    )
    ratio = pl.col("discount").cast(pl.Float64) / pl.col("base").cast(pl.Float64)
    return together.select(*key, off=ratio.cast(COST))


def _level(charges: pl.DataFrame, by: tuple[str, ...]) -> pl.DataFrame:
    """One row a group of charges; the columns of the key that it is not of are empty. Spot needs its family."""
    here = charges if "region" not in by else charges.filter(pl.col("region") != "")
    own = here.filter(pl.col("capacity_type") != "")
    if not by:
        own = own.filter(pl.col("capacity_type") == CapacityType.ON_DEMAND.value)
    counted = own.filter("counts")
    key = ["provider", "capacity_type", *by]
    account = pl.when(pl.col("sub_account") != "").then("sub_account").otherwise("billing_account")
    covered = here.filter(pl.col("is_covered"), pl.col("rows_without_list_cost") == 0)
    committed = covered.group_by("provider", *by).agg(
        committed_list_gbp=pl.col("list_gbp").sum(), committed_gbp=pl.col("effective_gbp").sum()
    )
    left_out = own.filter(~pl.col("counts") & ~pl.col("is_covered")).group_by(key)
    sums = counted.group_by(key).agg(
        *(pl.col(name).sum() for name in ("list_gbp", "contracted_gbp", "effective_gbp", "billed_gbp")),
        pl.col("adjustment_gbp", "paid_gbp").sum(),
        vcpu_hours=_exactly(pl.col("vcpu_hours")),
        listed_with_vcpu=pl.col("list_gbp").filter(pl.col("has_vcpu_hours")).sum(),
        days=pl.col("charge_day").n_unique(),
        first_day=pl.col("charge_day").min(),
        last_day=pl.col("charge_day").max(),
        accounts=account.n_unique(),
        charges=pl.col("rows").sum(),
    )
    together = (
        sums.join(committed, on=["provider", *by], how="left")
        .join(left_out.agg(charges_left_out=pl.col("rows").sum()), on=key, how="left")
        .with_columns(
            pl.col("charges_left_out").fill_null(0),
            *(pl.lit("").alias(name) for name in ("region", "instance_family") if name not in by),
        )
    )
    # To the millionth of a pound: evidence of a ratio.
    rounded = together.with_columns(pl.col(name).cast(pl.Float64).fill_null(0.0).round(6) for name in _SUMS)
    ratio = (1 - pl.col("paid_gbp") / pl.col("list_gbp")).round(6)
    return rounded.filter(pl.col("list_gbp") > 0, pl.col("paid_gbp") > 0).select(_ROW, discount_ratio=ratio)


def _own_verdict() -> pl.Expr:
    lowest, highest = PLAUSIBLE
    few_hours = (pl.col("vcpu_hours") > 0) & (pl.col("vcpu_hours") < MIN_VCPU_HOURS)
    too_little = (pl.col("list_gbp") < MIN_LIST_GBP) | (pl.col("days") < MIN_DAYS) | few_hours
    return (
        pl.when(~pl.col("discount_ratio").is_between(lowest, highest))
        .then(pl.lit(DiscountVerdict.IMPLAUSIBLE.value))
        .when(too_little)
        .then(pl.lit(DiscountVerdict.TOO_LITTLE.value))
        .otherwise(pl.lit(DiscountVerdict.HOLDS.value))
    )


def _parts_against_whole(rows: pl.DataFrame) -> pl.DataFrame:
    """A family stands for regions without evidence where its regions agree; all machines, where two families do."""
    holds = rows.filter(pl.col("verdict") == DiscountVerdict.HOLDS.value)
    ratio = pl.col("discount_ratio")
    spans = [pl.len().alias("parts"), ratio.min().alias("least"), ratio.max().alias("most")]
    regions = holds.filter(pl.col("region") != "").group_by("provider", "capacity_type", "instance_family").agg(spans)
    families = holds.filter(pl.col("region") == "", pl.col("instance_family") != "")
    whole = families.group_by("provider", "capacity_type").agg(spans).with_columns(instance_family=pl.lit(""))
    parts = pl.concat([regions, whole.select(regions.columns)])
    is_wider = pl.col("region") == ""
    apart = ((pl.col("least") < ratio - MOST_APART) | (pl.col("most") > ratio + MOST_APART)).fill_null(value=False)
    alone = (pl.col("instance_family") == "") & (pl.col("parts").fill_null(0) < 2)
    differ = (pl.col("verdict") == DiscountVerdict.HOLDS.value) & is_wider & (apart | alone)
    return rows.join(parts, on=["provider", "capacity_type", "instance_family"], how="left").with_columns(
        verdict=pl.when(differ).then(pl.lit(DiscountVerdict.PARTS_DIFFER.value)).otherwise("verdict")
    )


def _spot_against_on_demand(rows: pl.DataFrame) -> pl.DataFrame:
    """Spot holds only where its list price can be seen to be that of spot."""
    place = ["provider", "region", "instance_family"]
    per_hour = pl.when(pl.col("vcpu_hours") > 0).then(pl.col("listed_with_vcpu") / pl.col("vcpu_hours"))
    priced = rows.with_columns(listed_per_vcpu_hour=per_hour)
    on_demand = priced.filter(pl.col("capacity_type") == CapacityType.ON_DEMAND.value)
    beside = priced.join(on_demand.select(*place, on_demand_listed="listed_per_vcpu_hour"), on=place, how="left")
    lower = (pl.col("listed_per_vcpu_hour") < SPOT_BELOW * pl.col("on_demand_listed")).fill_null(value=False)
    is_spot = pl.col("capacity_type") == CapacityType.SPOT.value
    doubtful = is_spot & ~lower & (pl.col("verdict") == DiscountVerdict.HOLDS.value)
    return beside.with_columns(
        verdict=pl.when(doubtful).then(pl.lit(DiscountVerdict.LIST_IS_ON_DEMAND.value)).otherwise("verdict")
    )


def _exactly(hours: pl.Expr) -> pl.Expr:
    """A sum that does not depend on the order of its rows, as one of floats does."""
    return hours.cast(pl.Decimal(38, 6)).sum()


_ROW: Final = (
    *("provider", "region", "instance_family", "capacity_type"),
    *_SUMS,
    *("days", "first_day", "last_day", "accounts", "charges", "charges_left_out"),
)
