"""The demonstration's company with its prices on a shelf: what the recommender's edges read in tests."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from exporters.core.clock import FixedClock
from exporters.core.config_file import read_document, validate
from exporters.core.sections import ALL_SECTIONS
from exporters.fetch.registry import SOURCES
from exporters.publish.health import Health
from exporters.refresh import Refresher
from exporters.settings import ExporterSettings
from exporters.store.shelf import open_shelf
from recommender.demo.write import write_demo
from tests.builders import NOON

MONDAY = datetime(2026, 11, 30, tzinfo=UTC)


@pytest.fixture(scope="session")
def company(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Settings of a company whose usage ends on Monday and whose prices are of Monday noon; not to be changed."""
    path = write_demo(tmp_path_factory.mktemp("company"), until=MONDAY, seed=1)
    settings = validate(read_document(path, {}), ExporterSettings, known=ALL_SECTIONS)
    refresher = Refresher(
        settings=settings, shelf=open_shelf(settings.store.url), clock=FixedClock(NOON), log=Health(FixedClock(NOON))
    )
    refresher.seed()
    refresher.refresh(next(source for source in SOURCES if source.name == "onprem"))
    return path
