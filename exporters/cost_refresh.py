"""One source of costs' way through the stages, from what it is asked to the days and statements on the shelf.

A refresh ends in new months and a new statement or changes nothing: whatever goes wrong, what was known stays. Days are
asked for again until they are settled, because providers restate them. jobs.py only says when.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import dataframely as dy
import polars as pl
import structlog
from polars.exceptions import PanicException, PolarsError

from exporters.core.clock import Clock
from exporters.core.cost_frames import CostRejects, PoundCost, RestatedDay
from exporters.core.errors import IntegrityError, SettingsError, StoreError, TuppenceError
from exporters.core.scratch import scratch_folder
from exporters.cost_book import WRITING, CostBook, oldest_kept
from exporters.fetch.contract import Finding, Progress, Skipped, silent
from exporters.fetch.cost_contract import CostFetched, CostRequest, CostSource, CostSourceSettings
from exporters.fetch.cost_registry import COST_SOURCES
from exporters.normalise.cost_days import Reduced, add_days, mark_settled, reduce_charges, replace_span, restated
from exporters.settings import ExporterSettings
from exporters.store.shelf import Shelf
from exporters.store.standing import STANDING_FRAMES, last_asked, last_statement
from exporters.store.standing_write import note_asked, write_statement

_log = structlog.get_logger(__name__)

AGAIN_AFTER: Final = timedelta(hours=1)
"""How long after a failure a service that starts anew waits."""


@dataclass(frozen=True, slots=True)
class CostOutcome:
    """How one time of asking ended.

    Args:
        source: who was asked.
        error: why nothing changed; None: it went well.
        days: the days that were stated.
        restated: days that were known and came to something else.
        rejects: charges left out.
        paid_requests: requests that cost money.
        skipped: what the source left out and why.
    """

    source: str
    error: TuppenceError | None
    days: dy.DataFrame[PoundCost]
    restated: dy.DataFrame[RestatedDay]
    rejects: dy.DataFrame[CostRejects]
    paid_requests: int = 0
    skipped: tuple[Skipped, ...] = ()


@dataclass(frozen=True, slots=True)
class CostRefresher:
    """Takes sources of costs through the stages.

    Args:
        settings: the exporter's settings.
        shelf: where snapshots lie.
        clock: the time.
        scratch: where downloads lie meanwhile; None: the system's folder for temporary files.
        progress: told how far it is.
        sources: every source that there is.
    """

    settings: ExporterSettings
    shelf: Shelf
    clock: Clock
    scratch: Path | None = None
    progress: Progress = silent
    sources: Sequence[CostSource] = COST_SOURCES

    def enabled(self) -> tuple[CostSource, ...]:
        """This will return the sources that the settings turn on."""
        return tuple(source for source in self.sources if self._section(source).enabled)

    def refresh(self, source: CostSource) -> CostOutcome:
        """This will ask a source and put what it states in the place of what was known; it never raises."""
        outcome = self._attempted(source)
        try:
            note_asked(self.shelf, source.name, at=self.clock.now(), success=outcome.error is None)
        except StoreError as error:
            _log.warning("last_time_not_noted", source=source.name, error=str(error))
        return outcome

    def next_time(self, source: CostSource) -> datetime:
        """This will return when a service that starts now asks the source first: at once, unless it was asked lately.

        What was asked well is asked again after refresh_minutes, as if the service had never stopped; what failed or
        was cut off, sooner. So a service that is started again and again does not pay each time.

        Raises:
            StoreError: the shelf cannot be listed.
        """
        last = last_asked(self.shelf, source.name)
        if last is None:
            return self.clock.now()
        every = timedelta(minutes=self._section(source).refresh_minutes)
        return max(self.clock.now(), last.at + (every if last.success else min(every, AGAIN_AFTER)))

    def _attempted(self, source: CostSource) -> CostOutcome:
        try:
            note_asked(self.shelf, source.name, at=self.clock.now(), success=None)
            return self._refreshed(source)
        except TuppenceError as error:
            _log.error("cost_refresh_failed", source=source.name, error=str(error))
            return _failed(source.name, error)
        except (Exception, PanicException) as error:  # noqa: BLE001 - a fault in one source must not stop the others
            _log.exception("cost_refresh_fault", source=source.name)
            return _failed(source.name, _unforeseen(source.name, error))

    def check(self, source: CostSource) -> tuple[Finding, ...]:
        """This will look whether a source can be asked."""
        with scratch_folder(self.scratch) as scratch:
            return source.check(self._section(source), self._cloud(source), self._request(source, scratch, None))

    def _refreshed(self, source: CostSource) -> CostOutcome:
        known = CostBook.open(self.settings, self.shelf, self.clock).kept.filter(source=source.name)
        with scratch_folder(self.scratch) as scratch:
            request = self._request(source, scratch, known)
            fetched = source.fetch(self._section(source), self._cloud(source), request)
            reduced = None if fetched.charges is None else _reduced(fetched.charges, source.name)
        with WRITING:
            outcome = self._take(source, request, fetched, reduced)
            write_statement(self.shelf, source.name, self._statement(fetched, request), now=request.now)
        _log.info("costs_refreshed", source=source.name, days=outcome.days.height, paid_requests=fetched.paid_requests)
        return outcome

    def _take(
        self, source: CostSource, request: CostRequest, fetched: CostFetched, reduced: Reduced | None
    ) -> CostOutcome:
        """Put the days in the place of those before; nothing is charged for a source that states no charges."""
        book = CostBook.open(self.settings, self.shelf, self.clock)
        outcome = replace(_failed(source.name, None), paid_requests=fetched.paid_requests, skipped=fetched.skipped)
        if reduced is None:
            return outcome
        _check_span(reduced.groups, request, source.name)
        settle = self.settings.costs.settle_hours
        marked = mark_settled(
            add_days(reduced), asked_at=fetched.observed_at, until=request.last_day, settle_hours=settle
        )
        converted = book.convert(marked, file=source.name)
        rejects = CostRejects.cast(pl.concat([reduced.rejects, converted.rejects]))
        _check_rejects(source.name, reduced.rows, rejects, self.settings.costs.max_rejected_ratio)
        book.kept = replace_span(
            book.kept, converted.days, source=source.name, first=request.first_day, last=request.last_day
        )
        book.write(digests={}, rejects=rejects)
        return replace(outcome, days=converted.days, restated=restated(book.before.days, book.kept), rejects=rejects)

    def _statement(self, fetched: CostFetched, request: CostRequest) -> dict[str, pl.DataFrame | None]:
        """The frames of a statement; of workloads, days that were not asked for stay until they are too old."""
        frames: dict[str, pl.DataFrame | None] = {name: getattr(fetched, name) for name in STANDING_FRAMES}
        workloads = frames["workloads"]
        before = last_statement(self.shelf, fetched.source)
        if workloads is not None and before is not None:
            oldest = request.now.date() - timedelta(days=self.settings.costs.workload_days)
            asked = pl.col("day").is_between(request.first_day, request.last_day)
            kept = before[1]["workloads"].filter(~asked, pl.col("day") >= oldest)
            frames["workloads"] = pl.concat([kept, workloads])
        return frames

    def _request(self, source: CostSource, scratch: Path, known: pl.DataFrame | None) -> CostRequest:
        section = self._section(source)
        now = self.clock.now()
        return CostRequest(
            now=now,
            first_day=self._first_day(section, known, now.date()),
            last_day=now.date(),
            scratch=scratch,
            deadline=now + timedelta(seconds=section.deadline_seconds),
            owner_tags=self.settings.costs.owner_tags,
            progress=self.progress,
        )

    def _first_day(self, section: CostSourceSettings, known: pl.DataFrame | None, today: date) -> date:
        """The first day to ask for: those since the last whole day, and some before it that may be restated."""
        earliest = max(today - timedelta(days=section.history_days), oldest_kept(self.settings, today))
        if known is None or known.is_empty():
            return earliest
        reached = known["reached"].max()
        assert isinstance(reached, date)
        return min(today, max(earliest, reached - timedelta(days=section.restated_days - 1)))

    def _section(self, source: CostSource) -> CostSourceSettings:
        section: CostSourceSettings = getattr(self.settings.costs, source.name)
        return section

    def _cloud(self, source: CostSource) -> Any:  # noqa: ANN401 - each source knows its own section
        return None if source.cloud is None else self.settings.sources.of(source.cloud)


def _reduced(charges: pl.LazyFrame, source: str) -> Reduced:
    try:
        return reduce_charges(charges, file=source, source=source)
    except PolarsError as error:
        raise IntegrityError(
            f"what it states cannot be added up ({str(error).splitlines()[0]})",
            where=source,
            next_step="Report this as a bug with the lines of the log; what was known stays.",
        ) from error


def _check_span(groups: pl.DataFrame, request: CostRequest, source: str) -> None:
    """Days that were not asked for would be added to what is kept instead of taking its place."""
    outside = groups.filter(~pl.col("charge_day").is_between(request.first_day, request.last_day))
    if outside.height:
        raise IntegrityError(
            f"it states {outside['charge_day'][0]}, but was asked for {request.first_day} to {request.last_day}",
            where=source,
            next_step="Report this as a bug; what was known stays.",
        )


def _check_rejects(source: str, rows: int, rejects: pl.DataFrame, most: float) -> None:
    left_out = int(rejects["rows"].sum())
    if left_out > most * rows:
        reasons = "; ".join(f"{one['rows']:,} {one['reason']} ({one['example']})" for one in rejects.to_dicts())
        raise IntegrityError(
            f"{left_out:,} of {rows:,} charges cannot be read: {reasons}",
            where=source,
            next_step=f"Look at the charges named, or raise costs.max_rejected_ratio ({most:g}). What was known stays.",
        )


def _failed(source: str, error: TuppenceError | None) -> CostOutcome:
    return CostOutcome(
        source=source,
        error=error,
        days=PoundCost.create_empty(),
        restated=RestatedDay.create_empty(),
        rejects=CostRejects.create_empty(),
    )


def _unforeseen(source: str, error: BaseException) -> SettingsError:
    return SettingsError(
        f"an unforeseen fault ({type(error).__name__})",
        where=f"costs.{source}",
        next_step="Report this as a bug with the lines of the log; what was known stays.",
    )
