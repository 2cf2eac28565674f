"""What kubectl prints of schedulers' decisions is read for what it says, and refused where it is not that."""

from __future__ import annotations

import copy
import json
from datetime import UTC, datetime
from typing import Any

import pytest

from exporters.core.errors import SettingsError
from recommender.observe.decisions import Decided, OwnedBy, decisions_of
from tests.recommender.emit.crds import CRDS, needs_schemas

PREFIX = "tuppence.internal"
SCHEMA = CRDS / "cluster.open-cluster-management.io_v1beta1_PlacementDecision.json"


def placement(name: str = "web", ids: str = "aaaa,bbbb") -> dict[str, Any]:
    return {
        "apiVersion": "cluster.open-cluster-management.io/v1beta1",
        "kind": "Placement",
        "metadata": {"name": name, "namespace": "pilot", "annotations": {f"{PREFIX}/recommendation-id": ids}},
    }


def placement_decision(*clusters: str, page: int = 1, placement: str = "web") -> dict[str, Any]:
    return {
        "apiVersion": "cluster.open-cluster-management.io/v1beta1",
        "kind": "PlacementDecision",
        "metadata": {
            "name": f"{placement}-decision-{page}",
            "namespace": "pilot",
            "labels": {"cluster.open-cluster-management.io/placement": placement},
        },
        "status": {"decisions": [{"clusterName": name, "reason": ""} for name in clusters]},
    }


def kueue_workload(cluster: str = "onprem-lon", admitted: str = "True") -> dict[str, Any]:
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {
            "name": "job-train-1a2b3",
            "namespace": "ml",
            "ownerReferences": [
                {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "u", "controller": True}
            ],
        },
        "status": {
            "clusterName": cluster,
            "conditions": [
                {"type": "QuotaReserved", "status": "True", "lastTransitionTime": "2026-11-30T11:58:00Z"},
                {"type": "Admitted", "status": admitted, "lastTransitionTime": "2026-11-30T12:00:00Z"},
            ],
        },
    }


def read(*objects: object) -> tuple[Decided, ...]:
    return decisions_of(objects, label_prefix=PREFIX, where="dump.json")


def test_a_placement_carries_the_ids_of_the_advice_and_its_decision_the_cluster() -> None:
    assert read(placement(), placement_decision("onprem-lon")) == (
        Decided("ocm", "Placement pilot/web", ("onprem-lon",), advice_ids=("aaaa", "bbbb")),
    )


def test_the_pages_of_one_placement_are_one_decision() -> None:
    [one] = read(placement_decision("b", "a"), placement_decision("c", page=2))
    assert (one.source, one.clusters) == ("Placement pilot/web", ("a", "b", "c"))


def test_ids_of_a_list_that_was_cut_are_those_that_it_names() -> None:
    [one] = read(placement(ids="aaaa,bbbb and 3 more"), placement_decision("a"))
    assert one.advice_ids == ("aaaa", "bbbb")


def test_a_workload_of_kueue_is_of_its_controller_and_was_decided_when_it_was_admitted() -> None:
    assert read(kueue_workload()) == (
        Decided(
            "kueue",
            "Workload ml/job-train-1a2b3",
            ("onprem-lon",),
            owner=OwnedBy("ml", "Job", "train"),
            decided_at=datetime(2026, 11, 30, 12, tzinfo=UTC),
        ),
    )


@pytest.mark.parametrize("changes", [{"admitted": "False"}, {"cluster": ""}])
def test_a_workload_that_is_only_nominated_or_runs_here_is_undecided(changes: dict[str, str]) -> None:
    [one] = read(kueue_workload(**changes))
    assert one.clusters == ()


def test_other_kinds_and_other_groups_of_the_same_kind_are_left_out() -> None:
    strange = copy.deepcopy(kueue_workload()) | {"apiVersion": "example.com/v1"}
    assert read(placement(), strange, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}) == ()


@pytest.mark.parametrize(
    ("broken", "what"),
    [
        ("text", "an entry is no Kubernetes object"),
        ({"kind": "Workload", "metadata": {"name": "x"}}, "an entry is no Kubernetes object"),
        ({"kind": "Workload", "apiVersion": "kueue.x-k8s.io/v1beta2", "metadata": {}}, "a Workload has no name"),
        (placement_decision() | {"status": [1]}, "the status of PlacementDecision web-decision-1 is not an object"),
    ],
)
def test_what_is_no_object_of_kubernetes_is_refused(broken: object, what: str) -> None:
    with pytest.raises(SettingsError, match=what):
        read(placement(), broken)


def test_a_time_that_is_none_is_refused() -> None:
    one = kueue_workload()
    one["status"]["conditions"][1]["lastTransitionTime"] = "yesterday"
    with pytest.raises(SettingsError, match="'yesterday' is not an RFC 3339 time"):
        read(one)


@needs_schemas
def test_the_fields_that_are_read_are_those_of_the_crd() -> None:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    row = schema["properties"]["status"]["properties"]["decisions"]["items"]
    assert "clusterName" in row["properties"]
