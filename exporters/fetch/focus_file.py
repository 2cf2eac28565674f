"""Billing exports into the flow: each file of an export opened lazily, its version found, its rows as charges.

CSV (plain, gzip, zstd) and Parquet. Nothing is held in memory but the rows that pass by; see normalise.cost_days for
what they are reduced to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl
from polars.exceptions import PolarsError

from exporters.core.errors import IntegrityError
from exporters.fetch.cost_files import DataFile
from exporters.fetch.cur_rows import cur_charges
from exporters.fetch.focus_columns import CUR, cur2_name, map_for
from exporters.fetch.focus_rows import NULLS, focus_charges


@dataclass(frozen=True, slots=True)
class Charges:
    """The charges of one file.

    Args:
        file: the file.
        version: of the export, as a person calls it.
        rows: rows of Charge, not yet read.
    """

    file: DataFile
    version: str
    rows: pl.LazyFrame


def open_charges(file: DataFile, *, owner_tags: Sequence[str]) -> Charges:
    """This will open a file of an export.

    Args:
        file: found by find_exports.
        owner_tags: keys of tags that name an owner, in any case.

    Raises:
        IntegrityError: it is not CSV or Parquet, or no export that is known, or a column is missing.
    """
    try:
        raw = _scan(file)
        names = raw.collect_schema().names()
        raw = raw.rename({name: cur2_name(name) for name in names if cur2_name(name) != name})
        found = map_for(set(raw.collect_schema().names()), where=file.name)
        charges = (
            cur_charges(raw, owner_tags=owner_tags)
            if found is CUR
            else focus_charges(raw, found, owner_tags=owner_tags)
        )
    except (PolarsError, OSError) as error:
        raise unreadable(file, error) from error
    return Charges(file=file, version=found.version, rows=charges)


def unreadable(file: DataFile, error: Exception) -> IntegrityError:
    """This will return the error for a file that breaks off or is something else than its name says."""
    return IntegrityError(
        f"the file cannot be read ({str(error).splitlines()[0]})",
        where=file.name,
        next_step="Copy or export it again; what was imported before stays.",
    )


def _scan(file: DataFile) -> pl.LazyFrame:
    if file.path.name.lower().endswith(".parquet"):
        return pl.scan_parquet(file.path)
    return pl.scan_csv(file.path, infer_schema=False, null_values=list(NULLS), try_parse_dates=False)
