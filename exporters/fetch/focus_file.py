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
from exporters.fetch.azure_details_rows import Report, details_charges, details_names, report_of
from exporters.fetch.cost_files import DataFile
from exporters.fetch.cur_rows import cur_charges
from exporters.fetch.focus_columns import CUR, DETAILS, cur2_name, map_for
from exporters.fetch.focus_rows import NULLS, focus_charges


@dataclass(frozen=True, slots=True)
class Charges:
    """The charges of one file.

    Args:
        file: the file.
        version: of the export, as a person calls it.
        rows: rows of Charge, not yet read.
        report: of Azure's cost details, which cost it states.
    """

    file: DataFile
    version: str
    rows: pl.LazyFrame
    report: Report | None = None


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
        raw = raw.rename(details_names(raw.collect_schema().names()))
        found = map_for(set(raw.collect_schema().names()), where=file.name)
        if found is DETAILS:
            return _details(file, raw, owner_tags=owner_tags)
        charges = (
            cur_charges(raw, owner_tags=owner_tags)
            if found is CUR
            else focus_charges(raw, found, owner_tags=owner_tags)
        )
    except (PolarsError, OSError) as error:
        raise unreadable(file, error) from error
    return Charges(file=file, version=found.version, rows=charges)


def _details(file: DataFile, raw: pl.LazyFrame, *, owner_tags: Sequence[str]) -> Charges:
    report = report_of(raw, where=file.name)
    version = DETAILS.version if report is Report.EITHER else f"{DETAILS.version}, {report.value}"
    return Charges(file=file, version=version, rows=details_charges(raw, report, owner_tags=owner_tags), report=report)


def require_paired(opened: Sequence[Charges], *, where: str) -> None:
    """This will see to it that an export of Azure's cost details has actual and amortised cost, where they differ.

    Args:
        opened: the files of one export.
        where: the export, for messages.

    Raises:
        IntegrityError: one of the two is missing, or a file could be either.
    """
    reports = {one.report for one in opened if one.report is not None}
    if reports <= {Report.EITHER} or reports == {Report.ACTUAL, Report.AMORTISED}:
        return
    named = " and ".join(sorted(report.value for report in reports - {Report.EITHER}))
    doubt = f"; {Report.EITHER.value} cost could be meant by others of its files" if Report.EITHER in reports else ""
    raise IntegrityError(
        f"it holds charges that commitments cover, of {named} cost{doubt}; billed and effective cost need both files",
        where=where,
        next_step="Export FOCUS, which has both; or put the files of actual and of amortised cost of the same days "
        "into one folder; or ask the API (costs.azure.report: details). What was imported before stays.",
    )


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
