"""Traffic that crosses between clusters: kept at home where both run the Service, priced where the plan knows it."""

from __future__ import annotations

from typing import Any

from recommender.emit.contract import Subject
from recommender.emit.mesh import emit
from recommender.emit_settings import EmitSettings
from tests.recommender.emit.subjects import subject
from tests.recommender.emit.test_kubernetes import patched
from tests.recommender.world import flow, flows, workload

SERVICE = {"cluster": "eks-lon", "namespace": "shop", "workload": "api", "name": "api-svc"}
IN_BELGIUM = {"cluster": "gke-bel", "instance_type": "n2-standard-4"}
TO_BELGIUM = flow("api", to="gcp/europe-west1", gib_per_hour=2.0)


def crossing(
    *more: dict[str, Any], residency_class: str = "europe", kind: str = "cilium", services: bool = True
) -> Subject:
    """The workload api in London, which sends 2 GiB an hour to Belgium, and what else there is."""
    mesh = {"kind": kind, "services": [SERVICE] if services else []}
    return subject(
        workload("api", residency_class=residency_class),
        *more,
        settings=EmitSettings.model_validate({"mesh": mesh}),
        flows=flows(TO_BELGIUM),
    )


TWIN = workload("api", residency_class="europe", **IN_BELGIUM)


def test_a_shared_service_is_told_to_prefer_its_own_cluster_and_back() -> None:
    (document,) = emit(crossing(TWIN)).documents
    before = {
        "kind": "Service",
        "metadata": {"name": "api-svc", "annotations": {"service.cilium.io/global": "true"}},
    }
    after = patched(before, document.objects)
    assert after["metadata"]["annotations"]["service.cilium.io/affinity"] == "local"
    assert patched(after, document.rollback_objects) == before
    assert document.patches["name"] == "api-svc"


def test_what_crosses_and_what_it_costs_a_month_is_said() -> None:
    given = crossing(TWIN)
    (one,) = [each for each in given.plan.recommendations if each.target.cluster == "eks-lon"]
    (line,) = [each for each in one.egress if each.used_for == "current"]
    (document,) = emit(given).documents
    assert f"2 GiB an hour cross to gcp/europe-west1, for £{line.gbp_per_hour * 730:,.2f} a month" in document.says


def test_a_price_that_the_plan_does_not_have_is_not_made_up() -> None:
    given = subject(workload("api", local_volume=True), flows=flows(TO_BELGIUM))
    (silent,) = emit(given).not_expressed
    assert silent.what == "eks-lon/shop/Deployment/api"
    assert "2 GiB an hour cross to gcp/europe-west1; the plan has no price of that" in silent.why


def test_a_service_that_only_one_cluster_runs_has_no_endpoint_to_prefer() -> None:
    given = emit(crossing())
    assert given.documents == ()
    assert "gke-bel was not seen to run it" in given.not_expressed[0].why


def test_a_service_whose_name_is_not_known_is_not_guessed() -> None:
    given = emit(crossing(TWIN, services=False))
    assert given.documents == ()
    assert "emit.mesh.services" in given.not_expressed[0].why


def test_a_service_is_not_shared_with_a_cluster_that_the_policy_forbids() -> None:
    given = emit(crossing(TWIN, residency_class="uk"))
    assert given.documents == ()
    assert "the policy does not allow it in gke-bel" in given.not_expressed[0].why


def test_the_services_api_exports_it_from_each_cluster() -> None:
    given = emit(crossing(TWIN, kind="mcs"))
    paths = [one.path for one in given.documents]
    assert {"eks-lon/shop.api-svc.yaml", "gke-bel/shop.api-svc.yaml"} <= set(paths)
    assert all(one.objects[0]["kind"] == "ServiceExport" for one in given.documents)
    assert all(one.objects[0]["metadata"]["name"] == "api-svc" for one in given.documents)


def test_what_moves_is_exported_from_both_clusters_under_one_name() -> None:
    given = crossing(kind="mcs")
    (one,) = given.plan.recommendations
    here, there = emit(given).documents
    assert (here.clusters, there.clusters) == (("eks-lon",), ("onprem-lon",))
    assert {here.recommendations, there.recommendations} == {(one.id,)}
    assert here.objects[0]["metadata"]["name"] == there.objects[0]["metadata"]["name"] == "api-svc"
    assert there.expires_at == one.expires_at


def test_what_may_not_stay_where_it_is_is_exported_from_nowhere() -> None:
    service = {**SERVICE, "cluster": "gke-bel"}
    settings = EmitSettings.model_validate({"mesh": {"kind": "mcs", "services": [service]}})
    given = emit(subject(workload("api", **IN_BELGIUM), settings=settings))
    assert given.documents == ()
    assert "does not allow it at both ends" in given.not_expressed[0].why


def test_what_stays_in_its_region_and_what_goes_to_the_internet_crosses_nothing() -> None:
    at_home = flows(flow("api", to="aws/eu-west-2"), flow("api", to="internet"))
    given = emit(subject(workload("api"), flows=at_home))
    assert given.documents == ()
    assert given.not_expressed == ()
