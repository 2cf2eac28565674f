"""The exporter's own health as metrics: how each source's last refresh went, how old its prices are, where from.

Kept in memory and turned into new metric families at each scrape, so that what is gone leaves no series behind.
The process, platform and garbage collector metrics of prometheus-client ride along.
"""

from __future__ import annotations

import platform
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from importlib.metadata import version

import polars as pl
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from exporters.core.clock import Clock, SystemClock
from exporters.core.frames import is_illustrative
from exporters.core.metrics import Labelled, family_of, registry_of
from exporters.core.words import Origin
from exporters.publish.catalogue import HEALTH
from exporters.publish.published import Publication
from exporters.store.snapshot import FX_SOURCE, Manifest


@dataclass(frozen=True, slots=True)
class SourceHealth:
    """What is known of one source.

    Args:
        served: the snapshot whose prices are served, or were until they grew too old; None: there is none.
        stale: whether they grew too old.
        offers: its offers that have series now.
        illustrative: its offers that are only illustrative.
        refreshed: the last snapshot that this process wrote.
        refreshes: refreshes since the start.
        failures: failed ones among them.
        succeeded: whether the last one did; None: none has ended yet.
        finished_at: when the last one ended.
        duration_seconds: of the last one.
        error: why the last one failed; empty if it did not.
        rejected: rows that the last good one left out, by reason.
    """

    served: Manifest | None = None
    stale: bool = False
    offers: int = 0
    illustrative: int = 0
    refreshed: Manifest | None = None
    refreshes: int = 0
    failures: int = 0
    succeeded: bool | None = None
    finished_at: datetime | None = None
    duration_seconds: float = 0.0
    error: str = ""
    rejected: Mapping[str, int] = field(default_factory=dict)

    @property
    def origin(self) -> Origin | None:
        """Where its prices come from; None: it has none."""
        if self.served is None or self.served.origin is Origin.PACKAGED:
            return None if self.served is None else Origin.PACKAGED
        this_refresh = self.refreshed is not None and self.refreshed.id == self.served.id
        return Origin.LIVE if this_refresh and self.succeeded else Origin.CACHED


@dataclass(frozen=True, slots=True)
class ExporterHealth:
    """What is known of the exporter as a whole."""

    series: int = 0
    series_limit: int = 0
    series_capped: bool = False
    render_seconds: float = 0.0
    reload_successful: bool = True
    reloaded_at: datetime | None = None


