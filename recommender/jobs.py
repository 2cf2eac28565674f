"""Says when: evaluations, a verification a day, rounds to the hub, never two at a time; serving.py says what.

An interval job runs in UTC, so no change of the clocks makes it run twice or not at all. Reports go out by the clock of
their readers and in a thread of their own, so that a mail server that hangs holds up no evaluation.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.cron import CronTrigger
from apscheduler.triggers.interval import IntervalTrigger

from recommender.deliver_settings import DeliverSettings

Scheduler = BackgroundScheduler

EVALUATION_JOB = "evaluate"
VERIFICATION_JOB = "verify"
PUBLICATION_JOB = "publish"
DELIVERY_JOB = "deliver"
"""At the time that the settings name."""
DELIVERY_AGAIN_JOB = "deliver-again"
"""At the start and then regularly: what was missed while nobody ran, and what failed."""
VERIFY_EVERY = timedelta(days=1)
"""A move gains a day of usage a day; what could not be measured yet is looked at again then."""
AGAIN_AFTER_FAILURE = timedelta(minutes=1)


def scheduler_for(
    evaluate: Callable[[], bool],
    *,
    verify: Callable[[], bool] | None = None,
    publish: Callable[[], bool] | None = None,
    publish_every_minutes: int = 5,
    publish_jitter_seconds: int = 0,
    every_minutes: int,
    first: datetime,
    again_after: timedelta = AGAIN_AFTER_FAILURE,
) -> BackgroundScheduler:
    """This will return a scheduler, not yet started, that evaluates at `first` and each interval after it.

    After the first evaluation, and then once a day, it verifies; after it, and then at an interval of their own, come
    rounds to the hub.

    Args:
        evaluate: one evaluation; it notes its own failure and tells whether it succeeded.
        verify: one verification, which does the same; None: it never verifies.
        publish: one round, which does the same; None: there is no hub.
        publish_every_minutes: between two rounds.
        publish_jitter_seconds: most by which a round is early or late, so that many recommenders do not come at once.
        every_minutes: the interval.
        first: when the first one is due.
        again_after: the pause after a failed one, where the interval is longer: prices that an exporter has yet to
            write need not wait an hour.
    """
    scheduler = BackgroundScheduler(
        timezone=UTC,
        executors={"default": ThreadPoolExecutor(1), DELIVERY_JOB: ThreadPoolExecutor(1)},
        job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": 3600},
    )

    def add(name: str, work: Callable[[], bool], every: timedelta, due: datetime, *, jitter: int = 0) -> None:
        def run() -> None:
            soon = datetime.now(UTC) + again_after
            if not work() and (later := next_run(scheduler, name)) is not None and later > soon:
                scheduler.modify_job(name, next_run_time=soon)

        trigger = IntervalTrigger(seconds=int(every.total_seconds()), timezone=UTC, jitter=jitter or None)
        scheduler.add_job(run, trigger, id=name, next_run_time=due)

    add(EVALUATION_JOB, evaluate, timedelta(minutes=every_minutes), first)
    if verify is not None:
        # One thread: it waits for the evaluation that was due before it.
        add(VERIFICATION_JOB, verify, VERIFY_EVERY, first + timedelta(seconds=1))
    if publish is not None:
        every = timedelta(minutes=publish_every_minutes)
        add(PUBLICATION_JOB, publish, every, first + timedelta(seconds=2), jitter=publish_jitter_seconds)
    return scheduler


def next_run(scheduler: BackgroundScheduler, name: str = EVALUATION_JOB) -> datetime | None:
    """This will return when a job is due next."""
    job = scheduler.get_job(name)
    return None if job is None else job.next_run_time


def add_delivery(
    scheduler: BackgroundScheduler, deliver: Callable[[], object], settings: DeliverSettings, *, first: datetime
) -> None:
    """This will let a scheduler deliver reports: at their time, and from `first` on what was missed or failed.

    Args:
        scheduler: from scheduler_for.
        deliver: one round of deliveries; it notes its own failure, and does nothing when nothing is due.
        settings: the day, its time, and the pause after a failure.
        first: when it is looked for what was missed.
    """
    hour, minute = (int(part) for part in settings.time.split(":"))
    weekly = CronTrigger(day_of_week=settings.day[:3], hour=hour, minute=minute, timezone=settings.time_zone)
    again = IntervalTrigger(minutes=settings.retry_minutes, timezone=UTC)
    scheduler.add_job(deliver, weekly, id=DELIVERY_JOB, executor=DELIVERY_JOB)
    scheduler.add_job(deliver, again, id=DELIVERY_AGAIN_JOB, executor=DELIVERY_JOB, next_run_time=first)
