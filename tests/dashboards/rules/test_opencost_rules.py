"""Prices of nodes under OpenCost's names, and regional minima: promtool finds them right and as worked out by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.servers.prometheus import promtool

RULES = Path(__file__).parents[3] / "dashboards" / "rules"


@pytest.mark.parametrize("name", ["opencost.yaml", "prices.yaml"])
def test_promtool_finds_no_fault(name: str) -> None:
    done = promtool("check", "rules", "--lint=all", "--lint-fatal", str(RULES / name))
    assert done.returncode == 0, done.stderr.decode()


def test_nodes_and_minima_have_the_prices_worked_out_by_hand() -> None:
    done = promtool("test", "rules", str(Path(__file__).with_name("opencost_test.yaml")))
    assert done.returncode == 0, (done.stdout + done.stderr).decode()


def test_the_names_are_those_of_opencost() -> None:
    """OpenCost, "Working with Prometheus", Available Metrics."""
    [group] = yaml.safe_load((RULES / "opencost.yaml").read_text(encoding="utf-8"))["groups"]
    assert [rule["record"] for rule in group["rules"] if not rule["record"].startswith("tuppence:")] == [
        "node_total_hourly_cost",
        "node_cpu_hourly_cost",
        "node_ram_hourly_cost",
        "node_gpu_hourly_cost",
    ]


def test_no_name_is_recorded_twice_and_every_file_is_loaded_with_the_rest() -> None:
    rules = [
        rule["record"]
        for path in RULES.glob("*.yaml")
        for group in yaml.safe_load(path.read_text(encoding="utf-8"))["groups"]
        for rule in group["rules"]
        if "record" in rule and not rule.get("labels")
    ]
    assert len(set(rules)) == len(rules)
