"""The formats a report comes in. A new format is a new module with `render`, and a row here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from recommender.report import csv, html, json, markdown
from recommender.report.view import Report


@dataclass(frozen=True, slots=True)
class Format:
    """One format.

    Args:
        name: the word on the command line, and the ending of the file.
        media_type: for HTTP and mail.
        render: writes a report.
    """

    name: str
    media_type: str
    render: Callable[[Report], str]


FORMATS: Final[tuple[Format, ...]] = (
    Format("html", "text/html; charset=utf-8", html.render),
    Format("md", "text/markdown; charset=utf-8", markdown.render),
    Format("json", "application/json", json.render),
    Format("csv", "text/csv; charset=utf-8", csv.render),
)
