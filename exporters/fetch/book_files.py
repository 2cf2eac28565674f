"""Price books on disk: CSV text becomes a frame of text, each row with the file and line it came from.

Promises that a file is read whole or refused: a header that is not the book's own is an error, because a column that is
misread would price everything wrong. A single bad row is only marked; the row rule counts it.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from io import StringIO
from pathlib import Path

import polars as pl

from exporters.core.errors import SettingsError

ORIGIN_COLUMNS = ("line", "mistake")
"""line: "contract.csv line 7"; mistake: what is wrong with the row's cells, empty when nothing is."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of one kind of book.

    Args:
        name: what a person calls it.
        required: must stand in the header, in any order.
        optional: may stand in it; empty text where they do not.
    """

    name: str
    required: tuple[str, ...]
    optional: tuple[str, ...] = ("note",)

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns of the frame that a file becomes."""
        return (*self.required, *self.optional, *ORIGIN_COLUMNS)


PRICE_BOOK = Layout(
    "price book",
    (
        "provider", "region", "zone", "instance_type", "operating_system", "capacity_type", "vcpus", "memory_gib",
        "gpu_model", "gpus", "architecture", "currency", "price_per_hour", "effective_from",
    ),
    ("note", "accelerator_model", "accelerators"),
)  # fmt: skip
COMPONENT_BOOK = Layout(
    "component book",
    (
        "provider", "region", "family", "component", "gpu_model", "capacity_type", "currency", "price_per_hour",
        "effective_from",
    ),
)  # fmt: skip
EGRESS_BOOK = Layout(
    "egress book",
    (
        "provider", "from_region", "destination", "to_region", "tier_start_gib", "currency", "price_per_gib",
        "effective_from",
    ),
)  # fmt: skip


def read_book(path: Path, layout: Layout, *, setting: str) -> pl.DataFrame:
    """This will read one file; a byte order mark, blank lines and spaces around cells do not matter.

    Args:
        path: the file.
        layout: what kind of book it is.
        setting: the setting that names it, for messages.

    Returns:
        All columns of the layout as text, never null.

    Raises:
        SettingsError: unreadable, not UTF-8, not a header of this kind of book, or no row in it.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise SettingsError(
            f"the {layout.name} cannot be read ({error.strerror})",
            where=f"{setting}: {path}",
            next_step="Check the path and its permissions.",
        ) from error
    except UnicodeDecodeError as error:
        raise SettingsError(
            f"the {layout.name} is not UTF-8 text (byte {error.start})",
            where=f"{setting}: {path}",
            next_step="Save it as CSV in UTF-8.",
        ) from error
    return parse_book(text, layout, file=path.name, where=f"{setting}: {path}")


def parse_book(text: str, layout: Layout, *, file: str, where: str) -> pl.DataFrame:
    """This will parse the text of a book; see read_book."""
    lines = _lines(text, where=where)
    _, header = next(lines, (1, []))
    names = [name.strip() for name in header]
    _check_header(names, layout, where=where)
    rows = [_row(cells, names, layout, line=f"{file} line {number}") for number, cells in lines if any(cells)]
    if not rows:
        raise SettingsError(
            f"the {layout.name} has a header, but no row",
            where=where,
            next_step="Add rows, or take the file out of the settings.",
        )
    return pl.DataFrame(rows, schema=dict.fromkeys(layout.columns, pl.String))


def empty_book(layout: Layout) -> pl.DataFrame:
    """This will return a book without rows."""
    return pl.DataFrame(schema=dict.fromkeys(layout.columns, pl.String))


def _lines(text: str, *, where: str) -> Iterator[tuple[int, list[str]]]:
    """Each record with the number of its first line; a quoted cell may hold line breaks."""
    reader = csv.reader(StringIO(text, newline=""), strict=True)
    started = 1
    try:
        for cells in reader:
            yield started, cells
            started = reader.line_num + 1
    except csv.Error as error:
        raise SettingsError(
            f"this is not CSV from line {started} on ({error})",
            where=where,
            next_step="Look for a quotation mark that is not closed.",
        ) from error


def _check_header(names: list[str], layout: Layout, *, where: str) -> None:
    known = (*layout.required, *layout.optional)
    missing = [name for name in layout.required if name not in names]
    unknown = [name for name in names if name not in known]
    twice = sorted({name for name in names if names.count(name) > 1})
    faults = [f"{name!r} is missing" for name in missing]
    faults += [f"{name!r} is not a column of it{_meant(name, missing)}" for name in unknown]
    faults += [f"{name!r} stands twice" for name in twice]
    if len(names) == 1 and names[0].count(";") > 1:
        faults = ["its cells are parted by semicolons instead of commas"]
    if faults:
        raise SettingsError(
            f"the header is not that of a {layout.name}: {'; '.join(faults)}",
            where=f"{where}, line 1",
            next_step=f"Write the columns {', '.join(layout.required)} (optional: {', '.join(layout.optional)}).",
        )


def _meant(name: str, missing: list[str]) -> str:
    close = get_close_matches(name, missing, n=1)
    return f" (meant: {close[0]}?)" if close else ""


def _row(cells: list[str], names: list[str], layout: Layout, *, line: str) -> dict[str, str]:
    row = dict.fromkeys(layout.columns, "") | {"line": line}
    if len(cells) == len(names):
        return row | {name: cell.strip() for name, cell in zip(names, cells, strict=True)}
    row["mistake"] = f"has {len(cells)} cells, but the header has {len(names)}"
    return row | {name: cell.strip() for name, cell in zip(names, cells, strict=False) if name in layout.required[:2]}
