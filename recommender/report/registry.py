"""The formats a report comes in. A new format is a new module with `render`, and a row here."""

from __future__ import annotations

from collections.abc import Callable, Iterable
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
        parts: writes the same piece by piece; None: it is small whatever the plan.
    """

    name: str
    media_type: str
    render: Callable[[Report], str]
    parts: Callable[[Report], Iterable[str]] | None = None

    def pieces(self, report: Report) -> Iterable[str]:
        """This will write a report in as small pieces as the format has."""
        return (self.render(report),) if self.parts is None else self.parts(report)


FORMATS: Final[tuple[Format, ...]] = (
    Format("html", "text/html; charset=utf-8", html.render),
    Format("md", "text/markdown; charset=utf-8", markdown.render),
    Format("json", "application/json", json.render, json.parts),
    Format("csv", "text/csv; charset=utf-8", csv.render, csv.parts),
)
