"""A local OpenCost that answers /allocation as the real one does, and misbehaves as it is told.

It checks window, step, aggregate and credentials; a window becomes one set a day, a day without entries an empty set.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

PROPERTIES = {"cluster", "namespace", "controllerKind", "controller"}


def entry(day: date, *, properties: Mapping[str, str] | None = None, **figures: Any) -> dict[str, Any]:
    """An allocation in the form of AllocationJSON; figures that are not named are nought, the total is their sum."""
    costs = ("cpuCost", "ramCost", "gpuCost", "networkCost", "pvCost", "loadBalancerCost", "sharedCost", "externalCost")
    hours = ("cpuCoreHours", "ramByteHours", "gpuHours")
    adjustments = [f"{name}Adjustment" for name in costs[:6]]
    row: dict[str, Any] = dict.fromkeys((*costs, *hours, *adjustments), 0) | figures
    if "totalCost" not in figures:
        row["totalCost"] = round(sum(row[name] for name in (*costs, *adjustments)), 5)
    window = {"start": f"{day}T00:00:00Z", "end": f"{day + timedelta(days=1)}T00:00:00Z"}
    return {
        "properties": dict(properties or {}),
        "window": window,
        "start": f"{day}T08:00:00Z",
        "end": f"{day}T20:00:00Z",
        "cpuEfficiency": None,
        **row,
    }


def workload(cluster: str, namespace: str, kind: str, name: str) -> tuple[str, dict[str, str]]:
    """The name and the properties of an entry of a controller."""
    words = {"cluster": cluster, "namespace": namespace, "controllerKind": kind, "controller": name}
    return f"{cluster}/{namespace}/{kind}/{kind}:{name}", words


@dataclass(slots=True)
class FakeOpenCost:
    """What it knows and how it behaves.

    Args:
        days: entries by name, by day.
        authorization: the header that it asks for; empty: none.
        answers: bodies with their status, given before anything else.
        reverse: whether sets come last day first.
        paths: the paths that exist.
        asked: query of every request.
    """

    days: dict[date, dict[str, dict[str, Any]]] = field(default_factory=dict)
    authorization: str = ""
    answers: list[tuple[int, str]] = field(default_factory=list)
    reverse: bool = False
    paths: tuple[str, ...] = ("/allocation", "/allocation/compute")
    asked: list[dict[str, str]] = field(default_factory=list)
    url: str = ""

    def answer(self, path: str, query: dict[str, str], authorization: str) -> tuple[int, str]:
        self.asked.append(query)
        if self.answers:
            return self.answers.pop(0)
        if self.authorization and authorization != self.authorization:
            return 401, "Unauthorized"
        if path not in self.paths:
            return 404, "404 page not found"
        if not set(query["aggregate"].split(",")) <= PROPERTIES or query["step"] != "1d":
            return 400, '{"code": 400, "message": "unknown parameter"}'
        start, end = (datetime.fromisoformat(edge) for edge in query["window"].split(","))
        days = [start.date() + timedelta(days=n) for n in range((end - start).days)]
        sets = [self.days.get(day, {}) for day in (reversed(days) if self.reverse else days)]
        return 200, json.dumps({"code": 200, "data": sets})


@contextmanager
def fake_opencost() -> Iterator[FakeOpenCost]:
    """An OpenCost on a free port of this machine."""
    fake = FakeOpenCost()

    class Handler(BaseHTTPRequestHandler):
        wbufsize = -1  # head and body in one packet, or the other side waits for the second

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            status, text = fake.answer(parts.path, query, self.headers.get("Authorization", ""))
            body = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    fake.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield fake
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
