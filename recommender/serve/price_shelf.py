"""The edge to the price store for pages: list prices of today, read again only when a source has a newer snapshot."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from exporters.core.clock import Clock
from exporters.store.read import Prices, newest_ids
from exporters.store.shelf import open_readable
from recommender.inputs import list_prices_at
from recommender.settings import RecommenderSettings

LOOK_AGAIN_AFTER = timedelta(minutes=1)
READ_AGAIN_AFTER = timedelta(minutes=30)
"""Prices that are not replaced grow too old all the same."""


@dataclass(frozen=True, slots=True)
class _Known:
    url: str
    ids: frozenset[str]
    prices: Prices
    read_at: datetime
    looked_at: datetime


class PriceShelf:
    """Prices for pages.

    Args:
        settings: those in use.
        clock: the time.
    """

    def __init__(self, settings: Callable[[], RecommenderSettings], clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._lock = threading.Lock()
        self._known: _Known | None = None

    def prices(self) -> Prices:
        """This will return the prices that may be used now; of several askers one reads.

        Raises:
            PricesUnavailableError: there are none.
            StoreError: the store cannot be read.
        """
        with self._lock:
            now, settings = self._clock.now(), self._settings()
            known = self._known
            if known is not None and known.url == settings.prices.url and now - known.looked_at < LOOK_AGAIN_AFTER:
                return known.prices
            ids = newest_ids(open_readable(settings.prices.url))
            is_same = known is not None and (known.url, known.ids) == (settings.prices.url, ids)
            if known is not None and is_same and now - known.read_at < READ_AGAIN_AFTER:
                prices, read_at = known.prices, known.read_at
            else:
                prices, read_at = list_prices_at(settings, at=now), now
            self._known = _Known(settings.prices.url, ids, prices, read_at, now)
            return prices
