"""Prometheus and Alertmanager run with the very files that ship; only hosts, ports and the pace are the test's."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import yaml

from tests.servers.prometheus import free_port, program, promtool, running_prometheus, wait_until

ROOT = Path(__file__).parents[2]
ALERTMANAGER = ROOT / "dashboards/alertmanager/alertmanager.yml"
PROMETHEUS = yaml.safe_load((ROOT / "dashboards/prometheus/prometheus.yml").read_text(encoding="utf-8"))
RULES = sorted((ROOT / "dashboards/rules").glob("*.yaml"))
ALWAYS = """
groups:
  - name: always
    rules: [{alert: Always, expr: vector(1), labels: {severity: critical, cluster: lon}}]
"""


@contextmanager
def running_alertmanager(folder: Path) -> Iterator[str]:
    """Debian's Alertmanager with the file that ships, until the block ends; gives its address."""
    port = free_port()
    command = [program("prometheus-alertmanager"), f"--config.file={ALERTMANAGER}", f"--storage.path={folder}"]
    flags = [f"--web.listen-address=127.0.0.1:{port}", "--cluster.listen-address=", "--log.level=warn"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([*command, *flags], stdout=log, stderr=log)
    url = f"http://127.0.0.1:{port}"
    try:
        wait_until(lambda: is_up(url), seconds=30, otherwise=lambda: (folder / "log").read_text(encoding="utf-8"))
        yield url
    finally:
        process.terminate()
        process.wait(timeout=10)


def is_up(url: str) -> bool:
    try:
        return httpx2.get(f"{url}/-/ready", timeout=2).status_code == 200
    except httpx2.TransportError:
        return False


def amtool(*arguments: str) -> str:
    done = subprocess.run([program("amtool"), *arguments], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


def test_amtool_finds_no_fault() -> None:
    assert "1 receivers" in amtool("check-config", str(ALERTMANAGER))


def test_every_alert_has_a_way_to_a_receiver() -> None:
    assert amtool("config", "routes", "test", f"--config.file={ALERTMANAGER}", "severity=warning") == "page-only"


def test_an_inhibition_names_alerts_that_there_are() -> None:
    groups = [group for path in RULES for group in yaml.safe_load(path.read_text(encoding="utf-8"))["groups"]]
    alerts = {rule["alert"] for group in groups for rule in group["rules"] if "alert" in rule}
    for rule in yaml.safe_load(ALERTMANAGER.read_text(encoding="utf-8"))["inhibit_rules"]:
        matchers = [*rule["source_matchers"], *rule["target_matchers"]]
        assert {matcher.removeprefix("alertname = ") for matcher in matchers} <= alerts


def test_promtool_finds_every_rule_file_of_the_folder() -> None:
    done = promtool("check", "config", str(ROOT / "dashboards/prometheus/prometheus.yml"))
    assert done.returncode == 0, done.stderr.decode()
    said = done.stdout.decode() + done.stderr.decode()
    assert len(RULES) >= 2
    assert f"SUCCESS: {len(RULES)} rule files found" in said


def shipped(alertmanager: str) -> dict[str, Any]:
    """The configuration that ships with the test's Alertmanager, at a pace that a test can wait for."""
    (group,) = PROMETHEUS["alerting"]["alertmanagers"][0]["static_configs"]
    assert group["targets"] == ["alertmanager:9093"]
    managers = [{"static_configs": [{"targets": [alertmanager.removeprefix("http://")]}]}]
    pace = PROMETHEUS["global"] | {"evaluation_interval": "1s", "scrape_interval": "1s", "scrape_timeout": "1s"}
    files = [Path(pattern).name for pattern in PROMETHEUS["rule_files"]]
    jobs = [job | {"static_configs": []} for job in PROMETHEUS["scrape_configs"]]
    changed = {"global": pace, "rule_files": files, "scrape_configs": jobs, "alerting": {"alertmanagers": managers}}
    return PROMETHEUS | changed


def test_an_alert_of_the_shipped_prometheus_reaches_the_shipped_alertmanager(tmp_path: Path) -> None:
    files = {path.name: path.read_text(encoding="utf-8") for path in RULES} | {"always.yaml": ALWAYS}
    # What is told before the Alertmanager is discovered, some seconds after the start, is lost and told again.
    again = ("--rules.alert.resend-delay=1s",)
    with (
        running_alertmanager(tmp_path) as url,
        running_prometheus(shipped(url), files=files, flags=again) as prometheus,
    ):
        started = time.monotonic()
        (told,) = wait_until(
            lambda: [
                one
                for one in httpx2.get(f"{url}/api/v2/alerts", timeout=5).json()
                if one["labels"]["alertname"] == "Always"
            ],
            seconds=30,
            otherwise=lambda: f"no alert came in {time.monotonic() - started:.0f} s",
        )
        assert told["receivers"] == [{"name": "page-only"}]
        rules = httpx2.get(f"{prometheus.url}/api/v1/rules", timeout=5).json()["data"]["groups"]
        assert {Path(group["file"]).name for group in rules} == files.keys()
        assert all(rule["health"] != "err" for group in rules for rule in group["rules"])


def test_a_consequence_is_not_told_beside_its_cause(tmp_path: Path) -> None:
    def state(url: str) -> dict[str, str]:
        told = httpx2.get(f"{url}/api/v2/alerts", timeout=5).json()
        return {one["labels"]["alertname"]: one["status"]["state"] for one in told}

    names = ("TuppenceSeriesCapped", "TuppenceSeriesCapNear", "TuppencePlanOld")
    with running_alertmanager(tmp_path) as url:
        alerts = [{"labels": {"alertname": name}} for name in names]
        httpx2.post(f"{url}/api/v2/alerts", json=alerts, timeout=5).raise_for_status()
        wanted = {"TuppenceSeriesCapped": "active", "TuppenceSeriesCapNear": "suppressed", "TuppencePlanOld": "active"}
        wait_until(lambda: state(url) == wanted, seconds=20, otherwise=lambda: f"{state(url)}")
