"""The served application on a real port, with a plan or without one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import httpx2
import pytest

from exporters.core.clock import FixedClock
from exporters.core.web.serving import serving
from recommender.serve.app import Recommender, create_app
from recommender.serve.last_plan import LastPlan
from tests.builders import NOON
from tests.recommender.report.example import example_plan


@dataclass(frozen=True, slots=True)
class Served:
    """A running application, and what it shows."""

    client: httpx2.Client
    last: LastPlan


@pytest.fixture
def served() -> Iterator[Served]:
    """Without a plan; a test adds what it needs."""
    last = LastPlan()
    app = create_app(Recommender(last=last, clock=FixedClock(NOON), reload=lambda: None))
    with serving(app) as address, httpx2.Client(base_url=address.url, timeout=10) as client:
        yield Served(client, last)


@pytest.fixture
def with_plan(served: Served) -> Served:
    """With the example plan."""
    served.last.succeeded(example_plan(), at=NOON, duration_seconds=0.5)
    return served
