"""What the tests of dashboards share: the demonstration, scraped, and a copy of the committed files to spoil."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.dashboards.demonstration import ROOT, World, demonstration


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """See demonstration; it ends with the one file that looks at it, for it is scraped as long as it runs."""
    with demonstration(tmp_path_factory.mktemp("demonstration")) as scraped:
        yield scraped


@pytest.fixture
def copied_dashboards(tmp_path: Path) -> Path:
    """A copy of the folder of dashboards, to spoil."""
    return shutil.copytree(ROOT / "dashboards/grafana/dashboards", tmp_path / "dashboards")
