"""MultiKueue: the order of a class's clusters, flavours and priorities."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from recommender.emit.kueue import emit
from recommender.emit.order import groups
from recommender.settings import ClusterSettings
from tests.recommender.emit.crds import needs_schemas, violations
from tests.recommender.emit.placing import ON_METAL, document_at, example, objects_of, placing, settings, train, why
from tests.recommender.emit.subjects import CLUSTERS, subject
from tests.recommender.world import (
    FLEET,
    flow,
    flows,
    machine,
    node_agents,
    policy,
    pool,
    pools,
    prices,
    standard_offers,
    workload,
    workloads,
)

CONFIG = "MultiKueueConfig"


def lists(*rows: dict[str, Any], **changes: Any) -> dict[str, list[str]]:
    """This will return the clusters of each MultiKueueConfig by its name."""
    made = emit(placing(*rows, **changes))
    return {one["metadata"]["name"]: one["spec"]["clusters"] for one in objects_of(made) if one["kind"] == CONFIG}


def test_clusters_stand_in_the_order_of_what_the_whole_class_costs_there() -> None:
    # web: racks 4/32 × 0.32 = 0.04, eks 0.184. abroad: the same. In gke-bel neither may be.
    assert lists(workload("web"), workload("abroad", cluster="gke-bel", instance_type="n2-standard-4")) == {
        "tuppence-uk": ["onprem-lon", "eks-lon"]
    }


def test_owned_capacity_stands_first_only_while_its_margin_is_cheaper() -> None:
    dear = [*standard_offers()[:3], machine(
        "onprem", "london", "r760", "owned", vcpus=32.0, memory_gib=128.0, gbp_per_vcpu_hour=0.1,
        gbp_per_gib_hour=0.02, marginal_gbp_per_hour=3.2, split_method="rate-card",
    )]  # fmt: skip
    # A tenth of the racks' 32 vCPU at £3.20 an hour: 4/32 × 3.2 = 0.40 against 0.184 on demand.
    assert lists(workload("web"), prices=prices(dear)) == {"tuppence-uk": ["eks-lon", "onprem-lon"]}


def test_the_price_of_a_cluster_is_that_of_the_cheapest_capacity_type_a_workload_may_use() -> None:
    made = groups(placing(workload("batch", interruption_tolerance="spot", residency_class="anywhere")))[0]
    [group] = made
    assert [(one.cluster, one.gbp_per_hour) for one in group.clusters] == [
        ("onprem-lon", pytest.approx(0.04)),
        ("eks-lon", pytest.approx(4 * 0.01 + 16 * 0.004 / 3, abs=2e-3)),
        ("gke-bel", pytest.approx(0.128)),
    ]


def test_a_cluster_that_one_workload_of_a_class_may_not_use_is_not_in_its_list() -> None:
    # 17 GiB a replica on a machine of 16: only the racks hold it, and with it the class has one cluster.
    big = workload("big", memory_gib_request_mean=34.0, **ON_METAL)
    assert lists(workload("web"), big) == {"tuppence-uk": ["onprem-lon"]}


def test_workloads_with_a_gpu_are_ordered_apart_from_the_rest_of_their_class() -> None:
    gpu = workload("train", gpu_request_mean=1.0, gpu_model="H100")
    with_gpus = [
        *standard_offers(),
        machine("aws", "eu-west-2", "p5.4xlarge", "on-demand", vcpus=16.0, memory_gib=64.0, gbp_per_vcpu_hour=0.03,
                gbp_per_gib_hour=0.004, gpus=1.0, gpu_model="H100", gbp_per_gpu_hour=2.0),
    ]  # fmt: skip
    fleet = pools(*FLEET, pool("eks-lon", "gpu", "p5.4xlarge"))
    gpu |= {"pool": "gpu", "instance_type": "p5.4xlarge"}
    made = lists(workload("web"), gpu, prices=prices(with_gpus), pools=fleet)
    assert made["tuppence-uk"] == ["onprem-lon", "eks-lon"]
    [other] = set(made) - {"tuppence-uk"}
    assert other.startswith("tuppence-uk-gpu-h100-")
    assert made[other] == ["eks-lon"]


def test_a_class_without_an_allowed_cluster_gets_no_list_and_is_told_why() -> None:
    nowhere = policy(classes={"uk": {"residency": ["US"]}})
    given = placing(workload("web"), policy=nowhere)
    assert not [one for one in objects_of(emit(given)) if one["kind"] == CONFIG]
    assert "no cluster is allowed" in why(emit(given), "class uk")


def test_a_cluster_of_an_unknown_jurisdiction_is_in_no_list_even_for_a_class_that_may_go_anywhere() -> None:
    given = placing(workload("batch", residency_class="anywhere"))
    unknown = tuple(
        one.model_copy(update={"jurisdiction": "", "region": "nowhere"}) if one.name == "gke-bel" else one
        for one in CLUSTERS
    )
    [known], [denied] = groups(given)[0], groups(_with_clusters(given, unknown))[0]
    assert "gke-bel" in [one.cluster for one in known.clusters]
    assert "gke-bel" not in [one.cluster for one in denied.clusters]


def test_of_25_clusters_the_20_cheapest_are_listed_and_the_others_are_told() -> None:
    names = [f"eks-{number:02}" for number in range(25)]
    fleet = pools(*(pool(name, "general", "m5.xlarge", region=f"eu-west-{i}") for i, name in enumerate(names)))
    # Each a tenth of a penny a vCPU dearer than the one before.
    offers = [
        machine("aws", f"eu-west-{i}", "m5.xlarge", "on-demand", gbp_per_vcpu_hour=0.03 + i / 1000,
                gbp_per_gib_hour=0.004)
        for i in range(25)
    ]  # fmt: skip
    idle = {"vcpu_request_mean": 0.001, "memory_gib_request_mean": 0.001, "is_system": True}
    seen = workloads(
        workload("web", cluster="eks-24"), *(workload("node-agent", cluster=name, **idle) for name in names)
    )
    rows = {"workloads": seen, "pools": fleet, "prices": prices(offers)}
    clusters = tuple(
        ClusterSettings.model_validate(
            {"name": name, "provider": "aws", "region": f"eu-west-{i}", "jurisdiction": "GB",
             "pools": [{"name": "general", "capacity_type": "on-demand", "instance_types": ["m5.xlarge"]}]}
        )
        for i, name in enumerate(names)
    )  # fmt: skip
    made = emit(_with_clusters(subject(**rows), clusters))
    [config] = [one for one in objects_of(made) if one["kind"] == CONFIG]
    assert config["spec"]["clusters"] == names[:20]
    assert [one.what for one in made.not_expressed if "holds 20 clusters" in one.why] == [
        f"cluster {name} for class uk" for name in names[20:]
    ]


def test_a_cluster_that_was_not_observed_keeps_its_place_in_the_list_but_comes_last() -> None:
    unseen = workloads(workload("web"), *(one for one in node_agents() if one["cluster"] != "onprem-lon"))
    [group] = groups(subject(workloads=unseen))[0]
    assert [(one.cluster, one.observed) for one in group.clusters] == [("eks-lon", True), ("onprem-lon", False)]


def test_a_workload_without_class_or_bound_to_its_node_is_in_no_list() -> None:
    made = emit(example())
    assert "no rule of the policy" in why(made, "Deployment/lost")
    assert "bound to volumes" in why(made, "Deployment/pinned")
    listed = {key[3] for one in made.documents if one.path.startswith("multikueue/") for key in one.workloads}
    assert listed == {"web", "abroad", "train", "worker", "indexer", "api", "renderer"}


def test_a_cluster_whose_name_kubernetes_does_not_take_is_left_out_and_told() -> None:
    given = placing(workload("web"))
    renamed = {"onprem-lon": "Onprem LON"}
    costs = given.costs.with_columns(to_cluster=_replaced(given, renamed))
    clusters = tuple(one.model_copy(update={"name": renamed.get(one.name, one.name)}) for one in CLUSTERS)
    made = emit(_with_clusters(_with(given, costs=costs), clusters))
    [config] = [one for one in objects_of(made) if one["kind"] == CONFIG]
    assert config["spec"]["clusters"] == ["eks-lon"]
    assert "no name of a MultiKueueCluster" in why(made, "Onprem LON")


@pytest.mark.parametrize("name", ["a" * 253, 'x"; DROP TABLE', "../../etc", "\u202eevil\n", "ÜMLAUT £"])
@needs_schemas
def test_hostile_names_of_classes_and_workloads_give_valid_objects(name: str) -> None:
    rules = policy(classes={name: {"residency": ["GB"]}})
    made = emit(placing(workload(name, namespace="shop", residency_class=name), policy=rules))
    assert [one for one in objects_of(made) if one["kind"] == CONFIG]
    assert violations(objects_of(made)) == []


def test_the_dispatcher_that_keeps_the_order_is_named_and_the_check_is_on_no_flavour() -> None:
    made = emit(example())
    one = document_at(made, "multikueue/tuppence-uk.yaml")
    assert "multikueue-dispatcher-incremental" in one.apply
    assert "stepSize: 1" in one.apply
    assert not any("onFlavors" in str(each) for each in objects_of(made))


def test_the_advice_that_an_order_carries_out_is_named_with_its_first_expiry() -> None:
    given = example()
    one = document_at(emit(given), "multikueue/tuppence-europe.yaml")
    [advice] = [each for each in given.plan.recommendations if each.target.workload == "api"]
    assert one.recommendations == (advice.id,)
    assert one.expires_at == advice.expires_at


def test_advice_that_neither_the_order_nor_a_queue_carries_out_is_told() -> None:
    given = placing(workload("web"))
    # The cluster that it is advised to move to is no longer in the settings.
    gone = replace(given, clusters=tuple(one for one in CLUSTERS if one.name == "eks-lon"))
    [advice] = given.plan.recommendations
    assert "the order is of a class" in why(emit(gone), advice.id)


def test_flavours_tell_nodes_apart_by_the_labels_of_their_provider_and_taint_spot() -> None:
    made = emit(placing(train(), workload("batch", residency_class="anywhere")))
    flavours = {one["metadata"]["name"]: one["spec"] for one in objects_of(made) if one["kind"] == "ResourceFlavor"}
    assert flavours == {
        "eks-lon.on-demand": {
            "nodeLabels": {"karpenter.sh/capacity-type": "on-demand", "topology.kubernetes.io/region": "eu-west-2"}
        },
        "eks-lon.spot": {
            "nodeLabels": {"karpenter.sh/capacity-type": "spot", "topology.kubernetes.io/region": "eu-west-2"},
            "nodeTaints": [{"key": "tuppence.internal/capacity-type", "value": "spot", "effect": "NoSchedule"}],
        },
        "gke-bel.on-demand": {
            "nodeLabels": {
                "cloud.google.com/gke-provisioning": "standard",
                "topology.kubernetes.io/region": "europe-west1",
            }
        },
        "onprem-lon.owned": {"nodeLabels": {"tuppence.internal/capacity-type": "owned"}},
    }


def test_the_settings_say_how_nodes_are_labelled() -> None:
    stated = settings(node_labels={"aws": {"on-demand": {"eks.amazonaws.com/capacityType": "ON_DEMAND"}}})
    made = emit(placing(workload("web"), settings=stated))
    [flavour] = [one for one in objects_of(made) if one["metadata"]["name"] == "eks-lon.on-demand"]
    assert flavour["spec"]["nodeLabels"]["eks.amazonaws.com/capacityType"] == "ON_DEMAND"


def test_criticality_becomes_a_priority_of_admission() -> None:
    made = emit(placing(workload("web", criticality="high"), train()))
    classes = {o["metadata"]["name"]: o["value"] for o in objects_of(made) if o["kind"] == "WorkloadPriorityClass"}
    assert classes == {"tuppence-low": 100, "tuppence-high": 1000}


def test_without_advice_the_order_is_handed_over_and_without_workloads_nothing() -> None:
    settled = placing(workload("web", pool="metal", instance_type="r760", capacity_type="owned", cluster="onprem-lon"))
    assert settled.plan.recommendations == ()
    assert document_at(emit(settled), "multikueue/tuppence-uk.yaml").recommendations == ()
    nothing = emit(placing())
    assert nothing.documents == ()


@pytest.mark.parametrize("version", ["kueue.x-k8s.io/v1beta1", "kueue.x-k8s.io/v1beta2"])
@needs_schemas
def test_every_object_passes_the_schema_of_its_version(version: str) -> None:
    stated = settings(kueue={"api_version": version, "cohort": "uk"})
    made = objects_of(emit(_with(example(), settings=stated)))
    assert {one["apiVersion"] for one in made} == {version}
    assert violations(made) == []


def test_priorities_out_of_order_are_refused() -> None:
    with pytest.raises(ValueError, match="low < medium < high"):
        settings(kueue={"priorities": {"low": 5, "medium": 5, "high": 6}})


def test_flows_count_in_the_order() -> None:
    # 100 GiB an hour to the internet: 0.08 each after 100 free on AWS, 0.10 on GCP, nothing on the own line.
    talkative = flows(flow("web", gib_per_hour=100.0))
    [group] = groups(placing(workload("web", residency_class="europe"), flows=talkative))[0]
    assert [one.cluster for one in group.clusters] == ["onprem-lon", "eks-lon", "gke-bel"]


def _with(given: Any, **changes: Any) -> Any:
    return replace(given, **changes)


def _with_clusters(given: Any, clusters: tuple[ClusterSettings, ...]) -> Any:
    return _with(given, clusters=clusters)


def _replaced(given: Any, names: dict[str, str]) -> Any:
    return given.costs["to_cluster"].replace(names)
