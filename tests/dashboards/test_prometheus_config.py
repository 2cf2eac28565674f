"""The scrape configuration that ships: Prometheus takes it, and labels of prices win over labels of targets."""

from __future__ import annotations

from pathlib import Path

import yaml

from tests.servers.prometheus import promtool

FILE = Path(__file__).parents[2] / "dashboards/prometheus/prometheus.yml"
CONFIG = yaml.safe_load(FILE.read_text(encoding="utf-8"))


def test_promtool_finds_no_fault_and_finds_the_rules() -> None:
    done = promtool("check", "config", str(FILE))
    said = done.stdout.decode() + done.stderr.decode()
    assert done.returncode == 0, said
    shipped = [path.name for path in (FILE.parents[1] / "rules").glob("*.yaml")]
    assert f"{len(shipped)} rule files found" in said
    assert [name for name in shipped if name not in said] == []


def test_alerts_are_handed_to_an_alertmanager() -> None:
    [manager] = CONFIG["alerting"]["alertmanagers"]
    assert manager["static_configs"]


def test_every_job_keeps_the_labels_of_the_prices() -> None:
    assert {job["job_name"] for job in CONFIG["scrape_configs"]} == {"tuppence-exporter", "tuppence-recommender"}
    assert all(job["honor_labels"] is True for job in CONFIG["scrape_configs"])
