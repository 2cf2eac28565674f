"""Delivery by the ledger: once a week and scope whoever asks, again after a failure, never again after no answer."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from exporters.core.errors import SettingsError
from recommender.deliver_settings import DeliverSettings
from recommender.delivering import Parcels, deliver, deliver_due, only
from recommender.ledger.deliveries import DeliveryState
from recommender.ledger.store import Ledger
from recommender.report.deliver.contract import Parcel
from recommender.settings import LedgerSettings
from recommender.week.calendar import Week
from tests.recommender.report.example import example

WEEK = Week.parse("2026-W48")
MONDAY_NINE = datetime(2026, 11, 30, 9, tzinfo=UTC)


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = MONDAY_NINE

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """This will return an empty ledger in a file."""
    return Ledger.at(LedgerSettings(url=str(tmp_path / "ledger.sqlite")))


@pytest.fixture
def hook(tmp_path: Path) -> Iterator[tuple[list[int], DeliverSettings]]:
    """This will run a Slack-like server; yields the answers it will give (then 200 for ever), and settings."""
    answers: list[int] = []
    counted: list[int] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            status = answers.pop(0) if answers else 200
            counted.append(status)
            self.send_response(status)
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    (tmp_path / "url").write_text(f"http://127.0.0.1:{server.server_address[1]}/hook")
    channel = {"type": "slack", "name": "chat", "url_file": str(tmp_path / "url")}
    settings = DeliverSettings.model_validate({"channels": [channel]})
    yield counted, settings
    server.shutdown()
    thread.join()
    server.server_close()
    assert not answers, "every answer was asked for"


def _parcels(_week: Week) -> Parcels:
    return {scope: Parcel(example(), scope) for scope in ("", "studio", "radiology")}


def _never(_week: Week) -> Parcels:
    raise AssertionError("no report is needed")


def test_a_due_report_goes_out_once_and_costs_nothing_afterwards(ledger: Ledger, hook: Any) -> None:
    counted, settings = hook
    clock = Clock()
    first = deliver_due(ledger, settings, now=clock, make=_parcels)
    clock.now += timedelta(minutes=10)
    second = deliver_due(ledger, settings, now=clock, make=_never)
    assert ([one.state for one in first], second, counted) == ([DeliveryState.SENT], (), [200])


def test_before_its_time_nothing_is_made(ledger: Ledger, hook: Any) -> None:
    _, settings = hook
    early = MONDAY_NINE - timedelta(minutes=1)
    assert deliver_due(ledger, settings, now=lambda: early, make=_never) == ()


def test_two_replicas_at_the_same_moment_send_one(ledger: Ledger, hook: Any) -> None:
    counted, settings = hook
    gate = threading.Barrier(4)

    def replica() -> None:
        gate.wait()
        deliver_due(ledger, settings, now=Clock(), make=_parcels)

    threads = [threading.Thread(target=replica) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert counted == [200]


def test_a_failure_is_kept_with_its_reason_and_tried_again_after_its_pause(
    ledger: Ledger, hook: Any, tmp_path: Path
) -> None:
    counted, settings = hook
    url = (tmp_path / "url").read_text()
    (tmp_path / "url").write_text("http://127.0.0.1:9/x")
    clock = Clock()
    (failed,) = deliver_due(ledger, settings, now=clock, make=_parcels)
    assert failed.state is DeliveryState.FAILED
    assert "ConnectError" in failed.detail
    (tmp_path / "url").write_text(url)
    clock.now += timedelta(minutes=9)
    assert deliver_due(ledger, settings, now=clock, make=_never) == ()
    clock.now += timedelta(minutes=1)
    (sent,) = deliver_due(ledger, settings, now=clock, make=_parcels)
    assert (sent.state, sent.attempt, counted) == (DeliveryState.SENT, 2, [200])


def test_a_sender_that_died_after_its_claim_leaves_it_to_a_person(ledger: Ledger, hook: Any) -> None:
    counted, settings = hook
    clock = Clock()

    def die(_parcel: Parcel, _channel: object) -> str:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("recommender.delivering.send", die)
        with pytest.raises(KeyboardInterrupt):
            deliver_due(ledger, settings, now=clock, make=_parcels)
    clock.now += timedelta(hours=1)
    assert deliver_due(ledger, settings, now=clock, make=_parcels) == ()
    (sent,) = deliver(ledger, settings, WEEK, now=clock, parcels=_parcels(WEEK), again=True)
    assert (sent.state, counted) == (DeliveryState.SENT, [200])


def test_an_error_nobody_foresaw_in_one_channel_keeps_no_report_from_the_next(ledger: Ledger, tmp_path: Path) -> None:
    # A line break in an address is refused by the library that writes mails, not by ours.
    mail = {"type": "smtp", "name": "mail", "host": "127.0.0.1", "port": 9, "security": "none"}
    mail |= {"sender": "a@b.c\nx", "to": ["d@e.f"]}
    disk = {"type": "file", "name": "disk", "folder": str(tmp_path / "out"), "formats": ["md"]}
    settings = DeliverSettings.model_validate({"channels": [mail, disk]})
    broke, sent = deliver_due(ledger, settings, now=Clock(), make=_parcels)
    assert (broke.state, sent.state) == (DeliveryState.UNKNOWN, DeliveryState.SENT)
    assert broke.detail.startswith("ValueError: ")


def test_owners_get_theirs_and_one_that_fails_keeps_none_of_the_others(ledger: Ledger, tmp_path: Path) -> None:
    mail = {
        "type": "smtp",
        "name": "mail",
        "host": "127.0.0.1",
        "security": "none",
        "port": 9,
        "sender": "a@b.c",
        "owners": ["*"],
    }
    disk = {"type": "file", "name": "disk", "folder": str(tmp_path / "out"), "owners": ["*"], "formats": ["md"]}
    settings = DeliverSettings.model_validate({"channels": [mail, disk]})
    made = deliver_due(ledger, settings, now=Clock(), make=_parcels)
    found = {(one.channel, one.scope): one.state.value for one in made}
    assert found == {
        ("mail", "radiology"): "failed",
        ("mail", "studio"): "failed",
        ("disk", "radiology"): "sent",
        ("disk", "studio"): "sent",
    }
    assert "no address is set for radiology" in made[0].detail


def test_a_channel_that_is_not_there_and_no_channel_at_all_are_said(hook: Any) -> None:
    _, settings = hook
    with pytest.raises(SettingsError, match="no channel 'chta'"):
        only(settings, ["chta"])
    with pytest.raises(SettingsError, match="no channel is set"):
        only(DeliverSettings(), [])
    assert [one.name for one in only(settings, ["chat"]).channels] == ["chat"]


def test_a_named_owner_of_whom_nothing_ran_is_warned_of(ledger: Ledger, tmp_path: Path) -> None:
    disk = {"type": "file", "name": "disk", "folder": str(tmp_path), "owners": ["studio", "radiologie"]}
    settings = DeliverSettings.model_validate({"channels": [disk]})
    with capture_logs() as logs:
        (sent,) = deliver(ledger, settings, WEEK, now=Clock(), parcels=_parcels(WEEK))
    assert sent.scope == "studio"
    warned = [one for one in logs if one["event"] == "no_report_for_owner"]
    assert [(one["owner"], one["channel"], one["week"]) for one in warned] == [("radiologie", "disk", "2026-W48")]
