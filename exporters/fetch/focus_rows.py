"""From an export's columns to charges: a FOCUS export of any version, lazily, as rows of Charge.

Promises that no value is guessed: a charge whose cost or period cannot be read carries the reason why. Nothing is read
here; the expressions run when the rows are reduced, over the columns that are then needed and no others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import polars as pl

from exporters.core.cost_frames import COST, Charge, CommitmentStatus, CostReject
from exporters.fetch.focus_columns import ColumnMap

MOST_MONEY: Final = 1e15
"""Of one charge. A float beyond it does not fit the decimals that sums are kept in, and is no price."""

TIME_FORMATS: Final = (
    "%+",
    "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%dT%H:%MZ",
    "%Y-%m-%dT%H:%M:%S",
    "%Y-%m-%d",
)
"""FOCUS asks for ISO 8601 in UTC (the first); samples of the FinOps Foundation and of Oracle have the next two."""

NULLS: Final = ("", "NULL", "null", "Null", "\\N")
"""Spellings of nothing in CSV exports; FOCUS, null handling, asks for an empty cell."""

_SAMPLE_ROWS: Final = 1_000
VCPU_UNITS: Final = tuple(
    f"{unit}{joint}{hour}" for unit in ("vCPU", "CPU", "Core") for joint in ("-", " ") for hour in ("Hours", "Hour")
)
HOUR_UNITS: Final = ("Hours", "Hour", "hours", "hour", "Hrs", "hrs", "h")
"""FOCUS, unit format, writes Hours and vCPU-Hours; AWS's CUR has Hrs, Google h and hour."""

_VCPUS: Final = r'(?i)"(?:CoreCount|vCPUs)"\s*:\s*"?(\d+(?:\.\d+)?)'
"""FOCUS 1.1 SkuPriceDetails has CoreCount; Azure's x_SkuDetails has VCPUs."""


def focus_charges(raw: pl.LazyFrame, found: ColumnMap, *, owner_tags: Sequence[str]) -> pl.LazyFrame:
    """This will return the rows of an export as Charge.

    Args:
        raw: the scanned file.
        found: the map of its version.
        owner_tags: keys of tags that name an owner, in any case.
    """
    schema = raw.collect_schema()
    theirs = {ours: name for ours, name in found.columns.items() if name in schema}
    times = {ours: time_format(raw, theirs[ours], schema) for ours in ("charge_start", "charge_end", "billing_period")}
    row: dict[str, pl.Expr] = {
        name: text(theirs[name], schema[theirs[name]]) if name in theirs else pl.lit(None, pl.String)
        for name, kind in Charge.columns().items()
        if kind.dtype == pl.String and name != "reject"
    }
    for name in ("billed_cost", "effective_cost", "list_cost", "contracted_cost"):
        row[name] = money(theirs[name], schema[theirs[name]]) if name in theirs else pl.lit(None, COST)
    for name, form in times.items():
        row[name] = moment(theirs[name], schema[theirs[name]], form)
    row["billing_period"] = row["billing_period"].dt.date()
    row["consumed_quantity"] = number(theirs.get("consumed_quantity"))
    row["vcpu_hours"] = vcpu_hours(row, _stated_vcpus(theirs.get("details"), schema, row["consumed_unit"]))
    row["has_owner"] = owned(theirs.get("tags"), schema, owner_tags)
    row["reject"] = reject_reason(theirs, row)
    return raw.select(**{name: row[name] for name in Charge.column_names()})


def text(name: str, kind: pl.DataType) -> pl.Expr:
    """This will read a column as text; lists, maps and structs as JSON."""
    if isinstance(kind, pl.Struct):
        return pl.col(name).struct.json_encode()
    if isinstance(kind, pl.List):
        return pl.struct(pl.col(name).alias("entries")).struct.json_encode()
    return pl.col(name) if kind == pl.String else pl.col(name).cast(pl.String)


def money(name: str, kind: pl.DataType) -> pl.Expr:
    """This will read a column as exact money; what is no number becomes null."""
    column = pl.col(name)
    if kind.is_float():
        column = pl.when(column.abs() < MOST_MONEY).then(column)
    return (column.str.strip_chars() if kind == pl.String else column).cast(COST, strict=False)


def number(name: str | None) -> pl.Expr:
    """This will read a column as a float; what is no number becomes null, and so does a column that is not there."""
    return pl.lit(None, pl.Float64) if name is None else pl.col(name).cast(pl.Float64, strict=False)


