"""Data on stdout, everything else on stderr: tables for people, JSON and CSV for machines, errors with a next step."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from enum import StrEnum

import polars as pl
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from exporters.core.errors import TuppenceError

stderr = Console(stderr=True, highlight=False)


class ListFormat(StrEnum):
    """Formats of every command that lists rows."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


def write_rows(rows: pl.DataFrame, form: ListFormat, *, table: pl.DataFrame | None = None, title: str = "") -> None:
    """This will write rows to stdout.

    Args:
        rows: everything, for JSON (a list of objects) and CSV.
        form: the format asked for.
        table: what a person sees in a table, when that is less or differently put; default: rows.
        title: stands above the table.
    """
    if form is ListFormat.JSON:
        sys.stdout.write(rows_as_json(rows) + "\n")
    elif form is ListFormat.CSV:
        sys.stdout.write(rows.write_csv())
    else:
        print_table(rows if table is None else table, title=title)


def rows_as_json(rows: pl.DataFrame) -> str:
    """This will return rows as a JSON list; times in ISO 8601, numbers with the digits they have."""
    return json.dumps(rows.to_dicts(), default=_as_text, ensure_ascii=False, indent=1, allow_nan=False)


def _as_text(value: object) -> str:
    return value.isoformat() if isinstance(value, date) else str(value)


def print_table(rows: pl.DataFrame, *, title: str = "", right: Sequence[str] = ()) -> None:
    """This will print rows as a table; numbers, and the columns named in `right`, stand to the right."""
    grid = Table(title=title or None, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for name, kind in rows.schema.items():
        grid.add_column(name, justify="right" if kind.is_numeric() or name in right else "left", overflow="fold")
    for row in rows.iter_rows():
        grid.add_row(*("" if cell is None else str(cell) for cell in row))
    width = None if sys.stdout.isatty() else 200
    Console(width=width, highlight=False, markup=False).print(grid)


@contextmanager
def errors_explained() -> Iterator[None]:
    """This will turn a TuppenceError into its text on stderr and its exit code."""
    try:
        yield
    except TuppenceError as error:
        stderr.print(f"[bold red]error[/] {escape(error.where)}: {escape(error.what)}.", soft_wrap=True)
        stderr.print(f"      {escape(error.next_step)}", soft_wrap=True)
        raise typer.Exit(error.exit_code) from error
