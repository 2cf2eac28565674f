"""A worker's ClusterQueue: the order of flavours, their quotas, and the patch of one that is there."""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from recommender.advise.record import State
from recommender.emit.contract import Document, Subject
from recommender.emit.kueue import emit
from recommender.settings import ClusterSettings
from tests.recommender.emit.crds import needs_schemas, violations
from tests.recommender.emit.json_patch import PatchRefusedError, apply_patch
from tests.recommender.emit.placing import ON_METAL, document_at, objects_of, placing, settings, train, why
from tests.recommender.emit.subjects import CLUSTERS
from tests.recommender.world import workload

QUEUE: dict[str, Any] = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "ClusterQueue",
    "metadata": {"name": "batch"},
    "spec": {
        "cohortName": "uk",
        "resourceGroups": [
            {
                "coveredResources": ["cpu", "memory"],
                "flavors": [
                    {
                        "name": "default",
                        "resources": [
                            {"name": "cpu", "nominalQuota": "2"},
                            {"name": "memory", "nominalQuota": "200Gi", "borrowingLimit": "1Ti"},
                        ],
                    },
                    {"name": "reserved", "resources": [{"name": "cpu", "nominalQuota": "9"}]},
                    {
                        "name": "spot",
                        "resources": [
                            {"name": "cpu", "nominalQuota": "500m"},
                            {"name": "memory", "nominalQuota": "1024Mi"},
                        ],
                    },
                ],
            }
        ],
    },
}
NAMES = {"on-demand": "default", "spot": "spot"}


def batch(**changes: Any) -> dict[str, Any]:
    """This will return a workload that the plan moves to spot nodes: 4 vCPU and 16 GiB."""
    return workload("batch", interruption_tolerance="spot", state_gib=500.0, **changes)


def told(current: dict[str, Any] | None = None, **changes: Any) -> Any:
    """This will return settings that tell the ClusterQueue of eks-lon."""
    queue = {"cluster": "eks-lon", "name": "batch", "current": current or QUEUE, "flavors": NAMES} | changes
    return settings(kueue={"queues": [queue]})


def patch_of(given: Subject) -> Document:
    """This will return the patch of the ClusterQueue of eks-lon."""
    return document_at(emit(given), "queues/eks-lon.batch.json")


def quotas(given: Subject, cluster: str) -> dict[str, list[str]]:
    """This will return the quotas of a whole ClusterQueue by flavour, in its order."""
    [queue] = document_at(emit(given), f"queues/{cluster}.tuppence.yaml").objects
    [group] = queue["spec"]["resourceGroups"]
    return {one["name"]: [each["nominalQuota"] for each in one["resources"]] for one in group["flavors"]}


def test_a_queue_that_is_not_told_is_written_whole_as_large_as_the_plan_puts_there() -> None:
    # web stays nowhere else than the racks: 4 vCPU, 16 GiB; train's gang of four is there already: 8 vCPU, 16 GiB.
    assert quotas(placing(workload("web"), train()), "onprem-lon") == {"onprem-lon.owned": ["12", "32Gi"]}


def test_flavours_stand_in_the_order_of_their_cost_for_the_same_workloads() -> None:
    given = placing(batch(), workload("web", local_volume=True))
    assert list(quotas(given, "eks-lon")) == ["eks-lon.spot", "eks-lon.on-demand"]


def test_advice_that_was_dismissed_leaves_its_workload_where_it_is() -> None:
    given = placing(workload("web"))
    dismissed = given.plan.recommendations[0].model_copy(update={"state": State.DISMISSED})
    given = replace(given, plan=given.plan.model_copy(update={"recommendations": (dismissed,)}))
    assert quotas(given, "eks-lon") == {"eks-lon.on-demand": ["4", "16Gi"]}


