"""The chart as it lies there: its version, its values and their schema, the files it carries, and no secret in it."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator

from tests.deploy.chart import CHART, ROOT, VALUES

META = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
DEFAULTS: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
SCHEMA: dict[str, Any] = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
TEMPLATES = {path.name: path.read_text(encoding="utf-8") for path in sorted((CHART / "templates").iterdir())}


def mistakes(values: dict[str, Any]) -> list[str]:
    """What the schema says against values."""
    return [error.message for error in Draft7Validator(SCHEMA).iter_errors(values)]


def leaves(tree: object, path: str = "") -> Iterator[tuple[str, object]]:
    """Every value with its path; an empty map or list is one."""
    if isinstance(tree, dict) and tree:
        for key, value in tree.items():
            yield from leaves(value, f"{path}.{key}" if path else str(key))
    else:
        yield path, tree


def test_the_chart_has_the_version_of_the_project() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert (META["version"], META["appVersion"]) == (version, version)
    assert f"tuppence:{version}" in (ROOT / "docker-compose.yml").read_text(encoding="utf-8")


def test_the_schema_is_one_and_the_defaults_and_every_example_pass() -> None:
    Draft7Validator.check_schema(SCHEMA)
    assert mistakes(DEFAULTS) == []
    assert len(VALUES) >= 8
    for path in VALUES:
        assert mistakes(yaml.safe_load(path.read_text(encoding="utf-8"))) == [], path.name


@pytest.mark.parametrize(
    "wrong",
    [
        {"mdoe": "recommend"},
        {"mode": "live"},
        {"image": {"tag": "latest"}},
        {"image": {"digest": "sha256:short"}},
        {"store": {"url": "https://example.org"}},
        {"ledger": {"url": "postgresql://tuppence:secret@db/tuppence"}},
        {"exporter": {"secretMounts": [{"name": "x", "mountPath": "/x"}]}},
        {"networkPolicy": {"from": []}},
        {"exporter": {"tmpSize": "much"}},
    ],
    ids=json.dumps,
)
def test_a_wrong_value_is_refused(wrong: dict[str, Any]) -> None:
    assert mistakes(wrong)


def test_the_schema_knows_every_value_and_no_other() -> None:
    def declared(schema: dict[str, Any], path: str = "") -> Iterator[str]:
        inner = schema.get("properties")
        if not inner:
            yield path
        for key, value in (inner or {}).items():
            yield from declared(value, f"{path}.{key}" if path else key)

    free = ("settings", "policy", "resources", "labels", "annotations", "from", "global")
    known = {path for path in declared(SCHEMA) if path != "global"}
    used = {path for path, _ in leaves(DEFAULTS)}
    shortened = {re.sub(rf"\.({'|'.join(free)})\..*$", r".\1", path) for path in used}
    assert shortened == known


def test_every_value_is_used_by_a_template() -> None:
    text = "".join(TEMPLATES.values())
    for path, _ in leaves(DEFAULTS):
        last = [part for part in path.split(".") if part not in {"requests", "limits", "cpu", "memory"}]
        words = [word for word in last if word not in {"grafana_dashboard", "grafana_folder"}]
        assert re.search(rf"\b{words[-1]}\b", text), path


def test_rules_and_dashboards_are_those_of_the_repository() -> None:
    for name, kind in (("rules", "*.yaml"), ("dashboards", "*.json")):
        folder = CHART / "files" / name
        assert folder.is_symlink(), "a copy would grow old"
        assert folder.resolve().is_relative_to(ROOT / "dashboards")
        assert list(folder.glob(kind))


def test_a_dashboard_fits_into_a_config_map() -> None:
    for path in (CHART / "files/dashboards").glob("*.json"):
        assert path.stat().st_size < 1_000_000


def test_no_secret_is_made_and_none_can_be_given_as_a_value() -> None:
    assert not [name for name, text in TEMPLATES.items() if re.search(r"^kind: Secret$", text, flags=re.MULTILINE)]
    names = {path.rsplit(".", 1)[-1] for path, _ in leaves(DEFAULTS)}
    assert not [name for name in names if re.fullmatch(r"(?i)(.*password|.*token|api_?key|secret)", name)]


def test_the_examples_of_the_guide_are_values() -> None:
    page = (ROOT / "docs/how-to/kubernetes.md").read_text(encoding="utf-8")
    examples = re.findall(r"```yaml\n# values\S*\.yaml\n(.*?)```", page, flags=re.DOTALL)
    assert len(examples) >= 2
    for text in examples:
        assert mistakes(yaml.safe_load(text)) == []


def test_the_chart_is_not_in_the_image_and_its_examples_not_in_the_package() -> None:
    assert "!deploy" not in (ROOT / ".dockerignore").read_text(encoding="utf-8")
    assert "ci/" in Path(CHART / ".helmignore").read_text(encoding="utf-8").splitlines()
