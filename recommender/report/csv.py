"""The recommendations as CSV that Excel opens as it is: UTF-8 with a byte order mark, CRLF, no cell a formula."""

from __future__ import annotations

import csv
import io

from recommender.report.view import Report

BYTE_ORDER_MARK = "\ufeff"
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def render(report: Report) -> str:
    """This will return one row a recommendation; without any, an empty file."""
    return BYTE_ORDER_MARK + rows_as_csv(report)


def rows_as_csv(report: Report) -> str:
    """This will return the same for another program: no byte order mark."""
    if not report.rows:
        return ""
    out = io.StringIO()
    writer = csv.DictWriter(out, fieldnames=list(report.rows[0]), lineterminator="\r\n")
    writer.writeheader()
    writer.writerows({name: _safe(value) for name, value in row.items()} for row in report.rows)
    return out.getvalue()


def _safe(value: object) -> object:
    """Text that a spreadsheet would take for a formula gets an apostrophe (OWASP, "CSV Injection")."""
    return f"'{value}" if isinstance(value, str) and value.lstrip(" ").startswith(_FORMULA) else value
