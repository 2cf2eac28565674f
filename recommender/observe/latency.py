"""How far regions are from each other: the table of the settings, before a packaged one for the packaged regions.

The packaged figures are round trips between virtual machines, measured by the Cloud-Barista project (cb-tumblebug,
assets/cloudlatencymap.csv, 2026-08, Apache-2.0), the greater of the two directions. A pair that neither table has is
not known.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import dataframely as dy
import polars as pl

from exporters.core.errors import SettingsError
from recommender.frames import Latency

_COLUMNS = ("from", "to", "ms")
_NEXT = "Write the columns from, to (provider/region) and ms, one row for each two regions."


def latencies(file: Path | None) -> dy.DataFrame[Latency]:
    """This will return what is known, the file's rows first.

    Args:
        file: a CSV with from, to and ms; None: only the packaged table.

    Raises:
        SettingsError: the file cannot be read, or a row of it is wrong.
    """
    packaged = pl.read_csv(files("recommender.observe").joinpath("data/latency.csv").read_bytes())
    if file is None:
        return Latency.validate(packaged, cast=True)
    own = _read(file)
    stated = pl.concat([own, own.select("to", "from").rename({"to": "from", "from": "to"})], how="diagonal")
    others = packaged.join(stated, on=["from", "to"], how="anti")
    return Latency.validate(pl.concat([own, others]), cast=True)


def _read(file: Path) -> pl.DataFrame:
    try:
        rows = pl.read_csv(file, infer_schema=False)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise SettingsError(f"it cannot be read: {error}", where=f"latency.file {file}", next_step=_NEXT) from error
    missing = [name for name in _COLUMNS if name not in rows.columns]
    if missing:
        raise SettingsError(f"it has no column {missing[0]!r}", where=f"latency.file {file}", next_step=_NEXT)
    read = rows.select("from", "to", ms=pl.col("ms").str.strip_chars().cast(pl.Float64, strict=False))
    place = r"^[^/\s]+/[^/\s]+$"
    good = (
        pl.col("from").str.contains(place)
        & pl.col("to").str.contains(place)
        & pl.col("ms").is_finite()
        & (pl.col("ms") >= 0)
    )
    wrong = read.with_row_index("line", offset=2).filter(~good.fill_null(value=False))
    if not wrong.is_empty():
        raise SettingsError(
            "a row needs two places like aws/eu-west-2 and a number of milliseconds",
            where=f"latency.file {file}, line {wrong['line'][0]}",
            next_step=_NEXT,
        )
    return _one_a_pair(read, file)


def _one_a_pair(read: pl.DataFrame, file: Path) -> pl.DataFrame:
    ends = read.select(pl.concat_list("from", "to").list.sort().list.join(" "), "ms").unique()
    twice = ends.filter(pl.col("from").is_duplicated())
    if not twice.is_empty():
        raise SettingsError(
            f"{twice['from'].sort()[0]} has two figures",
            where=f"latency.file {file}",
            next_step="A pair is the same both ways: keep one row of it.",
        )
    return read.unique(["from", "to"], keep="first", maintain_order=True)
