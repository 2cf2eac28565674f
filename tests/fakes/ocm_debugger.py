"""The placement controller's debug endpoint on loopback: what ocm's pkg/placement/debugger answers, by the same sums.

A POST below /debug/placements/ is a dry run: label predicates filter, Steady and AddOn prioritizers are weighted and
added up, `aggregatedScores` lists the best first and equal ones by name. A token without the right is 403, none is 401.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TOKEN = "may-create-placements"


@dataclass
class Hub:
    """What stands on the hub.

    Args:
        labels: of each ManagedCluster.
        scores: by cluster and score name.
        incumbent: the cluster of the Placement's decision; empty: there is none.
        status: answered instead of 200.
        body: answered instead of the results.
    """

    labels: dict[str, dict[str, str]]
    scores: dict[str, dict[str, int]]
    incumbent: str = ""
    status: int = 200
    body: bytes | None = None
    seen: list[str] = field(default_factory=list)


@contextmanager
def debugger(hub: Hub) -> Iterator[str]:
    """This will serve a hub's debug endpoint and return its URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            hub.seen.append(self.path)
            placement = json.loads(self.rfile.read(int(self.headers["content-length"])))
            status, document = _answer(hub, placement, self.headers.get("authorization", ""))
            body = json.dumps(document).encode() if hub.body is None else hub.body
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing: a test's output is its own."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def passes(placement: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """This will tell whether a Placement's label predicates let a cluster pass."""
    return all(
        _holds(one, labels)
        for predicate in placement["spec"].get("predicates", [])
        for one in predicate["requiredClusterSelector"].get("labelSelector", {}).get("matchExpressions", [])
    )


def _holds(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    there = expression["key"] in labels
    if expression["operator"] == "Exists":
        return there
    assert expression["operator"] == "In"
    return there and labels[expression["key"]] in expression["values"]


def _answer(hub: Hub, placement: Mapping[str, Any], authorization: str) -> tuple[int, dict[str, Any]]:
    if hub.status != 200:
        return hub.status, {"error": f"the controller says {hub.status}"}
    if not authorization:
        return 401, {"error": "user information not found in request context"}
    if authorization != f"Bearer {TOKEN}":
        namespace = placement["metadata"]["namespace"]
        return 403, {"error": f"user does not have permission to create placements in namespace {namespace}: "}
    left = sorted(name for name, labels in hub.labels.items() if passes(placement, labels))
    sums = dict.fromkeys(left, 0)
    prioritized = []
    for one in placement["spec"]["prioritizerPolicy"]["configurations"]:
        coordinate, weight = one["scoreCoordinate"], one["weight"]
        if coordinate["type"] == "BuiltIn":
            assert coordinate["builtIn"] == "Steady"
            given = {name: 100 if name == hub.incumbent else 0 for name in left}
        else:
            score = coordinate["addOn"]["scoreName"]
            given = {name: hub.scores.get(name, {}).get(score, 0) for name in left}
        prioritized.append({"name": coordinate["type"], "weight": weight, "scores": given})
        sums = {name: sums[name] + weight * given[name] for name in left}
    ordered = sorted(sums, key=lambda name: (-sums[name], name))
    return 200, {
        "placement": dict(placement),
        "filteredPipelineResults": [{"name": "Predicate", "filteredClusters": left}],
        "prioritizeResults": prioritized,
        "aggregatedScores": [{"clusterName": name, "score": sums[name]} for name in ordered],
    }
