"""Reading a dashboard's JSON as Grafana does: its panels, its queries, and what its variables stand for."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dashboards.build import FOLDER
from exporters.core.metrics import Metric
from recommender.serve import catalogue

ROOT = Path(__file__).parents[2]
SCRAPE_SECONDS = 1
WITHOUT_QUERIES = {"row", "text"}


@dataclass(frozen=True, slots=True)
class Query:
    """One query of one panel, or of a variable."""

    dashboard: str
    panel: str
    ref_id: str
    expression: str

    def __str__(self) -> str:
        return f"{self.dashboard.removeprefix('tuppence-').removesuffix('.json')}: {self.panel} {self.ref_id}"


def committed() -> dict[str, dict[str, Any]]:
    """This will return every committed dashboard by its file name."""
    return {path.name: json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))}


def panels(board: Mapping[str, Any]) -> list[dict[str, Any]]:
    """This will return the panels of a dashboard that show data."""
    return [panel for panel in board["panels"] if panel["type"] not in WITHOUT_QUERIES]


def queries() -> list[Query]:
    """This will return every query of every panel."""
    return [
        Query(dashboard=name, panel=panel["title"], ref_id=target["refId"], expression=target["expr"])
        for name, board in committed().items()
        for panel in panels(board)
        for target in panel["targets"]
    ]


def variables(board: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """This will return a dashboard's variables by name."""
    return {variable["name"]: variable for variable in board["templating"]["list"]}


def recommender_metrics() -> list[Metric]:
    """This will return every row of the recommender's catalogue."""
    groups = (one for one in vars(catalogue).values() if isinstance(one, tuple))
    return [row for group in groups for row in group if isinstance(row, Metric)]


def label_variables(board: Mapping[str, Any]) -> list[dict[str, Any]]:
    """This will return the variables whose values come from Prometheus."""
    return [one for one in board["templating"]["list"] if one["type"] == "query"]


def values_query(variable: Mapping[str, Any]) -> tuple[str, str]:
    """This will return the selector and the label of ``label_values(selector, label)``."""
    match = re.fullmatch(r"label_values\((.+), (\w+)\)", variable["query"])
    assert match is not None, variable["query"]
    return match[1], match[2]


def substituted(expression: str, **chosen: str) -> str:
    """This will put values for the variables; one that is not given stands for all (its allValue)."""
    values = {"__rate_interval": f"{4 * SCRAPE_SECONDS}s"} | chosen
    return re.sub(r"\$(\w+)", lambda match: values.get(match[1], ".*"), expression)
