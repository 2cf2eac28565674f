"""Karmada: overflow and return, moves, shares by price, and nodes by how they are bought."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recommender.advise.record import State
from recommender.emit.contract import Document
from recommender.emit.karmada import emit
from recommender.emit.karmada_split import shares
from tests.recommender.emit.crds import needs_schemas, violations
from tests.recommender.emit.placing import (
    AWAY,
    ON_METAL,
    back,
    burst,
    burst_move,
    document_at,
    example,
    objects_of,
    placing,
    settings,
    train,
    why,
    worker,
    worker_move,
)
from tests.recommender.emit.subjects import CLUSTERS
from tests.recommender.world import workload

BELGIUM = AWAY | {"cluster": "gke-bel", "pool": "general", "capacity_type": "on-demand", "region": "europe-west1"}


def placement_of(document: Document) -> Any:
    """This will return the placement of a document's PropagationPolicy."""
    [policy] = [one for one in document.objects if one["kind"] == "PropagationPolicy"]
    return policy["spec"]["placement"]


def split(*clusters: str, name: str = "api") -> Any:
    """This will return settings that divide a workload of eks-lon among clusters."""
    row = {"cluster": "eks-lon", "namespace": "shop", "workload": name, "clusters": list(clusters)}
    return settings(karmada={"split": [row]})


def test_a_burst_fills_its_home_and_then_the_cloud() -> None:
    made = emit(placing(worker(), capacity=(burst(worker_move()),)))
    document = document_at(made, "ml.deployment.worker.yaml")
    assert placement_of(document) == {
        "clusterAffinities": [
            {
                "affinityName": "home",
                "clusterNames": ["onprem-lon"],
                "overflowAffinities": [{"affinityName": "burst-1", "clusterNames": ["eks-lon"]}],
            }
        ],
        "replicaScheduling": {
            "replicaSchedulingType": "Divided",
            "replicaDivisionPreference": "Weighted",
            "weightPreference": {"dynamicWeight": "AvailableReplicas"},
        },
    }
    assert document.objects[0]["spec"]["activationPreference"] == "Lazy"
    assert document.objects[0]["metadata"]["namespace"] == "ml"
    assert document.clusters == ("onprem-lon", "eks-lon")


def test_a_burst_to_several_clusters_overflows_to_the_cheapest_of_them_first() -> None:
    anywhere = worker(residency_class="anywhere")
    dear = burst(worker_move(gbp_per_hour=0.4), id="burst-dear")
    cheap = burst(worker_move(gbp_per_hour=0.3), id="burst-cheap", recommended=BELGIUM)
    made = emit(placing(anywhere, capacity=(dear, cheap)))
    document = document_at(made, "ml.deployment.worker.yaml")
    tiers = placement_of(document)["clusterAffinities"][0]["overflowAffinities"]
    assert [one["clusterNames"] for one in tiers] == [["gke-bel"], ["eks-lon"]]
    assert document.recommendations == ("burst-cheap", "burst-dear")


def test_a_burst_to_spot_has_its_pods_choose_and_tolerate_spot_nodes_there_only() -> None:
    made = emit(placing(worker(), capacity=(burst(worker_move()),)))
    [rule] = document_at(made, "ml.deployment.worker.yaml").objects[1]["spec"]["overrideRules"]
    assert rule["targetCluster"] == {"clusterNames": ["eks-lon"]}
    assert rule["overriders"]["plaintext"] == [
        {
            "path": "/spec/template/spec/nodeSelector",
            "operator": "add",
            "value": {"karpenter.sh/capacity-type": "spot"},
        },
        {
            "path": "/spec/template/spec/tolerations",
            "operator": "add",
            "value": [
                {
                    "key": "tuppence.internal/capacity-type",
                    "operator": "Equal",
                    "value": "spot",
                    "effect": "NoSchedule",
                }
            ],
        },
    ]


def test_the_roll_back_of_a_burst_keeps_the_workload_at_home_and_places_it_anew() -> None:
    made = emit(placing(worker(), capacity=(burst(worker_move()),)))
    policy, rebalancer = document_at(made, "ml.deployment.worker.yaml").rollback_objects
    assert policy["spec"]["placement"] == {
        "clusterAffinities": [{"affinityName": "home", "clusterNames": ["onprem-lon"]}]
    }
    assert rebalancer["kind"] == "WorkloadRebalancer"


