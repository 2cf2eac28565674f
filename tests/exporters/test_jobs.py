"""Jobs: each source in its own time; a slow one delays nobody."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime

from exporters.core.clock import SystemClock
from exporters.fetch.contract import Source
from exporters.fetch.registry import SOURCES
from exporters.jobs import HOUSEKEEPING, next_runs, scheduler_for
from exporters.publish.health import Health
from exporters.refresh import Outcome, Refresher
from exporters.settings import ExporterSettings
from exporters.store.shelf import open_shelf
from tests.builders import snapshot


@dataclass
class Recorded:
    """Counts publications and holds slow sources until released."""

    published: threading.Event = field(default_factory=threading.Event)
    release: threading.Event = field(default_factory=threading.Event)


class TwoSources(Refresher):
    """A refresher whose book hangs until released and whose rate card is quick."""

    def enabled(self) -> tuple[Source, ...]:
        return tuple(source for source in SOURCES if source.name in {"onprem", "book"})

    def refresh(self, source: Source) -> Outcome:
        if source.name == "book":
            recorded.release.wait(10)
        return Outcome(source=source.name, snapshot=snapshot(source.name), error=None)

    def refresh_fx(self) -> Outcome:
        return Outcome(source="fx", snapshot=None, error=None)


recorded = Recorded()


def two_sources(tmp_path: object) -> TwoSources:
    return TwoSources(settings=ExporterSettings(), shelf=open_shelf(str(tmp_path)), clock=SystemClock(), log=Health())


def test_a_source_that_hangs_delays_no_other(tmp_path: object) -> None:
    scheduler = scheduler_for(
        two_sources(tmp_path), publish=recorded.published.set, expire=lambda now: False, look=lambda: None
    )
    scheduler.start()
    try:
        assert recorded.published.wait(5)
        assert not recorded.release.is_set()
    finally:
        recorded.release.set()
        scheduler.shutdown()


def test_every_source_and_the_rates_have_a_next_run(tmp_path: object) -> None:
    scheduler = scheduler_for(two_sources(tmp_path), publish=lambda: None, expire=lambda now: False, look=lambda: None)
    scheduler.start(paused=True)
    try:
        assert set(next_runs(scheduler)) == {"fx", "onprem", "book"}
        assert all(moment <= datetime.now(UTC) for moment in next_runs(scheduler).values())
    finally:
        scheduler.shutdown()


def test_jobs_are_never_doubled_and_a_late_one_still_runs(tmp_path: object) -> None:
    scheduler = scheduler_for(two_sources(tmp_path), publish=lambda: None, expire=lambda now: False, look=lambda: None)
    scheduler.start(paused=True)
    try:
        for job in scheduler.get_jobs():
            assert job.max_instances == 1
            assert job.coalesce
            assert job.misfire_grace_time >= 3600
    finally:
        scheduler.shutdown()


def test_a_refresh_that_brings_nothing_new_publishes_nothing(tmp_path: object) -> None:
    published = threading.Event()
    asked = threading.Event()

    class Failing(TwoSources):
        def enabled(self) -> tuple[Source, ...]:
            return ()

        def refresh_fx(self) -> Outcome:
            asked.set()
            return Outcome(source="fx", snapshot=None, error=None)

    refresher = Failing(settings=ExporterSettings(), shelf=open_shelf(str(tmp_path)), clock=SystemClock(), log=Health())
    scheduler = scheduler_for(refresher, publish=published.set, expire=lambda now: False, look=lambda: None)
    scheduler.start()
    try:
        assert asked.wait(5)
    finally:
        scheduler.shutdown()
    assert not published.is_set()


def test_without_fetching_prices_still_grow_old_and_the_store_is_still_looked_at(tmp_path: object) -> None:
    scheduler = scheduler_for(
        two_sources(tmp_path), publish=lambda: None, expire=lambda now: False, look=lambda: None, fetch=False
    )
    scheduler.start(paused=True)
    try:
        assert {job.id for job in scheduler.get_jobs()} == HOUSEKEEPING
        assert next_runs(scheduler) == {}
    finally:
        scheduler.shutdown()
