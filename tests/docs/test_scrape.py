"""Every scrape configuration of the docs keeps the prices' labels, and names the services as the alerts know them."""

from __future__ import annotations

import re
from typing import Any

import yaml

from tests.docs.pages import ROOT, pages


def scrapes() -> list[tuple[str, dict[str, Any]]]:
    """The jobs of every YAML block that scrapes Tuppence, with their pages."""
    found = []
    for page in pages():
        for block in re.findall(r"```yaml\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL):
            if "scrape_configs:" in block:
                found += [(page.name, job) for job in yaml.safe_load(block)["scrape_configs"]]
    return [(page, job) for page, job in found if "1021" in str(job)]


def test_every_job_keeps_the_labels_and_has_a_name_that_the_alerts_know() -> None:
    config = yaml.safe_load((ROOT / "dashboards/prometheus/prometheus.yml").read_text(encoding="utf-8"))
    known = {job["job_name"] for job in config["scrape_configs"]}
    assert len(scrapes()) >= 7
    for page, job in scrapes():
        assert job["honor_labels"] is True, page
        assert job["job_name"] in known, page
