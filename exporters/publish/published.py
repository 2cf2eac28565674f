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
        newer_wait: whether newer prices wait, because they exceed the limit.
        render_seconds: how long rendering took.
    """

    bodies: Bodies
    prices: Prices
    series_limit: int
    newer_wait: bool
    render_seconds: float


class PublicationLog(Protocol):
    """Told what is served; the health metrics are."""

    def published(self, publication: Publication) -> None:
        """This will note what is served from now on."""
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
        self._costs: tuple[Series, ...] = ()

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
            series = select_series(prices, regions=self._regions)
            if _count((*series, *self._costs)) <= self._max_series:
                self._serve(prices, series, newer_wait=False)
                return True
            error = _too_many(prices, series, limit=self._max_series, setting=self._setting)
            if self._current is None:
                raise error
            _log.error("newer_prices_wait", what=error.what, setting=error.where, next_step=error.next_step)
            self._take(replace(self._current, newer_wait=True))
            return False

    def publish_costs(self, costs: Sequence[Series]) -> bool:
        """This will serve the series of what was paid from now on, beside the prices.

        Returns:
            False where they do not fit under the limit and those before stay.
        """
        with self._writing:
            current = self._current
            prices = () if current is None else select_series(current.prices, regions=self._regions)
            if _count((*prices, *costs)) > self._max_series:
                _log.error("costs_wait", series=_count(costs), limit=self._max_series, setting=self._setting)
                return False
            self._costs = tuple(costs)
            if current is not None:
                self._serve(current.prices, prices, newer_wait=current.newer_wait)
            return True

    def expire(self, now: datetime) -> bool:
        """This will stop the series of snapshots that have grown too old; to be called every minute.

        Returns:
            True where some were stopped.
        """
        with self._writing:
            current = self._current
            if current is None or (fresh := _without_stale(current.prices, now)) is None:
                return False
            self._serve(fresh, select_series(fresh, regions=self._regions), newer_wait=current.newer_wait)
            return True

    def _serve(self, prices: Prices, series: Sequence[Series], *, newer_wait: bool) -> None:
        started = time.perf_counter()
        bodies = render((*series, *self._costs))
        self._take(
            Publication(
                bodies=bodies,
                prices=prices,
                series_limit=self._max_series,
                newer_wait=newer_wait,
                render_seconds=time.perf_counter() - started,
            )
        )

    def _take(self, publication: Publication) -> None:
        self._current = publication
        self._log.published(publication)


def _count(series: Sequence[Series]) -> int:
    return sum(one.rows.height for one in series)


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
    groups = "; ".join(
        f"{column}: " + ", ".join(f"{value} {number:,}" for value, number in counts)
        for column, counts in largest_groups(prices, ("provider", "region", "capacity_type", "family"))
    )
    return SettingsError(
        f"{prices.offers.height:,} offers give {_count(series):,} series, and the limit is {limit:,}"
        f" (most offers by {groups})",
        where=setting,
        next_step="Tighten regions, families or capacity_types of the largest of these, or raise the limit.",
    )
