"""Pictures of the dashboards for the docs, from what a real Prometheus answers to each panel's own queries.

``python -m tools.draw_dashboards`` starts the demonstration of the tests (both services and a Prometheus that scrapes
them), asks every query of the committed dashboards and writes docs/images/dashboard-*.svg. No Grafana is needed; the
pictures show what a panel shows, not how Grafana paints it.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import httpx2

from dashboards.build import FOLDER
from tests.dashboards.demonstration import demonstration
from tools.dashboard_picture import Frame, picture

OUT: Final = Path(__file__).parents[1] / "docs" / "images"
WATCHED_SECONDS: Final = 30
"""How long the demonstration is scraped, so that lines have a length."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A Prometheus and the time range of the pictures, in seconds since 1970."""

    url: str
    start: float
    end: float

    def frames(self, panel: Mapping[str, Any]) -> list[Frame]:
        """This will return what Prometheus answers to each query of a panel."""
        return [self._frame(target) for target in panel.get("targets", [])]

    def _frame(self, target: Mapping[str, Any]) -> Frame:
        expression = re.sub(r"\$__rate_interval", "15s", target["expr"])
        params: dict[str, str] = {"query": re.sub(r"\$\w+", ".*", expression)}
        if target.get("range"):
            kind, times = "query_range", {"start": f"{self.start}", "end": f"{self.end}", "step": "1"}
        else:
            kind, times = "query", {"time": f"{self.end}"}
        answer = httpx2.get(f"{self.url}/api/v1/{kind}", params=params | times, timeout=30)
        answer.raise_for_status()
        found = answer.json()["data"]["result"]
        series = [(one["metric"], [(float(at), float(value)) for at, value in _samples(one)]) for one in found]
        return Frame(ref_id=target["refId"], legend=target.get("legendFormat", ""), series=series)


def _samples(series: Mapping[str, Any]) -> Iterator[tuple[float, str]]:
    yield from series["values"] if "values" in series else [series["value"]]


def write(url: str, folder: Path, *, start: float, end: float) -> list[Path]:
    """This will draw every committed dashboard and return the files."""
    asked = Asked(url, start, end)
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for path in sorted(FOLDER.glob("*.json")):
        board = json.loads(path.read_text(encoding="utf-8"))
        drawn = picture(board["title"], [(panel, asked.frames(panel)) for panel in board["panels"]])
        file = folder / f"dashboard-{path.stem.removeprefix('tuppence-')}.svg"
        file.write_text(drawn, encoding="utf-8")
        written.append(file)
    return written


def main() -> None:
    """This will draw from the given Prometheus, or from one that scrapes the demonstration."""
    parser = argparse.ArgumentParser(prog="python -m tools.draw_dashboards", description=__doc__.split("\n")[0])
    parser.add_argument("--prometheus", help="ask this one, which scrapes both services, over its last hour")
    parser.add_argument("--out", type=Path, default=OUT, help="folder (default: %(default)s)")
    given = parser.parse_args()
    if given.prometheus:
        write(given.prometheus.rstrip("/"), given.out, start=time.time() - 3_600, end=time.time())
        return
    with TemporaryDirectory() as name, demonstration(Path(name)) as world:
        world.prometheus.wait_for("tuppence_recommender_evaluation_success")
        begun = time.time()
        time.sleep(WATCHED_SECONDS)
        write(world.prometheus.url, given.out, start=begun, end=time.time())


if __name__ == "__main__":
    main()
