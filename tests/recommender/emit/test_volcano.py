"""Volcano and Volcano Global: shares of owned capacity, gangs, the clusters of a HyperJob, and where data is."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recommender.emit.contract import Emitted
from recommender.emit.planned import Needs
from recommender.emit.volcano import emit
from recommender.emit.volcano_queue import deserved
from recommender.settings import ClusterSettings
from tests.recommender.emit.crds import needs_schemas, violations
from tests.recommender.emit.json_patch import PatchRefusedError, apply_patch
from tests.recommender.emit.placing import (
    ON_METAL,
    burst,
    document_at,
    example,
    objects_of,
    placing,
    settings,
    train,
    why,
    worker,
)
from tests.recommender.emit.subjects import CLUSTERS
from tests.recommender.world import flow, flows, policy, workload

HYPERJOB: dict[str, Any] = {
    "apiVersion": "training.volcano.sh/v1alpha1",
    "kind": "HyperJob",
    "metadata": {"name": "fit", "namespace": "shop"},
    "spec": {
        "replicatedJobs": [
            {"name": "trainer", "replicas": 2, "clusterNames": ["gke-bel"], "templateSpec": {"minAvailable": 8}},
            {"name": "eval", "templateSpec": {"minAvailable": 1}},
        ]
    },
}
CORPUS = {"name": "corpus", "system": "s3", "type": "bucket", "to": "aws/eu-west-2"}


def queues(emitted: Emitted, cluster: str = "onprem-lon") -> dict[str, Any]:
    """This will return the spec of each Queue of a cluster by its name."""
    return {one["metadata"]["name"]: one["spec"] for one in document_at(emitted, f"queues/{cluster}.yaml").objects}


def told(**changes: Any) -> Any:
    """This will return settings that tell the HyperJob of the workload `fit` in eks-lon."""
    job = {"namespace": "shop", "name": "fit", "cluster": "eks-lon", "workload": "fit", "current": HYPERJOB}
    return settings(volcano={"hyperjobs": [job | changes]})


def fit(**changes: Any) -> dict[str, Any]:
    """This will return the workload of the HyperJob: 4 vCPU and 16 GiB in London."""
    return workload("fit", workload_kind="Job", **changes)


def test_each_class_deserves_what_the_plan_puts_on_owned_nodes_for_it() -> None:
    made = queues(emit(placing(train(), worker(residency_class="anywhere"))))
    # Two nodes of 32 vCPU leave 2 × 31.85 for pods; of 128 GiB 2 × 118.58234 (GKE's reserve, see place.allocatable).
    capability = {"cpu": "63700m", "memory": "242856Mi"}
    assert made == {
        "tuppence-anywhere": {
            "reclaimable": True,
            "deserved": {"cpu": "3", "memory": "6Gi"},
            "capability": capability,
        },
        "tuppence-uk": {"reclaimable": True, "deserved": {"cpu": "8", "memory": "16Gi"}, "capability": capability},
    }


def test_classes_that_ask_for_more_than_there_is_get_the_same_share_of_what_they_ask_for() -> None:
    peaks = {"a": Needs(60.0, 10.0, 0.0), "b": Needs(20.0, 10.0, 0.0)}
    assert deserved(peaks, Needs(40.0, 100.0, 0.0)) == {"a": Needs(30.0, 10.0, 0.0), "b": Needs(10.0, 10.0, 0.0)}


amounts = st.floats(min_value=0, max_value=1e5)


@given(st.dictionaries(st.sampled_from("abcd"), st.builds(Needs, amounts, amounts, amounts), min_size=1), amounts)
def test_queues_never_deserve_more_than_there_is_nor_more_than_they_ask_for(peaks: Any, capacity: float) -> None:
    shares = deserved(peaks, Needs(capacity, capacity, capacity))
    for part in ("vcpus", "memory_gib", "gpus"):
        assert sum(getattr(one, part) for one in shares.values()) <= capacity + 1e-6
        assert all(getattr(shares[name], part) <= getattr(peaks[name], part) + 1e-6 for name in peaks)


def test_workloads_without_a_class_share_one_queue() -> None:
    assert set(queues(emit(placing(train(residency_class=""))))) == {"tuppence"}


def test_owned_capacity_of_unknown_shape_is_not_shared_out() -> None:
    given = placing(train())
    pools = tuple(one.model_copy(update={"vcpus_per_node": None}) for one in given.plan.owned_capacity)
    made = emit(replace(given, plan=given.plan.model_copy(update={"owned_capacity": pools})))
    assert "nothing to share out" in why(made, "queues of onprem-lon")


def test_a_gang_starts_whole_in_the_queue_of_its_class() -> None:
    [group] = document_at(emit(placing(train())), "gangs/onprem-lon.ml.job.train.yaml").objects
    assert group["metadata"]["namespace"] == "ml"
    assert group["spec"] == {
        "minMember": 4,
        "queue": "tuppence-uk",
        "minResources": {"cpu": "8", "memory": "16Gi"},
    }


def test_a_gang_on_cloud_nodes_names_no_queue_of_owned_capacity() -> None:
    made = emit(placing(workload("fit", gang_size=2, local_volume=True)))
    [group] = document_at(made, "gangs/eks-lon.shop.deployment.fit.yaml").objects
    assert "queue" not in group["spec"]


def test_a_gang_larger_than_the_replicas_that_were_seen_would_never_start() -> None:
    made = emit(placing(train(replicas_mean=2.0)))
    assert not [one for one in made.documents if one.path.startswith("gangs/")]
    assert "at most 2 of its replicas were seen at once" in why(made, "Job/train")


def test_a_gang_larger_than_its_cluster_is_told() -> None:
    made = emit(placing(train(vcpu_request_mean=80.0)))
    assert not [one for one in made.documents if one.path.startswith("gangs/")]
    assert "needs 80 vCPU of 63.7 that onprem-lon has at all" in why(made, "Job/train")


def test_a_gang_larger_than_the_quota_of_its_cloud_cluster_is_told() -> None:
    small = tuple(
        ClusterSettings.model_validate(one.model_dump() | {"quotas": {"vcpus": 3}}) if one.name == "eks-lon" else one
        for one in CLUSTERS
    )
    given = placing(workload("fit", gang_size=2, local_volume=True))
    assert "needs 4 vCPU of 3 that eks-lon has at all" in why(emit(replace(given, clusters=small)), "Deployment/fit")


def test_a_gang_that_may_be_in_no_cluster_is_told_with_the_rules() -> None:
    made = emit(placing(train(), policy=policy(classes={"uk": {"residency": ["US"]}})))
    assert "its gang of 4 may be in no cluster" in why(made, "Job/train")
    assert "residency" in why(made, "Job/train")


def test_a_hyperjob_is_put_where_the_advice_says() -> None:
    document = document_at(emit(placing(fit(), settings=told())), "hyperjobs/shop.fit.json")
    after = apply_patch(HYPERJOB, document.objects)
    assert [one["clusterNames"] for one in after["spec"]["replicatedJobs"]] == [["onprem-lon"], ["onprem-lon"]]
    assert apply_patch(after, document.rollback_objects) == HYPERJOB
    assert len(document.recommendations) == 1


def test_a_hyperjob_that_has_changed_since_is_not_patched() -> None:
    document = document_at(emit(placing(fit(), settings=told())), "hyperjobs/shop.fit.json")
    changed = deepcopy(HYPERJOB)
    changed["spec"]["replicatedJobs"][1]["clusterNames"] = ["eks-lon"]
    with pytest.raises(PatchRefusedError, match="/spec/replicatedJobs/1/clusterNames"):
        apply_patch(changed, document.objects)


def test_without_advice_a_hyperjob_may_be_wherever_a_move_would_not_be_worth_it() -> None:
    # Racks 0.04, London 0.184, Belgium 0.128: at a least saving of 70 %, racks and Belgium (0.04 / 0.3 = 0.133).
    home = fit(residency_class="anywhere", **ON_METAL)
    stated = told(cluster="onprem-lon")
    lenient = policy(steady={"min_saving_ratio": 0.7})
    document = document_at(emit(placing(home, settings=stated, policy=lenient)), "hyperjobs/shop.fit.json")
    assert document.recommendations == ()
    assert document.clusters == ("onprem-lon", "gke-bel")
    alone = document_at(emit(placing(home, settings=stated)), "hyperjobs/shop.fit.json")
    assert alone.clusters == ("onprem-lon",)


@pytest.mark.parametrize(
    ("row", "job", "reason"),
    [
        (fit(), {"current": None}, "would test guessed values"),
        (fit(), {"workload": "other"}, "no cluster is allowed and priced"),
        (fit(state_gib=5.0), {}, "5 GiB of state would stay behind"),
        (fit(), {"current": HYPERJOB | {"spec": {"minAvailable": 1}}}, "it has no replicatedJobs"),
    ],
)
def test_a_hyperjob_that_cannot_be_patched_is_told(row: Any, job: Any, reason: str) -> None:
    made = emit(placing(row, settings=told(**job)))
    assert not [one for one in made.documents if one.path.startswith("hyperjobs/")]
    assert reason in why(made, "HyperJob shop/fit")


def test_an_object_that_is_not_the_hyperjob_is_refused() -> None:
    with pytest.raises(ValueError, match="is not the HyperJob 'fit'"):
        told(current=HYPERJOB | {"kind": "Job"})


def test_data_is_where_its_region_is_and_is_claimed_by_whoever_has_a_flow_to_it() -> None:
    given = placing(
        workload("renderer"),
        flows=flows(flow("renderer", to="aws/eu-west-2", gib_per_hour=30.0)),
        settings=settings(volcano={"data_sources": [CORPUS]}),
    )
    document = document_at(emit(given), "data/corpus.yaml")
    source, claim = document.objects
    assert source["spec"]["locality"] == {"clusterNames": ["eks-lon"]}
    assert claim["spec"] == {
        "system": "s3",
        "dataSourceType": "bucket",
        "dataSourceName": "corpus",
        "workload": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": "renderer"},
    }
    assert "shop/renderer 30 GiB/h" in document.says


@pytest.mark.parametrize(
    ("to", "reason"),
    [
        ("gcp/europe-west1", "eks-lon/shop/Deployment/renderer may not be there"),
        ("aws/eu-north-1", "no cluster is in aws/eu-north-1"),
        ("azure/uksouth", "no workload has a flow to azure/uksouth"),
    ],
)
def test_data_where_its_workloads_may_not_be_is_told(to: str, reason: str) -> None:
    talking = () if to.startswith("azure") else (flow("renderer", to=to),)
    given = placing(
        workload("renderer"),
        flows=flows(*talking),
        settings=settings(volcano={"data_sources": [CORPUS | {"to": to}]}),
    )
    made = emit(given)
    assert not [one for one in made.documents if one.path.startswith("data/")]
    assert reason in why(made, "data corpus")


def test_what_volcano_cannot_carry_out_is_told_by_its_id() -> None:
    made = emit(placing(workload("abroad", cluster="gke-bel"), capacity=(burst(), burst(id="more", kind="extend"))))
    assert "cannot overflow" in why(made, "burst00000000001")
    assert "can buy none" in why(made, "more")


def test_without_workloads_nothing_is_written() -> None:
    assert emit(placing()).documents == ()


@pytest.mark.parametrize("name", ["a" * 253, "Hostile £\n", "../up"])
@needs_schemas
def test_hostile_names_give_valid_objects(name: str) -> None:
    rules = policy(classes={name: {"residency": ["GB"]}})
    made = objects_of(emit(placing(train(residency_class=name) | {"workload": name}, policy=rules)))
    assert {one["kind"] for one in made} == {"Queue", "PodGroup"}
    assert violations(made) == []


@needs_schemas
def test_every_object_passes_its_schema() -> None:
    made = objects_of(emit(example()))
    assert {one["kind"] for one in made} == {"Queue", "PodGroup", "DataSource", "DataSourceClaim"}
    assert violations(made) == []
    document = document_at(emit(placing(fit(), settings=told())), "hyperjobs/shop.fit.json")
    assert violations([apply_patch(HYPERJOB, document.objects)]) == []
