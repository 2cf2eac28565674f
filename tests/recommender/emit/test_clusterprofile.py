"""Properties of clusters: where they are and what they cost, and nothing that is not known."""

from __future__ import annotations

from dataclasses import replace

from recommender.emit.clusterprofile import emit
from recommender.emit.contract import Subject
from recommender.emit_settings import EmitSettings
from tests.recommender.emit.subjects import CLUSTERS, subject
from tests.recommender.world import workload


def properties(given: Subject, cluster: str) -> dict[str, str]:
    (profile,) = [one.objects[0] for one in emit(given).documents if one.objects[0]["spec"]["displayName"] == cluster]
    return {one["name"].split("/", 1)[1]: one["value"] for one in profile["status"]["properties"]}


def test_a_cluster_says_where_it_is_and_what_its_machines_cost() -> None:
    told = properties(subject(workload("web")), "eks-lon")
    assert {name: told[name] for name in ("jurisdiction", "provider", "region", "tier")} == {
        "jurisdiction": "GB",
        "provider": "aws",
        "region": "eu-west-2",
        "tier": "cloud",
    }
    assert told["gbp-per-vcpu-hour.on-demand.m5-xlarge"] == "0.030000"
    assert told["gbp-per-gib-hour.on-demand.m5-xlarge"] == "0.004000"


def test_a_class_has_a_price_by_capacity_type_where_all_of_its_workloads_may_be() -> None:
    given = subject(workload("web"), workload("batch", interruption_tolerance="spot"))
    told = properties(given, "eks-lon")
    assert told["gbp-per-hour.uk.on-demand"] == "0.368000"  # two of 4 × 0.03 + 16 × 0.004
    assert "gbp-per-hour.uk.spot" not in told, "web may not be interrupted"
    assert not any(name.startswith("gbp-per-hour.uk") for name in properties(given, "gke-bel"))


def test_a_price_that_the_plan_does_not_rest_on_has_no_property() -> None:
    told = properties(subject(workload("web")), "gke-bel")
    assert not any(name.startswith("gbp-per-vcpu-hour") for name in told)


def test_a_jurisdiction_that_is_not_known_is_said_and_has_no_property() -> None:
    nowhere = tuple(
        one.model_copy(update={"jurisdiction": "", "provider": "book", "region": "moon"})
        if one.name == "gke-bel"
        else one
        for one in CLUSTERS
    )
    given = replace(subject(workload("web")), clusters=nowhere)
    assert "jurisdiction" not in properties(given, "gke-bel")
    assert any(one.what == "gke-bel" for one in emit(given).not_expressed)


def test_names_fit_under_the_longest_prefix() -> None:
    settings = EmitSettings(label_prefix="a" * 200)
    given = subject(workload("web"), settings=settings)
    for document in emit(given).documents:
        names = [one["name"] for one in document.objects[0]["status"]["properties"]]
        assert len(names) == len(set(names))
        assert all(len(name) <= 253 for name in names)
