"""The served application on a real port, with a plan or without one, and with a ledger that knows the plan."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest

from exporters.core.clock import FixedClock
from exporters.core.web.serving import serving
from recommender.ledger.merge import merge
from recommender.ledger.store import Ledger
from recommender.prices_settings import PricesSettings
from recommender.report.view_model import report_of
from recommender.serve.app import Recommender, create_app
from recommender.serve.last_plan import LastPlan
from recommender.settings import LedgerSettings, RecommenderSettings, RecommenderWebSettings
from tests.builders import NOON
from tests.recommender.report.example import example_plan
from tests.recommender.serve.stock import clusters, price_store, short_ahead


@dataclass(frozen=True, slots=True)
class Served:
    """A running application, what it shows, and its ledger."""

    client: httpx2.Client
    last: LastPlan
    ledger: Ledger


@pytest.fixture
def settings(tmp_path: Path) -> RecommenderSettings:
    """A ledger in a file, no prices, and nobody who has to log in."""
    return RecommenderSettings(
        ledger=LedgerSettings(url=str(tmp_path / "ledger.sqlite")),
        prices=PricesSettings(url=str(tmp_path / "no-prices")),
        recommender_web=RecommenderWebSettings(),
    )


@pytest.fixture
def served(settings: RecommenderSettings) -> Iterator[Served]:
    """Without a plan; a test adds what it needs."""
    last = LastPlan()
    app = create_app(Recommender(last=last, clock=FixedClock(NOON), reload=lambda: None, settings=lambda: settings))
    with serving(app) as address, httpx2.Client(base_url=address.url, timeout=10) as client:
        yield Served(client, last, Ledger.at(settings.ledger))


@pytest.fixture
def with_plan(served: Served) -> Served:
    """With the example plan."""
    served.last.succeeded(example_plan(), at=NOON, duration_seconds=0.5)
    return served


@pytest.fixture
def proposed(with_plan: Served) -> Served:
    """With the example plan, which the ledger has written down."""
    propose(with_plan.ledger)
    return with_plan


def propose(ledger: Ledger) -> None:
    """This will write the example plan's advice down."""
    ledger.add(lambda reader: merge(example_plan(), reader.histories(), at=example_plan().generated_at).events)


@pytest.fixture
def stocked(settings: RecommenderSettings, tmp_path: Path) -> Iterator[Served]:
    """With the plan written down, a store of prices, clusters, and a next hour in which owned nodes are short."""
    settings = settings.model_copy(
        update={"prices": PricesSettings(url=str(price_store(tmp_path))), "clusters": clusters()}
    )
    last, ledger = LastPlan(), Ledger.at(settings.ledger)
    propose(ledger)
    last.succeeded(example_plan(), at=NOON, duration_seconds=0.5, ahead=short_ahead())
    made = Recommender(
        last=last,
        clock=FixedClock(NOON),
        reload=lambda: None,
        settings=lambda: settings,
        report_of_week=lambda week: report_of(example_plan(), week),
    )
    with serving(create_app(made)) as address, httpx2.Client(base_url=address.url, timeout=10) as client:
        yield Served(client, last, ledger)