def test_a_quota_is_no_smaller_than_the_largest_gang() -> None:
    # Two of its four replicas were seen at peak: 4 vCPU and 8 GiB; the gang needs twice that.
    given = placing(train(replicas_mean=2.0, vcpu_request_mean=4.0, memory_gib_request_mean=8.0))
    assert quotas(given, "onprem-lon") == {"onprem-lon.owned": ["8", "16Gi"]}


def test_a_gang_that_the_cluster_could_never_hold_gets_no_queue_and_is_told_why() -> None:
    given = placing(train())
    clusters = tuple(_with_quota(one, 6) if one.name == "onprem-lon" else one for one in CLUSTERS)
    made = emit(replace(given, clusters=clusters))
    assert not [one for one in made.documents if one.path.startswith("queues/onprem-lon")]
    assert why(made, "Job/train") == "its gang of 4 needs 8 vCPUs of 6 that onprem-lon may have at all"


def test_a_namespace_with_a_workload_that_may_not_be_there_is_not_let_in() -> None:
    # In Belgium: api may be there, web may not, and both are in one namespace.
    in_belgium = {"cluster": "gke-bel", "instance_type": "n2-standard-4"}
    made = emit(placing(workload("api", residency_class="europe", local_volume=True, **in_belgium), workload("web")))
    assert not [one for one in made.documents if one.path.startswith("queues/gke-bel")]
    assert "lets whole namespaces in" in why(made, "namespace shop in gke-bel")


def test_priced_flavours_borrow_nothing_in_a_cohort_and_name_no_limit_outside_one() -> None:
    [alone] = document_at(emit(placing(workload("web"))), "queues/onprem-lon.tuppence.yaml").objects
    assert "borrowingLimit" not in str(alone)
    given = placing(workload("web"), settings=settings(kueue={"cohort": "uk"}))
    [among] = document_at(emit(given), "queues/onprem-lon.tuppence.yaml").objects
    assert among["spec"]["cohortName"] == "uk"
    [group] = among["spec"]["resourceGroups"]
    assert [one["borrowingLimit"] for one in group["flavors"][0]["resources"]] == ["0", "0"]


def test_a_queue_that_is_told_is_ordered_raised_and_kept_from_borrowing() -> None:
    given = placing(batch(), workload("web", local_volume=True), settings=told())
    after = apply_patch(QUEUE, patch_of(given).objects)
    assert after["spec"]["resourceGroups"][0]["flavors"] == [
        {
            "name": "spot",
            "resources": [
                {"name": "cpu", "nominalQuota": "4", "borrowingLimit": "0"},
                {"name": "memory", "nominalQuota": "16Gi", "borrowingLimit": "0"},
            ],
        },
        {"name": "reserved", "resources": [{"name": "cpu", "nominalQuota": "9"}]},
        {
            "name": "default",
            "resources": [
                {"name": "cpu", "nominalQuota": "4", "borrowingLimit": "0"},
                # 200 GiB are more than the plan needs: a quota is never lowered.
                {"name": "memory", "nominalQuota": "200Gi", "borrowingLimit": "0"},
            ],
        },
    ]


def test_the_roll_back_of_a_patch_gives_the_queue_back_as_it_was() -> None:
    document = patch_of(placing(batch(), settings=told()))
    after = apply_patch(QUEUE, document.objects)
    assert after != QUEUE
    assert apply_patch(after, document.rollback_objects) == QUEUE


