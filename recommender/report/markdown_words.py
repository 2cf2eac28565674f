"""What every part of the Markdown report is written with: text that stays text, and tables whose cells stay cells."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence

from recommender.report.words import number_text

_SPECIAL = re.compile(r"([\\`*_{}\[\]#|~])")


def text(value: str) -> str:
    """This will write text so that Markdown and the HTML in it show it and nothing more."""
    escaped = _SPECIAL.sub(r"\\\1", html.escape(value, quote=False))
    return re.sub(r"(?<=\w)://", ":&#47;/", escaped)


def table(
    head: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = (), raw: Sequence[int] = ()
) -> Sequence[str]:
    """This will write a table.

    Args:
        head: of the columns.
        rows: texts, not yet escaped.
        right: columns of numbers.
        raw: columns that are Markdown already.
    """
    lines = [_line(head), _line(["--:" if number in right else "---" for number in range(len(head))])]
    lines += [_line([cell if number in raw else text(cell) for number, cell in enumerate(row)]) for row in rows]
    return [*lines, ""]


def left(count: int) -> Sequence[str]:
    """This will say how many rows are not shown; nothing: all are."""
    if count <= 0:
        return []
    return [f"{number_text(count)} more are in the CSV and JSON files of this report and on the service's pages.", ""]


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
