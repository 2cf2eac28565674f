"""The whole way to a panel, for real: the demonstration's prices and advice, in Prometheus, from two replicas."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from exporters.core.web.serving import serving
from exporters.publish.http import create_app as exporter_app
from exporters.serving import ExporterService
from exporters.settings import ExporterSettings
from exporters.store.read import Prices, current_prices
from exporters.store.shelf import open_shelf
from exporters.store.write import write_snapshot
from recommender.advise.plan import Plan
from recommender.demo.write import write_demo
from recommender.ledger.decide import Decision, decide
from recommender.ledger.events import EventKind
from recommender.ledger.store import Ledger
from recommender.serve.app import create_app as recommender_app
from recommender.serve.last_plan import LastPlan
from recommender.serving import RecommenderService
from recommender.settings import RecommenderSettings
from tests.builders import offer, offers, snapshot
from tests.dashboards.billing import write_billing
from tests.dashboards.reading import SCRAPE_SECONDS
from tests.exporters.conftest import HEADER, book_row
from tests.servers.prometheus import PrometheusServer, running_prometheus, wait_until

ROOT = Path(__file__).parents[2]
REFRESHED = {"onprem", "book", "fx"}
"""Sources that need no network; the clouds are packaged."""


@dataclass(frozen=True, slots=True)
class World:
    """What Prometheus scraped, and where that came from."""

    prometheus: PrometheusServer
    prices: Prices
    plan: Plan


@contextmanager
def demonstration(folder: Path) -> Iterator[World]:
    """Two replicas of each service on the demonstration's data, scraped by one Prometheus.

    Beside the packaged clouds and the on-prem rate card there are a price book with one row that is refused, a
    provider that has a list in pounds of its own, and billing exports up to today. The racks have one node with L4 GPUs
    where the demonstration has five, so that jobs overflow at any time of the day; one recommendation was accepted.
    """
    exporter, recommender = _settings(folder)
    shelf = open_shelf(exporter.store.url)
    in_pounds = offer(provider="sterling", source="sterling", currency="USD", provider_gbp_per_hour=0.0833)
    write_snapshot(shelf, snapshot("sterling", taken_at=datetime.now(UTC), offers=offers(in_pounds)))
    with ExitStack() as stack:
        prices_service = ExporterService(exporter, load=lambda: exporter)
        prices_service.start()
        stack.callback(prices_service.stop)
        app = prices_service.app()
        wait_until(
            lambda: {name for name, one in app.health.sources.items() if one.succeeded} >= REFRESHED,
            seconds=30,
            otherwise=lambda: str(app.health.sources),
        )
        advice_service = RecommenderService(recommender, load=lambda: recommender)
        advice_service.evaluate()
        advice = advice_service.app()
        _accept_the_smallest_saving(recommender, advice.last)
        advice_service.evaluate()
        served = advice.last.state.served
        assert served is not None, advice.last.state
        exporter_ports = [stack.enter_context(serving(exporter_app(app))).port for _ in range(2)]
        recommender_ports = [stack.enter_context(serving(recommender_app(advice))).port for _ in range(2)]
        prometheus = stack.enter_context(_scraping(exporter_ports, recommender_ports))
        yield World(prometheus=prometheus, prices=current_prices(shelf, now=datetime.now(UTC)), plan=served.plan)


def _settings(folder: Path) -> tuple[ExporterSettings, RecommenderSettings]:
    """The demonstration's settings, rates and a price book from files, so that nobody is called."""
    document = yaml.safe_load(write_demo(folder, until=datetime.now(UTC), seed=1).read_text(encoding="utf-8"))
    book = folder / "book.csv"
    book.write_text("\n".join([HEADER, book_row(), book_row(name="free", price="0")]) + "\n", encoding="utf-8")
    document["sources"] |= {"fx": {"source": "packaged"}, "book": {"enabled": True, "files": [str(book)]}}
    document["costs"] = write_billing(folder / "billing", now=datetime.now(UTC))
    _take_racks_away(document)
    exporter = {name: document[name] for name in document if name in ExporterSettings.model_fields}
    recommender = {name: document[name] for name in document if name in RecommenderSettings.model_fields}
    return ExporterSettings.model_validate(exporter), RecommenderSettings.model_validate(recommender)


def _take_racks_away(document: dict[str, Any]) -> None:
    [racks] = [cluster for cluster in document["clusters"] if cluster.get("tier") == "owned"]
    [pool] = [pool for pool in racks["pools"] if pool["name"] == "gpu-l4"]
    pool |= {"nodes_min": 1, "nodes_max": 1}


def _accept_the_smallest_saving(settings: RecommenderSettings, last: LastPlan) -> None:
    assert last.state.served is not None, last.state
    saving = [one for one in last.state.served.plan.recommendations if one.monthly is not None]
    accepted = Decision(kind=EventKind.ACCEPTED, author="platform")
    decide(Ledger.at(settings.ledger), saving[-1].id, accepted, at=datetime.now(UTC))


def _scraping(exporter_ports: list[int], recommender_ports: list[int]) -> AbstractContextManager[PrometheusServer]:
    """Prometheus with the shipped configuration, but for the addresses and the pace."""
    config = yaml.safe_load((ROOT / "dashboards/prometheus/prometheus.yml").read_text(encoding="utf-8"))
    config["global"] |= {"scrape_interval": f"{SCRAPE_SECONDS}s", "scrape_timeout": f"{SCRAPE_SECONDS}s"}
    config["rule_files"] = []
    del config["alerting"]
    for job, ports in zip(config["scrape_configs"], (exporter_ports, recommender_ports), strict=True):
        job["static_configs"] = [{"targets": [f"127.0.0.1:{port}" for port in ports]}]
    return running_prometheus(config)
