"""What every test shares: the order of files, property tests that repeat their examples in a build, logs that end.

A file's tests run in one process, so that what they share is made once; ``--dist loadfile`` does that, and the order of
files is that of pytest_collection_modifyitems here where ``--no-loadscope-reorder`` stands beside it.

A command under test sends the log to the stderr that its runner gives it, which is closed when the runner is done.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog
from hypothesis import settings

settings.register_profile("local", deadline=None, max_examples=50)
settings.register_profile("ci", deadline=None, max_examples=50, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") == "true" else "local")

LONGEST_FIRST = (
    "docs/test_commands.py",
    "recommender/commands/test_ledger.py",
    "exporters/test_end_to_end.py",
    "recommender/test_cli.py",
    "recommender/commands/test_capacity.py",
    "recommender/commands/test_publish.py",
    "dashboards/test_panels.py",
    "recommender/test_serving.py",
    "recommender/demo/test_run.py",
    "recommender/commands/test_assess.py",
    "docs/test_first_prices.py",
    "recommender/week/test_facts.py",
    "recommender/ledger/test_bursts.py",
    "recommender/test_emitted.py",
    "recommender/test_cycle.py",
)
"""Files of more than some 20 seconds, which begin a run: no worker is left alone with one at its end."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first, all others in the order in which they were found."""
    tests = Path(__file__).parent
    place = {tests / name: number for number, name in enumerate(LONGEST_FIRST)}
    items.sort(key=lambda item: place.get(item.path, len(place)))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """What is loaded and collected stays to the end; the collector need not look at it, now or when the run is over."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(autouse=True)
def _log_does_not_outlive_its_test() -> Iterator[None]:
    yield
    structlog.reset_defaults()
