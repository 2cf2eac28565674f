"""The recommender's commands as a user types them: data on stdout, everything else on stderr, exit codes kept."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from recommender import cli
from recommender.recorded import recorded, remembered
from tuppence import app

AT = "2026-11-30T12:00:00Z"
Run = Callable[..., Result]


@pytest.fixture
def run(company: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command at Monday noon in a folder of its own, over the demonstration's company."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TUPPENCE_CONFIG", str(company))
    return lambda name, *arguments: CliRunner().invoke(app, [name, "--at", AT, *arguments])


def once(made: dict[Any, Any], evaluate: Callable[..., Any]) -> Callable[..., Any]:
    """An evaluation that is made once for each time and window."""

    def look(*settings: Any, at: Any, window: Any = None, **more: Any) -> Any:
        key = (evaluate, at, window)
        if key not in made:
            made[key] = evaluate(*settings, at=at, window=window, **more)
        return made[key]

    return look


@pytest.fixture(scope="module")
def made() -> dict[Any, Any]:
    """The evaluations of `show`."""
    return {}


@pytest.fixture
def show(run: Run, made: dict[Any, Any], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command like `run`; equal evaluations are made once for all tests that look at what is shown of them."""
    for evaluate in (recorded, remembered):
        monkeypatch.setattr(cli, evaluate.__name__, once(made, evaluate))
    return run


@pytest.fixture(scope="module")
def printed(company: Path) -> bytes:
    result = CliRunner().invoke(app, ["recommend", "--config", str(company), "--at", AT, "-o", "json"])
    assert result.exit_code == 0, result.stderr
    return result.stdout_bytes


@pytest.fixture(scope="module")
def document(printed: bytes) -> dict[str, Any]:
    plan: dict[str, Any] = json.loads(printed)
    return plan


def test_the_plan_as_json_has_what_was_promised(document: dict[str, Any]) -> None:
    promised = {"schema_version", "generated_at", "inputs", "summary", "node_mix", "placements", "recommendations"}
    assert promised | {"refused", "not_enough_data"} <= document.keys()
    assert document["generated_at"] == AT
    assert document["summary"]["saving_gbp_per_month"] > 0


def test_the_same_inputs_give_the_same_bytes(run: Run, printed: bytes) -> None:
    assert run("recommend", "-o", "json").stdout_bytes == printed


def test_the_table_shows_money_confidence_refusals_gaps_and_how_it_is_counted(
    show: Run, document: dict[str, Any]
) -> None:
    result = show("recommend")
    assert result.exit_code == 0, result.stderr
    best = max(document["recommendations"], key=lambda one: one.get("monthly", {"saving": {"p50": 0}})["saving"]["p50"])
    for shown in (f"saves £{best['monthly']['saving']['p50']:,.2f}", best["id"], best["risk"]["confidence"]):
        assert shown in result.stdout
    assert "Refused, and what that costs" in result.stdout
    assert "Not enough data" in result.stdout
    assert "A month is 730 hours." in result.stdout
    assert "Exchange rates: 1 USD = £0.7463 (packaged, 30 October 2026)" in result.stdout
    assert result.stderr == ""


def test_the_csv_is_one_row_a_recommendation(show: Run, document: dict[str, Any]) -> None:
    rows = list(csv.DictReader(io.StringIO(show("recommend", "-o", "csv").stdout)))
    assert [row["x_RecommendationId"] for row in rows] == [one["id"] for one in document["recommendations"]]
    assert "ProviderName" in rows[0]


def test_a_saving_above_the_threshold_ends_with_three(show: Run, document: dict[str, Any]) -> None:
    saving = document["summary"]["saving_gbp_per_month"]
    assert show("recommend", "--fail-above", str(saving - 1), "-o", "csv").exit_code == 3
    assert show("recommend", "--fail-above", str(saving), "-o", "csv").exit_code == 0


def test_a_recommendation_is_explained_down_to_the_price_and_the_thresholds(
    show: Run, document: dict[str, Any]
) -> None:
    one = next(one for one in document["recommendations"] if "guards" in one)
    result = show("explain", one["id"][:8])
    assert result.exit_code == 0, result.stderr
    price = one["prices"][0]
    for shown in (one["title"], one["id"], price["snapshot_id"], "× 0.746330 (packaged, 30 October 2026)"):
        assert shown in result.stdout
    assert "It would not be advised if" in result.stdout
    assert "under £20.00 a month" in result.stdout
    assert json.loads(show("explain", one["id"], "--json").stdout)["id"] == one["id"]


@pytest.mark.parametrize("wrong", ["zzzz", ""])
def test_an_id_that_names_none_or_several_is_a_mistake_of_the_user(show: Run, wrong: str) -> None:
    result = show("explain", wrong)
    assert result.exit_code == 2
    assert "tuppence recommend" in result.stderr


def test_a_report_is_written_in_every_format_for_the_last_whole_week(show: Run, tmp_path: Path) -> None:
    result = show("report", "--out", "out")
    assert result.exit_code == 0, result.stderr
    names = {f"report-2026-W48.{name}" for name in ("html", "md", "json", "csv")}
    assert {path.name for path in (tmp_path / "out").iterdir()} == names
    assert "# Tuppence: Week of 23 November 2026" in (tmp_path / "out" / "report-2026-W48.md").read_text("utf-8")
    assert {Path(line).name for line in result.stdout.splitlines()} == names


def test_a_week_is_asked_for_by_any_of_its_days(show: Run, tmp_path: Path) -> None:
    assert show("report", "--week", "2026-11-25", "--format", "md").exit_code == 0
    assert (tmp_path / "tuppence-report" / "report-2026-W48.md").exists()


def test_a_week_that_has_not_ended_is_refused(show: Run) -> None:
    result = show("report", "--week", "2026-W49")
    assert result.exit_code == 2
    assert "after the evaluation" in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [("recommend", "--at", "yesterday"), ("report", "--week", "soon"), ("report", "--format", "pdf")],
)
def test_arguments_that_are_not_understood_end_with_two(show: Run, arguments: tuple[str, ...]) -> None:
    assert show(*arguments).exit_code == 2


def test_a_missing_store_is_an_error_with_a_next_step(run: Run, tmp_path: Path, company: Path) -> None:
    text = company.read_text(encoding="utf-8")
    settings = tmp_path / "tuppence.yaml"
    settings.write_text(text.replace(str(company.parent / "snapshots"), str(tmp_path / "empty")), encoding="utf-8")
    result = run("recommend", "--config", str(settings))
    assert result.exit_code == 1
    assert "holds no prices" in result.stderr
    assert "tuppence fetch" in result.stderr
    assert result.stdout == ""
