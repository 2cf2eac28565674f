"""From an account to a scraped metric, as each page says it: its settings, its commands, its scrape, its first query.

The clouds' own clients talk to servers of this machine; Prometheus is the real one. Nothing else is replaced.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from contextlib import ExitStack
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from exporters.core.web.serving import serving
from exporters.publish.http import create_app
from exporters.serving import ExporterService
from exporters.settings import ExporterSettings
from tests.docs.pages import ROOT, commands
from tests.fakes.aws import AwsServer
from tests.fakes.aws_account import furnish, use_dummy_credentials
from tests.fakes.azure import FakeAzure, vm, zone_1_ladder
from tests.fakes.gcp import RestServer
from tests.fakes.gcp_skus import catalogue
from tests.servers.prometheus import running_prometheus
from tuppence import app

PAGES = ("azure", "aws", "gcp", "onprem")
README = (ROOT / "README.md").read_text(encoding="utf-8")


def text_of(name: str) -> str:
    return (ROOT / f"docs/how-to/{name}.md").read_text(encoding="utf-8")


def block(text: str, language: str, first: str = "") -> str:
    """The first code block of a language, or of those whose first line is given."""
    found = re.search(rf"```{language}\n{re.escape(first)}(.*?)```", text, flags=re.DOTALL)
    assert found is not None, (language, first)
    return found[1]


@dataclass(frozen=True, slots=True)
class Clouds:
    """Where each cloud answers, as settings put over those of a page."""

    settings: dict[str, dict[str, Any]]

    def over(self, settings: dict[str, Any]) -> dict[str, Any]:
        """A page's settings with this machine's addresses, packaged rates and a store of their own."""
        changed = deepcopy(settings)
        for name, section in changed["sources"].items():
            section.update(self.settings.get(name, {}))
        changed["sources"]["fx"] = {"source": "packaged"}
        return changed


@pytest.fixture
def clouds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Clouds]:
    use_dummy_credentials(monkeypatch, tmp_path)
    monkeypatch.delenv("TUPPENCE_CONFIG", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gcp-api-key").write_text("key", encoding="utf-8")
    with ExitStack() as stack:
        aws = stack.enter_context(AwsServer())
        furnish(aws)
        google = stack.enter_context(RestServer(catalogue()))
        rows = [vm(size, price, region=region) for region in ("uksouth", "ukwest") for size, price in SIZES]
        ladders = [*zone_1_ladder(), *zone_1_ladder("ukwest")]
        azure = stack.enter_context(FakeAzure([*rows, *ladders]))
        yield Clouds(
            {
                "aws": {"endpoints": dict.fromkeys(("pricing", "ec2", "sts", "bulk"), aws.url)},
                "gcp": {"endpoint": google.url, "page_size": 20},
                "azure": {"retail_endpoint": azure.retail_url, "throttle_wait_seconds": 0.05},
            }
        )


SIZES = (("D4s_v5", 0.222), ("D8s_v5", 0.444))


def type_in(line: str) -> str:
    """Types a command of a page and returns what it printed."""
    arguments = shlex.split(line, comments=True)[1:]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, f"{line}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def follow(name: str, clouds: Clouds) -> ExporterService:
    """Writes the settings of a page, types its commands, and returns the exporter that its last command starts."""
    text = text_of(name)
    settings = clouds.over(yaml.safe_load(block(text, "yaml", "# tuppence.yaml\n")))
    settings["store"] = {"url": str(Path(name).absolute())}
    Path("tuppence.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    *typed, last = commands(text)
    assert shlex.split(last) == ["tuppence", "export"]
    shown = [type_in(line) for line in typed]
    assert len(shown) == 4
    assert name in shown[-1]
    read = ExporterSettings.model_validate(settings)
    return ExporterService(read, load=lambda: read, fetch=False)


def test_every_page_leads_to_a_metric_in_prometheus(clouds: Clouds) -> None:
    jobs = []
    with ExitStack() as stack:
        for name in PAGES:
            service = follow(name, clouds)
            service.start()
            address = stack.enter_context(serving(create_app(service.app())))
            (job,) = yaml.safe_load(block(text_of(name), "yaml", "# prometheus.yml\n"))["scrape_configs"]
            job["static_configs"][0]["targets"] = [address.url.removeprefix("http://")]
            jobs.append(job | {"job_name": name, "scrape_interval": "1s", "scrape_timeout": "1s"})
        prometheus = stack.enter_context(running_prometheus({"scrape_configs": jobs}))
        for name in PAGES:
            rows = prometheus.wait_for(block(text_of(name), "promql").strip())
            assert {row["metric"]["provider"] for row in rows} == {name}
            assert all(float(row["value"][1]) > 0 for row in rows)


def test_the_rate_card_gives_the_figures_that_its_page_names(clouds: Clouds) -> None:
    text = text_of("onprem")
    settings = clouds.over(yaml.safe_load(block(text, "yaml", "# tuppence.yaml\n")))
    Path("tuppence.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    type_in("tuppence fetch onprem")
    header, row = type_in("tuppence prices --provider onprem -o csv").strip().splitlines()
    found = dict(zip(header.split(","), row.split(","), strict=True))
    figures = {round(float(value), 4) for value in found.values() if re.fullmatch(r"\d+\.\d+", value)}
    for shown in re.findall(r"\*\*£([\d.]+)\*\*", text):
        assert float(shown) in figures, (shown, found)


def test_the_readme_leads_from_no_account_to_azure_prices(clouds: Clouds) -> None:
    chapter = README.split("## Your own prices", 1)[1].split("\n## ", 1)[0]
    settings = clouds.over(yaml.safe_load(block(chapter, "yaml")))
    Path("tuppence.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    lines = [line.removeprefix(".venv/bin/") for line in chapter.splitlines() if line.startswith(".venv/bin/")]
    asked = {shlex.split(line)[1]: line for line in lines}
    assert list(asked) == ["check", "fetch", "prices", "export"]
    # The check also looks at the rates, which this machine does not fetch.
    type_in(asked["check"])
    type_in(asked["fetch"])
    assert "uksouth" in type_in(asked["prices"])
    scrape = yaml.safe_load(block(README.split("## Scrape it", 1)[1], "yaml"))
    assert scrape["scrape_configs"][0]["honor_labels"] is True
    assert scrape["scrape_configs"][0]["static_configs"] == [{"targets": ["127.0.0.1:10210"]}]
    assert "http://127.0.0.1:10210/metrics" in asked["export"]
    assert ExporterSettings().exporter_web.port == 10210
