"""The recommendations as CSV that Excel opens as it is: UTF-8 with a byte order mark, CRLF, no cell a formula."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from recommender.report.rows import COLUMNS, recommendation_rows
from recommender.report.view import Report

BYTE_ORDER_MARK = "\ufeff"
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
_AT_ONCE = 1_000


def render(report: Report) -> str:
    """This will return one row a recommendation; without any, an empty file."""
    return "".join(parts(report))


def parts(report: Report) -> Iterator[str]:
    """This will yield the same piece by piece."""
    yield BYTE_ORDER_MARK
    yield from _pieces(report)


def rows_as_csv(report: Report) -> str:
    """This will return the same for another program: no byte order mark."""
    return "".join(_pieces(report))


def _pieces(report: Report) -> Iterator[str]:
    out = io.StringIO()
    writer = csv.DictWriter(out, fieldnames=COLUMNS, lineterminator="\r\n")
    for number, row in enumerate(recommendation_rows(report.plan)):
        if number == 0:
            writer.writeheader()
        writer.writerow({name: _safe(value) for name, value in row.items()})
        if number % _AT_ONCE == _AT_ONCE - 1:
            yield out.getvalue()
            out.seek(0)
            out.truncate()
    yield out.getvalue()


def _safe(value: object) -> object:
    """Text that a spreadsheet would take for a formula gets an apostrophe (OWASP, "CSV Injection")."""
    return f"'{value}" if isinstance(value, str) and value.lstrip(" ").startswith(_FORMULA) else value
