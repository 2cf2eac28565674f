"""`tuppence emit` as a user types it, over the demonstration's company, and what the ledger makes of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from typer.testing import CliRunner, Result

from exporters.core.config_file import read_document, validate
from exporters.core.sections import ALL_SECTIONS
from recommender.advise.record import State
from recommender.emit.registry import SYSTEMS
from recommender.emitted import emit_to, hand_over
from recommender.inputs import policy_of
from recommender.ledger.decide import Decision, decide
from recommender.ledger.events import EventKind
from recommender.ledger.store import Ledger
from recommender.recorded import recorded
from recommender.settings import LedgerSettings, RecommenderSettings
from tests.builders import NOON
from tuppence import app

AT = "2026-11-30T12:00:00Z"


@pytest.fixture(scope="module")
def settings(company: Path) -> RecommenderSettings:
    return validate(read_document(company), RecommenderSettings, known=ALL_SECTIONS)


@pytest.fixture(scope="module")
def run(company: Path) -> Callable[..., Result]:
    return lambda *arguments: CliRunner().invoke(app, ["emit", "--config", str(company), *arguments])


@pytest.fixture(scope="module")
def folder(run: Callable[..., Result], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What one command without a ledger wrote."""
    out = tmp_path_factory.mktemp("emit") / "hand-over"
    result = run("--at", AT, "--no-ledger", "--out", str(out))
    assert result.exit_code == 0, result.stderr
    assert str(out / "index.md") in result.stdout
    return out


def index_in(folder: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    return document


def files_in(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_it_writes_every_system_with_an_index_that_its_schema_takes(run: Callable[..., Result], folder: Path) -> None:
    index = index_in(folder)
    assert [one["name"] for one in index["systems"]] == [one.name for one in SYSTEMS]
    assert index["evaluated_at"] == AT
    assert index["recommendations"]
    assert {*index["files"], "index.json", "index.md"} == files_in(folder).keys()
    schema = json.loads(run("--schema").stdout)
    jsonschema.Draft202012Validator(schema).validate(index)


def test_the_same_time_gives_the_same_bytes(settings: RecommenderSettings, folder: Path, tmp_path: Path) -> None:
    emit_to(tmp_path / "again", hand_over(settings, at=NOON, no_ledger=True))
    assert files_in(tmp_path / "again") == files_in(folder)


def test_a_system_that_there_is_not_is_a_usage_error_that_names_those_there_are(
    run: Callable[..., Result], tmp_path: Path
) -> None:
    result = run("--at", AT, "--system", "nomad", "--out", str(tmp_path / "out"))
    assert result.exit_code == 2
    assert "there is no system 'nomad'" in result.stderr
    assert "kubernetes" in result.stderr
    assert not (tmp_path / "out").exists()


def test_a_folder_of_somebody_else_is_a_usage_error(run: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("keep")
    result = run("--at", AT, "--system", "kubernetes", "--out", str(tmp_path))
    assert result.exit_code == 2
    assert "nothing is replaced" in result.stderr
    assert files_in(tmp_path) == {"notes.txt": b"keep"}


def test_decisions_and_thresholds_of_today_decide_what_is_handed_over(
    settings: RecommenderSettings, tmp_path: Path
) -> None:
    ledger = LedgerSettings(url=str(tmp_path / "ledger.sqlite"))
    settings = settings.model_copy(update={"ledger": ledger})
    proposed = [one.id for one in recorded(settings, at=NOON, now=NOON).plan.recommendations if one.monthly is not None]
    dismissed, accepted = proposed[:2]
    soon = NOON + timedelta(minutes=1)
    decide(Ledger.at(ledger), dismissed, Decision(EventKind.DISMISSED, "ann", reason="not now"), at=soon)
    decide(Ledger.at(ledger), accepted, Decision(EventKind.ACCEPTED, "ann"), at=soon)
    policy = policy_of(settings)
    nothing_is_worth_it = policy.steady.model_copy(update={"min_saving_gbp_per_month": 1e9})
    strict = settings.model_copy(update={"policy": policy.model_copy(update={"steady": nothing_is_worth_it})})

    given = hand_over(strict, at=NOON + timedelta(hours=1))
    handed_over = {one.id for one in given.subject.plan.recommendations}
    overtaken = {one.id: one for one in given.superseded}
    assert not handed_over & set(proposed)
    assert set(proposed) - {dismissed} <= overtaken.keys()
    assert dismissed not in overtaken
    assert overtaken[accepted].state is State.ACCEPTED
    assert "a month; £" in overtaken[accepted].why
