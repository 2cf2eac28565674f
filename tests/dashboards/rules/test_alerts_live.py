"""From a metric to Alertmanager: shipped rules and configuration in a real Prometheus, and a silence as written."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.dashboards.rules.exposing import exposing
from tests.docs.pages import commands
from tests.servers.alertmanager import Alertmanager, running_alertmanager
from tests.servers.prometheus import program, running_prometheus, wait_until

ROOT = Path(__file__).parents[3]
NEEDED = 'tuppence_burst_needed{cluster="onprem-lon-1",resource="gpu",resource_class="L4"} 1\n'
ALERT = "TuppenceBurstNeeded"


@pytest.fixture(scope="module")
def alertmanager() -> Iterator[Alertmanager]:
    """Alertmanager beside a Prometheus with every shipped rule file, which has scraped one short class of capacity."""
    files = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "dashboards/rules").glob("*.yaml")}
    with running_alertmanager() as alertmanager, exposing(NEEDED) as target:
        shipped = yaml.safe_load((ROOT / "dashboards/prometheus/prometheus.yml").read_text(encoding="utf-8"))
        [manager] = shipped["alerting"]["alertmanagers"]
        manager["static_configs"] = [{"targets": [alertmanager.address]}]
        _, recommender = shipped["scrape_configs"]
        recommender["static_configs"] = [{"targets": [target]}]
        shipped |= {"rule_files": list(files), "scrape_configs": [recommender]}
        shipped["global"] |= {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"}
        with running_prometheus(shipped, files=files) as prometheus:
            prometheus.wait_for("ALERTS")
            yield alertmanager


def received(alertmanager: Alertmanager, state: str) -> dict[str, Any] | None:
    alerts = alertmanager.alerts()
    return next(
        (one for one in alerts if one["labels"]["alertname"] == ALERT and one["status"]["state"] == state), None
    )


def test_an_alert_reaches_alertmanager_with_its_words_and_its_runbook(alertmanager: Alertmanager) -> None:
    alert = wait_until(
        lambda: received(alertmanager, "active"), seconds=30, otherwise=lambda: str(alertmanager.alerts())
    )
    assert alert["labels"] == {
        "alertname": ALERT,
        "severity": "warning",
        "cluster": "onprem-lon-1",
        "resource": "gpu",
        "resource_class": "L4",
    }
    assert alert["annotations"]["summary"] == "Owned gpu (L4) of onprem-lon-1 will not last"
    assert (ROOT / alert["annotations"]["runbook_url"]).is_file()


def test_the_silence_that_the_runbook_names_silences_it(alertmanager: Alertmanager) -> None:
    page = (ROOT / f"docs/runbooks/{ALERT}.md").read_text(encoding="utf-8")
    [line] = [one for one in commands(page) if one.startswith("amtool ")]
    arguments = [word for word in shlex.split(line)[1:] if not word.startswith("--alertmanager.url")]
    subprocess.run(
        [program("amtool"), *arguments, f"--alertmanager.url=http://{alertmanager.address}"],
        check=True,
        capture_output=True,
        timeout=30,
    )
    assert wait_until(
        lambda: received(alertmanager, "suppressed"), seconds=30, otherwise=lambda: str(alertmanager.alerts())
    )
