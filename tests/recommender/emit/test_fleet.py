"""Azure Kubernetes Fleet Manager: required jurisdiction, one sorter, and who is a member."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from recommender.emit.contract import Subject
from recommender.emit.fleet import emit
from recommender.settings import ClusterSettings
from tests.recommender.emit.crds import needs_schemas, violations
from tests.recommender.emit.placing import burst, document_at, objects_of, placing, settings, why
from tests.recommender.emit.subjects import CLUSTERS
from tests.recommender.world import (
    FLEET,
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

REGIONS = {
    "aks-south": ("uksouth", "GB", 0.03),
    "aks-west": ("ukwest", "GB", 0.025),
    "aks-dublin": ("northeurope", "EEA", 0.01),
}
NOT_HERE = policy(classes={"uk": {"residency": ["US"]}})
IDLE = {"vcpu_request_mean": 0.001, "memory_gib_request_mean": 0.001, "is_system": True}


@cache
def _fleet() -> tuple[Any, Any, tuple[ClusterSettings, ...]]:
    """Three AKS clusters beside the small fleet: a vCPU for £0.03 in the south, 0.025 in the west, 0.01 in Dublin."""
    offers, rows, clusters = [], [], []
    for name, (region, jurisdiction, price) in REGIONS.items():
        for bought, share in (("on-demand", 1.0), ("spot", 0.2)):
            offers.append(
                machine("azure", region, "D4s", bought, gbp_per_vcpu_hour=price * share, gbp_per_gib_hour=0.004 * share)
            )
            rows.append(
                pool(name, bought, "D4s", provider="azure", region=region, jurisdiction=jurisdiction,
                     capacity_type=bought)
            )  # fmt: skip
        clusters.append(
            ClusterSettings.model_validate(
                {"name": name, "provider": "azure", "region": region, "jurisdiction": jurisdiction,
                 "pools": [{"name": b, "capacity_type": b, "instance_types": ["D4s"]} for b in ("on-demand", "spot")]}
            )
        )  # fmt: skip
    return prices([*standard_offers(), *offers]), pools(*FLEET, *rows), (*CLUSTERS, *clusters)


def on_fleet(*rows: dict[str, Any], members: tuple[str, ...] = (), **changes: Any) -> Subject:
    """This will return a subject of the small fleet with three AKS clusters."""
    priced, fleet, clusters = _fleet()
    agents = [workload("node-agent", cluster=name, **IDLE) for name in REGIONS]
    seen = workloads(*rows, *node_agents(), *agents)
    given = placing(
        prices=priced, pools=fleet, workloads=seen, settings=settings(fleet={"members": list(members)}), **changes
    )
    return replace(given, clusters=clusters)


def web(name: str = "web", **changes: Any) -> dict[str, Any]:
    """This will return a workload in the AKS cluster of the south: 4 vCPU and 16 GiB."""
    row = {"cluster": "aks-south", "pool": "on-demand", "instance_type": "D4s", "capacity_type": "on-demand"}
    return workload(name, **(row | changes))


def affinity_of(given: Subject) -> Any:
    """This will return the cluster affinity of the placement of namespace shop."""
    [made] = document_at(emit(given), "placements/shop.yaml").objects
    return made["spec"]["policy"]["affinity"]["clusterAffinity"]


def test_the_jurisdiction_and_the_members_that_may_be_used_are_required() -> None:
    [term] = affinity_of(on_fleet(web()))["requiredDuringSchedulingIgnoredDuringExecution"]["clusterSelectorTerms"]
    assert term["labelSelector"]["matchExpressions"] == [
        {"key": "tuppence.internal/jurisdiction", "operator": "In", "values": ["GB"]},
        {"key": "tuppence.internal/cluster", "operator": "In", "values": ["aks-south", "aks-west"]},
    ]


def test_one_cost_property_is_sorted_by_and_never_both() -> None:
    preferred = affinity_of(on_fleet(web()))["preferredDuringSchedulingIgnoredDuringExecution"]
    assert preferred == [
        {
            "weight": 80,
            "preference": {
                "propertySorter": {"name": "kubernetes.azure.com/per-cpu-core-cost", "sortOrder": "Ascending"}
            },
        }
    ]


def test_our_prices_stand_beside_fleets_with_what_it_leaves_out() -> None:
    document = document_at(emit(on_fleet(web())), "placements/shop.yaml")
    # West: 4 × 0.025 + 16 × 0.004 = 0.164; south 0.184.
    assert "aks-west £0.1640/h, aks-south £0.1840/h" in document.says
    assert "list price of on-demand nodes to three decimals" in document.says


def test_a_namespace_runs_only_where_all_of_its_workloads_may() -> None:
    anywhere = web("batch", residency_class="anywhere")
    alone = document_at(emit(on_fleet(anywhere)), "placements/shop.yaml")
    assert alone.clusters == ("aks-dublin", "aks-west", "aks-south")
    together = document_at(emit(on_fleet(anywhere, web())), "placements/shop.yaml")
    assert together.clusters == ("aks-west", "aks-south")


def test_a_single_member_is_required_and_nothing_is_sorted() -> None:
    given = on_fleet(web(), members=("aks-south",))
    assert "preferredDuringSchedulingIgnoredDuringExecution" not in affinity_of(given)
    assert document_at(emit(given), "placements/shop.yaml").clusters == ("aks-south",)


def test_an_arc_member_has_no_cost_property_so_that_nothing_is_sorted() -> None:
    given = on_fleet(web(), members=("aks-south", "onprem-lon"))
    assert "preferredDuringSchedulingIgnoredDuringExecution" not in affinity_of(given)
    assert "no cost property is known of onprem-lon" in why(emit(given), "namespace shop")


def test_a_price_on_spot_nodes_is_one_that_fleet_does_not_see() -> None:
    made = emit(on_fleet(web(interruption_tolerance="spot")))
    assert "cheapest on spot or committed nodes" in why(made, "prices of namespace shop")


@pytest.mark.parametrize(
    ("row", "changes", "reason"),
    [
        (web(state_gib=1.0), {}, "it holds state"),
        (web(local_volume=True), {}, "it holds state"),
        (web(namespace="Shop £"), {}, "none that Kubernetes takes"),
        (web(), {"policy": NOT_HERE}, "none of the members"),
    ],
)
def test_a_namespace_that_fleet_cannot_place_lawfully_is_told(row: Any, changes: Any, reason: str) -> None:
    made = emit(on_fleet(row, **changes))
    assert not [one for one in made.documents if one.path.startswith("placements/")]
    assert reason in why(made, f"namespace {row['namespace']}")


def test_members_are_labelled_with_name_and_jurisdiction_and_the_labels_can_be_taken_off() -> None:
    document = document_at(emit(on_fleet(web())), "members/aks-south.yaml")
    labels = {"tuppence.internal/cluster": "aks-south", "tuppence.internal/jurisdiction": "GB"}
    assert document.objects == ({"metadata": {"labels": labels}},)
    assert document.rollback_objects == ({"metadata": {"labels": dict.fromkeys(labels)}},)
    assert document.patches["kind"] == "MemberCluster"


def test_without_a_member_nothing_is_written() -> None:
    made = emit(placing(workload("web")))
    assert made.documents == ()
    assert "none is of provider azure" in why(made, "fleet")


def test_advice_that_fleet_cannot_be_told_is_named() -> None:
    given = on_fleet(web())
    [advice] = given.plan.recommendations
    assert "it cannot be told one of them" in why(emit(given), advice.id)


def test_a_burst_is_nothing_that_fleet_can_carry_out() -> None:
    made = emit(on_fleet(web(), capacity=(burst(),)))
    assert "neither overflows nor comes back" in why(made, "burst00000000001")


def test_advice_to_the_only_member_is_carried_out_by_its_placement() -> None:
    given = on_fleet(web(), members=("onprem-lon",))
    [advice] = given.plan.recommendations
    assert advice.recommended.cluster == "onprem-lon"
    assert document_at(emit(given), "placements/shop.yaml").recommendations == (advice.id,)


def test_a_member_of_an_unknown_jurisdiction_is_not_chosen() -> None:
    given = on_fleet(web(residency_class="anywhere"))
    unknown = tuple(
        one.model_copy(update={"jurisdiction": "", "region": "nowhere"}) if one.name == "aks-dublin" else one
        for one in given.clusters
    )
    made = emit(replace(given, clusters=unknown))
    assert document_at(made, "placements/shop.yaml").clusters == ("aks-west", "aks-south")


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
@needs_schemas
def test_every_placement_passes_its_schema(version: str) -> None:
    given = on_fleet(web(), web("batch", namespace="a" * 63))
    stated = settings(fleet={"api_version": f"placement.kubernetes-fleet.io/{version}"})
    made = objects_of(emit(replace(given, settings=stated)))
    assert len(made) == 2
    assert violations(made) == []
