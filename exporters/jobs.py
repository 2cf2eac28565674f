"""Says when: one job a source, in its own thread, with jitter; a slow or broken cloud never delays another.

Interval jobs run in UTC; what must happen at a wall-clock hour is none of the exporter's business.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.interval import IntervalTrigger

from exporters.fetch.contract import Source
from exporters.refresh import Refresher

Scheduler = BackgroundScheduler

JITTER_RATIO = 0.1
EXPIRY_SECONDS = 60
LOOK_SECONDS = 300
HOUSEKEEPING = frozenset({"expire", "look"})
"""Jobs that refresh no source."""


@dataclass(frozen=True, slots=True)
class CostJob:
    """What brings costs.

    Args:
        name: as the status page names it.
        minutes: between two runs.
        run: what is done; it never raises.
        first: the first time; None: at once.
    """

    name: str
    minutes: int
    run: Callable[[], None]
    first: datetime | None = None


def scheduler_for(
    refresher: Refresher,
    *,
    publish: Callable[[], None],
    expire: Callable[[datetime], bool],
    look: Callable[[], None],
    fetch: bool = True,
    costs: Sequence[CostJob] = (),
) -> BackgroundScheduler:
    """This will return a scheduler, not yet started, that keeps every enabled source and the rates fresh.

    Args:
        refresher: takes one source through the stages.
        publish: called after each refresh that brought something new.
        expire: called every minute with the time, so that stale series stop without a refresh.
        look: called every five minutes, to take up what other processes wrote to the store.
        fetch: False: nothing is refreshed; what the store holds still grows old, and is still looked at.
        costs: what reads billing exports and asks sources of costs.
    """
    sources = refresher.enabled() if fetch else ()
    scheduler = BackgroundScheduler(
        timezone=UTC,
        executors={"default": ThreadPoolExecutor(len(sources) + 1 + len(costs) + len(HOUSEKEEPING))},
        job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": 3600},
    )
    now = refresher.clock.now()

    if fetch:
        minutes = refresher.settings.sources.fx.refresh_minutes
        _every(scheduler, "fx", minutes, partial(_rates_job, refresher, publish), first=now)
    for source in sources:
        minutes = refresher.settings.sources.of(source.name).refresh_minutes
        _every(scheduler, source.name, minutes, partial(_source_job, refresher, source, publish), first=now)
    for one in costs if fetch else ():
        _every(scheduler, one.name, one.minutes, one.run, first=one.first or now)
    scheduler.add_job(
        lambda: expire(refresher.clock.now()), IntervalTrigger(seconds=EXPIRY_SECONDS, timezone=UTC), id="expire"
    )
    scheduler.add_job(look, IntervalTrigger(seconds=LOOK_SECONDS, timezone=UTC), id="look")
    return scheduler


def next_runs(scheduler: BackgroundScheduler) -> dict[str, datetime]:
    """This will return when each source is refreshed next."""
    return {
        job.id: job.next_run_time for job in scheduler.get_jobs() if job.id not in HOUSEKEEPING and job.next_run_time
    }


def _rates_job(refresher: Refresher, publish: Callable[[], None]) -> None:
    if refresher.refresh_fx().snapshot is not None:
        publish()


def _source_job(refresher: Refresher, source: Source, publish: Callable[[], None]) -> None:
    if refresher.refresh(source).snapshot is not None:
        publish()


def _every(
    scheduler: BackgroundScheduler, name: str, minutes: int, job: Callable[[], None], *, first: datetime
) -> None:
    trigger = IntervalTrigger(minutes=minutes, jitter=int(minutes * 60 * JITTER_RATIO), timezone=UTC)
    scheduler.add_job(job, trigger, id=name, next_run_time=first)