def moment(name: str, kind: pl.DataType, form: str) -> pl.Expr:
    """This will read a column as a time in UTC; a time without an offset is UTC, as FOCUS writes it."""
    column = pl.col(name)
    if kind == pl.String:
        return column.str.to_datetime(form, time_unit="us", time_zone="UTC", strict=False)
    if isinstance(kind, pl.Datetime) and kind.time_zone is not None:
        return column.dt.convert_time_zone("UTC").dt.cast_time_unit("us")
    return column.cast(pl.Datetime("us")).dt.replace_time_zone("UTC")


def vcpu_hours(row: Mapping[str, pl.Expr], vcpus: pl.Expr | None) -> pl.Expr:
    """This will return vCPU-hours: of that unit, or of hours of a machine whose vCPUs are known; else null."""
    unit, quantity = row["consumed_unit"], row["consumed_quantity"]
    of_machines = pl.lit(None, pl.Float64) if vcpus is None else quantity * vcpus
    hours = pl.when(unit.is_in(VCPU_UNITS)).then(quantity)
    found = hours.when(unit.is_in(HOUR_UNITS)).then(of_machines)
    return pl.when(found >= 0, row["charge_category"] == "Usage").then(found)


def _stated_vcpus(details: str | None, schema: pl.Schema, unit: pl.Expr) -> pl.Expr | None:
    """The vCPUs in the details of a charge by the hour; the details of others are not searched."""
    if details is None:
        return None
    of_hours = pl.when(unit.is_in(HOUR_UNITS)).then(text(details, schema[details]))
    return of_hours.str.extract(_VCPUS, 1).cast(pl.Float64, strict=False)


def owned(name: str | None, schema: pl.Schema, owner_tags: Sequence[str]) -> pl.Expr:
    """This will tell whether a tag of a JSON object, a map or a list of key and value names an owner."""
    if name is None or not owner_tags:
        return pl.lit(value=False)
    kind = schema[name]
    keys = {key.casefold() for key in owner_tags}
    if isinstance(kind, pl.List):
        element = pl.element()
        key = element.struct.field("key").cast(pl.String).str.to_lowercase()
        value = element.struct.field("value").cast(pl.String)
        entries = pl.col(name).list.eval(key.is_in(sorted(keys)) & (value.fill_null("") != ""))
        return entries.list.any().fill_null(value=False)
    if isinstance(kind, pl.Struct):
        fields = [field.name for field in kind.fields if field.name.casefold() in keys]
        values = [pl.col(name).struct.field(field).cast(pl.String).fill_null("") != "" for field in fields]
        return pl.any_horizontal(values) if values else pl.lit(value=False)
    return pl.col(name).str.contains(_tag_pattern(owner_tags)).fill_null(value=False)


def _tag_pattern(owner_tags: Iterable[str]) -> str:
    """A key of a JSON object with a value that is not empty. A quote inside a value is escaped, so none matches."""
    keys = "|".join(re.escape(key) for key in owner_tags)
    return rf'(?i)[{{,]\s*"(?:{keys})"\s*:\s*(?:"[^"]|true|[-\d])'


def reject_reason(theirs: Mapping[str, str], row: Mapping[str, pl.Expr]) -> pl.Expr:
    """This will say why a charge cannot be counted; null where it can."""
    wanted = ("billed_cost", "effective_cost", "charge_start", "charge_end", "billing_period", "line_item_type")
    absent = pl.any_horizontal(pl.col(theirs[name]).is_null() for name in wanted if name in theirs)
    costs = [name for name in ("billed_cost", "effective_cost", "list_cost", "contracted_cost") if name in theirs]
    no_number = pl.any_horizontal(row[name].is_null() & pl.col(theirs[name]).is_not_null() for name in costs)
    no_time = pl.any_horizontal(row[name].is_null() for name in ("charge_start", "charge_end", "billing_period"))
    unused = row["commitment_status"] == CommitmentStatus.UNUSED.value
    return (
        pl.when(absent)
        .then(pl.lit(CostReject.ABSENT.value))
        .when(no_number)
        .then(pl.lit(CostReject.NOT_A_NUMBER.value))
        .when(no_time)
        .then(pl.lit(CostReject.MALFORMED.value))
        .when(row["charge_end"] < row["charge_start"])
        .then(pl.lit(CostReject.INSIDE_OUT.value))
        .when(unused & (row["effective_cost"] < 0))
        .then(pl.lit(CostReject.NEGATIVE.value))
        .otherwise(None)
    )


def time_format(raw: pl.LazyFrame, name: str, schema: pl.Schema) -> str:
    """This will return the format of most of a file's first rows; the times of one export are written alike."""
    if schema[name] != pl.String:
        return ""
    sample = raw.select(pl.col(name)).head(_SAMPLE_ROWS).collect().to_series().drop_nulls()
    read = {form: sample.str.to_datetime(form, time_zone="UTC", strict=False).count() for form in TIME_FORMATS}
    return max(TIME_FORMATS, key=lambda form: read[form])
