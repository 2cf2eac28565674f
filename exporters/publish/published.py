"""What is being served: the last rendered bodies, swapped whole, under a cap on the number of series.

Promises: readers never see half a body; series of a snapshot stop when it grows too old, without a refresh and without
the disk; prices that exceed the cap never replace those that are served.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

import polars as pl
import structlog

from exporters.core.errors import SettingsError
from exporters.core.frames import EgressRate, Offer
from exporters.publish.exposition import Bodies, render
from exporters.publish.series import Series, largest_groups, select_series
from exporters.store.read import Prices
from exporters.store.snapshot import FX_SOURCE

_log = structlog.get_logger(__name__)

DEFAULT_MAX_SERIES = 200_000


@dataclass(frozen=True, slots=True)
class Publication:
    """What is served now.

    Args:
        bodies: the rendered series.
        prices: what they were rendered from.
        series_limit: the most series that may be served.
        render_seconds: how long rendering took.
    """

    bodies: Bodies
    prices: Prices
    series_limit: int
    render_seconds: float


class PublicationLog(Protocol):
    """Told what is served; the health metrics are."""

    def published(self, publication: Publication) -> None:
        """This will note that a publication is served from now on."""
        ...

    def capped(self) -> None:
        """This will note that newer prices wait because they exceed the limit."""
        ...


class PublishedPrices:
    """Holds the last publication; safe to use from several threads.

    Args:
        log: told of each publication.
        max_series: the most series that may be served.
        setting: the name of that setting, for messages.
        regions: see select_series.
    """

    def __init__(
        self,
        log: PublicationLog,
        *,
        max_series: int = DEFAULT_MAX_SERIES,
        setting: str = "exporter_web.max_series",
        regions: pl.DataFrame | None = None,
    ) -> None:
        self._log = log
        self._max_series = max_series
        self._setting = setting
        self._regions = regions
        self._writing = threading.Lock()
        self._current: Publication | None = None

    @property
    def current(self) -> Publication | None:
        """What is served now; None until the first prices are there."""
        return self._current

    def publish(self, prices: Prices) -> bool:
        """This will render prices and serve them from now on.

        Returns:
            False where they exceed the limit and the publication before stays.

        Raises:
            SettingsError: they exceed the limit, and nothing was published before.
        """
        with self._writing:
            return self._publish(prices)

    def expire(self, now: datetime) -> bool:
        """This will stop the series of snapshots that have grown too old; to be called every minute.

        Returns:
            True where some were stopped.
        """
        with self._writing:
            if self._current is None or (fresh := _without_stale(self._current.prices, now)) is None:
                return False
            return self._publish(fresh)

    def _publish(self, prices: Prices) -> bool:
        started = time.perf_counter()
        series = select_series(prices, regions=self._regions)
        count = sum(one.rows.height for one in series)
        if count > self._max_series:
            error = _too_many(prices, series, limit=self._max_series, setting=self._setting)
            self._log.capped()
            if self._current is None:
                raise error
            _log.error(
                "series_capped", series=count, limit=self._max_series, what=error.what, next_step=error.next_step
            )
            return False
        bodies = render(series)
        self._current = Publication(
            bodies, prices, series_limit=self._max_series, render_seconds=time.perf_counter() - started
        )
        self._log.published(self._current)
        return True


def _without_stale(prices: Prices, now: datetime) -> Prices | None:
    """The prices without those of snapshots too old by now; None where all are fresh. Rates of exchange stay."""
    stale = tuple(one for one in prices.used if one.source != FX_SOURCE and one.is_stale(now))
    if not stale:
        return None
    kept = ~pl.col("source").is_in([one.source for one in stale])
    return replace(
        prices,
        offers=Offer.cast(prices.offers.filter(kept)),
        egress=EgressRate.cast(prices.egress.filter(kept)),
        used=tuple(one for one in prices.used if one not in stale),
        stale=(*prices.stale, *stale),
    )


def _too_many(prices: Prices, series: Sequence[Series], *, limit: int, setting: str) -> SettingsError:
    count = sum(one.rows.height for one in series)
    groups = "; ".join(
        f"{column}: " + ", ".join(f"{value} {number:,}" for value, number in counts)
        for column, counts in largest_groups(prices, ("provider", "region", "capacity_type", "family"))
    )
    return SettingsError(
        f"{prices.offers.height:,} offers give {count:,} series, and the limit is {limit:,} (most offers by {groups})",
        where=setting,
        next_step="Tighten regions, families or capacity_types of the largest of these, or raise the limit.",
    )
