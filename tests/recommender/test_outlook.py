"""Forecast and burst over a company's files, and as a user types them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from exporters.core.config_file import read_document, validate
from exporters.core.sections import ALL_SECTIONS
from recommender.outlook import ahead_at, outlook_at
from recommender.serve.ahead import samples_ahead
from recommender.settings import RecommenderSettings
from tuppence import app

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
MIDNIGHT = datetime(2026, 11, 30, tzinfo=UTC)
Run = Callable[..., Result]


@pytest.fixture
def run(company: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command at Monday noon over the demonstration's company, whose usage ends at midnight."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TUPPENCE_CONFIG", str(company))
    return lambda *arguments: CliRunner().invoke(app, [*arguments, "--at", "2026-11-30T12:00:00Z"])


@pytest.fixture(scope="module")
def company_settings(company: Path) -> RecommenderSettings:
    return validate(read_document(company, {}), RecommenderSettings, known=ALL_SECTIONS)


def test_a_usage_file_that_ended_earlier_is_forecast_from_its_end(company_settings: RecommenderSettings) -> None:
    found = outlook_at(company_settings, at=NOON)
    assert set(found.forecasts.forecasts["visible_until"]) == {MIDNIGHT}


def test_what_a_file_holds_beyond_the_evaluation_is_not_looked_at(company_settings: RecommenderSettings) -> None:
    at = datetime(2026, 11, 27, 9, 30, tzinfo=UTC)
    found = outlook_at(company_settings, at=at)
    assert set(found.forecasts.forecasts["visible_until"]) == {datetime(2026, 11, 27, 9, tzinfo=UTC)}
    assert found.usage.samples["timestamp"].max() == datetime(2026, 11, 27, 8, tzinfo=UTC)
    assert found.demand["timestamp"].max() <= at - timedelta(hours=1)  # type: ignore[operator]


def test_the_forecast_as_json_has_every_series_once_with_its_accuracy(run: Run) -> None:
    result = run("forecast", "-o", "json")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    keys = [(one["cluster"], one["resource"], one["resource_class"]) for one in found["forecasts"]]
    assert len(set(keys)) == len(keys)
    assert ("onprem-lon-1", "gpu", "A100-80GB") in keys
    assert all(one["p90"] >= one["p50"] >= 0 for one in found["forecasts"])
    assert len(found["accuracy"]) == 9 * len(keys)


def test_forecast_and_burst_give_the_same_bytes_again(run: Run) -> None:
    for command in ("forecast", "burst"):
        assert run(command, "-o", "json").stdout_bytes == run(command, "-o", "json").stdout_bytes


def test_the_forecast_as_a_table_says_until_when_it_saw_and_which_model_won(run: Run) -> None:
    shown = run("forecast").stdout
    assert "seen until 2026-11-30 00:00 UTC" in shown
    assert "seasonal-naive-24h" in shown


def test_the_burst_as_json_has_each_owned_class_with_what_its_nodes_admit(run: Run) -> None:
    result = run("burst", "-o", "json")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    (gpus,) = [one for one in found["triggers"] if one["resource_class"] == "A100-80GB"]
    assert gpus["admissible"] >= gpus["demand"]
    assert not gpus["is_needed"]
    assert found["unknown"] == []


def test_the_burst_as_a_table_says_in_a_sentence_how_it_stands(run: Run) -> None:
    assert "No owned pool is short." in run("burst").stdout


def test_lists_come_as_csv_too(run: Run) -> None:
    rows = list(csv.DictReader(io.StringIO(run("forecast", "-o", "csv").stdout)))
    assert {row["cluster"] for row in rows} >= {"onprem-lon-1", "eks-eu-west-2"}
    assert run("burst", "-o", "csv").stdout.startswith("cluster,namespace,workload_kind,workload,to_cluster")


def test_the_next_hour_is_served_as_metrics(company_settings: RecommenderSettings) -> None:
    found = list(samples_ahead(ahead_at(company_settings, at=NOON)))
    value = {(name, labels): number for name, labels, number in found}
    gpus = ("onprem-lon-1", "gpu", "A100-80GB")
    assert len(value) == len(found)
    assert value["tuppence_demand", gpus] <= value["tuppence_capacity", gpus]
    assert value["tuppence_demand_forecast", (*gpus, "p90")] >= value["tuppence_demand_forecast", (*gpus, "p50")]
    assert value["tuppence_burst_needed", gpus] == 0
    assert 0 <= value["tuppence_forecast_wape_ratio", ("persistence",)] < 1
