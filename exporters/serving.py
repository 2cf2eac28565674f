"""The exporter as a service: prices on the shelf, a body in memory, jobs that keep both fresh, one port to scrape."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Final

import polars as pl
import structlog
import yaml

from exporters.core.clock import Clock, SystemClock
from exporters.core.errors import StoreError, TuppenceError
from exporters.core.geography import regions
from exporters.core.output import stderr
from exporters.core.scratch import scratch_folder
from exporters.core.web.serving import Address, serve
from exporters.cost_serving import CostService
from exporters.fetch.onprem import site_regions
from exporters.jobs import Scheduler, next_runs, scheduler_for
from exporters.publish.health import Health
from exporters.publish.http import Exporter, create_app
from exporters.publish.published import PublishedPrices
from exporters.refresh import Refresher
from exporters.settings import ExporterSettings
from exporters.store.read import current_prices, newest_ids
from exporters.store.shelf import open_shelf

_log = structlog.get_logger(__name__)
_USER_AND_PASSWORD: Final = re.compile(r"(://)[^/@\s]+@")


class ExporterService:
    """Everything behind the exporter's port.

    Args:
        settings: checked settings.
        load: reads them again; raises SettingsError when they are wrong.
        fetch: whether sources are refreshed; False serves what the store holds.
        clock: the time.
        scratch: where downloads lie while a refresh runs; None: the system's folder for temporary files.
    """

    def __init__(
        self,
        settings: ExporterSettings,
        *,
        load: Callable[[], ExporterSettings],
        fetch: bool = True,
        clock: Clock | None = None,
        scratch: Path | None = None,
    ) -> None:
        self._settings = settings
        self._load = load
        self._fetch = fetch
        self._clock = clock or SystemClock()
        self._scratch = scratch
        self._shelf = open_shelf(settings.store.url)
        self._health = Health(self._clock)
        self._published = PublishedPrices(
            self._health,
            max_series=settings.exporter_web.max_series,
            regions=pl.concat([regions(), site_regions(settings.sources.onprem)], how="diagonal"),
        )
        self._costs = CostService(self._shelf, self._published, clock=self._clock, scratch=scratch)
        self._reloading = threading.Lock()
        self._publishing = threading.Lock()
        self._seen: frozenset[str] = frozenset()
        self._scheduler: Scheduler | None = None

    def start(self) -> None:
        """This will serve what there is, packaged prices where there is nothing, and then start the refreshes.

        Raises:
            SettingsError: the prices give more series than the limit allows.
            StoreError: the store cannot be read, or it is empty and cannot be written.
        """
        self._seed(self._settings)
        self._publish()
        self._costs.publish(self._settings)
        self._health.reload_succeeded()
        self._schedule()

    def stop(self) -> None:
        """This will stop the refreshes; one under way is not waited for, its snapshot is whole or absent."""
        if self._scheduler is not None:
            self._scheduler.shutdown(wait=False)

    def app(self) -> Exporter:
        """This will return what the pages show and do."""
        return Exporter(
            published=self._published,
            health=self._health,
            shelf=self._shelf,
            clock=self._clock,
            reload=self.reload,
            next_refresh=self._next_refresh,
            settings_text=self._settings_text,
        )

    def reload(self) -> None:
        """This will read the settings again and refresh by them; wrong ones change nothing.

        Address, store and series limit are taken at the start only.

        Raises:
            TuppenceError: the settings are wrong; the ones in use stay.
        """
        with self._reloading:
            try:
                settings = self._load()
                self._seed(settings)
            except TuppenceError:
                self._health.reload_failed()
                raise
            self._settings = settings
            self.stop()
            self._schedule()
            self._health.reload_succeeded()
            self._look_at_store()
            _log.info("settings_reloaded")

    def _refresher(self, settings: ExporterSettings) -> Refresher:
        return Refresher(
            settings=settings,
            shelf=self._shelf,
            clock=self._clock,
            log=self._health,
            scratch=self._scratch,
        )

    def _seed(self, settings: ExporterSettings) -> None:
        """A full disk or one that may only be read does not stop the prices that are there."""
        try:
            self._refresher(settings).seed()
        except StoreError as error:
            if not newest_ids(self._shelf):
                raise
            _log.error("packaged_prices_not_written", error=str(error))

    def _publish(self) -> None:
        # One at a time from the reading on, so that prices read earlier never replace those read later.
        with self._publishing:
            self._seen = newest_ids(self._shelf)
            self._published.publish(current_prices(self._shelf, now=self._clock.now()))

    def _look_at_store(self) -> None:
        """Take up what another process wrote, such as `tuppence fetch`."""
        if newest_ids(self._shelf) != self._seen:
            self._publish()
        self._costs.look(self._settings)

    def _expire(self, now: datetime) -> bool:
        expired = self._published.expire(now)
        self._costs.turn_the_day(self._settings, now)
        return expired

    def _schedule(self) -> None:
        self._scheduler = scheduler_for(
            self._refresher(self._settings),
            publish=self._publish,
            expire=self._expire,
            look=self._look_at_store,
            fetch=self._fetch,
            costs=self._costs.jobs(self._settings),
        )
        self._scheduler.start()

    def _next_refresh(self) -> Mapping[str, datetime]:
        return next_runs(self._scheduler) if self._scheduler is not None else {}

    def _settings_text(self) -> str:
        plain = yaml.safe_dump(self._settings.model_dump(mode="json"), sort_keys=False, allow_unicode=True)
        return _USER_AND_PASSWORD.sub(r"\1", plain)


def serve_exporter(settings: ExporterSettings, *, load: Callable[[], ExporterSettings], fetch: bool) -> None:
    """This will serve until a signal ends it; see ExporterService."""
    web = settings.exporter_web
    with scratch_folder() as scratch:
        service = ExporterService(settings, load=load, fetch=fetch, scratch=scratch)
        service.start()
        try:
            serve(create_app(service.app()), host=web.host, port=web.port, web_config=web.config_file, ready=_announce)
        finally:
            service.stop()


def _announce(address: Address) -> None:
    stderr.print(f"Serving prices at {address.url}/metrics; status page: {address.url}/", soft_wrap=True)
