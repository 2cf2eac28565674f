"""Where the chart lies, and the values that its tests install it with."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
CHART = ROOT / "deploy/chart/tuppence"
VALUES = sorted((CHART / "ci").glob("*-values.yaml"))


def values(name: str) -> Path:
    """This will return one of the files of values by its name."""
    return CHART / "ci" / f"{name}-values.yaml"
