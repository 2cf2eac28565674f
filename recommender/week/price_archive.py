"""The edge of price history: the snapshots that a store keeps become points, one snapshot a source and day.

Only the columns that points are made from are read. A snapshot that cannot be read is logged and left out, for the days
beside it say the same of what does not change every day.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta

import dataframely as dy
import polars as pl
import structlog
from polars.exceptions import PolarsError

from exporters.core.clock import LONDON
from exporters.core.errors import StoreError
from exporters.store.read import manifests, sources
from exporters.store.shelf import ReadableShelf, open_readable
from exporters.store.snapshot import FX_SOURCE, Manifest
from recommender.settings import RecommenderSettings
from recommender.week.frames import PricePoint
from recommender.week.price_points import COLUMNS, Region, points_of

MOST_DAYS = 90

_log = structlog.get_logger(__name__)


def price_history_of(
    settings: RecommenderSettings, *, until: datetime, gpu_models: Collection[str]
) -> dy.DataFrame[PricePoint]:
    """This will return the cheapest prices in the fleet's regions of at most 90 days.

    Args:
        settings: checked settings.
        until: the last moment (UTC).
        gpu_models: GPU models to show.

    Raises:
        StoreError: the store cannot be read.
    """
    shelf = open_readable(settings.prices.url)
    regions = {(cluster.provider, cluster.region) for cluster in settings.clusters}
    frames = [
        points
        for source in sources(shelf)
        if source != FX_SOURCE
        for manifest in _one_a_day(manifests(shelf, source), until=until)
        if (points := _points(shelf, manifest, regions, gpu_models)) is not None
    ]
    every = pl.concat([PricePoint.create_empty(), *frames])
    cheapest = every.group_by("day", "provider", "region", "unit").agg(pl.col("gbp_per_hour").min())
    return PricePoint.validate(cheapest.sort("unit", "provider", "region", "day"))


def _one_a_day(known: Sequence[Manifest], *, until: datetime) -> Iterable[Manifest]:
    """The last of each London day; of those before the 90 days the last one, whose prices stood when they began."""
    since = until - timedelta(days=MOST_DAYS)
    by_day = {one.taken_at.astimezone(LONDON).date(): one for one in known if since < one.taken_at <= until}
    before = [one for one in known if one.taken_at <= since]
    return [*before[-1:], *by_day.values()]


def _points(
    shelf: ReadableShelf, manifest: Manifest, regions: Collection[Region], gpu_models: Collection[str]
) -> pl.DataFrame | None:
    key = f"{manifest.id}/offers.parquet"
    try:
        offers = pl.read_parquet(io.BytesIO(shelf.get(key)), columns=list(COLUMNS))
    except (StoreError, PolarsError, OSError) as error:
        _log.warning("snapshot_skipped", key=key, error=str(error))
        return None
    return points_of(offers, day=manifest.taken_at.astimezone(LONDON).date(), regions=regions, gpu_models=gpu_models)