def test_a_patch_is_refused_where_the_queue_has_changed_since() -> None:
    document = patch_of(placing(batch(), settings=told()))
    changed = deepcopy(QUEUE)
    changed["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]["nominalQuota"] = "3"
    with pytest.raises(PatchRefusedError, match="/spec/resourceGroups/0/flavors"):
        apply_patch(changed, document.objects)


def test_a_queue_that_is_as_it_should_be_is_not_patched() -> None:
    given = placing(batch(), settings=told())
    settled = replace(given, settings=told(apply_patch(QUEUE, patch_of(given).objects)))
    assert not [one for one in emit(settled).documents if one.path.startswith("queues/")]


def test_a_queue_with_none_of_the_flavours_is_not_patched() -> None:
    made = emit(placing(batch(), settings=told(flavors={"on-demand": "gold"})))
    assert not [one for one in made.documents if one.path.startswith("queues/")]
    assert "none of the flavours" in why(made, "ClusterQueue batch of eks-lon")


def test_a_queue_whose_present_state_is_not_told_is_neither_patched_nor_overwritten() -> None:
    made = emit(placing(batch(), settings=settings(kueue={"queues": [{"cluster": "eks-lon", "name": "batch"}]})))
    assert not [one for one in made.documents if one.path.startswith("queues/")]
    assert "would test guessed values" in why(made, "ClusterQueue batch of eks-lon")


def test_a_multikueue_check_on_single_flavours_is_not_patched_over() -> None:
    queue = deepcopy(QUEUE)
    checks = [{"name": "multikueue-batch", "onFlavors": ["spot"]}]
    queue["spec"]["admissionChecksStrategy"] = {"admissionChecks": checks}
    assert "without onFlavors" in why(emit(placing(batch(), settings=told(queue))), "ClusterQueue batch")


def test_a_quota_that_is_no_quantity_is_not_patched() -> None:
    queue = deepcopy(QUEUE)
    queue["spec"]["resourceGroups"][0]["flavors"][2]["resources"][0]["nominalQuota"] = "many"
    assert "'many' in its flavour spot is no quantity" in why(
        emit(placing(batch(), settings=told(queue))), "ClusterQueue batch"
    )


def test_a_flavour_that_the_plan_needs_and_the_queue_lacks_is_told() -> None:
    queue = deepcopy(QUEUE)
    del queue["spec"]["resourceGroups"][0]["flavors"][2]
    given = placing(batch(), workload("web", local_volume=True), settings=told(queue))
    assert "the queue does not have it" in why(emit(given), "flavour spot")


def test_two_queues_of_a_cluster_cannot_be_told_apart_by_the_plan() -> None:
    queues = [{"cluster": "eks-lon", "name": name} for name in ("a", "b")]
    made = emit(placing(batch(), settings=settings(kueue={"queues": queues})))
    assert "several ClusterQueues" in why(made, "cluster eks-lon")


def test_the_file_of_a_queue_is_read_with_the_settings(tmp_path: Path) -> None:
    path = tmp_path / "queue.yaml"
    path.write_text(yaml.safe_dump(QUEUE))
    stated = settings(kueue={"queues": [{"cluster": "eks-lon", "name": "batch", "file": str(path)}]})
    assert stated.kueue.queues[0].current == QUEUE


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "cannot be read"),
        (json.dumps({"kind": "LocalQueue", "metadata": {"name": "batch"}, "spec": {}}), "is not the ClusterQueue"),
        (json.dumps({"kind": "ClusterQueue", "metadata": {"name": "other"}, "spec": {}}), "is not the ClusterQueue"),
        (json.dumps({"kind": "ClusterQueue", "metadata": {"name": "batch"}}), "has no spec"),
        ("[]", "dict"),
    ],
)
def test_a_file_that_holds_no_such_queue_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "queue.yaml"
    path.write_text(text)
    with pytest.raises(ValueError, match=reason):
        settings(kueue={"queues": [{"cluster": "eks-lon", "name": "batch", "file": str(path)}]})


def test_a_file_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot be read"):
        settings(kueue={"queues": [{"cluster": "eks-lon", "name": "batch", "file": "nowhere.yaml"}]})


@needs_schemas
def test_a_patched_queue_passes_its_schema() -> None:
    given = placing(batch(), settings=told())
    assert violations([apply_patch(QUEUE, patch_of(given).objects)]) == []
    assert violations(objects_of(emit(placing(batch(), train(**ON_METAL))))) == []


def _with_quota(cluster: ClusterSettings, vcpus: float) -> ClusterSettings:
    return ClusterSettings.model_validate(cluster.model_dump() | {"quotas": {"vcpus": vcpus}})
