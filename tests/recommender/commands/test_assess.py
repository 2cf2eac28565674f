"""assess and feedback as a user types them, over the demonstration's company with a ledger of its own."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import time_machine
import yaml
from typer.testing import CliRunner, Result

from recommender.advise.assess_record import MODES, Assessment
from recommender.advise.record import Recommendation, State
from recommender.cli import load_settings
from recommender.ledger.feedback import Evidence
from recommender.ledger.store import Ledger
from recommender.recorded import recorded
from tests.builders import NOON
from tests.recommender.ledger.remembering import standing_of
from tests.recommender.observe.test_decisions import placement, placement_decision
from tuppence import app

Run = Callable[..., Result]


@pytest.fixture(scope="module")
def config(company: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("assessed")
    document = yaml.safe_load(company.read_text(encoding="utf-8"))
    document["ledger"] = {"url": str(folder / "ledger.sqlite")}
    path = folder / "tuppence.yaml"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return path


@pytest.fixture(autouse=True)
def noon() -> Iterator[None]:
    with time_machine.travel(NOON, tick=False):
        yield


@pytest.fixture
def run(config: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("TUPPENCE_CONFIG", str(config))
    return lambda *arguments, **more: CliRunner().invoke(app, list(arguments), **more)


@pytest.fixture(scope="module")
def moves(config: Path) -> list[Recommendation]:
    """What is advised to move to another cluster, and is in the ledger."""
    with time_machine.travel(NOON, tick=False):
        plan = recorded(load_settings(config), at=NOON, now=NOON).plan
    return [one for one in plan.recommendations if one.current.cluster != one.recommended.cluster]


def state_of(config: Path, identifier: str) -> tuple[State, str]:
    now = standing_of(Ledger.at(load_settings(config).ledger), identifier, at=NOON)
    return now.state, now.author


def dump(folder: Path, *objects: dict[str, Any], name: str = "dump.json") -> str:
    path = folder / name
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}), encoding="utf-8")
    return str(path)


def test_the_report_and_the_assessment_link_each_other_and_its_shape_is_the_published_one(
    run: Run, tmp_path: Path
) -> None:
    names = [word for name in ("html", "md", "json") for word in ("--format", name)]
    done = run("report", "--assessment", "--no-ledger", "--out", str(tmp_path), *names)
    assert done.exit_code == 0, done.stderr
    texts = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}
    assert 'href="assessment.html"' in texts["report-2026-W48.html"]
    assert "](assessment.md)" in texts["report-2026-W48.md"]
    assert 'href="report-2026-W48.html"' in texts["assessment.html"]
    assert "](report-2026-W48.md)" in texts["assessment.md"]
    found = Assessment.model_validate_json(texts["assessment.json"])
    assert [one.mode for one in found.steps] == list(MODES)
    assert len(found.clusters) == 5
    assert found.pilots
    assert found.pending_on_other_scheduler is None
    every = [
        (one.cluster, one.namespace, one.workload_kind, one.workload) for one in (*found.pilots, *found.not_for_pilot)
    ]
    assert len(every) == len(set(every)) == sum(one.workloads for one in found.clusters)


def test_tables_say_what_is_missing_and_with_prices_of_a_day_before_how_steady_the_choice_is(run: Run) -> None:
    """A day later prices of noon stand and usage ended before: every cluster that was cheapest still is."""
    shown = run("assess", "--at", "2026-12-01T13:00:00Z").stdout
    assert "Not yet from recommend to shadow. Not met: " in shown
    for title in ("What the clusters cost now", "Workloads that suit a pilot", "From pilot to publish"):
        assert title in shown
    steady = next(line.split() for line in shown.splitlines() if line.startswith("Steady scores"))
    assert steady[2:7] == ["100%", "at", "least", "95%", "yes"]


def test_an_unknown_format_is_a_usage_error(run: Run, tmp_path: Path) -> None:
    done = run("assess", "--out", str(tmp_path), "--format", "pdf")
    assert done.exit_code == 2
    assert "there is no format 'pdf'" in done.stderr


def test_what_a_scheduler_decided_is_written_down_once_and_a_dry_run_writes_nothing(
    run: Run, config: Path, moves: list[Recommendation], tmp_path: Path
) -> None:
    one = moves[0]
    objects = (placement(ids=one.id), placement_decision(one.recommended.cluster))
    dry = run("feedback", "--decisions", dump(tmp_path, *objects), "--dry-run", "-o", "json")
    assert [row["recorded"] for row in json.loads(dry.stdout)] == [True]
    assert state_of(config, one.id)[0] is State.OPEN
    [row] = json.loads(run("feedback", "--decisions", dump(tmp_path, *objects), "-o", "json").stdout)
    assert (row["outcome"], row["recommendation_id"], row["recorded"]) == ("as-advised", one.id, True)
    assert state_of(config, one.id) == (State.IMPLEMENTED, "scheduler")
    [again] = json.loads(run("feedback", "--decisions", dump(tmp_path, *objects), "-o", "json").stdout)
    assert (again["outcome"], again["recorded"]) == ("already-carried-out", False)
    assert "Placement pilot/web" in run("feedback", "--decisions", dump(tmp_path, *objects)).stdout


def test_decisions_are_read_from_standard_input_and_as_yaml(run: Run, moves: list[Recommendation]) -> None:
    text = yaml.safe_dump_all([placement(ids=moves[1].id), placement_decision("moon")])
    [row] = json.loads(run("feedback", "--decisions", "-", "-o", "json", input=text).stdout)
    assert (row["outcome"], row["why"]) == ("unknown-cluster", "moon is no cluster of the settings")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "it holds nothing"),
        ("---\n---\n", "it holds nothing"),
        ("a: [1\nb: 2", "line 2: it is neither YAML nor JSON"),
        ("just words", "an entry is no Kubernetes object"),
        ('{"kind": "List", "apiVersion": "v1", "items": []}', "it holds nothing"),
        (
            '{"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "p"}}',
            "there is no PlacementDecision and no Workload in it",
        ),
    ],
)
def test_a_file_that_holds_no_decision_is_a_usage_error(run: Run, tmp_path: Path, text: str, what: str) -> None:
    path = tmp_path / "dump.yaml"
    path.write_text(text, encoding="utf-8")
    done = run("feedback", "--decisions", str(path))
    assert done.exit_code == 2
    assert what in done.stderr


def test_a_file_that_is_not_there_is_a_usage_error(run: Run, tmp_path: Path) -> None:
    done = run("feedback", "--decisions", str(tmp_path / "none.json"))
    assert (done.exit_code, "it cannot be read" in done.stderr) == (2, True)


def test_who_carried_it_out_is_kept(run: Run, config: Path, moves: list[Recommendation]) -> None:
    one, address = moves[2], "https://git.example.org/platform/pull/7"
    done = run("implemented", one.id, "--by", address, "--author", "ann", "-o", "json")
    [row] = json.loads(done.stdout)
    assert (row["state"], row["author"], row["reason"]) == ("implemented", "ann", address)
    ledger = Ledger.at(load_settings(config).ledger)
    with ledger.reading() as reader:
        [text] = reader.documents([reader.histories()[one.id][-1]]).values()
    assert Evidence.model_validate_json(text) == Evidence(by="pull-request", reference=address)
