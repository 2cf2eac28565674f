"""The built wheel carries what the program reads at run time, and nothing that is only for developers."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DATA = {".csv", ".html", ".css", ".yaml", ".typed"}


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The files of a wheel built from this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_every_table_and_template_is_in_the_wheel(names: set[str]) -> None:
    wanted = {
        path.relative_to(ROOT).as_posix()
        for package in ("exporters", "recommender")
        for path in (ROOT / package).rglob("*")
        if path.suffix in DATA
    }
    assert len(wanted) > 20
    assert wanted <= names


def test_only_the_two_packages_and_the_command_are_top_level(names: set[str]) -> None:
    tops = {name.split("/", 1)[0] for name in names if ".dist-info/" not in name}
    assert tops == {"exporters", "recommender", "tuppence.py"}


def test_the_licence_and_the_notice_go_with_it(names: set[str]) -> None:
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert any(name.endswith("licenses/NOTICE") for name in names)
