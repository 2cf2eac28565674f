"""Moves through Argo CD: one step or two, pinned to allowed clusters, and taken back."""

from __future__ import annotations

from typing import Any

import pytest

from recommender.emit.argocd import CONFIG, emit
from recommender.emit.contract import Document, Manifest, Subject
from recommender.emit_settings import EmitSettings
from tests.recommender.emit.golden import handed_over
from tests.recommender.emit.subjects import subject
from tests.recommender.world import workload

IN_GIT = EmitSettings.model_validate(
    {
        "argocd": {
            "applications": [
                {
                    "namespace": "shop",
                    "workload": "web",
                    "path": "apps/web",
                    "repo_url": "https://git.example.org/a.git",
                }
            ]
        },
        "hub": {"managed_clusters": {"onprem-lon": "racks"}},
    }
)


def moved(**changes: Any) -> Subject:
    return subject(workload("web", **changes), settings=IN_GIT)


def steps(given: Subject) -> list[Document]:
    return [one for one in emit(given).documents if one.objects[0]["kind"] == "Placement"]


def clusters_of(placement: Manifest) -> str:
    selector = placement["spec"]["predicates"][0]["requiredClusterSelector"]
    (expression,) = selector["celSelector"]["celExpressions"]
    told: str = expression
    return told


def test_what_must_not_stop_moves_in_two_steps_by_way_of_both_clusters() -> None:
    both, last = steps(moved(criticality="high"))
    assert both.objects[0]["spec"]["numberOfClusters"] == 2
    assert clusters_of(both.objects[0]) == 'managedCluster.metadata.name in ["eks-lon", "racks"]'
    assert "Wait until it is healthy in onprem-lon" in both.apply
    assert last.objects[0]["spec"]["numberOfClusters"] == 1
    assert clusters_of(last.objects[0]) == 'managedCluster.metadata.name in ["racks"]'
    assert "delete what is left in eks-lon" in last.apply


def test_each_step_goes_back_to_the_one_before() -> None:
    both, last = steps(moved())
    assert clusters_of(both.rollback_objects[0]) == 'managedCluster.metadata.name in ["eks-lon"]'
    assert last.rollback_objects == both.objects


def test_state_makes_two_steps_of_a_move_and_is_said_to_be_copied_by_hand() -> None:
    both, _ = steps(moved(criticality="low", state_gib=0.5))
    assert "0.5 GiB of state have to be copied first" in both.says


@pytest.mark.parametrize("changes", [{"criticality": "low"}, {"workload_kind": "CronJob"}, {"workload_kind": "Job"}])
def test_what_may_stop_and_what_would_run_twice_moves_in_one_step(changes: dict[str, Any]) -> None:
    (only,) = steps(moved(**changes))
    assert only.objects[0]["spec"]["numberOfClusters"] == 1
    assert clusters_of(only.rollback_objects[0]) == 'managedCluster.metadata.name in ["eks-lon"]'


def test_what_may_not_stay_is_in_no_step_where_it_was_and_has_no_way_back() -> None:
    given = subject(
        workload("web", cluster="gke-bel", instance_type="n2-standard-4", criticality="high"), settings=IN_GIT
    )
    (only,) = steps(given)
    assert "gke-bel" not in clusters_of(only.objects[0])
    assert only.rollback_objects == ()
    assert only.rollback == "none that the policy allows: it may not run in gke-bel"


def test_a_residency_is_required_of_every_step() -> None:
    for step in steps(moved()):
        for placement in (*step.objects, *step.rollback_objects):
            selector = placement["spec"]["predicates"][0]["requiredClusterSelector"]
            assert selector["labelSelector"]["matchExpressions"] == [
                {"key": "tuppence.internal/jurisdiction", "operator": "In", "values": ["GB"]}
            ]


def test_the_application_set_follows_the_placement_of_its_workload_and_deletes_nothing() -> None:
    documents = emit(moved()).documents
    (application_set,) = [one.objects[0] for one in documents if one.objects[0]["kind"] == "ApplicationSet"]
    (config,) = [one.objects[0] for one in documents if one.objects[0]["kind"] == "ConfigMap"]
    decisions = application_set["spec"]["generators"][0]["clusterDecisionResource"]
    placement = steps(moved())[0].objects[0]
    label = {"cluster.open-cluster-management.io/placement": placement["metadata"]["name"]}
    assert decisions["labelSelector"]["matchLabels"] == label
    assert decisions["configMapRef"] == config["metadata"]["name"] == CONFIG
    assert config["metadata"]["namespace"] == placement["metadata"]["namespace"] == "argocd"
    assert application_set["spec"]["syncPolicy"] == {"preserveResourcesOnDeletion": True}


def test_workloads_of_one_name_in_two_clusters_have_placements_of_their_own() -> None:
    twice = {"residency_class": "europe", "criticality": "low"}
    given = subject(
        workload("web", **twice),
        workload("web", cluster="gke-bel", instance_type="n2-standard-4", **twice),
        settings=IN_GIT,
    )
    names = [one.objects[0]["metadata"]["name"] for one in steps(given)]
    assert len(names) == len(set(names)) == len(given.plan.recommendations) == 2


def test_where_a_workload_stands_in_git_is_not_guessed() -> None:
    given = emit(subject(workload("web")))
    assert given.documents == ()
    assert "emit.argocd.applications" in given.not_expressed[0].why


def test_advice_within_a_cluster_is_said_to_have_no_word() -> None:
    silent = {one.what: one.why for one in emit(handed_over()).not_expressed}
    (renderer,) = [one for one in handed_over().plan.recommendations if one.target.workload == "renderer"]
    assert silent[renderer.id] == "it stays in its cluster; an ApplicationSet chooses clusters, not nodes"
