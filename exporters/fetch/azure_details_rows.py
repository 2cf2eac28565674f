"""From an export's columns to charges: Azure's own cost details, of actual or of amortised cost, in the words of FOCUS.

A file of actual cost says what was billed, one of amortised cost what it came to once purchases are spread over what
they cover. Neither says the other, and no column says which a file is. Where nothing was bought in advance they are the
same; else both are needed: the rows of one carry billed cost, those of the other effective cost, and what must count
once (quantities, list cost) stands on the amortised rows, which alone hold what was left unused.

Source: Microsoft Learn, "Cost and usage details file schema" (EA 2024-08-01, MCA 2023-12-01, pay-as-you-go), whose
column names differ in case.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from typing import Final

import polars as pl

from exporters.core.cost_frames import COST, Charge, CommitmentStatus
from exporters.core.errors import IntegrityError
from exporters.fetch.azure_costs_rows import PROVIDER, category_expr, region_expr
from exporters.fetch.focus_rows import (
    EACH,
    are_stated,
    first_value,
    money,
    number,
    once_each,
    reject_reason,
    vcpu_hours,
)

SPELLINGS: Final[Mapping[str, tuple[str, ...]]] = {
    "BillingAccountId": ("billingaccountid",),
    "SubscriptionId": ("subscriptionid", "subscriptionguid"),
    "BillingPeriodStartDate": ("billingperiodstartdate",),
    "Date": ("date", "usagedatetime", "usagedate"),
    "MeterCategory": ("metercategory",),
    "ConsumedService": ("consumedservice",),
    "ResourceLocation": ("resourcelocation",),
    "MeterId": ("meterid",),
    "ResourceId": ("resourceid", "instanceid"),
    "ChargeType": ("chargetype",),
    "PricingModel": ("pricingmodel",),
    "ReservationId": ("reservationid",),
    "BenefitId": ("benefitid",),
    "Tags": ("tags",),
    "AdditionalInfo": ("additionalinfo",),
    "BillingCurrency": ("billingcurrency", "billingcurrencycode", "currency"),
    "CostInBillingCurrency": ("costinbillingcurrency", "pretaxcost", "cost"),
    "PaygCostInBillingCurrency": ("paygcostinbillingcurrency",),
    "PayGPrice": ("paygprice",),
    "Quantity": ("quantity", "usagequantity"),
    "UnitOfMeasure": ("unitofmeasure",),
}
"""The names used here, and how each kind of agreement spells them, in lower case; the first that is there counts."""

_COST: Final = "CostInBillingCurrency"
_MARKS: Final = ("metercategory", "meterid", "unitofmeasure")
_DATES: Final = ("%m/%d/%Y", "%Y-%m-%d", "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%MZ")
"""M/D/YYYY in downloads of the portal and older exports, ISO 8601 in newer ones."""

_SAMPLE_ROWS: Final = 1_000
_HOURS: Final = r"(?i)^([\d,]+)\s*Hours?$"
"""A unit of measure of machines: 1 Hour, 10 Hours, 100 Hours; quantities count units."""

_VCPUS: Final = r'(?i)"vCPUs"\s*:\s*"?(\d+(?:\.\d+)?)'
_MACHINE: Final = r'"ServiceType"\s*:\s*"([^"]+)"'
_PRICING: Final = {"ondemand": "Standard", "spot": "Dynamic", "reservation": "Committed", "savingsplan": "Committed"}
_NOUGHT: Final = pl.lit(0).cast(COST)


class Report(StrEnum):
    """Which cost a file states."""

    ACTUAL = "actual"
    AMORTISED = "amortised"
    EITHER = "either"


def details_names(names: Collection[str]) -> dict[str, str]:
    """This will return how the columns of a file are to be renamed, if they are those of cost details; else nothing."""
    lower = {name.casefold(): name for name in reversed(list(names))}
    if not all(mark in lower for mark in _MARKS) or not any(cost in lower for cost in SPELLINGS[_COST]):
        return {}
    found: dict[str, str] = {}
    for ours, spellings in SPELLINGS.items():
        theirs = next((lower[spelling] for spelling in spellings if spelling in lower), None)
        if theirs is not None and theirs != ours and ours not in names:
            found[theirs] = ours
    return found


def report_of(raw: pl.LazyFrame, *, where: str) -> Report:
    """This will read a file once for which cost it states: from what it says of what commitments cover.

    Args:
        raw: the scanned file, its columns by their names here.
        where: the file, for messages.

    Raises:
        IntegrityError: it holds signs of both.
    """
    names = raw.collect_schema().names()
    kind, cost = _text("ChargeType", names).str.to_lowercase(), money(_COST, raw.collect_schema()[_COST])
    covered = _covered(names)
    used = covered & (kind == "usage") & (number("Quantity" if "Quantity" in names else None).fill_null(0) > 0)
    signs = (
        raw.select(
            amortised=(kind.str.starts_with("unused") | (used & (cost != 0))).any(),
            actual=((covered & kind.is_in(["purchase", "refund"]) & (cost != 0)) | (used & (cost == 0))).any(),
        )
        .collect(engine="streaming")
        .row(0)
    )
    if all(signs):
        raise IntegrityError(
            "it holds charges of actual and of amortised cost, which cannot be added up",
            where=where,
            next_step="Export them apart, or export FOCUS, which has both.",
        )
    amortised, actual = signs
    return Report.AMORTISED if amortised else Report.ACTUAL if actual else Report.EITHER


def details_charges(raw: pl.LazyFrame, report: Report, *, owner_tags: Sequence[str]) -> pl.LazyFrame:
    """This will return the rows of a file as Charge.

    Args:
        raw: the scanned file, its columns by their names here.
        report: which cost it states; `either`: both, as nothing was bought in advance.
        owner_tags: keys of tags that name an owner, in any case.
    """
    names = raw.collect_schema().names()
    raw = raw.with_columns(_braced("Tags")) if "Tags" in names else raw
    schema = raw.collect_schema()
    kind, cost = _text("ChargeType", names), money(_COST, schema[_COST])
    start = _day(raw, "Date", schema)
    bill = _day(raw, "BillingPeriodStartDate", schema) if "BillingPeriodStartDate" in names else start
    counts = report is not Report.ACTUAL
    row: dict[str, pl.Expr] = {
        "charge_start": start,
        "charge_end": start.dt.offset_by("1d"),
        "billing_period": pl.coalesce(bill, start).dt.month_start().dt.date(),
        "provider": pl.lit(PROVIDER),
        "billing_account": _text("BillingAccountId", names),
        "sub_account": _text("SubscriptionId", names).str.to_lowercase(),
        "service": pl.coalesce(_text("MeterCategory", names), _text("ConsumedService", names)),
        "region": region_expr(_text("ResourceLocation", names)).replace("", None),
        "sku_id": _text("MeterId", names),
        "resource_id": _text("ResourceId", names),
        "charge_category": category_expr(kind),
        "pricing_category": _text("PricingModel", names).str.to_lowercase().replace_strict(_PRICING, default=None),
        "commitment_discount_id": pl.coalesce(_text("BenefitId", names), _text("ReservationId", names)),
        "tags": _text("Tags", names),
        "currency": _text("BillingCurrency", names),
        "billed_cost": _NOUGHT if report is Report.AMORTISED else cost,
        "effective_cost": _NOUGHT if report is Report.ACTUAL else cost,
        "list_cost": _list_cost(names, kind) if counts else _NOUGHT,
        "contracted_cost": pl.lit(None, COST),
    }
    row["commitment_status"] = _status(kind, row["commitment_discount_id"])
    row |= _quantities(names, row["charge_category"], counts=counts)
    row["details"] = pl.lit(None, pl.String)
    row["machine"] = pl.when(row["consumed_unit"] == "Hours").then(_stated(names, _MACHINE, pl.String()))
    row["owner"] = first_value("Tags" if "Tags" in names else None, schema, owner_tags)
    row["reject"] = reject_reason(are_stated(_read(report)), row)
    return raw.select(**{name: row[name] for name in Charge.column_names()})


def _read(report: Report) -> dict[str, str]:
    """Where the columns stand that a charge cannot be without."""
    costs = {
        Report.ACTUAL: ("billed_cost",),
        Report.AMORTISED: ("effective_cost",),
        Report.EITHER: ("billed_cost", "effective_cost"),
    }
    return {**dict.fromkeys(costs[report], _COST), "charge_start": "Date"}


def _text(name: str, names: Collection[str]) -> pl.Expr:
    return pl.col(name).cast(pl.String).replace("", None) if name in names else pl.lit(None, pl.String)


def _covered(names: Collection[str]) -> pl.Expr:
    """Whether a commitment has to do with a charge."""
    model = _text("PricingModel", names).str.to_lowercase().is_in(["reservation", "savingsplan"]).fill_null(value=False)
    named = pl.any_horizontal(_text(name, names).is_not_null() for name in ("ReservationId", "BenefitId"))
    return model | named


def _status(kind: pl.Expr, commitment: pl.Expr) -> pl.Expr:
    unused = kind.str.to_lowercase().str.starts_with("unused")
    used = (kind.str.to_lowercase() == "usage") & commitment.is_not_null()
    return (
        pl.when(unused)
        .then(pl.lit(CommitmentStatus.UNUSED.value))
        .when(used)
        .then(pl.lit(CommitmentStatus.USED.value))
        .otherwise(None)
    )


def _list_cost(names: Collection[str], kind: pl.Expr) -> pl.Expr:
    """At pay-as-you-go price; null where a charge has none. Unused commitments and what is no usage have no price."""
    if "PaygCostInBillingCurrency" in names:
        found = number("PaygCostInBillingCurrency")
    elif "PayGPrice" in names and "Quantity" in names:
        found = number("PayGPrice") * number("Quantity")
    else:
        found = pl.lit(None, pl.Float64)
    is_usage = kind.str.to_lowercase() == "usage"
    return pl.when(~is_usage).then(_NOUGHT).when(found != 0).then(found.cast(COST, strict=False))


def _quantities(names: Collection[str], category: pl.Expr, *, counts: bool) -> dict[str, pl.Expr]:
    """Quantity, unit and vCPU-hours; hours of machines are counted in single hours.

    Where they count on the other file's rows they are nought here, so that both rows are of one kind.
    """
    unit, quantity = _text("UnitOfMeasure", names), number("Quantity" if "Quantity" in names else None)
    hours = unit.str.extract(_HOURS, 1).str.replace_all(",", "").cast(pl.Float64, strict=False)
    row = {
        "consumed_unit": pl.when(hours.is_not_null()).then(pl.lit("Hours")).otherwise(unit),
        "consumed_quantity": pl.when(category == "Usage").then(quantity * hours.fill_null(1)),
        "charge_category": category,
    }
    unused = _text("ChargeType", names).str.to_lowercase().str.starts_with("unused").fill_null(value=False)
    found = pl.when(~unused).then(vcpu_hours(row, _stated(names, _VCPUS, pl.Float64())))
    row["vcpu_hours"] = found if counts else found * 0
    if not counts:
        row["consumed_quantity"] = row["consumed_quantity"] * 0
    return row


def _stated(names: Collection[str], pattern: str, kind: pl.DataType) -> pl.Expr:
    """What AdditionalInfo says of a machine."""
    if "AdditionalInfo" not in names:
        return pl.lit(None, kind)
    return once_each(_text("AdditionalInfo", names), EACH.str.extract(pattern, 1).cast(kind, strict=False), kind)


def _braced(name: str) -> pl.Expr:
    """Tags as a JSON object; files of enterprise agreements leave the braces out."""
    tags = pl.col(name).cast(pl.String).str.strip_chars()
    return (
        pl.when(tags.str.starts_with("{"))
        .then(tags)
        .otherwise(pl.concat_str(pl.lit("{"), tags, pl.lit("}")))
        .alias(name)
    )


def _day(raw: pl.LazyFrame, name: str, schema: pl.Schema) -> pl.Expr:
    """A day in UTC; the format is that of most of a file's first rows, because one export writes its days alike."""
    if schema[name] != pl.String:
        return pl.col(name).cast(pl.Datetime("us")).dt.replace_time_zone("UTC").dt.truncate("1d")
    sample = raw.select(pl.col(name)).head(_SAMPLE_ROWS).collect().to_series().drop_nulls()
    read = {form: sample.str.to_datetime(form, time_zone="UTC", strict=False).count() for form in _DATES}
    form = max(_DATES, key=lambda form: read[form])
    return pl.col(name).str.to_datetime(form, time_unit="us", time_zone="UTC", strict=False).dt.truncate("1d")
