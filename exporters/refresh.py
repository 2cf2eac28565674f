"""One source's way through the stages, from its API to its snapshot. jobs.py only says when.

A refresh ends in a new snapshot or changes nothing: whatever goes wrong, the last good snapshot stays, the failure is
logged and counted, and no other source is touched.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Protocol

import dataframely as dy
import polars as pl
import structlog
from polars.exceptions import PanicException

from exporters.core.clock import Clock
from exporters.core.errors import SettingsError, StoreError, TerminalSourceError, TuppenceError
from exporters.core.frames import FxRate, Offer, Reject, SetAside, is_illustrative
from exporters.core.money import GBP
from exporters.core.scratch import scratch_folder
from exporters.core.words import Origin
from exporters.fetch import book, ecb
from exporters.fetch.contract import Fetched, FetchRequest, Progress, Source, SourceSettings, silent
from exporters.fetch.registry import SOURCES
from exporters.normalise.pipeline import normalise
from exporters.normalise.row_rules.registry import RULES
from exporters.settings import ExporterSettings
from exporters.store.fx_history import merged_history, read_history
from exporters.store.read import AT_A_RATE, CLOCK_SKEW, last_snapshot, last_snapshots
from exporters.store.shelf import Shelf
from exporters.store.snapshot import FX_SOURCE, Manifest, Snapshot
from exporters.store.write import clear_history, remove_snapshot, write_rates, write_snapshot

_log = structlog.get_logger(__name__)

HISTORY_LASTS = timedelta(days=60)
"""The file reaches 90 days back; fetched again before that, a service that was off for a month has no gap."""


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
        scratch: where downloads lie while a refresh runs; None: the system's folder for temporary files.
    """

    settings: ExporterSettings
    shelf: Shelf
    clock: Clock
    log: RefreshLog
    progress: Progress = silent
    accept_changes: bool = False
    scratch: Path | None = None

    def enabled(self) -> tuple[Source, ...]:
        """This will return the sources that the settings turn on."""
        return tuple(source for source in SOURCES if self.settings.sources.of(source.name).enabled)

    def refresh(self, source: Source) -> Outcome:
        """This will fetch a source and put its snapshot on the shelf; it never raises."""
        section = self.settings.sources.of(source.name)
        return self._attempt(source.name, lambda: self._fetched_snapshot(source, section))

    def refresh_fx(self) -> Outcome:
        """This will fetch the exchange rates and put them on the shelf; it never raises."""
        outcome = self._attempt(FX_SOURCE, self._fx_snapshot)
        if outcome.error is None and self.settings.sources.fx.source == "ecb":
            self._keep_history()
        return outcome

    def _keep_history(self) -> None:
        """Past costs convert at the rates of their days; those since the last history are in the daily tables."""
        known = read_history(self.shelf)["rate_date"].max()
        if isinstance(known, date) and self.clock.now().date() - known < HISTORY_LASTS:
            return
        try:
            fetched = ecb.fetch_history(self.settings.sources.fx)
            if fetched.height:
                write_rates(self.shelf, merged_history(read_history(self.shelf), fetched))
        except TuppenceError as error:
            _log.warning("rate_history_not_fetched", error=str(error))

    def seed(self) -> None:
        """This will put packaged rates and prices on the shelf where no refresh has ever succeeded.

        Packaged ones of another release or for other filters are replaced, and those no longer wanted removed.

        Raises:
            StoreError: the shelf cannot be written.
        """
        packaged = {snapshot.manifest.source: snapshot for snapshot in self.packaged_snapshots()}
        for name in (FX_SOURCE, *book.CLOUDS):
            before = self._last(name)
            if before is not None and before.manifest.origin is not Origin.PACKAGED:
                continue
            if name in packaged:
                self._put_packaged(packaged[name], before)
            elif before is not None:
                remove_snapshot(self.shelf, before.manifest)

    def _put_packaged(self, snapshot: Snapshot, before: Snapshot | None) -> None:
        """The new one is whole before the old one goes; of the same day, it is a microsecond younger."""
        if before is not None and _say_the_same(before, snapshot):
            return
        manifest = snapshot.manifest
        if before is not None and before.manifest.id == manifest.id:
            manifest = replace(manifest, taken_at=manifest.taken_at + timedelta(microseconds=1))
        write_snapshot(self.shelf, replace(snapshot, manifest=manifest))
        if before is not None:
            remove_snapshot(self.shelf, before.manifest)
        _log.info("packaged_prices_serve", source=manifest.source, dated=manifest.taken_at.isoformat())

    def packaged_snapshots(self) -> list[Snapshot]:
        """This will return packaged snapshots for what was never fetched: rates first, then clouds."""
        rates = [] if self._last_live(FX_SOURCE) else [self._packaged_fx()]
        wanted = self._packaged_clouds()
        return rates + [self._packaged_prices(provider) for provider in wanted if not self._last_live(provider)]

    def _packaged_clouds(self) -> tuple[str, ...]:
        """The clouds that the packaged book may stand in for: those that it has a price of in the chosen regions."""
        section = self.settings.packaged
        wanted = section.providers if section.enabled else ()
        priced = tuple(provider for provider in wanted if book.packaged_regions(provider, section))
        if wanted and not priced:
            raise SettingsError(
                f"the packaged price book has no price of {', '.join(wanted)} in the chosen regions",
                where="packaged.regions" if section.regions else "packaged.jurisdictions",
                next_step="Choose regions that it has (docs/sources/book.md), or set packaged.enabled: false.",
            )
        for provider in sorted(set(wanted) - set(priced)):
            _log.info("packaged_prices_left_out", source=provider, why="no packaged price in the chosen regions")
        return priced

    def _attempt(self, name: str, make: Callable[[], Snapshot]) -> Outcome:
        started = time.monotonic()
        try:
            snapshot = make()
            manifest = write_snapshot(self.shelf, snapshot)
        except TuppenceError as error:
            return self._failed(name, error, started)
        except (Exception, PanicException) as error:  # noqa: BLE001 - a fault in one source must not stop the others
            _log.exception("refresh_fault", source=name)
            return self._failed(name, _unforeseen(name, error), started)
        seconds = time.monotonic() - started
        self.log.refresh_succeeded(name, manifest=manifest, rejects=snapshot.rejects, duration_seconds=seconds)
        _log.info("refreshed", source=name, snapshot=manifest.id, rows=dict(manifest.rows), seconds=round(seconds, 2))
        self._clear_history(name)
        return Outcome(source=name, snapshot=snapshot, error=None)

    def _clear_history(self, name: str) -> None:
        """The new prices stand, whether or not old ones can be cleared away (a bucket may forbid to delete)."""
        try:
            clear_history(self.shelf, name, now=self.clock.now(), retention_days=self.settings.store.retention_days)
        except StoreError as error:
            _log.warning("history_stays", source=name, error=str(error))

    def _failed(self, name: str, error: TuppenceError, started: float) -> Outcome:
        seconds = time.monotonic() - started
        self.log.refresh_failed(name, error=error, duration_seconds=seconds)
        _log.error("refresh_failed", source=name, error=str(error), seconds=round(seconds, 2))
        return Outcome(source=name, snapshot=None, error=error)

    def _fetched_snapshot(self, source: Source, section: SourceSettings) -> Snapshot:
        now = self.clock.now()
        with scratch_folder(self.scratch) as scratch:
            request = self.request(section, now=now, scratch=scratch)
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
        last = self._last(name)
        return last if last is not None and last.manifest.origin is Origin.LIVE else None

    def _last(self, name: str) -> Snapshot | None:
        return last_snapshot(self.shelf, name, until=self.clock.now() + CLOCK_SKEW)

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
            confirming=self._said_elsewhere(fetched.source) if previous else None,
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

    def _said_elsewhere(self, name: str) -> dy.DataFrame[Offer]:
        """What the other sources last said and is not too old, and for a cloud the packaged book; no illustrations."""
        now = self.clock.now()
        others = [
            snapshot
            for snapshot in last_snapshots(self.shelf, until=now + CLOCK_SKEW)
            if snapshot.manifest.source != name and not snapshot.manifest.is_stale(now)
        ]
        packaged = [self._packaged_prices(name)] if name in self._packaged_clouds() else []
        offers = pl.concat([Offer.create_empty(), *(snapshot.offers for snapshot in (*others, *packaged))])
        return Offer.cast(offers.filter(~is_illustrative()))

    def _packaged_prices(self, provider: str) -> Snapshot:
        section = self.settings.packaged
        with scratch_folder(self.scratch) as scratch:
            request = self.request(section, now=self.clock.now(), scratch=scratch)
            fetched = book.fetch_packaged(provider, section, request)
            return self._normalised(fetched, rule="book", previous=None, origin=Origin.PACKAGED, max_age_hours=None)

    def _fx_snapshot(self) -> Snapshot:
        now = self.clock.now()
        section = self.settings.sources.fx
        last = self._last(FX_SOURCE)
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
        last = self._last(FX_SOURCE)
        return last.fx if last is not None else self._packaged_fx().fx


def _say_the_same(one: Snapshot, other: Snapshot) -> bool:
    """Whether two packaged snapshots hold the same, whatever rate of exchange they were written at."""
    return (
        one.manifest.skipped == other.manifest.skipped
        and all(
            one.frame(name).drop(*AT_A_RATE, strict=False).equals(other.frame(name).drop(*AT_A_RATE, strict=False))
            for name in ("offers", "egress")
        )
        and one.fx.filter(pl.col("currency") != GBP).equals(other.fx.filter(pl.col("currency") != GBP))
    )


def _unforeseen(source: str, error: BaseException) -> TuppenceError:
    return TerminalSourceError(
        f"an unforeseen fault ended the refresh ({type(error).__name__}: {error})",
        where=f"sources.{source}",
        next_step="The last good snapshot stays; please report this with the log.",
    )
