"""The shipped alerts: each fires when it must, keeps still when it must, says so in words, and has its runbook."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.core import TyperGroup
from typer.main import get_command

from exporters.publish.catalogue import CATALOGUE
from tests.dashboards.reading import recommender_metrics
from tests.dashboards.rules.alert_cases import EXPORTER, RECOMMENDER, Case, Series
from tests.dashboards.rules.cost_alert_cases import CLOSED, COSTS
from tests.docs.pages import commands
from tests.servers.prometheus import promtool
from tuppence import app

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "dashboards" / "rules"
FILES = {FOLDER / "alerts.yaml": (*EXPORTER, *RECOMMENDER), FOLDER / "costs.yaml": COSTS}
"""Files of alerts with their cases; watch.yaml has a test of its own."""
RUNBOOKS = ROOT / "docs" / "runbooks"
CASES = {one.alert: one for cases in FILES.values() for one in cases}


def rules_of(path: Path) -> dict[str, dict[str, Any]]:
    groups = yaml.safe_load(path.read_text(encoding="utf-8"))["groups"]
    return {rule["alert"]: rule for group in groups for rule in group["rules"] if "alert" in rule}


def with_cases() -> dict[str, dict[str, Any]]:
    return {name: rule for path in FILES for name, rule in rules_of(path).items()}


def all_alerts() -> dict[str, dict[str, Any]]:
    return {name: rule for path in FOLDER.glob("*.yaml") for name, rule in rules_of(path).items()}


def runbooks() -> dict[str, str]:
    return {path.stem: path.read_text(encoding="utf-8") for path in RUNBOOKS.glob("Tuppence*.md")}


def document(case: Case) -> dict[str, Any]:
    """Promtool's test of one alert: with the series at which it fires, and with each at which it does not."""
    annotations = dict(with_cases()[case.alert]["annotations"])
    annotations |= dict(zip(("summary", "description"), case.says, strict=False))
    fired = {"exp_labels": {"severity": case.severity, **case.labels}, "exp_annotations": annotations}
    tests = [_of("it fires", case, case.fires, [fired])]
    tests += [_of(name, case, series, []) for name, series in case.still.items()]
    return {"rule_files": ["rules.yaml"], "evaluation_interval": f"{case.step}m", "tests": tests}


def _of(name: str, case: Case, series: tuple[Series, ...], expected: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "name": f"{case.alert}: {name}",
        "interval": f"{case.step}m",
        "input_series": [{"series": text, "values": _until(case, values)} for text, values in series],
        "alert_rule_test": [{"eval_time": f"{case.now}m", "alertname": case.alert, "exp_alerts": expected}],
    }


def _until(case: Case, values: str) -> str:
    """A single value stays until the minute that is looked at."""
    return values if "x" in values else f"{values}x{case.now // case.step + 1}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_promtool_finds_no_fault(path: Path) -> None:
    done = promtool("check", "rules", "--lint=all", "--lint-fatal", str(path))
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.parametrize("case", [*CASES.values(), CLOSED], ids=lambda case: case.alert)
def test_it_fires_when_it_must_and_at_no_other_time(case: Case, tmp_path: Path) -> None:
    alone = {"groups": [{"name": case.alert, "rules": [with_cases()[case.alert]]}]}
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(alone), encoding="utf-8")
    (tmp_path / "test.yaml").write_text(yaml.safe_dump(document(case)), encoding="utf-8")
    done = promtool("test", "rules", str(tmp_path / "test.yaml"))
    assert done.returncode == 0, (done.stdout + done.stderr).decode()


def test_no_alert_is_without_a_test() -> None:
    assert CASES.keys() == with_cases().keys()
    assert all(case.still for case in CASES.values())


def test_every_alert_says_how_bad_it_is_and_what_is_wrong() -> None:
    for name, rule in all_alerts().items():
        assert re.fullmatch(r"Tuppence[A-Z][A-Za-z]+", name)
        assert rule["labels"]["severity"] in {"critical", "warning", "info"}
        assert set(rule["annotations"]) == {"summary", "description", "runbook_url"}
        assert not rule["annotations"]["summary"].endswith(".")
        assert rule["annotations"]["description"].endswith(".")
        if "by (" in rule["expr"]:
            assert "$labels." in rule["annotations"]["summary"], name


def test_every_alert_has_its_runbook_and_every_runbook_its_alert() -> None:
    urls = {name: rule["annotations"]["runbook_url"] for name, rule in all_alerts().items()}
    assert urls == {name: f"docs/runbooks/{name}.md" for name in urls}
    assert runbooks().keys() == urls.keys()


def test_alerts_read_metrics_that_the_services_have() -> None:
    known = {metric.name for metric in (*CATALOGUE, *recommender_metrics())}
    for name, rule in with_cases().items():
        assert set(re.findall(r"\btuppence_\w+", rule["expr"])) <= known, name


@pytest.mark.parametrize("name", runbooks())
def test_a_runbook_says_what_it_means_how_to_check_to_mend_and_to_silence(name: str) -> None:
    text = runbooks()[name]
    assert text.startswith(f"# {name}\n")
    headings = re.findall(r"^## (.+)$", text, flags=re.MULTILINE)
    assert headings == ["What it means", "Check", "Mend", "Silence"]
    assert f'alertname="{name}"' in text.split("## Silence")[1]
    assert commands(text)


def test_commands_of_the_runbooks_are_understood_with_their_options() -> None:
    lines = {line for text in runbooks().values() for line in commands(text) if line.startswith("tuppence ")}
    assert len(lines) > 10
    for line in sorted(lines):
        understood(shlex.split(line)[1:])


def test_a_command_or_an_option_that_does_not_exist_is_not_understood() -> None:
    with pytest.raises(AssertionError, match="forcast"):
        understood(["forcast"])
    with pytest.raises(AssertionError, match="--status"):
        understood(["list", "--status", "open"])


def understood(arguments: list[str]) -> None:
    """Looks a command and its options up in the program, and does not run it."""
    command = get_command(app)
    while isinstance(command, TyperGroup):
        name, *arguments = arguments
        assert name in command.commands, name
        command = command.commands[name]
    options = {option for parameter in command.params for option in parameter.opts}
    for word in arguments:
        assert not word.startswith("-") or word in options, word
