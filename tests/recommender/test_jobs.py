"""When evaluations run: at once, then every interval, one at a time, late ones caught up once."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

from recommender.jobs import EVALUATION_JOB, PUBLICATION_JOB, VERIFICATION_JOB, next_run, scheduler_for
from tests.servers.prometheus import wait_until


def test_the_first_evaluation_is_due_at_once_and_the_next_an_interval_later() -> None:
    ran = threading.Event()
    first = datetime.now(UTC)
    scheduler = scheduler_for(lambda: ran.set() is None, every_minutes=60, first=first)
    assert next_run(scheduler) == first
    scheduler.start()
    try:
        assert ran.wait(10)
        due = wait_until(
            lambda: (at := next_run(scheduler)) is not None and at > first and at,
            seconds=5,
            otherwise=lambda: "not due",
        )
        assert due == first + timedelta(minutes=60)
    finally:
        scheduler.shutdown()


def test_evaluations_never_overlap_and_missed_ones_are_made_up_for_once() -> None:
    scheduler = scheduler_for(lambda: True, every_minutes=5, first=datetime.now(UTC))
    scheduler.start(paused=True)
    try:
        job = scheduler.get_job(EVALUATION_JOB)
        assert (job.max_instances, job.coalesce, job.misfire_grace_time) == (1, True, 3600)
    finally:
        scheduler.shutdown()


def test_an_evaluation_that_was_due_before_the_start_is_caught_up() -> None:
    runs: list[datetime] = []
    late = datetime.now(UTC) - timedelta(minutes=50)
    scheduler = scheduler_for(lambda: runs.append(datetime.now(UTC)) is None, every_minutes=5, first=late)
    scheduler.start()
    try:
        wait_until(lambda: runs, seconds=10, otherwise=lambda: "it did not run")
        assert len(runs) == 1
        due = next_run(scheduler)
        assert due is not None
        assert due > datetime.now(UTC)
    finally:
        scheduler.shutdown()


def test_a_verification_follows_the_first_evaluation_and_comes_once_a_day() -> None:
    ran: list[str] = []
    first = datetime.now(UTC)
    scheduler = scheduler_for(
        lambda: ran.append("evaluate") is None,
        verify=lambda: ran.append("verify") is None,
        every_minutes=60,
        first=first,
    )
    scheduler.start()
    try:
        wait_until(lambda: len(ran) == 2, seconds=10, otherwise=lambda: str(ran))
        assert ran == ["evaluate", "verify"]
        due = wait_until(
            lambda: (
                (at := next_run(scheduler, VERIFICATION_JOB)) is not None and at > first + timedelta(hours=1) and at
            ),
            seconds=5,
            otherwise=lambda: "not due",
        )
        assert due == first + timedelta(days=1, seconds=1)
    finally:
        scheduler.shutdown()


def test_a_failed_evaluation_is_tried_again_soon_not_an_interval_later() -> None:
    runs: list[bool] = []

    def fails_once() -> bool:
        runs.append(bool(runs))
        return runs[-1]

    scheduler = scheduler_for(
        fails_once, every_minutes=60, first=datetime.now(UTC), again_after=timedelta(milliseconds=20)
    )
    scheduler.start()
    try:
        wait_until(lambda: len(runs) == 2, seconds=10, otherwise=lambda: str(runs))
        assert runs == [False, True]
    finally:
        scheduler.shutdown()


def test_a_round_to_the_hub_follows_the_first_evaluation_and_comes_at_an_interval_of_its_own() -> None:
    ran: list[str] = []
    first = datetime.now(UTC)
    scheduler = scheduler_for(
        lambda: ran.append("evaluate") is None,
        publish=lambda: ran.append("publish") is None,
        publish_every_minutes=7,
        publish_jitter_seconds=20,
        every_minutes=60,
        first=first,
    )
    scheduler.start()
    try:
        wait_until(lambda: len(ran) == 2, seconds=10, otherwise=lambda: str(ran))
        assert ran == ["evaluate", "publish"]
        due = wait_until(
            lambda: (
                (at := next_run(scheduler, PUBLICATION_JOB)) is not None and at > first + timedelta(minutes=1) and at
            ),
            seconds=5,
            otherwise=lambda: "not due",
        )
        assert abs(due - (first + timedelta(minutes=7, seconds=2))) <= timedelta(seconds=20)
    finally:
        scheduler.shutdown()
