"""What every test shares: property tests repeat the same examples in a build and never fail for being slow; logs end.

A command under test sends the log to the stderr that its runner gives it, which is closed when the runner is done.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
import structlog
from hypothesis import settings

settings.register_profile("local", deadline=None, max_examples=50)
settings.register_profile("ci", deadline=None, max_examples=50, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") == "true" else "local")


@pytest.fixture(autouse=True)
def _log_does_not_outlive_its_test() -> Iterator[None]:
    yield
    structlog.reset_defaults()
