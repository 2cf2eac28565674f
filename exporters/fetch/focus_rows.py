"""From an export's columns to charges: a FOCUS export of any version, lazily, as rows of Charge.

Promises that no value is guessed: a charge whose cost or period cannot be read carries the reason why. Nothing is read
here; the expressions run when the rows are reduced, over the columns that are then needed and no others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
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

_TEXT, _READ, _KNOWN = "text", "read", "known"
MOST_KNOWN: Final = 50_000
"""Texts that are kept for the rows to come; an export that has more is read piece by piece."""
EACH: Final = pl.col(_TEXT)
"""One of the texts of once_each."""
_STATED: Final = "stated_"
NEEDED: Final = ("billed_cost", "effective_cost", "charge_start", "charge_end", "billing_period", "line_item_type")
"""Without a value in one of these, of those that the export has, a charge is not counted."""
COSTS: Final = ("billed_cost", "effective_cost", "list_cost", "contracted_cost")
_SAMPLE_ROWS: Final = 1_000
VCPU_UNITS: Final = tuple(
    f"{unit}{joint}{hour}" for unit in ("vCPU", "CPU", "Core") for joint in ("-", " ") for hour in ("Hours", "Hour")
)
MEMORY_UNITS: Final = ("GiB-Hours", "GiBy.h", "gibibyte hour", "GB-Hours")
HOUR_UNITS: Final = ("Hours", "Hour", "hours", "hour", "Hrs", "hrs", "h")
"""FOCUS, unit format, writes Hours and vCPU-Hours; AWS's CUR has Hrs, Google h and hour."""

_AWS_MACHINE: Final = r"(?:Usage|Reservation|Box):([a-z0-9-]+\.[a-z0-9-]+)$"
"""AWS, usage type: EUW2-BoxUsage:m5.large, SpotUsage:…, DedicatedUsage:…, UnusedBox:…, Reservation:…"""
_GOOGLE_MACHINE: Final = r"\b([A-Z]\d{1,2}[A-Z]?)\b.* (?:Core|Ram|Cpu|Instance) "
"""Google, SKU description: "Spot Preemptible N2D AMD Instance Core running in London"."""


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
    for name in COSTS:
        row[name] = money(theirs[name], schema[theirs[name]]) if name in theirs else pl.lit(None, COST)
    for name, form in times.items():
        row[name] = moment(theirs[name], schema[theirs[name]], form)
    row["billing_period"] = row["billing_period"].dt.date()
    row["consumed_quantity"] = number(theirs.get("consumed_quantity"))
    row["vcpu_hours"] = vcpu_hours(row, None)
    row["details"] = pl.when(row["consumed_unit"].is_in(HOUR_UNITS)).then(row["details"])
    row["machine"] = _machine(theirs, raw, row["consumed_unit"])
    row["owner"] = first_value(theirs.get("tags"), schema, owner_tags)
    # What is read stands in columns before it is judged, so that no number and no time is read twice.
    stated = are_stated(theirs)
    whole = raw.select(
        **{name: row[name] for name in Charge.column_names() if name != "reject"},
        **{f"{_STATED}{name}": is_there for name, is_there in stated.items()},
    )
    read = {name: pl.col(name) for name in Charge.column_names()}
    reason = reject_reason({name: pl.col(f"{_STATED}{name}") for name in stated}, read)
    return whole.with_columns(reject=reason).select(Charge.column_names())


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


def machine_of_usage(usage_type: pl.Expr) -> pl.Expr:
    """This will return the machine that one of AWS's usage types names; null: none."""
    return usage_type.str.extract(_AWS_MACHINE, 1)


def machine_of_sku(description: pl.Expr) -> pl.Expr:
    """This will return the series that the description of one of Google's SKUs names; null: none."""
    return description.str.extract(_GOOGLE_MACHINE, 1)


def _machine(theirs: Mapping[str, str], raw: pl.LazyFrame, unit: pl.Expr) -> pl.Expr:
    """The machine of a charge by the hour, where usage type or description names it."""
    by_machine, by_core = unit.is_in(HOUR_UNITS), unit.is_in((*HOUR_UNITS, *VCPU_UNITS, *MEMORY_UNITS))
    names = [pl.lit(None, pl.String)]
    if "usage_type" in theirs:
        names.append(machine_of_usage(pl.when(by_machine).then(pl.col(theirs["usage_type"]))))
    if "description" in theirs and _is_of_google(raw, theirs["provider"]):
        names.append(machine_of_sku(pl.when(by_core).then(pl.col(theirs["description"]))))
    return pl.coalesce(names)


