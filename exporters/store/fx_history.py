"""Rates of exchange as they were: one rate a day and currency, from the rate tables that lie on the shelf."""

from __future__ import annotations

import io
from datetime import date, timedelta

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


def stored_rates(shelf: ReadableShelf, first: date, last: date) -> pl.DataFrame:
    """This will return the rates that were fetched for the days from first to last, as FxRate, oldest first.

    Packaged tables are left out: the package itself is older history and better read there. A damaged one is logged.
    """
    chosen = {
        one.taken_at.date(): one
        for one in manifests(shelf, FX_SOURCE)
        if one.origin is Origin.LIVE and first - LOOK_BACK <= one.taken_at.date() <= last + LOOK_BACK
    }
    found = [FxRate.create_empty()]
    for _, manifest in sorted(chosen.items()):
        try:
            found.append(FxRate.cast(pl.read_parquet(io.BytesIO(shelf.get(f"{manifest.id}/fx.parquet")))))
        except (PolarsError, StoreError, OSError) as error:
            _log.warning("rates_skipped", snapshot=manifest.id, error=str(error))
    return pl.concat(found).sort("rate_date", maintain_order=True)
