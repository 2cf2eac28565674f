"""One source's way through the stages, from its API to its snapshot. jobs.py only says when.

A refresh ends in a new snapshot or changes nothing: whatever goes wrong, the last good snapshot stays, the failure is
logged and counted, and no other source is touched.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

import dataframely as dy
import structlog

from exporters.core.clock import Clock
from exporters.core.errors import TerminalSourceError, TuppenceError
from exporters.core.frames import FxRate, Offer, Reject, SetAside
from exporters.core.words import Origin
from exporters.fetch import book, ecb
from exporters.fetch.contract import Fetched, FetchRequest, Progress, Source, SourceSettings, silent
from exporters.fetch.registry import SOURCES
from exporters.normalise.pipeline import normalise
from exporters.normalise.row_rules.registry import RULES
from exporters.settings import ExporterSettings
from exporters.store.read import last_snapshot
from exporters.store.shelf import Shelf
from exporters.store.snapshot import FX_SOURCE, Manifest, Snapshot
from exporters.store.write import clear_history, write_snapshot

_log = structlog.get_logger(__name__)


class RefreshLog(Protocol):
    """Told how each refresh ended; the exporter's health metrics are one."""

    def refresh_succeeded(
        self, source: str, *, manifest: Manifest, rejects: dy.DataFrame[Reject], duration_seconds: float
    ) -> None:
        """This will note a new snapshot."""
        ...

    def refresh_failed(self, source: str, *, error: Exception, duration_seconds: float) -> None:
        """This will note that the last good snapshot had to stay."""
        ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one refresh ended: with a snapshot, or with an error."""

    source: str
    snapshot: Snapshot | None
    error: TuppenceError | None


@dataclass(frozen=True, slots=True)
class Refresher:
    """Takes sources through the stages.

    Args:
        settings: the exporter's settings.
        shelf: where snapshots lie.
        clock: the time.
        log: told of every end.
        progress: told how far a fetch is.
        accept_changes: take prices that moved implausibly as they are.
    """

    settings: ExporterSettings
    shelf: Shelf
    clock: Clock
    log: RefreshLog
    progress: Progress = silent
    accept_changes: bool = False

    def enabled(self) -> tuple[Source, ...]:
        """This will return the sources that the settings turn on."""
        return tuple(source for source in SOURCES if self.settings.sources.of(source.name).enabled)

    def refresh(self, source: Source) -> Outcome:
        """This will fetch a source and put its snapshot on the shelf; it never raises."""
        section = self.settings.sources.of(source.name)
        return self._attempt(source.name, lambda: self._fetched_snapshot(source, section))

    def refresh_fx(self) -> Outcome:
        """This will fetch the exchange rates and put them on the shelf; it never raises."""
        return self._attempt(FX_SOURCE, self._fx_snapshot)

    def seed(self) -> None:
        """This will put packaged rates and prices on the shelf where no snapshot is.

        Raises:
            StoreError: the shelf cannot be written.
        """
        for snapshot in self.packaged_snapshots():
            write_snapshot(self.shelf, snapshot)
            _log.info(
                "packaged_prices_serve", source=snapshot.manifest.source, dated=snapshot.manifest.taken_at.isoformat()
            )

    def packaged_snapshots(self) -> list[Snapshot]:
        """This will return packaged snapshots for what the shelf lacks: rates first, then clouds."""
        packaged = self.settings.packaged
        rates = [self._packaged_fx()] if last_snapshot(self.shelf, FX_SOURCE) is None else []
        wanted = packaged.providers if packaged.enabled else ()
        lacking = [provider for provider in wanted if last_snapshot(self.shelf, provider) is None]
        return rates + [self._packaged_prices(provider) for provider in lacking]

    def _attempt(self, name: str, make: Callable[[], Snapshot]) -> Outcome:
        started = time.monotonic()
        try:
            snapshot = make()
            manifest = write_snapshot(self.shelf, snapshot)
            clear_history(self.shelf, name, now=self.clock.now(), retention_days=self.settings.store.retention_days)
        except TuppenceError as error:
            return self._failed(name, error, started)
        except Exception as error:  # noqa: BLE001 - a fault in one source must not stop the others
            _log.exception("refresh_fault", source=name)
            return self._failed(name, _unforeseen(name, error), started)
        seconds = time.monotonic() - started
        self.log.refresh_succeeded(name, manifest=manifest, rejects=snapshot.rejects, duration_seconds=seconds)
        _log.info("refreshed", source=name, snapshot=manifest.id, rows=dict(manifest.rows), seconds=round(seconds, 2))
        return Outcome(source=name, snapshot=snapshot, error=None)

    def _failed(self, name: str, error: TuppenceError, started: float) -> Outcome:
        seconds = time.monotonic() - started
        self.log.refresh_failed(name, error=error, duration_seconds=seconds)
        _log.error("refresh_failed", source=name, error=str(error), seconds=round(seconds, 2))
        return Outcome(source=name, snapshot=None, error=error)

    def _fetched_snapshot(self, source: Source, section: SourceSettings) -> Snapshot:
        now = self.clock.now()
        with TemporaryDirectory(prefix="tuppence-") as scratch:
            request = self.request(section, now=now, scratch=Path(scratch))
            fetched = source.fetch(section, request)
            previous = self._last_live(source.name)
            return self._normalised(
                fetched, rule=source.name, previous=previous, origin=Origin.LIVE, max_age_hours=section.max_age_hours
            )

    def request(self, section: SourceSettings, *, now: datetime, scratch: Path) -> FetchRequest:
        """This will return what one refresh asks of a source."""
        filters = self.settings.filters.as_filters()
        return FetchRequest(
            now=now,
            scratch=scratch,
            deadline=now + timedelta(seconds=section.deadline_seconds),
            capacity_types=filters.capacity_types,
            operating_systems=filters.operating_systems,
            progress=self.progress,
        )

    def _last_live(self, name: str) -> Snapshot | None:
        """The snapshot to compare with; packaged prices are too old to call a change implausible."""
        last = last_snapshot(self.shelf, name)
        return last if last is not None and last.manifest.origin is Origin.LIVE else None

    def _normalised(
        self, fetched: Fetched, *, rule: str, previous: Snapshot | None, origin: Origin, max_age_hours: float | None
    ) -> Snapshot:
        chosen = RULES[rule](fetched, self.settings.filters.as_filters())
        result = normalise(
            chosen,
            fx=self._rates(),
            previous=previous.offers if previous else Offer.create_empty(),
            set_aside=previous.set_aside if previous else SetAside.create_empty(),
            source=fetched.source,
            observed_at=fetched.observed_at,
            accept_changes=self.accept_changes,
        )
        manifest = Manifest(
            source=fetched.source,
            taken_at=fetched.observed_at,
            origin=origin,
            max_age_hours=max_age_hours,
            skipped=tuple((item.region, item.why) for item in fetched.skipped),
        )
        return Snapshot(
            manifest=manifest,
            offers=result.offers,
            egress=result.egress,
            rejects=result.rejects,
            set_aside=result.set_aside,
        )

    def _packaged_prices(self, provider: str) -> Snapshot:
        section = self.settings.packaged
        with TemporaryDirectory(prefix="tuppence-") as scratch:
            request = self.request(section, now=self.clock.now(), scratch=Path(scratch))
            fetched = book.fetch_packaged(provider, section, request)
            return self._normalised(fetched, rule="book", previous=None, origin=Origin.PACKAGED, max_age_hours=None)

    def _fx_snapshot(self) -> Snapshot:
        now = self.clock.now()
        section = self.settings.sources.fx
        last = last_snapshot(self.shelf, FX_SOURCE)
        rates = ecb.fetch_rates(section, now, last=last.fx if last is not None else None)
        manifest = Manifest(source=FX_SOURCE, taken_at=now, origin=Origin.LIVE, max_age_hours=section.max_age_hours)
        return Snapshot(manifest=manifest, fx=rates)

    def _packaged_fx(self) -> Snapshot:
        packaged = self.settings.sources.fx.model_copy(update={"source": "packaged"})
        rates = ecb.fetch_rates(packaged, self.clock.now())
        dated = min(rates["rate_date"])
        taken_at = datetime.combine(dated, datetime.min.time(), tzinfo=UTC)
        manifest = Manifest(source=FX_SOURCE, taken_at=taken_at, origin=Origin.PACKAGED, max_age_hours=None)
        return Snapshot(manifest=manifest, fx=rates)

    def _rates(self) -> dy.DataFrame[FxRate]:
        last = last_snapshot(self.shelf, FX_SOURCE)
        return last.fx if last is not None else self._packaged_fx().fx


def _unforeseen(source: str, error: Exception) -> TuppenceError:
    return TerminalSourceError(
        f"an unforeseen fault ended the refresh ({type(error).__name__}: {error})",
        where=f"sources.{source}",
        next_step="The last good snapshot stays; please report this with the log.",
    )
