"""What schedulers of many clusters get of the example, file by file."""

from __future__ import annotations

import pytest

from recommender.emit.registry import SYSTEMS
from tests.recommender.emit.placing import GOLDEN, NAMES, expected


@pytest.mark.parametrize("system", NAMES)
def test_the_files_are_the_golden_ones(system: str) -> None:
    made = {name: text for name, text in expected().items() if name.startswith(f"{system}/")}
    there = {path.relative_to(GOLDEN).as_posix(): path for path in (GOLDEN / system).rglob("*") if path.is_file()}
    assert made.keys() == there.keys()
    for name, path in there.items():
        assert made[name] == path.read_text(encoding="utf-8"), f"{name}: python -m tests.recommender.emit.placing"


def test_the_systems_are_registered() -> None:
    assert set(NAMES) <= {system.name for system in SYSTEMS}
