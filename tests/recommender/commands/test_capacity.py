"""Bursts as a user meets them: advised, listed, explained, decided and carried out, over a company that is short."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import time_machine
import yaml
from typer.testing import CliRunner, Result

from exporters.core.errors import SourceError
from recommender import recorded
from recommender.cli import load_settings
from recommender.ledger.memory import memory_of
from recommender.ledger.store import Ledger
from tests.builders import NOON
from tuppence import app

BURST = "gke-europe-west2"


def short_company(company: Path, folder: Path, **changes: Any) -> Path:
    """The demonstration's company with one node of four L4 instead of five, for eight GPUs that are asked for."""
    document = yaml.safe_load(company.read_text(encoding="utf-8"))
    document["ledger"] = {"url": str(folder / "ledger.sqlite")}
    (home,) = [one for one in document["clusters"] if one["name"] == "onprem-lon-1"]
    (pool,) = [one for one in home["pools"] if one["name"] == "gpu-l4"]
    pool |= {"nodes_min": 1, "nodes_max": 1}
    document |= changes
    path = folder / "tuppence.yaml"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def config(company: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return short_company(company, tmp_path_factory.mktemp("short"))


@pytest.fixture(scope="module")
def _at_noon() -> Iterator[None]:
    with time_machine.travel(NOON, tick=False):
        yield


def run(config: Path, *arguments: str) -> Result:
    return CliRunner().invoke(app, [*arguments, "--config", str(config)])


def told(result: Result) -> Any:
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


@pytest.mark.usefixtures("_at_noon")
def test_a_burst_goes_from_advice_to_a_running_one(config: Path) -> None:
    plan = told(run(config, "recommend", "-o", "json"))
    (burst,) = plan["capacity"]
    assert (burst["kind"], burst["target"]["resource_class"], burst["recommended"]["cluster"]) == ("burst", "L4", BURST)
    listed = told(run(config, "list", "-o", "json"))
    assert [row["state"] for row in listed if row["recommendation_id"] == burst["id"]] == ["open"]

    explained = run(config, "explain", burst["id"][:8])
    assert explained.exit_code == 0
    assert burst["title"] in explained.stdout
    assert "Demand 8" in explained.stdout

    assert told(run(config, "accept", burst["id"], "--author", "ann", "-o", "json"))[0]["state"] == "accepted"
    (again,) = told(run(config, "burst", "-o", "json"))["recommendations"]
    assert (again["id"], again["state"]) == (burst["id"], "accepted")
    told(run(config, "implemented", burst["id"], "--author", "ann", "-o", "json"))
    with Ledger.at(load_settings(config).ledger).reading() as reader:
        (running,) = memory_of(reader, at=NOON).running
    assert [move.workload for move in running.moves] == ["dictation"]
    found = told(run(config, "burst", "-o", "json"))
    assert [(row["workload"], row["at_cluster"], row["is_due"]) for row in found["returns"]] == [
        ("dictation", BURST, False)
    ]
    # The usage that is read ended before it: the same shortage does not burst twice.
    assert found["recommendations"] == []


@pytest.mark.usefixtures("_at_noon")
def test_the_table_shows_a_burst_with_its_times(config: Path) -> None:
    shown = run(config, "recommend", "--no-ledger").stdout
    assert "Bursts and owned capacity" in shown
    assert "ask for nodes by" in shown


@pytest.mark.usefixtures("_at_noon")
def test_a_burst_that_rests_on_usage_of_hours_ago_is_not_sure(config: Path) -> None:
    (burst,) = told(run(config, "burst", "--no-ledger", "-o", "json"))["recommendations"]
    assert burst["risk"]["confidence"] == "low"
    assert "usage is known until 2026-11-30 00:05 UTC only" in burst["risk"]["confidence_why"]


@pytest.mark.usefixtures("_at_noon")
def test_a_short_history_is_said_and_is_no_failure(company: Path, tmp_path: Path) -> None:
    config = short_company(company, tmp_path, forecast={"min_history_hours": 400})
    plan = told(run(config, "recommend", "--no-ledger", "-o", "json"))
    (gap,) = [one for one in plan["not_enough_data"] if one["reason"] == "capacity-no-forecast"]
    assert gap["cluster"] == "onprem-lon-1"
    assert plan["capacity"][0]["risk"]["confidence"] == "low"
    assert plan["recommendations"]


def test_where_the_next_hour_cannot_be_read_the_plan_stands_and_says_so(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise SourceError("too many samples were asked for", where="http://prometheus", next_step="Ask for fewer days.")

    monkeypatch.setattr(recorded, "ahead_at", fails)
    plan = recorded.unrecorded(load_settings(config), at=NOON)
    assert plan.recommendations
    assert plan.capacity == ()
    (gap,) = [one for one in plan.not_enough_data if one.reason == "capacity-failed"]
    assert gap.cluster == "onprem-lon-1"
    assert "too many samples" in gap.why
