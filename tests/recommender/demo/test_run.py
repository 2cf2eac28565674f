"""The demonstration as a user starts it: the real exporter in a process of its own, then advice from its store."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from exporters.core.clock import SystemClock
from exporters.core.errors import TerminalSourceError
from recommender.advise.plan import Plan
from recommender.demo.exporter_process import running_exporter
from recommender.emit.index import Index
from recommender.emit.registry import SYSTEMS
from recommender.week.calendar import Week
from tests.recommender.emit.test_every_system import checker
from tests.servers.prometheus import promtool

LONGEST_SECONDS = 60
ONLY_WITH_PROMETHEUS = {"scheduler-fallback"}
"""Systems of which a file of usage says nothing."""


def handed_over_whole(folder: Path, plan: Plan) -> None:
    """Sees that every system has objects of the plan's advice, and that they are valid where the schemas are here."""
    index = Index.model_validate_json((folder / "index.json").read_text(encoding="utf-8"))
    assert index.evaluated_at == plan.generated_at
    assert {one.id for one in index.recommendations} == {one.id for one in (*plan.recommendations, *plan.capacity)}
    told = {part.name for part in index.systems if part.documents}
    assert told == {system.name for system in SYSTEMS} - ONLY_WITH_PROMETHEUS
    assert all((folder / path).is_file() for path in index.files)
    check = checker()
    assert check is None or check.main(["--strict", str(folder)]) == 0


def test_it_shows_prices_and_advice_and_writes_its_files_within_a_minute(tmp_path: Path) -> None:
    started = time.monotonic()
    result = subprocess.run(
        [sys.executable, "-m", "tuppence", "demo", "--seed", "1"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert time.monotonic() - started < LONGEST_SECONDS
    out = tmp_path / "demo-output"
    titles = ("The cheapest vCPU-hours", "The cheapest GPU-hours", "A GiB to the internet", "What was really paid")
    for title in (*titles, "Recommendations"):
        assert title in result.stdout
    for provider in ("aws", "azure", "gcp", "onprem"):
        assert f"\n{provider} " in result.stdout
    document = json.loads((out / "recommendations.json").read_text(encoding="utf-8"))
    assert document.pop("week") == Week.last_whole(SystemClock().now()).id
    plan = Plan.model_validate(document)
    assert plan.summary.workloads >= 60
    assert plan.recommendations
    assert plan.recommendations[0].id in result.stdout
    assert plan.recommendations[0].id in (out / "report.html").read_text(encoding="utf-8")
    assert plan.recommendations[0].id in (out / "report.md").read_text(encoding="utf-8")
    assert "](assessment.md)" in (out / "report.md").read_text(encoding="utf-8")
    assert "## What the clusters cost now" in (out / "assessment.md").read_text(encoding="utf-8")
    handed_over_whole(out / "emit", plan)
    body = (out / "metrics.txt").read_bytes()
    assert b'tuppence_exporter_refresh_success{source="onprem"} 1.0' in body
    assert b'tuppence_cost_import_success{source="files"} 1.0' in body
    assert b'tuppence_budget_gbp{provider="all",account="all",scope="platform"} 30000.0' in body
    assert promtool("check", "metrics", stdin=body).returncode == 0


def test_an_exporter_that_does_not_start_is_an_error_with_its_last_words(tmp_path: Path) -> None:
    settings = tmp_path / "tuppence.yaml"
    settings.write_text("colour: blue\n")
    with (
        pytest.raises(TerminalSourceError, match=r"the exporter did not start.*'colour' is not a known section"),
        running_exporter(settings, log=tmp_path / "log"),
    ):
        pass