class Health(Collector):
    """Collects what the other parts report: the log of the refreshes and of the publications.

    Safe to use from several threads.

    Args:
        clock: for the times of refreshes and reloads; default: the machine's.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._sources: dict[str, SourceHealth] = {}
        self._exporter = ExporterHealth(reloaded_at=self._clock.now())
        self.registry = registry_of(self)

    @property
    def sources(self) -> dict[str, SourceHealth]:
        """What is known of each source, by name."""
        with self._lock:
            return dict(sorted(self._sources.items()))

    @property
    def exporter(self) -> ExporterHealth:
        """What is known of the exporter as a whole."""
        with self._lock:
            return self._exporter

    def refresh_succeeded(
        self, source: str, *, manifest: Manifest, rejects: pl.DataFrame, duration_seconds: float
    ) -> None:
        """This will note a snapshot that was written, and the rows (frame Reject) that it left out."""
        counts = rejects.group_by("reason").agg(pl.col("rows").sum()).sort("reason")
        with self._lock:
            before = self._sources.get(source, SourceHealth())
            self._sources[source] = replace(
                before,
                refreshed=manifest,
                refreshes=before.refreshes + 1,
                succeeded=True,
                finished_at=self._clock.now(),
                duration_seconds=duration_seconds,
                error="",
                rejected={str(reason): int(rows) for reason, rows in counts.iter_rows()},
            )

    def refresh_failed(self, source: str, *, error: Exception, duration_seconds: float) -> None:
        """This will note why a source's last good snapshot stays."""
        with self._lock:
            before = self._sources.get(source, SourceHealth())
            self._sources[source] = replace(
                before,
                refreshes=before.refreshes + 1,
                failures=before.failures + 1,
                succeeded=False,
                finished_at=self._clock.now(),
                duration_seconds=duration_seconds,
                error=str(error),
            )

    def published(self, publication: Publication) -> None:
        """This will note what is served from now on; sources without a snapshot in it are served no more."""
        prices = publication.prices
        illustrative = _count(prices.offers.filter(is_illustrative()))
        offers = _count(prices.offers.filter(~is_illustrative()))
        manifests = {
            one.source: (one, stale) for stale, group in ((True, prices.stale), (False, prices.used)) for one in group
        }
        with self._lock:
            for source in self._sources.keys() | manifests.keys():
                served, stale = manifests.get(source, (None, False))
                self._sources[source] = replace(
                    self._sources.get(source, SourceHealth()),
                    served=served,
                    stale=stale,
                    offers=offers.get(source, 0),
                    illustrative=illustrative.get(source, 0),
                )
            self._exporter = replace(
                self._exporter,
                series=publication.bodies.series,
                series_limit=publication.series_limit,
                series_capped=publication.newer_wait,
                render_seconds=publication.render_seconds,
            )

    def reload_succeeded(self) -> None:
        """This will note that the settings were read again."""
        with self._lock:
            self._exporter = replace(self._exporter, reload_successful=True, reloaded_at=self._clock.now())

    def reload_failed(self) -> None:
        """This will note that the settings could not be read again; those before stay."""
        with self._lock:
            self._exporter = replace(self._exporter, reload_successful=False)

    def collect(self) -> Iterator[Family]:
        """This will yield one family a row of the catalogue's health part."""
        samples = self._samples()
        for metric in HEALTH:
            yield family_of(metric, samples[metric.name])

    def _samples(self) -> Mapping[str, list[Labelled]]:
        samples: dict[str, list[Labelled]] = {metric.name: [] for metric in HEALTH}
        for source, health in self.sources.items():
            for name, labels, value in _of_source(source, health):
                samples[name].append((labels, value))
        for name, value in _of_exporter(self.exporter):
            samples[name].append(((), value))
        samples["tuppence_build_info"].append(((version("tuppence"), platform.python_version()), 1.0))
        return samples


def _of_exporter(health: ExporterHealth) -> Iterator[tuple[str, float]]:
    yield "tuppence_exporter_series", health.series
    yield "tuppence_exporter_series_limit", health.series_limit
    yield "tuppence_exporter_series_capped", float(health.series_capped)
    yield "tuppence_exporter_render_duration_seconds", health.render_seconds
    yield "tuppence_exporter_config_last_reload_successful", float(health.reload_successful)
    if health.reloaded_at is not None:
        yield "tuppence_exporter_config_last_reload_success_timestamp_seconds", health.reloaded_at.timestamp()


def _of_source(source: str, health: SourceHealth) -> Iterator[tuple[str, tuple[str, ...], float]]:
    if health.served is not None:
        yield "tuppence_exporter_snapshot_timestamp_seconds", (source,), health.served.taken_at.timestamp()
        if health.served.max_age_hours is not None:
            yield "tuppence_exporter_snapshot_max_age_seconds", (source,), health.served.max_age_hours * 3600
    if health.origin is not None:
        yield "tuppence_exporter_price_origin_info", (source, health.origin.value), 1.0
    if source != FX_SOURCE:
        yield "tuppence_exporter_offers", (source,), health.offers
        yield "tuppence_exporter_illustrative_offers", (source,), health.illustrative
    yield "tuppence_exporter_refreshes_total", (source,), health.refreshes
    yield "tuppence_exporter_refresh_failures_total", (source,), health.failures
    for reason, rows in health.rejected.items():
        yield "tuppence_exporter_rows_rejected", (source, reason), rows
    if health.succeeded is not None:
        yield "tuppence_exporter_refresh_success", (source,), float(health.succeeded)
        yield "tuppence_exporter_refresh_duration_seconds", (source,), health.duration_seconds


def _count(rows: pl.DataFrame) -> dict[str, int]:
    return {str(source): int(number) for source, number in rows.group_by("source").len().iter_rows()}
