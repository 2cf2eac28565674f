"""What the Dynamic Scoring Framework gets: a scorer of headroom, masks where nodes come and go, and no price."""

from __future__ import annotations

from dataclasses import replace

from recommender.emit.dsf import config_document, emit, score_name
from recommender.emit_settings import DsfSettings
from tests.recommender.emit.crds import needs_schemas, violations
from tests.recommender.emit.subjects import CLUSTERS, example


def test_the_object_and_the_served_configuration_say_the_same() -> None:
    (scorer,) = emit(example()).documents[0].objects
    served = config_document(DsfSettings())
    spec = scorer["spec"]
    assert scorer["metadata"]["name"] == served["name"]
    assert spec["configURL"].endswith(f"/dsf/{served['name']}/config")
    assert spec["source"]["params"] == served["source"]["params"]
    assert spec["scoring"]["params"] == served["scoring"]["params"]
    assert spec["scoring"]["path"] == served["scoring"]["path"]
    # The controller demands both, though its schema does not.
    assert (spec["location"], spec["scoreDestination"]) == ("Internal", "AddOnPlacementScore")
    assert spec["scoring"]["auth"]["tokenSecretRef"] == {"name": "tuppence-scorer-token", "key": "token"}


def test_clusters_whose_nodes_come_and_go_are_masked() -> None:
    (config,) = emit(example()).documents[1].objects
    assert config["metadata"]["name"] == "dynamic-scoring-config"
    name = score_name(DsfSettings())
    assert config["spec"]["masks"] == [
        {"clusterName": "eks-lon", "scoreName": name},
        {"clusterName": "gke-bel", "scoreName": name},
    ]


def test_no_price_is_given_to_agents_that_never_let_it_lapse() -> None:
    made = emit(example())
    assert "cost" not in repr([one.objects for one in made.documents])
    assert next(one.why for one in made.not_expressed if one.what == "scores of cost").startswith("agents set no valid")
    assert all(one.clusters == () and one.workloads == () for one in made.documents)


def test_a_fleet_without_owned_nodes_has_no_scorer() -> None:
    made = emit(replace(example(), clusters=CLUSTERS[:2]))
    assert made.documents == ()
    assert any(one.what == "headroom-1h" for one in made.not_expressed)


@needs_schemas
def test_both_objects_are_valid_by_their_schemas() -> None:
    assert violations([one for document in emit(example()).documents for one in document.objects]) == []
