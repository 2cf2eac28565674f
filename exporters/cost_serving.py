"""What was paid, as a part of the service: imported by the clock, published when it or the day has changed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import date, datetime
from functools import partial
from pathlib import Path

import structlog
from polars.exceptions import PanicException

from exporters.core.clock import Clock
from exporters.core.errors import TuppenceError
from exporters.cost_import import CostImporter
from exporters.publish.costs import LastImport, select_cost_series
from exporters.publish.published import PublishedPrices
from exporters.settings import ExporterSettings
from exporters.store.costs import cost_folders, read_costs
from exporters.store.shelf import Shelf

_log = structlog.get_logger(__name__)

SOURCE = "files"


class CostService:
    """Imports billing exports and publishes what was paid.

    Args:
        shelf: where snapshots lie.
        published: what is served.
        clock: the time.
        scratch: where objects are copied to; None: the system's folder for temporary files.
    """

    def __init__(self, shelf: Shelf, published: PublishedPrices, *, clock: Clock, scratch: Path | None = None) -> None:
        self._shelf = shelf
        self._published = published
        self._clock = clock
        self._scratch = scratch
        self._publishing = threading.Lock()
        self._seen: dict[str, list[str]] = {}
        self._day: date | None = None
        self._last: LastImport | None = None

    def job(self, settings: ExporterSettings) -> Callable[[], None] | None:
        """This will return what imports the exports that the settings name; None: they name none."""
        return partial(self._import, settings) if settings.costs.paths else None

    def publish(self, settings: ExporterSettings) -> None:
        """This will serve what the store holds, as of today.

        Raises:
            StoreError: the store cannot be read.
        """
        # One at a time from the reading on, so that costs read earlier never replace those read later.
        with self._publishing:
            seen, today = cost_folders(self._shelf), self._clock.now().date()
            series = select_cost_series(
                read_costs(self._shelf),
                today=today,
                top_services=settings.costs.top_services,
                max_groups=settings.costs.max_groups,
                last_import=self._last,
            )
            self._published.publish_costs(series)
            self._seen, self._day = seen, today

    def look(self, settings: ExporterSettings) -> None:
        """This will take up what another process wrote, such as `tuppence costs import`."""
        if cost_folders(self._shelf) != self._seen:
            self.publish(settings)

    def turn_the_day(self, settings: ExporterSettings, now: datetime) -> None:
        """This will publish anew once a day has passed: yesterday is another day then."""
        if now.date() != self._day:
            self.publish(settings)

    def _import(self, settings: ExporterSettings) -> None:
        importer = CostImporter(settings=settings, shelf=self._shelf, clock=self._clock, scratch=self._scratch)
        try:
            done = importer.run(settings.costs.paths)
        except TuppenceError as error:
            _log.error("cost_import_failed", error=str(error))
            self._last = LastImport(source=SOURCE, success=False, finished_at=self._clock.now())
        except (Exception, PanicException):  # noqa: BLE001 - a fault in an export must not pass for a success
            _log.exception("cost_import_fault")
            self._last = LastImport(source=SOURCE, success=False, finished_at=self._clock.now())
        else:
            if done.restated.height:
                _log.warning("costs_restated", days=done.restated.height)
            self._last = LastImport(source=SOURCE, success=True, finished_at=self._clock.now())
        self.publish(settings)
