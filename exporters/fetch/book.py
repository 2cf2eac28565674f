"""Price books into the flow: contract prices and GPU clouds from files, and the packaged book as the last resort.

Promises every row of every named file as text with its line, or an error; which row counts is decided by
normalise/row_rules/book.py. The packaged book is three files of the same form in fetch/data/, dated in its rows.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from functools import cache
from importlib.resources import files
from pathlib import Path

import polars as pl
from pydantic import Field

from exporters.core.errors import SettingsError, TuppenceError
from exporters.core.geography import require_known, select_regions
from exporters.fetch.book_files import (
    COMPONENT_BOOK,
    EGRESS_BOOK,
    PRICE_BOOK,
    Layout,
    empty_book,
    parse_book,
    read_book,
)
from exporters.fetch.contract import CloudSettings, Fetched, FetchRequest, Finding, Skipped, Source, SourceSettings

NAME = "book"
CLOUDS = ("aws", "gcp", "azure")
"""Providers whose machine types and regions are known by tables; any other provider is the book's own word."""


class BookSettings(SourceSettings):
    """Price books (section `sources.book`); docs/sources/book.md describes the columns."""

    files: tuple[Path, ...] = Field(default=(), description="Price books: one row an offer.")
    component_files: tuple[Path, ...] = Field(
        default=(), description="Component books: prices per vCPU, GiB and GPU of a family."
    )
    egress_files: tuple[Path, ...] = Field(default=(), description="Egress books: one row a tier.")


def fetch(settings: BookSettings, request: FetchRequest) -> Fetched:
    """This will read all files that the settings name.

    Frames, all text but `as_of`:
        prices, components, egress: the columns of the book, with `line` and `mistake` (book_files.py), and `as_of`,
            the day (Date) on which rows must have come into effect.
        shapes: the packaged machine types of the clouds (`provider`, `instance_type`, …), for families and components.

    Raises:
        SettingsError: no file is named, or one cannot be read or has the wrong header.
    """
    books = _books(settings)
    if not any(paths for paths, _, _ in books.values()):
        raise SettingsError(
            "the source is on, but names no file",
            where="sources.book.files",
            next_step="Name a price book (docs/sources/book.md), or set enabled: false.",
        )
    frames = {
        name: pl.concat(
            [empty_book(layout), *(read_book(path, layout, setting=setting) for path in paths)]
        ).with_columns(as_of=pl.lit(request.now.date()))
        for name, (paths, layout, setting) in books.items()
    }
    frames["shapes"] = pl.concat([packaged_shapes(provider) for provider in CLOUDS])
    return _fetched(NAME, request.now, frames)


def fetch_packaged(provider: str, settings: CloudSettings, request: FetchRequest) -> Fetched:
    """This will read the packaged book of one cloud, for the regions that the settings choose.

    Returns:
        The frames of `fetch` under the provider's own name, observed on the day of its oldest price in effect, so that
        its age is never understated; as skipped what is known to be missing from it.

    Raises:
        SettingsError: the provider is none of aws, gcp, azure, or the book has no price in its regions yet.
    """
    where = f"the packaged price book, {provider}"
    regions = select_regions(provider, names=settings.regions, jurisdictions=settings.jurisdictions)
    frames = {
        name: _packaged(file, layout)
        .filter(pl.col("provider") == provider, pl.col(region).is_in(list(regions)))
        .with_columns(as_of=pl.lit(request.now.date()))
        for name, file, layout, region in (
            ("prices", "price_book.csv", PRICE_BOOK, "region"),
            ("components", "component_book.csv", COMPONENT_BOOK, "region"),
            ("egress", "egress_book.csv", EGRESS_BOOK, "from_region"),
        )
    }
    dated = frames["prices"].filter(pl.col("effective_from") <= request.now.date().isoformat())["effective_from"].min()
    if provider not in CLOUDS or dated is None:
        raise SettingsError(
            f"it has no prices in effect for these regions ({', '.join(regions) or 'none'})",
            where=where,
            next_step="Choose other packaged.regions or packaged.jurisdictions, or take the provider out.",
        )
    frames["shapes"] = packaged_shapes(provider)
    observed_at = datetime.combine(date.fromisoformat(str(dated)), time(), UTC)
    return _fetched(provider, observed_at, frames, skipped=_known_missing(provider, regions))


