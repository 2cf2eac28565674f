"""Usage from a file: Parquet or CSV in the form of docs/how-to/usage.md becomes samples.

Promises the whole file or an error that names the file, the column, how many rows and the first of them. A column that
is not known is an error, because a misspelt attribute such as a residency class must not be lost in silence.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from exporters.core.errors import SettingsError
from recommender.frames import WORKLOAD_KEY, ClusterSample, StatedAttribute, UsageSample
from recommender.observe.usage import ATTRIBUTE_NAMES, Usage, canonical_gpu_model

NAMES = ("cluster", "namespace", "workload_kind", "workload")
OPTIONAL_NAMES = ("pool", "instance_type", "capacity_type", "gpu_model")
AMOUNTS = ("replicas", "vcpu_request", "memory_gib_request", "gpu_request", "pending_replicas")
PEAKED = ("replicas", "vcpu_request", "memory_gib_request", "gpu_request")
PEAKS = tuple(f"{name}_peak" for name in PEAKED)
OPTIONAL_AMOUNTS = ("vcpu_usage", "memory_gib_usage", "gpu_usage_ratio", *PEAKS)
REQUIRED = ("timestamp", *NAMES, *AMOUNTS)
KNOWN = (*REQUIRED, *OPTIONAL_NAMES, *OPTIONAL_AMOUNTS, *ATTRIBUTE_NAMES)

HOW_TO = "See docs/how-to/usage.md for the columns."
ROW = "_row"
ROUNDING = 1e-9


def read_usage(path: Path) -> Usage:
    """This will read a usage file.

    Columns are found by name, in any order. Times without an offset are UTC. Null is allowed in pool, instance_type,
    capacity_type, gpu_model and the columns of usage and of peaks, which may also be missing; everywhere else it is an
    error.

    Raises:
        SettingsError: the file cannot be read, a column is missing or unknown, or values are not what they should be;
            all mistakes in one message, each with its count and first row (a CSV's header is row 1).
    """
    raw = _read(path)
    _check_columns(raw, path)
    frame = raw.with_row_index(ROW, offset=2 if path.suffix == ".csv" else 1).with_columns(
        pl.lit(None, dtype=pl.String).alias(name)
        for name in (*OPTIONAL_NAMES, *OPTIONAL_AMOUNTS)
        if name not in raw.columns
    )
    typed = frame.with_columns(
        _timestamp(frame.schema["timestamp"]),
        *(pl.col(name).cast(pl.String).str.strip_chars() for name in NAMES),
        *(pl.col(name).cast(pl.String).str.strip_chars().fill_null("") for name in OPTIONAL_NAMES),
        *(_number(name, frame.schema[name]) for name in (*AMOUNTS, *OPTIONAL_AMOUNTS)),
    ).with_columns(canonical_gpu_model("gpu_model"))
    _check_values(frame, typed, path)
    _check_duplicates(typed, path)
    return Usage(
        samples=UsageSample.validate(typed.select(UsageSample.column_names())),
        stated=StatedAttribute.validate(_stated(typed)),
        observed=ClusterSample.validate(
            typed.select("cluster", "timestamp").unique().with_columns(coverage_ratio=pl.lit(1.0))
        ),
    )


def _read(path: Path) -> pl.DataFrame:
    readers = {".csv": lambda: pl.read_csv(path, infer_schema=False), ".parquet": lambda: pl.read_parquet(path)}
    reader = readers.get(path.suffix)
    if reader is None:
        raise _error(path, f"the ending {path.suffix!r} is not .parquet or .csv", "Name a Parquet or a CSV file.")
    try:
        return reader()
    except OSError as error:
        raise _error(
            path, f"the usage file cannot be read ({error})", "Check usage.file.path and permissions."
        ) from error
    except pl.exceptions.PolarsError as error:
        raise _error(path, f"this is not a whole {path.suffix[1:]} file ({error})", HOW_TO) from error


def _check_columns(raw: pl.DataFrame, path: Path) -> None:
    missing = [name for name in REQUIRED if name not in raw.columns]
    unknown = [name for name in raw.columns if name not in KNOWN]
    mistakes = [f"the column {name!r} is missing" for name in missing]
    mistakes += [f"the column {name!r} is not known" for name in unknown]
    nested = [name for name, dtype in raw.schema.items() if dtype.is_nested()]
    mistakes += [f"the column {name!r} is nested; write it as JSON text" for name in nested]
    if mistakes:
        raise _error(path, "; ".join(mistakes), HOW_TO)
    if raw.is_empty():
        raise _error(path, "the usage file has no rows", "Export a week of samples into it.")


def _timestamp(dtype: pl.DataType) -> pl.Expr:
    column = pl.col("timestamp")
    if isinstance(dtype, pl.Datetime):
        utc = column.dt.replace_time_zone("UTC") if dtype.time_zone is None else column.dt.convert_time_zone("UTC")
        return utc.dt.cast_time_unit("us")
    if dtype != pl.String:
        return pl.lit(None, dtype=pl.Datetime("us", "UTC")).alias("timestamp")
    text = column.str.strip_chars().str.replace(" ", "T", literal=True).str.replace(r"[Zz]$", "+00:00")
    text = pl.when(text.str.contains(r"T.*[+-]\d{2}:?\d{2}$")).then(text).otherwise(text + "+00:00")
    forms = ("%Y-%m-%dT%H:%M:%S%.f%:z", "%Y-%m-%dT%H:%M%:z")
    return pl.coalesce(
        text.str.to_datetime(form, strict=False, time_unit="us").dt.convert_time_zone("UTC") for form in forms
    ).alias("timestamp")


def _number(name: str, dtype: pl.DataType) -> pl.Expr:
    text = pl.col(name).str.strip_chars().replace("", None) if dtype == pl.String else pl.col(name)
    return text.cast(pl.Float64, strict=False).alias(name)


def _check_values(written: pl.DataFrame, typed: pl.DataFrame, path: Path) -> None:
    """Raises for the first three kinds of reject, absent, unreadable and out of range, each counted on its own."""
    mistakes = []
    for name in REQUIRED:
        mistakes += _mistakes(written, name, "absent", _is_absent(name, written.schema[name]))
    for name in ("timestamp", *AMOUNTS, *OPTIONAL_AMOUNTS):
        unreadable = typed[name].is_null() & ~written.select(_is_absent(name, written.schema[name])).to_series()
        kind = "not a time" if name == "timestamp" else "not a number"
        mistakes += _mistakes(written, name, kind, pl.lit(unreadable))
    for name in (*AMOUNTS, *OPTIONAL_AMOUNTS):
        value = pl.col(name)
        mistakes += _mistakes(typed, name, "not a number (NaN)", value.is_nan())
        mistakes += _mistakes(typed, name, "infinite", value.is_infinite())
        mistakes += _mistakes(typed, name, "negative", value.is_finite() & (value < 0))
    over_one = pl.col("gpu_usage_ratio").is_finite() & (pl.col("gpu_usage_ratio") > 1)
    mistakes += _mistakes(typed, "gpu_usage_ratio", "over 1 (it is a ratio, not a percentage)", over_one)
    for name in PEAKED:
        below = pl.col(f"{name}_peak") < pl.col(name) * (1 - ROUNDING)
        mistakes += _mistakes(typed, f"{name}_peak", f"below {name}, the mean of the same time", below)
    if mistakes:
        raise _error(path, "; ".join(mistakes), "Mend the export that wrote the file. " + HOW_TO)


def _is_absent(name: str, dtype: pl.DataType) -> pl.Expr:
    absent = pl.col(name).is_null()
    return absent | (pl.col(name).str.strip_chars() == "") if dtype == pl.String else absent


def _mistakes(frame: pl.DataFrame, name: str, kind: str, which: pl.Expr) -> list[str]:
    rows = frame.filter(which.fill_null(value=False))[ROW]
    return [f"column {name!r}: {rows.len()} values are {kind}, first in row {rows[0]}"] if rows.len() else []


def _check_duplicates(typed: pl.DataFrame, path: Path) -> None:
    key = UsageSample.primary_key()
    again = typed.filter(~pl.struct(key).is_first_distinct())
    if again.is_empty():
        return
    row = again.row(0, named=True)
    workload = "/".join(row[name] for name in WORKLOAD_KEY)
    raise _error(
        path,
        f"{again.height} rows repeat a sample of the same workload, place and time, first in row {row[ROW]} "
        f"({workload} at {row['timestamp'].isoformat()})",
        "Replicas of one workload in one pool belong into one row, as totals.",
    )


def _stated(typed: pl.DataFrame) -> pl.DataFrame:
    """The attribute columns, long; where a value changes, the latest that was written stands."""
    columns = [name for name in ATTRIBUTE_NAMES if name in typed.columns]
    if not columns:
        return StatedAttribute.create_empty()
    long = typed.sort("timestamp", maintain_order=True).select(
        *WORKLOAD_KEY, *(pl.col(name).cast(pl.String).str.strip_chars() for name in columns)
    )
    return (
        long.unpivot(on=columns, index=list(WORKLOAD_KEY), variable_name="attribute", value_name="value")
        .filter(pl.col("value").is_not_null(), pl.col("value") != "")
        .group_by(*WORKLOAD_KEY, "attribute")
        .agg(pl.col("value").last())
    )


def _error(path: Path, what: str, next_step: str) -> SettingsError:
    return SettingsError(what, where=str(path), next_step=next_step)