def test_a_return_withdraws_the_overflow_and_rebalances() -> None:
    made = emit(placing(worker(), capacity=(back(moves=[worker_move()]),)))
    policy, rebalancer = document_at(made, "return.return0000000001.onprem-lon.yaml").objects
    assert "overflowAffinities" not in str(policy)
    assert rebalancer["spec"]["workloads"] == [
        {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "ml", "name": "worker"}
    ]


@pytest.mark.parametrize(
    ("row", "move", "place", "reason"),
    [
        (train(), burst_move(), AWAY, "a gang of 4 must be in one cluster"),
        (worker(workload_kind="CronJob"), worker_move(workload_kind="CronJob"), AWAY, "divides no CronJob"),
        (worker(workload_kind="RayCluster"), worker_move(workload_kind="RayCluster"), AWAY, "not known here"),
        (worker(), worker_move(), BELGIUM, "may not run in gke-bel on on-demand nodes"),
        (worker(interruption_tolerance="none"), worker_move(), AWAY, "may not run in eks-lon on spot nodes"),
        (worker(), worker_move("other"), AWAY, "may not run in onprem-lon"),
        (worker(), worker_move(), AWAY | {"cluster": "e" * 49}, "no name that a Karmada Cluster can have"),
        (worker("Worker £"), worker_move("Worker £"), AWAY, "none that Kubernetes takes"),
    ],
)
def test_a_burst_that_karmada_cannot_carry_out_lawfully_is_told(row: Any, move: Any, place: Any, reason: str) -> None:
    made = emit(placing(row, capacity=(burst(move, recommended=place),)))
    assert not [one for one in made.documents if "burst00000000001" in one.recommendations]
    assert reason in why(made, "burst00000000001")


def test_advice_to_buy_capacity_is_nothing_that_karmada_can_do() -> None:
    made = emit(placing(worker(), capacity=(burst(kind="commit", recommended=None, moves=[]),)))
    assert "can buy none" in why(made, "burst00000000001")


def test_a_move_names_the_advised_cluster_and_falls_back_to_the_one_before() -> None:
    document = document_at(emit(placing(workload("web"))), "shop.deployment.web.yaml")
    assert placement_of(document) == {
        "clusterAffinities": [
            {"affinityName": "advised", "clusterNames": ["onprem-lon"]},
            {"affinityName": "before", "clusterNames": ["eks-lon"]},
        ]
    }
    [undo] = document.rollback_objects
    assert undo["spec"]["placement"]["clusterAffinities"] == [{"affinityName": "before", "clusterNames": ["eks-lon"]}]


def test_a_move_out_of_a_breach_never_falls_back_to_where_the_workload_may_not_be() -> None:
    abroad = workload("abroad", cluster="gke-bel", instance_type="n2-standard-4")
    document = document_at(emit(placing(abroad)), "shop.deployment.abroad.yaml")
    assert document.clusters == ("onprem-lon",)
    assert "gke-bel" not in str([one["spec"] for one in document.objects])
    assert document.rollback_objects == ()


def test_a_move_of_state_is_not_karmadas_to_make() -> None:
    made = emit(placing(workload("db", state_gib=1.0)))
    assert made.documents == ()
    assert "1 GiB of state would stay behind" in "; ".join(one.why for one in made.not_expressed)


def test_another_capacity_type_in_the_same_cluster_is_an_override_alone() -> None:
    spot = workload("renderer", interruption_tolerance="spot", state_gib=500.0)
    document = document_at(emit(placing(spot)), "shop.deployment.renderer.yaml")
    assert [one["kind"] for one in document.objects] == ["OverridePolicy"]


def test_nodes_that_are_all_bought_in_one_way_need_no_override() -> None:
    made = emit(placing(workload("web")))
    assert [one["kind"] for one in objects_of(made)] == ["PropagationPolicy", "PropagationPolicy"]


@pytest.mark.parametrize("state", [State.DISMISSED, State.SUPERSEDED, State.VERIFIED])
def test_only_open_and_accepted_advice_becomes_a_policy(state: State) -> None:
    subject = placing(workload("web"))
    closed = tuple(one.model_copy(update={"state": state}) for one in subject.plan.recommendations)
    assert closed
    plan = subject.plan.model_copy(update={"recommendations": closed})
    assert emit(replace(subject, plan=plan)).documents == ()