def _is_of_google(raw: pl.LazyFrame, provider: str) -> bool:
    """Whether an export's first rows are; descriptions are long, and those of others are not read."""
    sample = raw.select(pl.col(provider).cast(pl.String)).head(_SAMPLE_ROWS).collect().to_series()
    return bool(sample.str.starts_with("Google").any())


def once_each(texts: pl.Expr, read: pl.Expr, kind: pl.DataType) -> pl.Expr:
    """This will read each distinct text once: an export repeats the tags of a machine for every hour that it ran.

    Args:
        texts: a column of text.
        read: of EACH, what is read from one of them.
        kind: what that is.
    """
    known = pl.DataFrame(schema={_TEXT: pl.String(), _READ: kind, _KNOWN: pl.Boolean()})

    def of_these(rows: pl.Series) -> pl.Series:
        nonlocal known
        every, table = rows.alias(_TEXT).to_frame(), known
        found = every.join(table, on=_TEXT, how="left", maintain_order="left")
        fresh = found.filter(pl.col(_KNOWN).is_null(), EACH.is_not_null()).select(_TEXT).unique()
        if fresh.is_empty():
            return found[_READ]
        table = pl.concat([table, fresh.with_columns(read.alias(_READ), pl.lit(value=True).alias(_KNOWN))])
        if table.height <= MOST_KNOWN:
            known = table
        return every.join(table, on=_TEXT, how="left", maintain_order="left")[_READ]

    return texts.map_batches(of_these, return_dtype=kind, is_elementwise=True)


def first_value(name: str | None, schema: pl.Schema, keys: Sequence[str]) -> pl.Expr:
    """This will return the value of the first key that has one; of a JSON object, a map or a list of pairs.

    Args:
        name: the column of tags, or of other pairs; None: there is none.
        schema: the columns of the export.
        keys: in the order in which they count; any case, words joined by ``-``, ``_``, a space or nothing.
    """
    if name is None or not keys:
        return pl.lit(None, pl.String)
    kind = schema[name]
    if isinstance(kind, pl.Struct):
        return first_of_columns({field.name: pl.col(name).struct.field(field.name) for field in kind.fields}, keys)
    if isinstance(kind, pl.List):
        element = pl.element()
        key, value = element.struct.field("key").cast(pl.String), element.struct.field("value").cast(pl.String)
        found = (
            pl.col(name).list.eval(value.filter(key.str.contains(f"^{key_pattern(wanted)}$"), value != "")).list.first()
            for wanted in keys
        )
        return pl.coalesce(found)
    return once_each(pl.col(name), pl.coalesce(_json_value(EACH, wanted) for wanted in keys), pl.String())


def first_of_columns(columns: Mapping[str, pl.Expr], keys: Sequence[str]) -> pl.Expr:
    """This will return the value of the first key that has one, of keys that have a column each."""
    values = [
        value.cast(pl.String).replace("", None)
        for wanted in keys
        for key, value in columns.items()
        if re.fullmatch(key_pattern(wanted), key)
    ]
    return pl.coalesce(values) if values else pl.lit(None, pl.String)


def key_pattern(key: str) -> str:
    """This will return what finds a key: in any case, however its words are joined."""
    return "(?i:" + "[-_ ]?".join(re.escape(word) for word in re.split(r"[-_ ]", key)) + ")"


def _json_value(pairs: pl.Expr, key: str) -> pl.Expr:
    """The value of a key of a JSON object, unless it is empty. A quote inside a value is escaped, so none matches."""
    value = r'(?:"((?:[^"\\]|\\.)+)"|(true|-?\d[^,}\s]*))'
    found = pairs.str.extract_groups(rf'[{{,]\s*"{key_pattern(key)}"\s*:\s*{value}')
    return pl.coalesce(found.struct.field("1").str.replace_all(r"\\(.)", "$1"), found.struct.field("2"))


def are_stated(theirs: Mapping[str, str]) -> dict[str, pl.Expr]:
    """This will return whether an export has a value, of each column that is looked at and that it has.

    Args:
        theirs: the export's columns by our names.
    """
    return {name: pl.col(theirs[name]).is_not_null() for name in (*NEEDED, *COSTS) if name in theirs}


def reject_reason(stated: Mapping[str, pl.Expr], row: Mapping[str, pl.Expr]) -> pl.Expr:
    """This will say why a charge cannot be counted; null where it can.

    Args:
        stated: whether the export has a value, of each column that it has.
        row: what was read.
    """
    absent = pl.any_horizontal(~stated[name] for name in NEEDED if name in stated)
    no_number = pl.any_horizontal(row[name].is_null() & stated[name] for name in COSTS if name in stated)
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
