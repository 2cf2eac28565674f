"""When evaluations run: at once, then every interval, one at a time, late ones caught up once."""

from __future__ import annotations

import socket
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from recommender.deliver_settings import DeliverSettings
from recommender.delivering import deliver_due
from recommender.jobs import (
    DELIVERY_AGAIN_JOB,
    DELIVERY_JOB,
    EVALUATION_JOB,
    PUBLICATION_JOB,
    VERIFICATION_JOB,
    add_delivery,
    next_run,
    scheduler_for,
)
from recommender.ledger.store import Ledger
from recommender.report.deliver.contract import Parcel
from recommender.settings import LedgerSettings
from tests.recommender.report.example import example
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


@pytest.mark.parametrize(
    ("before", "then"),
    [
        ("2026-11-25T12:00", "2026-11-30T09:00"),
        ("2026-03-28T12:00", "2026-03-30T08:00"),
        ("2026-10-24T12:00", "2026-10-26T09:00"),
    ],
    ids=["winter", "the clocks go forward on Sunday", "the clocks go back on Sunday"],
)
def test_reports_go_out_on_monday_at_nine_by_londons_clock(before: str, then: str) -> None:
    scheduler = scheduler_for(lambda: True, every_minutes=60, first=datetime.now(UTC))
    add_delivery(scheduler, lambda: True, DeliverSettings(), first=datetime.now(UTC))
    due = scheduler.get_job(DELIVERY_JOB).trigger.get_next_fire_time(None, datetime.fromisoformat(f"{before}+00:00"))
    assert due == datetime.fromisoformat(f"{then}+00:00")


def test_what_was_missed_is_looked_for_at_the_start_and_after_each_pause() -> None:
    rounds: list[datetime] = []
    first = datetime.now(UTC)
    scheduler = scheduler_for(lambda: True, every_minutes=60, first=first)
    add_delivery(scheduler, lambda: rounds.append(datetime.now(UTC)), DeliverSettings(retry_minutes=7), first=first)
    scheduler.start()
    try:
        wait_until(lambda: rounds, seconds=10, otherwise=lambda: "it did not run")
        due = wait_until(
            lambda: (at := next_run(scheduler, DELIVERY_AGAIN_JOB)) is not None and at > first and at,
            seconds=5,
            otherwise=lambda: "not due",
        )
        assert due == first + timedelta(minutes=7)
    finally:
        scheduler.shutdown()


def test_a_mail_server_that_hangs_holds_up_no_evaluation(tmp_path: Path) -> None:
    evaluated, delivered = threading.Event(), threading.Event()
    ledger = Ledger.at(LedgerSettings(url=str(tmp_path / "ledger.sqlite")))
    with socket.create_server(("127.0.0.1", 0)) as hanging:
        mail = {"type": "smtp", "name": "mail", "host": "127.0.0.1", "port": hanging.getsockname()[1]}
        mail |= {"security": "none", "sender": "a@b.c", "to": ["d@e.f"], "timeout_seconds": 30}
        settings = DeliverSettings.model_validate({"channels": [mail]})

        def deliver() -> None:
            at = datetime(2026, 11, 30, 9, tzinfo=UTC)
            deliver_due(ledger, settings, now=lambda: at, make=lambda _week: {"": Parcel(example(), "")})
            delivered.set()

        first = datetime.now(UTC)
        scheduler = scheduler_for(lambda: evaluated.set() is None, every_minutes=60, first=first + timedelta(seconds=1))
        add_delivery(scheduler, deliver, settings, first=first)
        scheduler.start()
        try:
            connection, _ = hanging.accept()
            assert evaluated.wait(15)
            assert not delivered.is_set(), "the delivery still waits for the server's first word"
            connection.close()
            assert delivered.wait(15)
        finally:
            scheduler.shutdown()