def packaged_regions(provider: str, settings: CloudSettings) -> tuple[str, ...]:
    """This will return those of the regions that the settings choose in which the packaged book has a machine price.

    Raises:
        SettingsError: a region is named that no cloud has.
    """
    if settings.regions:
        require_known(settings.regions, providers=CLOUDS, setting="packaged.regions")
    chosen = select_regions(provider, names=settings.regions, jurisdictions=settings.jurisdictions)
    book = _packaged("price_book.csv", PRICE_BOOK)
    return tuple(sorted(set(book.filter(pl.col("provider") == provider)["region"]) & set(chosen)))


@cache
def packaged_shapes(provider: str) -> pl.DataFrame:
    """This will return a cloud's packaged machine types: `provider` and the columns of its table, numbers as text."""
    columns = (
        "instance_type", "vcpus", "memory_gib", "gpu_model", "gpus", "architecture", "family", "generation",
        "accelerator_model", "accelerators", "local_ssd_gib",
    )  # fmt: skip
    table = pl.read_csv(_data(f"{provider}_shapes.csv").encode(), infer_schema=False).fill_null("")
    absent = [pl.lit("").alias(name) for name in columns if name not in table.columns]
    return table.with_columns(*absent).select(pl.lit(provider).alias("provider"), *columns)


def check(settings: BookSettings, request: FetchRequest) -> tuple[Finding, ...]:
    """This will read every file and say how many rows it has, or what to mend."""
    del request
    named = [(path, layout, setting) for paths, layout, setting in _books(settings).values() for path in paths]
    if not named:
        next_step = "Name a price book in sources.book.files, or set enabled: false."
        return (Finding("price books", "failed", "no file is named", next_step),)
    return tuple(_look(path, layout, setting) for path, layout, setting in named)


def _books(settings: BookSettings) -> dict[str, tuple[tuple[Path, ...], Layout, str]]:
    return {
        "prices": (settings.files, PRICE_BOOK, "sources.book.files"),
        "components": (settings.component_files, COMPONENT_BOOK, "sources.book.component_files"),
        "egress": (settings.egress_files, EGRESS_BOOK, "sources.book.egress_files"),
    }


def _look(path: Path, layout: Layout, setting: str) -> Finding:
    try:
        rows = read_book(path, layout, setting=setting)
    except TuppenceError as error:
        return Finding(str(path), "failed", error.what, error.next_step)
    bad = rows.filter(pl.col("mistake") != "")
    if bad.is_empty():
        return Finding(str(path), "ok", f"{layout.name}, rows: {rows.height}")
    first = bad.select(pl.concat_str("line", pl.lit(" "), "mistake")).item(0, 0)
    return Finding(str(path), "warning", f"{bad.height} of {rows.height} rows: {first}", "Mend the rows.")


@cache
def _packaged(file: str, layout: Layout) -> pl.DataFrame:
    return parse_book(_data(file), layout, file=file, where=f"the packaged {layout.name}")


def _data(file: str) -> str:
    return files("exporters.fetch").joinpath("data", file).read_text(encoding="utf-8")


def _known_missing(provider: str, regions: tuple[str, ...]) -> tuple[Skipped, ...]:
    listed = pl.read_csv(_data("missing.csv").encode(), infer_schema=False).filter(
        pl.col("provider") == provider, pl.col("region").is_in(list(regions))
    )
    return tuple(
        Skipped(region, f"{what}: {why}") for region, what, why in listed.select("region", "what", "why").iter_rows()
    )


def _fetched(
    source: str, observed_at: datetime, frames: dict[str, pl.DataFrame], skipped: tuple[Skipped, ...] = ()
) -> Fetched:
    return Fetched(source, observed_at, {name: frame.lazy() for name, frame in frames.items()}, skipped)


SOURCE = Source(
    name=NAME,
    settings_model=BookSettings,
    fetch=fetch,
    check=check,
)
