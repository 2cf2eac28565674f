"""Rates of exchange as they were: one a day and currency, from the tables and the history that lie on the shelf."""

from __future__ import annotations

import io
from datetime import date, timedelta

import dataframely as dy
import polars as pl
import structlog
from polars.exceptions import PolarsError

from exporters.core.errors import StoreError
from exporters.core.frames import FxRate
from exporters.core.words import Origin
from exporters.store.read import manifests
from exporters.store.shelf import ReadableShelf
from exporters.store.snapshot import FX_SOURCE

_log = structlog.get_logger(__name__)

LOOK_BACK = timedelta(days=10)
"""Longer than any holiday without rates."""


HISTORY = "rates/history.parquet"


def read_history(shelf: ReadableShelf) -> dy.DataFrame[FxRate]:
    """This will return the history that was fetched last; empty where there is none that can be read."""
    if HISTORY not in shelf.keys("rates"):
        return FxRate.create_empty()
    try:
        return FxRate.cast(pl.read_parquet(io.BytesIO(shelf.get(HISTORY))))
    except (PolarsError, StoreError, OSError) as error:
        _log.warning("rates_skipped", key=HISTORY, error=str(error))
        return FxRate.create_empty()


def merged_history(before: pl.DataFrame, fetched: pl.DataFrame) -> dy.DataFrame[FxRate]:
    """This will add fetched days to those that are kept; of a day in both the fetched one stands."""
    both = pl.concat([before, fetched]).unique(["currency", "rate_date"], keep="last", maintain_order=True)
    return FxRate.cast(both.sort("rate_date", "currency"))


def stored_rates(shelf: ReadableShelf, first: date, last: date) -> pl.DataFrame:
    """This will return the rates that were fetched for the days from first to last, as FxRate, oldest first.

    Packaged tables are left out: the package itself is older history and better read there. A damaged one is logged.
    """
    chosen = {
        one.taken_at.date(): one
        for one in manifests(shelf, FX_SOURCE)
        if one.origin is Origin.LIVE and first - LOOK_BACK <= one.taken_at.date() <= last + LOOK_BACK
    }
    found = [read_history(shelf).filter(pl.col("rate_date").is_between(first - LOOK_BACK, last))]
    for _, manifest in sorted(chosen.items()):
        try:
            found.append(FxRate.cast(pl.read_parquet(io.BytesIO(shelf.get(f"{manifest.id}/fx.parquet")))))
        except (PolarsError, StoreError, OSError) as error:
            _log.warning("rates_skipped", snapshot=manifest.id, error=str(error))
    return pl.concat(found).sort("rate_date", maintain_order=True)
