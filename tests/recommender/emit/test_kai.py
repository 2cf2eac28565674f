"""Queues of KAI Scheduler: as long as the longest minimum runtime, where the work is and where it is to go."""

from __future__ import annotations

from typing import Any

from recommender.emit.contract import Emitted
from recommender.emit.kai import emit
from recommender.emit_settings import EmitSettings
from tests.recommender.emit.subjects import subject
from tests.recommender.world import workload


def emitted(*rows: dict[str, Any], **settings: Any) -> Emitted:
    return emit(subject(*rows, settings=EmitSettings.model_validate({"kai": settings})))


def test_a_queue_keeps_the_longest_minimum_runtime_of_its_namespace_in_whole_minutes() -> None:
    given = emitted(
        workload("a", minimum_runtime_minutes=90.5, local_volume=True),
        workload("b", minimum_runtime_minutes=30.0, local_volume=True),
    )
    (document,) = given.documents
    assert document.path == "eks-lon/shop.yaml"
    assert document.objects[0]["metadata"]["name"] == "shop"
    assert document.objects[0]["spec"] == {"preemptMinRuntime": "91m", "reclaimMinRuntime": "91m"}
    assert "--server-side" in document.apply
    assert '"preemptMinRuntime":null' in document.rollback


def test_work_that_is_to_move_has_its_queue_at_both_ends() -> None:
    given = subject(workload("a", minimum_runtime_minutes=60.0))
    (one,) = given.plan.recommendations
    here, there = emit(given).documents
    assert (here.clusters, here.recommendations) == (("eks-lon",), ())
    assert (there.clusters, there.recommendations) == (("onprem-lon",), (one.id,))


def test_work_without_a_minimum_runtime_has_no_queue() -> None:
    given = emitted(workload("a"))
    assert given.documents == ()
    assert "no word for what a cluster" in given.not_expressed[0].why


def test_a_cluster_in_which_the_work_may_not_be_has_no_queue_for_it() -> None:
    abroad = workload("a", cluster="gke-bel", instance_type="n2-standard-4", minimum_runtime_minutes=60.0)
    given = emitted(abroad)
    assert [one.clusters for one in given.documents] == [("onprem-lon",)]
    assert any("not known to be allowed in gke-bel" in one.why for one in given.not_expressed)


def test_a_parent_stands_where_the_settings_name_one() -> None:
    given = emitted(workload("a", minimum_runtime_minutes=60.0), parent_queue="uk")
    assert {one.objects[0]["spec"]["parentQueue"] for one in given.documents} == {"uk"}
