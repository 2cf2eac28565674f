"""What was paid, as a part of the service: brought by the clock, published when it or the day has changed."""

from __future__ import annotations

import threading
from datetime import date, datetime
from functools import partial
from pathlib import Path
from typing import Final

import structlog
from polars.exceptions import PanicException

from exporters.core.clock import Clock
from exporters.core.cost_frames import FILES
from exporters.core.errors import TuppenceError
from exporters.cost_explained import compare
from exporters.cost_import import CostImporter
from exporters.cost_refresh import CostRefresher
from exporters.cost_statement import state_settings
from exporters.fetch.cost_contract import CostSource
from exporters.jobs import CostJob
from exporters.publish.costs import LastImport, select_cost_series
from exporters.publish.published import PublishedPrices
from exporters.settings import ExporterSettings
from exporters.store.costs import cost_folders, read_costs
from exporters.store.read import current_rates
from exporters.store.shelf import Shelf
from exporters.store.standing import read_standing, standing_folders

_log = structlog.get_logger(__name__)

PREFIX: Final = "costs"


class CostService:
    """Imports billing exports, asks sources of costs, and publishes what was paid.

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
        self._seen: tuple[dict[str, list[str]], ...] = ()
        self._day: date | None = None
        self._last: dict[str, LastImport] = {}

    def jobs(self, settings: ExporterSettings) -> list[CostJob]:
        """This will return what imports the exports that the settings name, and what asks each source they turn on."""
        refresher = CostRefresher(settings=settings, shelf=self._shelf, clock=self._clock, scratch=self._scratch)
        asked = [
            CostJob(
                name=f"{PREFIX}-{source.name}",
                minutes=getattr(settings.costs, source.name).refresh_minutes,
                run=partial(self._ask, refresher, source),
                first=refresher.next_time(source),
            )
            for source in refresher.enabled()
        ]
        if not settings.costs.paths:
            return asked
        run = partial(self._import, settings)
        return [CostJob(name=PREFIX, minutes=settings.costs.refresh_minutes, run=run), *asked]

    def publish(self, settings: ExporterSettings) -> None:
        """This will serve what the store holds, as of today.

        Raises:
            StoreError: the store cannot be read.
        """
        # One at a time from the reading on, so that costs read earlier never replace those read later.
        with self._publishing:
            now = self._clock.now()
            state_settings(settings, self._shelf, now=now)
            seen = self._on_shelf()
            costs = read_costs(self._shelf)
            series = select_cost_series(
                costs,
                read_standing(self._shelf),
                current_rates(self._shelf),
                now=now,
                top_services=settings.costs.top_services,
                max_groups=settings.costs.max_groups,
                last_imports=tuple(self._last.values()),
                compared=compare(costs.days, settings.costs.anomalies.as_rules(), today=now.date()),
                discount_days=settings.costs.discount_days,
            )
            self._published.publish_costs(series)
            self._seen, self._day = seen, now.date()

    def look(self, settings: ExporterSettings) -> None:
        """This will take up what another process wrote, such as `tuppence costs import`."""
        if self._on_shelf() != self._seen:
            self.publish(settings)

    def turn_the_day(self, settings: ExporterSettings, now: datetime) -> None:
        """This will publish anew once a day has passed: yesterday is another day then."""
        if now.date() != self._day:
            self.publish(settings)

    def _on_shelf(self) -> tuple[dict[str, list[str]], ...]:
        return cost_folders(self._shelf), standing_folders(self._shelf)

    def _ask(self, refresher: CostRefresher, source: CostSource) -> None:
        outcome = refresher.refresh(source)
        self._ended(source.name, success=outcome.error is None, restated=outcome.restated.height)
        self.publish(refresher.settings)

    def _import(self, settings: ExporterSettings) -> None:
        importer = CostImporter(settings=settings, shelf=self._shelf, clock=self._clock, scratch=self._scratch)
        try:
            restated = importer.run(settings.costs.paths).restated.height
        except TuppenceError as error:
            _log.error("cost_import_failed", error=str(error))
            self._ended(FILES, success=False)
        except (Exception, PanicException):  # noqa: BLE001 - a fault in an export must not pass for a success
            _log.exception("cost_import_fault")
            self._ended(FILES, success=False)
        else:
            self._ended(FILES, success=True, restated=restated)
        self.publish(settings)

    def _ended(self, source: str, *, success: bool, restated: int = 0) -> None:
        if restated:
            _log.warning("costs_restated", source=source, days=restated)
        self._last[source] = LastImport(source=source, success=success, finished_at=self._clock.now())
