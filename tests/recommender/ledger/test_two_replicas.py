"""Two services over one ledger, in SQLite and in PostgreSQL: the week's report goes out once, late and retried too."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest

from exporters.core.clock import FixedClock
from exporters.core.web.serving import serving
from recommender.delivering import Parcels
from recommender.ledger.deliveries import DeliveryState, standing_of
from recommender.ledger.store import Ledger
from recommender.report.deliver.contract import Parcel
from recommender.serve.app import create_app
from recommender.serving import RecommenderService
from recommender.settings import LedgerSettings, RecommenderSettings
from recommender.week.calendar import Week
from tests.recommender.report.example import example

MONDAY_NINE = datetime(2026, 11, 30, 9, tzinfo=UTC)
TUESDAY = MONDAY_NINE + timedelta(days=1, hours=2)


def service(ledger: LedgerSettings, *channels: dict[str, Any], at: datetime = MONDAY_NINE) -> RecommenderService:
    """This will return one replica; its clock stands."""
    settings = RecommenderSettings.model_validate({"ledger": ledger, "deliver": {"channels": channels}})
    return RecommenderService(settings, load=lambda: settings, clock=FixedClock(at))


def disk(folder: Path, name: str = "disk", **changes: Any) -> dict[str, Any]:
    return {"type": "file", "name": name, "folder": str(folder), "formats": ["md"]} | changes


def steps(ledger: LedgerSettings) -> list[tuple[str, str, str]]:
    with Ledger.at(ledger).reading() as reader:
        return [(one.channel, one.scope, one.state.value) for one in reader.deliveries()]


@pytest.fixture(autouse=True)
def made(monkeypatch: pytest.MonkeyPatch) -> list[Week]:
    """Reports of the example for whatever week is asked; returns the weeks that were."""
    weeks: list[Week] = []

    def parcels_of(_settings: RecommenderSettings, week: Week, _at: datetime) -> Parcels:
        weeks.append(week)
        return {scope: Parcel(example(), scope) for scope in ("", "radiology", "studio")}

    monkeypatch.setattr("recommender.serving.parcels_of", parcels_of)
    return weeks


def metrics(one: RecommenderService) -> str:
    with serving(create_app(one.app())) as address:
        return httpx2.get(f"{address.url}/metrics", timeout=10).text


def test_two_replicas_that_come_at_once_send_one_report_an_owner(settings: LedgerSettings, tmp_path: Path) -> None:
    channels = disk(tmp_path / "all"), disk(tmp_path / "owners", "owners", owners=["*"])
    replicas = [service(settings, *channels) for _ in range(2)]
    gate = threading.Barrier(2)

    def round_of(one: RecommenderService) -> None:
        gate.wait()
        one.deliver()

    threads = [threading.Thread(target=round_of, args=[one]) for one in replicas]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sent = sorted(step for step in steps(settings) if step[2] == "sent")
    assert sent == [("disk", "", "sent"), ("owners", "radiology", "sent"), ("owners", "studio", "sent")]
    assert len(steps(settings)) == 6, "one claim each"
    assert len(list(tmp_path.glob("owners/*.md"))) == 2


def test_a_service_that_starts_on_tuesday_sends_mondays_report_and_a_restart_does_not_send_it_again(
    settings: LedgerSettings, tmp_path: Path, made: list[Week]
) -> None:
    assert service(settings, disk(tmp_path), at=TUESDAY).deliver()
    assert service(settings, disk(tmp_path), at=TUESDAY + timedelta(minutes=5)).deliver()
    assert ([one.id for one in made], steps(settings)) == (
        ["2026-W48"],
        [("disk", "", "claimed"), ("disk", "", "sent")],
    )


@pytest.mark.parametrize(("monday", "utc_hour"), [("2026-03-30", 8), ("2026-10-26", 9)], ids=["spring", "autumn"])
def test_after_a_sunday_on_which_the_clocks_changed_it_goes_out_at_nine_and_not_before(
    settings: LedgerSettings, tmp_path: Path, made: list[Week], monday: str, utc_hour: int
) -> None:
    nine = datetime.fromisoformat(f"{monday}T{utc_hour:02}:00:00+00:00")
    # A second before nine the last time was a week ago, which is not caught up any more.
    for at in (nine - timedelta(seconds=1), nine):
        one = service(settings, disk(tmp_path), at=at)
        one.deliver()
    assert [one.monday for one in made] == [nine.date() - timedelta(days=7)]


def test_a_failed_delivery_shows_in_the_metrics_and_is_made_up_for_by_the_other_replica(
    settings: LedgerSettings, tmp_path: Path
) -> None:
    (tmp_path / "out").write_text("a file where a folder should be")
    first = service(settings, disk(tmp_path / "out"))
    assert not first.deliver()
    body = metrics(first)
    assert 'tuppence_report_deliveries_total{channel="disk"} 0.0' in body
    assert 'tuppence_report_delivery_failures_total{channel="disk"} 1.0' in body
    assert "tuppence_report_last_success_timestamp_seconds{" not in body
    assert "tuppence_recommender_delivery_success 0.0" in body
    (tmp_path / "out").unlink()
    later = MONDAY_NINE + timedelta(minutes=10)
    second = service(settings, disk(tmp_path / "out"), at=later)
    assert second.deliver()
    body = metrics(second)
    assert 'tuppence_report_deliveries_total{channel="disk"} 1.0' in body
    assert 'tuppence_report_delivery_failures_total{channel="disk"} 1.0' in body
    stamp = next(line for line in body.splitlines() if line.startswith("tuppence_report_last_success"))
    assert float(stamp.split()[1]) == later.timestamp()
    assert "tuppence_recommender_delivery_success 1.0" in body


def test_a_failure_stays_visible_while_it_waits_for_its_next_try(settings: LedgerSettings, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file where a folder should be")
    channel = disk(tmp_path / "out")
    assert not service(settings, channel).deliver()
    assert not service(settings, channel, at=MONDAY_NINE + timedelta(minutes=1)).deliver()
    with Ledger.at(settings).reading() as reader:
        (last,) = standing_of(reader.deliveries(), at=TUESDAY).values()
    assert (last.state, last.attempt) == (DeliveryState.FAILED, 1)


def test_a_report_that_cannot_be_made_is_noted_and_nothing_is_claimed(
    settings: LedgerSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("a mistake of ours")

    monkeypatch.setattr("recommender.serving.parcels_of", fail)
    one = service(settings, disk(tmp_path))
    assert not one.deliver()
    assert steps(settings) == []
    assert "tuppence_recommender_delivery_success 0.0" in metrics(one)


def test_a_named_owner_without_workloads_costs_one_evaluation_a_week(
    settings: LedgerSettings, tmp_path: Path, made: list[Week]
) -> None:
    one = service(settings, disk(tmp_path, owners=["nobody-of-that-name"]))
    for _ in range(3):
        assert one.deliver()
    assert (len(made), steps(settings)) == (1, [])
