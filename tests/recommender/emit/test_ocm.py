"""What Open Cluster Management gets: residency as a predicate, cost never; scores and status apart; what will move.

The example: web (class uk) and api (class europe) run in eks-lon and are advised to go to onprem-lon; Belgium is
outside of class uk.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import polars as pl
import pytest

from recommender.advise.plan import SnapshotUsed
from recommender.advise.record import Kind, State
from recommender.emit.contract import Document, Emitted, Manifest, Subject
from recommender.emit.ocm import emit
from recommender.emit.registry import SYSTEMS
from recommender.emit.score import scores_of
from recommender.emit_settings import EmitSettings
from recommender.frames import ClusterCost
from tests.builders import NOON
from tests.fakes.ocm_debugger import passes
from tests.recommender.emit.crds import needs_schemas, violations
from tests.recommender.emit.handed import GOLDEN, everything
from tests.recommender.emit.subjects import CLUSTERS, example, subject
from tests.recommender.world import policy, workload


def at(emitted: Emitted, path: str) -> Document:
    return next(one for one in emitted.documents if one.path == path)


def placement(emitted: Emitted, name: str) -> Manifest:
    return at(emitted, f"placements/{name}.yaml").objects[0]


def labels(emitted: Emitted, cluster: str) -> dict[str, str]:
    found: dict[str, str] = at(emitted, f"labels/{cluster}.yaml").objects[0]["metadata"]["labels"]
    return found


def why(emitted: Emitted, what: str) -> str:
    return next(one.why for one in emitted.not_expressed if one.what == what)


def advice(given: Subject, name: str) -> str:
    return next(one.id for one in given.plan.recommendations if one.target.workload == name)


@pytest.fixture(scope="module")
def emitted() -> Emitted:
    return emit(example())


def test_a_placement_requires_the_jurisdictions_of_its_class_and_the_label_of_the_class(emitted: Emitted) -> None:
    (predicate,) = placement(emitted, "uk")["spec"]["predicates"]
    assert predicate["requiredClusterSelector"]["labelSelector"]["matchExpressions"] == [
        {"key": "tuppence.internal/jurisdiction", "operator": "In", "values": ["GB"]},
        {"key": "tuppence.internal/may-run-uk", "operator": "In", "values": ["allowed"]},
    ]


def test_it_weighs_steady_and_the_cost_score_and_nothing_else(emitted: Emitted) -> None:
    policy_of_it = placement(emitted, "uk")["spec"]["prioritizerPolicy"]
    assert policy_of_it["mode"] == "Exact"
    assert policy_of_it["configurations"] == [
        {"scoreCoordinate": {"type": "BuiltIn", "builtIn": "Steady"}, "weight": 3},
        {
            "scoreCoordinate": {"type": "AddOn", "addOn": {"resourceName": "finops", "scoreName": "cost-uk-any"}},
            "weight": 10,
        },
    ]


def test_no_predicate_knows_of_scores_or_prices(emitted: Emitted) -> None:
    for one in emitted.documents:
        for document in one.objects:
            if document.get("kind") == "Placement":
                text = repr(document["spec"]["predicates"])
                assert "cost" not in text
                assert "score" not in text
                assert "celSelector" not in text


def test_owned_clusters_are_the_first_decision_group(emitted: Emitted) -> None:
    groups = placement(emitted, "uk")["spec"]["decisionStrategy"]["groupStrategy"]["decisionGroups"]
    assert [one["groupName"] for one in groups] == ["owned", "cloud"]
    assert groups[0]["groupClusterSelector"] == {"labelSelector": {"matchLabels": {"tuppence.internal/tier": "owned"}}}


def test_the_labels_let_exactly_the_allowed_clusters_pass_and_a_cluster_without_labels_never(emitted: Emitted) -> None:
    through = {
        name: [one.name for one in CLUSTERS if passes(placement(emitted, name), labels(emitted, one.name))]
        for name in ("uk", "europe", "anywhere")
    }
    assert through == {
        "uk": ["eks-lon", "onprem-lon"],
        "europe": ["eks-lon", "gke-bel", "onprem-lon"],
        "anywhere": ["eks-lon", "gke-bel", "onprem-lon"],
    }
    assert not any(passes(placement(emitted, name), {}) for name in through)
    assert labels(emitted, "gke-bel")["tuppence.internal/may-run-uk"] == "refused"


def test_an_unknown_jurisdiction_is_let_through_by_no_class_not_even_by_one_that_may_go_anywhere() -> None:
    given = subject(workload("web", residency_class="anywhere"))
    unknown = replace(
        given, clusters=(CLUSTERS[0].model_copy(update={"jurisdiction": "", "region": "moon"}), CLUSTERS[2])
    )
    made = emit(unknown)
    assert "tuppence.internal/jurisdiction" not in labels(made, "eks-lon")
    assert not passes(placement(made, "anywhere"), labels(made, "eks-lon"))
    assert at(made, "placements/anywhere.yaml").clusters == ("onprem-lon",)
    assert {one["metadata"]["name"] for one in at(made, "claims/eks-lon.yaml").objects} == {
        "provider.tuppence.internal",
        "region.tuppence.internal",
        "tier.tuppence.internal",
    }


def test_a_claim_can_be_asked_for_beside_the_label() -> None:
    settings = EmitSettings.model_validate({"ocm": {"require_claims": True, "cluster_sets": ["uk"]}})
    spec = placement(emit(subject(workload("web"), settings=settings)), "uk")["spec"]
    assert spec["clusterSets"] == ["uk"]
    assert spec["predicates"][0]["requiredClusterSelector"]["claimSelector"]["matchExpressions"] == [
        {"key": "jurisdiction.tuppence.internal", "operator": "In", "values": ["GB"]}
    ]


def test_scores_stand_in_every_clusters_namespace_with_one_end_and_the_status_is_a_patch_of_its_own(
    emitted: Emitted,
) -> None:
    objects = at(emitted, "scores/objects.yaml").objects
    assert [one["metadata"]["namespace"] for one in objects] == ["eks-lon", "gke-bel", "onprem-lon"]
    assert not any("status" in one for one in objects)
    patches = [one for one in emitted.documents if one.path.startswith("scores/") and one.form == "merge-patch"]
    statuses = [one.objects[0]["status"] for one in patches]
    # Usage ends at noon and may be used for three hours.
    assert {one["validUntil"] for one in statuses} == {"2026-11-30T15:00:00Z"}
    assert len({tuple(score["name"] for score in one["scores"]) for one in statuses}) == 1
    assert all(isinstance(score["value"], int) for one in statuses for score in one["scores"])
    assert {one.expires_at for one in patches} == {NOON + timedelta(hours=3)}
    assert "cost-uk-any is 50 at £" in statuses[0]["conditions"][0]["message"]


def test_a_move_that_will_happen_is_carried_by_the_placement_and_says_by_what_margin(emitted: Emitted) -> None:
    document = at(emitted, "placements/uk.yaml")
    assert advice(example(), "web") in document.recommendations
    assert "will move: onprem-lon leads eks-lon by" in document.says
    assert "Steady asks for more than 30 (a saving of 15%)" in document.says
    assert "chooses onprem-lon at once" in document.says


def test_a_move_whose_margin_is_too_small_is_said_not_to_happen() -> None:
    given = subject(
        workload("web", residency_class="europe"),
        policy=policy(steady={"min_saving_ratio": 0.8}),
    )
    allowed = replace(given, plan=subject(workload("web", residency_class="europe")).plan)
    made = emit(allowed)
    (one,) = allowed.plan.recommendations
    # onprem-lon saves 78 %, which is less than 80.
    assert why(made, one.id) == (
        "will not move: onprem-lon leads eks-lon by 28 points (about 78%), Steady asks for more than 30 (a saving of "
        "80%); 2 points or more are missing"
    )
    assert at(made, "placements/europe.yaml").recommendations == ()


def test_advice_that_stays_in_its_cluster_or_is_not_waiting_is_no_business_of_a_placement() -> None:
    given = example()
    spot = next(one for one in given.plan.recommendations if one.kind is Kind.PURCHASE_OPTION)
    assert "chooses clusters" in why(emit(given), spot.id)
    done = given.plan.model_copy(
        update={
            "recommendations": tuple(
                one.model_copy(update={"state": State.DISMISSED}) for one in given.plan.recommendations
            )
        }
    )
    made = emit(replace(given, plan=done))
    assert all(one.recommendations == () for one in made.documents)


def test_prices_lost_where_a_class_runs_change_nothing_that_stands_for_it() -> None:
    given = example()
    lost = pl.col("to_cluster") == "eks-lon"
    costs = ClusterCost.validate(
        given.costs.with_columns(
            allowed=pl.col("allowed") & ~lost,
            gbp_per_hour=pl.when(~lost).then("gbp_per_hour"),
            rules=pl.when(lost).then(pl.lit(["price_unknown"])).otherwise("rules"),
        )
    )
    made = emit(replace(given, costs=costs))
    assert not any(one.path.startswith(("placements/", "scores/")) for one in made.documents)
    assert not any("may-run" in key for key in labels(made, "eks-lon"))
    assert "eks-lon cannot be priced" in why(made, "class uk")


def test_a_stale_snapshot_of_a_provider_of_the_fleet_lapses_all_and_of_another_none() -> None:
    given = example()

    def with_stale(source: str) -> Subject:
        old = SnapshotUsed(
            id=f"{source}/x", source=source, taken_at=NOON - timedelta(days=9), origin="live", max_age_hours=48
        )
        inputs = given.plan.inputs.model_copy(update={"stale_snapshots": (old,)})
        return replace(given, plan=given.plan.model_copy(update={"inputs": inputs}))

    assert scores_of(with_stale("aws")).scores.is_empty()
    assert scores_of(with_stale("book")).scores.is_empty()
    assert not scores_of(with_stale("azure")).scores.is_empty()


def test_a_name_that_no_managed_cluster_can_have_must_be_mapped() -> None:
    given = subject(workload("web"))
    odd = tuple(one.model_copy(update={"name": "EKS_lon"}) if one.name == "eks-lon" else one for one in CLUSTERS)
    costs = given.costs.with_columns(pl.col("cluster", "to_cluster").replace("eks-lon", "EKS_lon"))
    workloads = given.workloads.with_columns(pl.col("cluster").replace("eks-lon", "EKS_lon"))
    renamed = replace(
        given, clusters=odd, costs=ClusterCost.validate(costs), workloads=type(given.workloads)(workloads)
    )
    made = emit(renamed)
    assert not any(one.path.startswith("placements/") for one in made.documents)
    assert "emit.hub.managed_clusters" in why(made, "cluster EKS_lon")
    mapped = EmitSettings.model_validate({"hub": {"managed_clusters": {"EKS_lon": "london"}}})
    made = emit(replace(renamed, settings=mapped))
    assert [one["metadata"]["namespace"] for one in at(made, "scores/objects.yaml").objects] == [
        "gke-bel",
        "london",
        "onprem-lon",
    ]


@pytest.mark.parametrize(("weights", "said"), [((3, 3), "nothing is ever moved"), ((3, 9.5), "whole weights only")])
def test_weights_that_cannot_work_are_said(weights: tuple[float, float], said: str) -> None:
    given = subject(workload("web"), policy=policy(score={"steady_weight": weights[0], "cost_weight": weights[1]}))
    assert any(said in one.why for one in emit(given).not_expressed if one.what == "policy.score")


def test_every_document_lets_only_allowed_workloads_into_its_clusters(emitted: Emitted) -> None:
    allowed = set(example().costs.filter("allowed").select("cluster", "workload", "to_cluster").iter_rows())
    pairs = [
        (key[0], key[3], cluster) for one in emitted.documents for key in one.workloads for cluster in one.clusters
    ]
    assert pairs
    assert set(pairs) <= allowed


@needs_schemas
def test_every_object_is_valid_by_its_schema_and_so_is_the_status(emitted: Emitted) -> None:
    whole: list[Any] = [document for one in emitted.documents if one.form == "manifest" for document in one.objects]
    status = at(emitted, "scores/eks-lon.status.yaml").objects[0]
    objects = at(emitted, "scores/objects.yaml").objects
    assert violations([*whole, {**objects[0], **status}]) == []


@pytest.mark.parametrize("name", sorted(everything()))
def test_the_golden_files_are_what_is_written_today(name: str) -> None:
    assert (GOLDEN / name).read_text(encoding="utf-8") == everything()[name]


def test_what_is_emitted_depends_on_the_subject_alone(emitted: Emitted) -> None:
    assert emit(example()) == emitted
    assert all(isinstance(one.expires_at, datetime) for one in emitted.documents)


def test_no_golden_file_is_left_over() -> None:
    there = {path.relative_to(GOLDEN).as_posix() for name in ("ocm", "dsf") for path in (GOLDEN / name).rglob("*.*")}
    assert there == everything().keys()


def test_both_systems_are_in_the_hand_over() -> None:
    assert {"ocm", "dsf"} <= {one.name for one in SYSTEMS}
