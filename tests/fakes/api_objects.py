"""Server-side apply of a status as the API server does it, for scores: who owns which, and what a conflict is.

A value out of bounds refuses the whole status. A score belongs to its key `name`, a condition to its `type`. A change
of another manager's value is refused unless forced; what its owner no longer applies goes (Kubernetes, "Server-Side
Apply").
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

GROUP = "cluster.open-cluster-management.io"
KINDS = {
    "addonplacementscores": (f"{GROUP}/v1alpha1", "AddOnPlacementScore"),
    "placements": (f"{GROUP}/v1beta1", "Placement"),
    "placementdecisions": (f"{GROUP}/v1beta1", "PlacementDecision"),
    "managedclusters": (f"{GROUP}/v1", "ManagedCluster"),
    "clusterprofiles": ("multicluster.x-k8s.io/v1alpha1", "ClusterProfile"),
}
SCORES = "addonplacementscores"
Json = dict[str, Any]
_SCORE, _CONDITION = 'k:{"name":', 'k:{"type":'


class RefusedError(Exception):
    """An answer that is no success."""

    def __init__(self, status: int, reason: str, message: str, **details: Any) -> None:
        super().__init__(message)
        self.status = status
        self.body = {
            "kind": "Status",
            "apiVersion": "v1",
            "status": "Failure",
            "message": message,
            "reason": reason,
            "details": details,
            "code": status,
        }


def check(status: Json, name: str) -> None:
    """This will refuse a status as the schema does."""
    wrong = [
        f"status.scores[{number}].value: Invalid value: {score.get('value')}: should be an integer in -100..100"
        for number, score in enumerate(status.get("scores", []))
        if not (isinstance(score.get("value"), int) and -100 <= score["value"] <= 100)
    ]
    if wrong or status.keys() - {"scores", "validUntil", "conditions"}:
        text = f'AddOnPlacementScore.{GROUP} "{name}" is invalid: {"; ".join(wrong) or "unknown field"}'
        raise RefusedError(422, "Invalid", text, name=name)


def _leaves(status: Json) -> dict[str, Any]:
    leaves = {f'k:{{"name":"{score["name"]}"}}': score["value"] for score in status.get("scores", [])}
    leaves |= {f'k:{{"type":"{one["type"]}"}}': one for one in status.get("conditions", [])}
    return leaves | ({"f:validUntil": status["validUntil"]} if "validUntil" in status else {})


def applied(one: Json, manager: str, status: Json, *, force: bool, at: datetime) -> Json:
    """This will change an object as an apply by a manager does, and return it."""
    metadata = one["metadata"]
    owned = {
        entry["manager"]: _owned(entry)
        for entry in metadata.get("managedFields", [])
        if entry.get("subresource") == "status"
    }
    before, wanted = _leaves(one.get("status", {})), _leaves(status)
    for leaf, value in wanted.items():
        others = [who for who, leaves in owned.items() if who != manager and leaf in leaves]
        if others and before[leaf] != value:
            if not force:
                text = f'Apply failed with 1 conflict: conflict with "{others[0]}": .status.{leaf}'
                raise RefusedError(409, "Conflict", text, name=metadata["name"])
            for who in others:
                owned[who].discard(leaf)
    dropped = owned.get(manager, set()) - wanted.keys()
    still = set().union(*(leaves for who, leaves in owned.items() if who != manager))
    after = {leaf: value for leaf, value in before.items() if leaf not in dropped - still} | wanted
    moved = wanted.keys() != owned.get(manager, set()) or any(before.get(leaf) != wanted[leaf] for leaf in wanted)
    owned[manager] = set(wanted)
    one["status"] = _status(after)
    times = {entry["manager"]: entry["time"] for entry in metadata.get("managedFields", []) if "time" in entry}
    if moved:
        times[manager] = at.strftime("%Y-%m-%dT%H:%M:%SZ")
    kept = [entry for entry in metadata.get("managedFields", []) if entry.get("subresource") != "status"]
    metadata["managedFields"] = kept + [_entry(who, leaves, times[who]) for who, leaves in owned.items() if leaves]
    return one


def _owned(entry: Json) -> set[str]:
    fields = entry["fieldsV1"]["f:status"]
    return {*fields.get("f:scores", {}), *fields.get("f:conditions", {})} | (
        {"f:validUntil"} if "f:validUntil" in fields else set()
    )


def _entry(manager: str, leaves: set[str], time: str) -> Json:
    scores = {leaf: {".": {}, "f:name": {}, "f:value": {}} for leaf in sorted(leaves) if _SCORE in leaf}
    conditions = {leaf: {".": {}, "f:type": {}, "f:status": {}} for leaf in sorted(leaves) if _CONDITION in leaf}
    fields: Json = ({"f:scores": scores} if scores else {}) | ({"f:conditions": conditions} if conditions else {})
    if "f:validUntil" in leaves:
        fields["f:validUntil"] = {}
    return {
        "manager": manager,
        "operation": "Apply",
        "apiVersion": KINDS[SCORES][0],
        "time": time,
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:status": fields},
        "subresource": "status",
    }


def _status(leaves: dict[str, Any]) -> Json:
    scores = [
        {"name": json.loads(leaf[2:])["name"], "value": value} for leaf, value in leaves.items() if _SCORE in leaf
    ]
    conditions = [value for leaf, value in leaves.items() if _CONDITION in leaf]
    status: Json = ({"scores": scores} if scores else {}) | ({"conditions": conditions} if conditions else {})
    return status | ({"validUntil": leaves["f:validUntil"]} if "f:validUntil" in leaves else {})
