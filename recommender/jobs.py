"""Says when: one evaluation now and one each interval, never two at a time. What it does is serving.py's affair.

An interval job runs in UTC, so no change of the clocks makes it run twice or not at all.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.interval import IntervalTrigger

Scheduler = BackgroundScheduler

EVALUATION_JOB = "evaluate"
AGAIN_AFTER_FAILURE = timedelta(minutes=1)


def scheduler_for(
    evaluate: Callable[[], bool],
    *,
    every_minutes: int,
    first: datetime,
    again_after: timedelta = AGAIN_AFTER_FAILURE,
) -> BackgroundScheduler:
    """This will return a scheduler, not yet started, that evaluates at `first` and each interval after it.

    Args:
        evaluate: one evaluation; it notes its own failure and tells whether it succeeded.
        every_minutes: the interval.
        first: when the first one is due.
        again_after: the pause after a failed one, where the interval is longer: prices that an exporter has yet to
            write need not wait an hour.
    """
    scheduler = BackgroundScheduler(
        timezone=UTC,
        executors={"default": ThreadPoolExecutor(1)},
        job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": 3600},
    )
    trigger = IntervalTrigger(minutes=every_minutes, timezone=UTC)

    def run() -> None:
        soon = datetime.now(UTC) + again_after
        if not evaluate() and (due := next_run(scheduler)) is not None and due > soon:
            scheduler.modify_job(EVALUATION_JOB, next_run_time=soon)

    scheduler.add_job(run, trigger, id=EVALUATION_JOB, next_run_time=first)
    return scheduler


def next_run(scheduler: BackgroundScheduler) -> datetime | None:
    """This will return when the next evaluation is due."""
    job = scheduler.get_job(EVALUATION_JOB)
    return None if job is None else job.next_run_time
