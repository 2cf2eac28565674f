"""Writes every dashboard as JSON for Grafana's file provisioning, or checks that the committed files are up to date.

Promises: the same code gives the same bytes (sorted keys), so that a review shows what changed in a dashboard.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard

from dashboards import burst, costs, health, placement, prices, savings
from dashboards.frame import Addresses

FOLDER: Final = Path(__file__).parent / "grafana" / "dashboards"
DASHBOARDS: Final[Mapping[str, Callable[[Addresses], Dashboard]]] = {
    "tuppence-prices.json": prices.dashboard,
    "tuppence-placement.json": placement.dashboard,
    "tuppence-burst.json": burst.dashboard,
    "tuppence-savings.json": savings.dashboard,
    "tuppence-costs.json": costs.dashboard,
    "tuppence-health.json": health.dashboard,
}
"""File name → what builds it; a new dashboard is a new line."""


def rendered(addresses: Addresses | None = None) -> dict[str, str]:
    """This will return the text of every dashboard by its file name; None: the services are on this machine."""
    return {name: _text(build(addresses or Addresses())) for name, build in DASHBOARDS.items()}


def _text(dashboard: Dashboard) -> str:
    """Panels are numbered in the order in which they stand, which keeps links to them (viewPanel=7) alive."""
    document = json.loads(JSONEncoder().encode(dashboard))
    for number, panel in enumerate(document["panels"], start=1):
        panel["id"] = number
    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def outdated(folder: Path = FOLDER) -> list[str]:
    """This will return the names of files that are missing, differ, or belong to no dashboard."""
    wanted = rendered()
    there = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.json")}
    return sorted(name for name in wanted.keys() | there.keys() if wanted.get(name) != there.get(name))


def write(folder: Path = FOLDER, *, addresses: Addresses | None = None) -> None:
    """This will write every dashboard; files of dashboards that are no more are left for the reader to remove."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in rendered(addresses).items():
        (folder / name).write_text(text, encoding="utf-8")


def main(arguments: Sequence[str]) -> int:
    """This will run the command and return its exit code: 0 ok, 1 out of date."""
    parser = argparse.ArgumentParser(prog="python -m dashboards", description="Write the Grafana dashboards.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a file is out of date")
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder to write to (default: %(default)s)")
    own = Addresses()
    parser.add_argument("--exporter-url", type=_url, default=own.exporter, help="where browsers reach the exporter")
    parser.add_argument("--recommender-url", type=_url, default=own.recommender, help="and the recommender")
    given = parser.parse_args(arguments)
    if not given.check:
        write(given.out, addresses=Addresses(exporter=given.exporter_url, recommender=given.recommender_url))
        return 0
    old = outdated()
    for name in old:
        sys.stderr.write(f"{FOLDER / name} is out of date. Run: python -m dashboards\n")
    return 1 if old else 0


def _url(text: str) -> str:
    """An address without its trailing slash; anything that a browser would not open as a page is refused."""
    if not text.startswith(("http://", "https://")):
        raise argparse.ArgumentTypeError(f"{text} does not begin with http:// or https://")
    return text.rstrip("/")