def test_replicas_are_divided_in_inverse_proportion_to_the_price() -> None:
    # Without flows: eks 2 × 0.03 + 8 × 0.004 = 0.092, Belgium 2 × 0.02 + 8 × 0.003 = 0.064; 100 × 64/92 = 69.6.
    api = workload("api", residency_class="europe", vcpu_request_mean=2.0, memory_gib_request_mean=8.0)
    made = emit(placing(api, settings=split("eks-lon", "gke-bel")))
    document = document_at(made, "shop.deployment.api.yaml")
    weights = placement_of(document)["replicaScheduling"]["weightPreference"]["staticWeightList"]
    assert weights == [
        {"targetCluster": {"clusterNames": ["eks-lon"]}, "weight": 70},
        {"targetCluster": {"clusterNames": ["gke-bel"]}, "weight": 100},
    ]
    assert placement_of(document)["clusterAffinity"] == {"clusterNames": ["eks-lon", "gke-bel"]}
    # Its move to the racks is another policy of the same workload.
    assert "a workload has one policy" in "; ".join(one.why for one in made.not_expressed)


def test_a_split_leaves_out_clusters_that_the_workload_may_not_use() -> None:
    made = emit(placing(workload("api"), settings=split("eks-lon", "gke-bel", "onprem-lon")))
    assert document_at(made, "shop.deployment.api.yaml").clusters == ("eks-lon", "onprem-lon")
    assert "may not run there" in why(made, "api in gke-bel")


@pytest.mark.parametrize(
    ("row", "clusters", "reason"),
    [
        (workload("api"), ("eks-lon", "gke-bel"), "fewer than two"),
        (workload("api", gang_size=2), ("eks-lon", "onprem-lon"), "a split knows no gangs"),
        (workload("other"), ("eks-lon", "onprem-lon"), "was not observed"),
    ],
)
def test_a_split_that_cannot_be_is_told(row: Any, clusters: tuple[str, ...], reason: str) -> None:
    made = emit(placing(row, settings=split(*clusters)))
    assert reason in why(made, "eks-lon/shop/Deployment/api")
    assert not [one for one in objects_of(made) if "staticWeightList" in str(one)]


def test_free_capacity_takes_all_but_the_least_share() -> None:
    assert shares({"racks": 0.0, "cloud": 0.2}) == {"racks": 100, "cloud": 1}
    assert shares({"a": 0.1, "b": 0.2, "c": 100.0}) == {"a": 100, "b": 50, "c": 1}


@given(st.dictionaries(st.sampled_from("abcdef"), st.floats(min_value=0, max_value=1e6), min_size=1))
def test_a_cheaper_cluster_never_has_the_smaller_share(prices: dict[str, float]) -> None:
    weights = shares(prices)
    assert all(1 <= weight <= 100 for weight in weights.values())
    ordered = sorted(prices, key=lambda name: prices[name])
    assert all(weights[one] >= weights[other] for one, other in pairwise(ordered))


def test_a_cluster_of_an_unknown_jurisdiction_is_no_destination() -> None:
    subject = placing(workload("web"))
    unknown = tuple(one.model_copy(update={"jurisdiction": "", "region": "nowhere"}) for one in CLUSTERS)
    made = emit(replace(subject, clusters=unknown))
    assert made.documents == ()
    assert "may not run in onprem-lon" in "; ".join(one.why for one in made.not_expressed)


def test_without_advice_nothing_is_written() -> None:
    assert emit(placing(workload("web", **ON_METAL))).documents == ()


@needs_schemas
def test_every_object_passes_its_schema() -> None:
    made = objects_of(emit(example()))
    assert {one["kind"] for one in made} == {"PropagationPolicy", "OverridePolicy", "WorkloadRebalancer"}
    assert violations(made) == []


@needs_schemas
def test_a_name_of_253_letters_gives_valid_objects_and_a_file_that_can_be_unpacked() -> None:
    long = "a" * 253
    made = emit(placing(workload(long)))
    assert violations(objects_of(made)) == []
    assert all(len(one.path) < 200 for one in made.documents)
    assert all(len(one["metadata"]["name"]) <= 253 for one in objects_of(made))
    assert made.documents
