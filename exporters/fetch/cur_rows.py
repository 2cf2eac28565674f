"""From an export's columns to charges: AWS's Cost and Usage Report, 2.0 or older, in the words of FOCUS.

Billed cost is the unblended cost. Effective cost follows AWS's own definition of amortised cost by line item type
(AWS, Cost and Usage Report data dictionary: line item details, reservation details, Savings Plans details): usage that
a commitment covers has the commitment's rate, what was paid for a commitment in advance is nought, and what a
commitment left unused stands on its own line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import polars as pl

from exporters.core.cost_frames import COST, Charge, CommitmentStatus
from exporters.fetch.focus_columns import CUR
from exporters.fetch.focus_rows import (
    are_stated,
    first_of_columns,
    first_value,
    machine_of_usage,
    moment,
    money,
    number,
    reject_reason,
    text,
    time_format,
    vcpu_hours,
)

PROVIDER: Final = "aws"
CATEGORY: Final[Mapping[str, str]] = {
    "Usage": "Usage",
    "DiscountedUsage": "Usage",
    "SavingsPlanCoveredUsage": "Usage",
    "SavingsPlanNegation": "Usage",
    "Fee": "Purchase",
    "RIFee": "Purchase",
    "SavingsPlanUpfrontFee": "Purchase",
    "SavingsPlanRecurringFee": "Purchase",
    "Tax": "Tax",
    "Credit": "Credit",
}
"""Line item types as FOCUS charge categories; discounts and refunds are adjustments."""

_OLD_TAGS: Final = "resource_tags_user:"
_NO_COST: Final = pl.lit(None, COST)


def cur_charges(raw: pl.LazyFrame, *, owner_tags: Sequence[str]) -> pl.LazyFrame:
    """This will return the rows of a report as Charge.

    Args:
        raw: the scanned file, its columns by their CUR 2.0 names.
        owner_tags: keys of tags that name an owner, in any case.
    """
    schema = raw.collect_schema()
    theirs = {ours: name for ours, name in CUR.columns.items() if name in schema}

    def words(ours: str) -> pl.Expr:
        name = theirs.get(ours)
        return pl.lit(None, pl.String) if name is None else text(name, schema[name])

    def product(key: str) -> pl.Expr:
        return first_value(theirs.get("product"), schema, [key])

    def amount(name: str) -> pl.Expr:
        return money(name, schema[name]).fill_null(0) if name in schema else pl.lit(0).cast(COST)

    def time(ours: str) -> pl.Expr:
        return moment(theirs[ours], schema[theirs[ours]], time_format(raw, theirs[ours], schema))

    kind = words("line_item_type")
    billed = money(theirs["billed_cost"], schema[theirs["billed_cost"]])
    commitment = pl.coalesce(words("reservation_id"), words("savings_plan_id"))
    is_usage = kind.is_in([name for name, category in CATEGORY.items() if category == "Usage"])
    row: dict[str, pl.Expr] = {
        "charge_start": time("charge_start"),
        "charge_end": time("charge_end"),
        "billing_period": time("billing_period").dt.date(),
        "provider": pl.lit(PROVIDER),
        "billing_account": words("billing_account"),
        "sub_account": words("sub_account"),
        "service": pl.coalesce(words("service"), product("product_name"), words("service_code")),
        "region": words("region"),
        "sku_id": words("sku_id"),
        "resource_id": words("resource_id"),
        "charge_category": kind.replace_strict(dict(CATEGORY), default="Adjustment"),
        "pricing_category": _pricing_category(kind, words("pricing_term")),
        "commitment_discount_id": commitment,
        "commitment_status": _status(kind, commitment),
        "tags": words("tags"),
        "currency": words("currency"),
        "billed_cost": billed,
        "effective_cost": _effective_cost(kind, billed, commitment, amount),
        "list_cost": money(theirs["list_cost"], schema[theirs["list_cost"]]) if "list_cost" in theirs else _NO_COST,
        "contracted_cost": _NO_COST,
        "consumed_quantity": pl.when(is_usage).then(number(theirs.get("consumed_quantity"))),
        "consumed_unit": words("consumed_unit"),
    }
    vcpus = pl.coalesce(number(theirs.get("vcpu")), product("vcpu").cast(pl.Float64, strict=False))
    row["vcpu_hours"] = vcpu_hours(row, vcpus)
    row["details"] = pl.lit(None, pl.String)
    row["machine"] = pl.coalesce(words("machine"), product("instance_type"), machine_of_usage(words("usage_type")))
    row["owner"] = _owner(theirs, schema, owner_tags)
    row["reject"] = reject_reason(are_stated(theirs), row)
    return raw.select(**{name: row[name] for name in Charge.column_names()})


def _effective_cost(kind: pl.Expr, billed: pl.Expr, commitment: pl.Expr, amount: Callable[[str], pl.Expr]) -> pl.Expr:
    unused_reservation = amount("reservation_unused_amortized_upfront_fee_for_billing_period") + amount(
        "reservation_unused_recurring_fee"
    )
    unused_plan = amount("savings_plan_total_commitment_to_date") - amount("savings_plan_used_commitment")
    nought = pl.lit(0).cast(COST)
    return (
        pl.when(kind == "SavingsPlanCoveredUsage")
        .then(amount("savings_plan_savings_plan_effective_cost"))
        .when(kind == "DiscountedUsage")
        .then(amount("reservation_effective_cost"))
        .when(kind == "RIFee")
        .then(unused_reservation)
        .when(kind == "SavingsPlanRecurringFee")
        .then(unused_plan)
        .when(kind.is_in(["SavingsPlanNegation", "SavingsPlanUpfrontFee"]))
        .then(nought)
        .when((kind == "Fee") & commitment.is_not_null())
        .then(nought)
        .otherwise(billed)
    )


def _pricing_category(kind: pl.Expr, term: pl.Expr) -> pl.Expr:
    return (
        pl.when(kind.is_in(["DiscountedUsage", "SavingsPlanCoveredUsage"]))
        .then(pl.lit("Committed"))
        .when((kind == "Usage") & (term == "Spot"))
        .then(pl.lit("Dynamic"))
        .when(kind == "Usage")
        .then(pl.lit("Standard"))
        .otherwise(None)
    )


def _status(kind: pl.Expr, commitment: pl.Expr) -> pl.Expr:
    covered = kind.is_in(["DiscountedUsage", "SavingsPlanCoveredUsage"])
    left = kind.is_in(["RIFee", "SavingsPlanRecurringFee"])
    return (
        pl.when(covered & commitment.is_not_null())
        .then(pl.lit(CommitmentStatus.USED.value))
        .when(left & commitment.is_not_null())
        .then(pl.lit(CommitmentStatus.UNUSED.value))
        .otherwise(None)
    )


def _owner(theirs: Mapping[str, str], schema: pl.Schema, owner_tags: Sequence[str]) -> pl.Expr:
    """CUR 2.0 has a map of tags; the older report has a column a tag."""
    if "tags" in theirs:
        return first_value(theirs["tags"], schema, owner_tags)
    tags = {name.removeprefix(_OLD_TAGS): pl.col(name) for name in schema if name.startswith(_OLD_TAGS)}
    return first_of_columns(tags, owner_tags)
