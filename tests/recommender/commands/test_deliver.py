"""Delivery as a user types it: once, by channel, looked at beforehand, listed afterwards; exit codes and mistakes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import time_machine
import yaml
from typer.testing import CliRunner, Result

from recommender.commands import deliver as deliver_commands
from recommender.deliver_settings import DeliverSettings
from recommender.delivering import Parcels
from recommender.ledger.deliveries import DeliveryState
from recommender.parcels import link, parcels_of
from recommender.report.deliver.contract import DeliveryUnsureError
from recommender.settings import RecommenderSettings
from recommender.week.calendar import Week
from tests.builders import NOON
from tuppence import app

Run = Callable[..., Result]
OWNERS_TOO = DeliverSettings.model_validate(
    {"channels": [{"type": "file", "name": "any", "folder": "unused", "owners": ["radiology", "studio"]}]}
).channels
_MADE: dict[str, Parcels] = {}


def made_once(settings: RecommenderSettings, week: Week, at: Any) -> Parcels:
    """Reports for all and for two owners, made once for all tests: they are the same each time, and take seconds."""
    if week.id not in _MADE:
        every = settings.deliver.model_copy(update={"channels": OWNERS_TOO})
        _MADE[week.id] = parcels_of(settings.model_copy(update={"deliver": every}), week, at)
    return _MADE[week.id]


@pytest.fixture
def run(company: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """The command on Monday at noon; settings with two folders, one for owners, and a mail server that is away."""
    document = yaml.safe_load(company.read_text(encoding="utf-8"))
    document["ledger"] = {"url": str(tmp_path / "ledger.sqlite")}
    document["deliver"] = {
        "public_url": "https://tuppence.example",
        "channels": [
            {"type": "file", "name": "disk", "folder": str(tmp_path / "all"), "formats": ["md", "csv"]},
            {"type": "file", "name": "teams", "folder": str(tmp_path / "owners"), "owners": ["*"], "formats": ["json"]},
            {
                "type": "smtp",
                "name": "mail",
                "host": "127.0.0.1",
                "port": 9,
                "security": "none",
                "sender": "tuppence@example.org",
                "to": ["finops@example.org"],
            },
        ],
    }
    path = tmp_path / "tuppence.yaml"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    monkeypatch.setenv("TUPPENCE_CONFIG", str(path))
    monkeypatch.setattr(deliver_commands, "parcels_of", made_once)
    with time_machine.travel(NOON, tick=False):
        yield lambda *arguments: CliRunner().invoke(app, list(arguments))


def no_answer(*_: object) -> str:
    raise DeliveryUnsureError("the answer did not come", where="channel disk", next_step="Look whether it arrived.")


def rows(result: Result) -> Any:
    return json.loads(result.stdout)


def log(run: Run) -> list[tuple[str, str, str]]:
    return [(one["channel"], one["scope"], one["state"]) for one in rows(run("deliveries", "-o", "json"))]


def test_a_dry_run_says_what_would_go_where_and_writes_nothing(run: Run, tmp_path: Path) -> None:
    result = run("deliver", "--dry-run", "-o", "json")
    assert result.exit_code == 0
    found = {(one["channel"], one["scope"]): one for one in rows(result)}
    assert found["mail", "all"]["to"] == "finops@example.org"
    assert found["mail", "all"]["bytes"] > 10_000
    assert ("teams", "radiology") in found
    assert found["disk", "all"]["to"] == str(tmp_path / "all")
    assert not (tmp_path / "all").exists()
    assert not (tmp_path / "ledger.sqlite").exists()


def test_the_link_in_a_report_leads_to_its_week_and_without_an_address_there_is_none() -> None:
    week = Week.parse("2026-W48")
    assert link(DeliverSettings(public_url="https://tuppence.example/"), week) == (
        "https://tuppence.example/reports/2026-W48"
    )
    assert link(DeliverSettings(), week) == ""


def test_a_dry_run_names_what_a_channel_lacks_and_never_a_secret(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "tuppence.yaml"
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    (tmp_path / "plain").write_text("http://hooks.example/services/SECRET")
    (tmp_path / "url").write_text("https://hooks.example/services/SECRET\n")
    document["deliver"]["channels"] = [
        {"type": "slack", "name": "chat", "url_file": str(tmp_path / "url")},
        {"type": "slack", "name": "plain", "url_file": str(tmp_path / "plain")},
        {"type": "teams", "name": "away", "url_file": str(tmp_path / "nowhere")},
    ]
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    result = run("deliver", "--dry-run", "-o", "json")
    assert "SECRET" not in result.output
    to = {one["channel"]: (one["to"], one["problem"]) for one in rows(result)}
    assert to["chat"] == ("hooks.example", "")
    assert "not an https:// URL" in to["plain"][1]
    assert "cannot be read" in to["away"][1]


def test_what_was_sent_is_not_sent_again_and_what_failed_is(run: Run, tmp_path: Path) -> None:
    first = run("deliver", "--channel", "disk", "--channel", "mail", "-o", "json")
    assert first.exit_code == 1, "no mail server answers"
    assert [(one["channel"], one["state"], one["attempt"]) for one in rows(first)] == [
        ("disk", "sent", 1),
        ("mail", "failed", 1),
    ]
    names = {path.name for path in (tmp_path / "all").iterdir()}
    assert names == {f"tuppence-2026-W48-all.{form}" for form in ("md", "csv")}
    second = run("deliver", "--channel", "disk", "--channel", "mail", "-o", "json")
    assert [(one["channel"], one["state"], one["attempt"]) for one in rows(second)] == [
        ("disk", "sent", 1),
        ("mail", "failed", 2),
    ]
    assert run("deliver", "--channel", "disk").exit_code == 0
    assert log(run) == [
        ("disk", "all", "claimed"),
        ("disk", "all", "sent"),
        *[("mail", "all", "claimed"), ("mail", "all", "failed")] * 2,
    ]


def test_an_owners_report_holds_what_is_theirs_and_nothing_of_others(run: Run, tmp_path: Path) -> None:
    assert run("deliver", "--channel", "teams").exit_code == 0
    text = (tmp_path / "owners" / "tuppence-2026-W48-radiology.json").read_text(encoding="utf-8")
    document = json.loads(text)
    assert {one["owner"] for one in document["placements"]} == {"radiology"}
    current = sum(one["current_gbp_per_hour"] for one in document["placements"])
    assert document["summary"]["current_gbp_per_hour"] == pytest.approx(current)
    assert "studio" not in text
    assert "e-commerce" not in text


def test_what_is_unknown_is_sent_again_only_with_again(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("recommender.delivering.send", no_answer)
        result = run("deliver", "--channel", "disk", "-o", "json")
    assert (result.exit_code, rows(result)[0]["state"]) == (1, DeliveryState.UNKNOWN)
    assert "look whether it arrived" in result.stderr
    assert run("deliver", "--channel", "disk").exit_code == 1
    result = run("deliver", "--channel", "disk", "--again", "-o", "json")
    assert (result.exit_code, rows(result)[0]["state"], rows(result)[0]["attempt"]) == (0, "sent", 2)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--channel", "fax"], "there is no channel 'fax'"),
        (["--week", "2026-W49"], "2026-W49 has not ended (2026-12-07 00:00 UTC)"),
        (["--week", "2026-W50", "--dry-run"], "2026-W50 has not ended"),
    ],
)
def test_mistakes_are_said_before_anything_is_evaluated(run: Run, arguments: list[str], says: str) -> None:
    result = run("deliver", *arguments)
    assert (result.exit_code, says in result.stderr) == (2, True)


def test_settings_without_a_channel_are_told_where_one_goes(run: Run, company: Path) -> None:
    result = run("deliver", "--config", str(company))
    assert result.exit_code == 2
    assert "deliver.channels: no channel is set" in result.stderr


def test_before_the_first_delivery_the_log_is_empty_in_every_form(run: Run) -> None:
    assert "Nothing was delivered yet" in run("deliveries").stderr
    assert rows(run("deliveries", "-o", "json")) == []
    assert run("deliveries", "-o", "csv").stdout == "number,at,week,scope,channel,attempt,state,detail\n"


def test_the_log_as_a_table_has_times_that_people_read(run: Run) -> None:
    assert run("deliver", "--channel", "disk").exit_code == 0
    shown = run("deliveries").stdout
    assert "2026-11-30 12:00:00 UTC" in shown
    assert "2 files in" in shown
