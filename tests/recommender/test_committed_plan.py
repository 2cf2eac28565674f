"""The plan where capacity is bought ahead, worked out by hand: it is used first, and leaving it saves no cash.

Each workload of the standard fleet needs a node of m5.xlarge for each of its two replicas (8 GiB of 13.3 GiB).
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from recommender.advise.identity import advice_id
from recommender.advise.plan import Plan
from recommender.advise.record import Kind
from tests.builders import NOON
from tests.recommender.place.bought import bought, commitment
from tests.recommender.world import BELGIUM, GENERAL, METAL, appraisal, plan, pools, workload

ROWS = (workload("a"), workload("b"), workload("c"))
CHEAPER_ELSEWHERE = pools(GENERAL, METAL)


def committed(*rows: dict[str, Any], nodes: float, fleet: Any = CHEAPER_ELSEWHERE, **changes: Any) -> Plan:
    """The plan with some machines reserved."""
    return plan(*rows, pools=fleet, commitments=bought(commitment(quantity=nodes, **changes)))


def test_leaving_what_is_paid_for_saves_nothing_so_nothing_moves() -> None:
    made = committed(*ROWS, nodes=6.0)
    assert made.recommendations == ()
    assert made.summary.current_gbp_per_hour == 0.0
    assert made.summary.planned_full_gbp_per_hour == pytest.approx(3 * 0.184)


def test_only_what_is_not_paid_for_moves_and_saves() -> None:
    # Two of six nodes are reserved: they pay for one workload; the others save 0.184 − 0.04 each on own machines.
    made = committed(*ROWS, nodes=2.0)
    assert made.summary.current_gbp_per_hour == pytest.approx(2 * 0.184)
    assert made.summary.saving_gbp_per_hour == pytest.approx(2 * (0.184 - 0.04))
    assert {one.target.workload for one in made.recommendations} == {"b", "c"}


def test_a_workload_that_is_paid_for_in_part_saves_the_rest() -> None:
    made = committed(*ROWS, nodes=5.0)
    one = made.recommendations[0]
    assert one.target.workload == "c"
    assert one.current.gbp_per_hour == pytest.approx(0.092)
    assert one.current.full_gbp_per_hour == pytest.approx(0.184)


def test_what_is_bound_to_its_nodes_is_taken_to_be_paid_for_first() -> None:
    made = committed(workload("a"), workload("b", local_volume=True), nodes=2.0)
    current = {one.workload: one.current_gbp_per_hour for one in made.placements}
    assert current == {"a": pytest.approx(0.184), "b": 0.0}


def test_what_nothing_takes_is_a_place_that_costs_nothing_and_keeps_the_name_of_its_pool() -> None:
    away = workload("z", cluster="gke-bel", instance_type="n2-standard-4", residency_class="anywhere")
    made = committed(*ROWS, away, nodes=9.0, fleet=pools(GENERAL, BELGIUM), cost_per_hour=0.9)
    one = made.recommendations[0]
    assert (one.target.workload, one.kind) == ("z", Kind.PLACEMENT)
    to = one.recommended
    assert (to.cluster, to.pool, to.capacity_type, to.gbp_per_hour) == ("eks-lon", "general", "on-demand", 0.0)
    assert "Nodes there are bought ahead (committed-1y)" in " ".join(one.explanation)
    # In full a node costs a ninth of £0.90 an hour; the workload's requests are a whole node of the split.
    assert to.full_gbp_per_hour == pytest.approx(0.1)
    assert one.prices[1].note == "paid for by ri-1 until 18 June 2027; its own price"
    assert [each.to_pool for each in made.placements if each.workload == "z"] == ["general"]


def test_the_id_of_advice_does_not_tell_whether_its_place_is_paid_for() -> None:
    away = workload("z", cluster="gke-bel", instance_type="n2-standard-4", residency_class="anywhere")
    made = committed(*ROWS, away, nodes=9.0, fleet=pools(GENERAL, BELGIUM))
    key = ("gke-bel", "shop", "Deployment", "z")
    assert made.recommendations[0].id == advice_id(Kind.PLACEMENT, workload=key, cluster="eks-lon", pool="general")


def test_room_that_is_paid_for_is_not_given_out_twice() -> None:
    away = [
        workload(name, cluster="gke-bel", instance_type="n2-standard-4", residency_class="anywhere")
        for name in ("x", "y", "z")
    ]
    # Two nodes are free, and each workload takes two.
    made = committed(*ROWS, *away, nodes=8.0, fleet=pools(GENERAL, BELGIUM))
    assert len(made.recommendations) == 1


def test_the_plan_says_what_each_commitment_pays_for_now_and_then() -> None:
    away = workload("z", cluster="gke-bel", instance_type="n2-standard-4", residency_class="anywhere")
    one = committed(*ROWS, away, nodes=9.0, fleet=pools(GENERAL, BELGIUM), cost_per_hour=0.9).commitments[0]
    assert (one.commitment_id, one.bought, one.gbp_per_hour) == ("ri-1", "9 instances", 0.9)
    assert one.used_ratio == pytest.approx(6 / 9)
    assert one.planned_used_ratio == pytest.approx(8 / 9)
    assert one.unused_gbp_per_hour == pytest.approx(0.1)
    assert [(each.nodes, each.free_nodes, each.planned_nodes) for each in one.nodes] == [(6.0, 3, 8.0)]


def test_whole_nodes_that_are_paid_for_cost_nothing() -> None:
    mix = {one.cluster: one for one in committed(*ROWS, nodes=5.0).node_mix}["eks-lon"]
    # Six nodes at 0.184 of which five are paid for; the plan leaves four, all of them paid for.
    assert mix.now_nodes == 6
    assert mix.now_gbp_per_hour == pytest.approx(0.184)
    assert (mix.nodes, mix.nodes_gbp_per_hour) == (4, 0.0)


def test_what_ends_before_a_move_pays_back_takes_nothing_in_and_says_so() -> None:
    away = workload("z", cluster="gke-bel", instance_type="n2-standard-4", residency_class="anywhere")
    soon = NOON + timedelta(hours=100)
    made = committed(*ROWS, away, nodes=9.0, fleet=pools(GENERAL, BELGIUM), ends_at=soon)
    assert [one for one in made.recommendations if one.recommended.gbp_per_hour == 0] == []
    assert made.commitments[0].note is not None
    assert made.commitments[0].note.startswith("it ends before a move pays back")


def test_what_has_not_begun_pays_for_nothing_and_is_listed() -> None:
    made = committed(*ROWS, nodes=6.0, starts_at=NOON + timedelta(days=1))
    assert made.summary.current_gbp_per_hour == pytest.approx(3 * 0.184)
    assert made.commitments[0].note == "it pays for nothing here: it begins on 1 December 2026"


def test_a_commitment_that_fits_no_pool_says_so() -> None:
    made = committed(*ROWS, nodes=6.0, region="eu-west-1")
    assert made.commitments[0].note == "it fits no on-demand pool of the settings that has a price"


def test_without_commitments_the_plan_is_the_same_as_before() -> None:
    ignored, none_bought = plan(*ROWS), plan(*ROWS, commitments=bought())
    assert none_bought.to_json() == ignored.to_json()


def test_costs_by_cluster_name_the_pool_that_the_cluster_knows() -> None:
    away = workload("z", cluster="gke-bel", instance_type="n2-standard-4", residency_class="anywhere")
    made = appraisal(*ROWS, away, pools=pools(GENERAL, BELGIUM), commitments=bought(commitment(quantity=9.0)))
    there = made.costs.filter(workload="z", to_cluster="eks-lon", to_capacity_type="on-demand")
    assert there.select("to_pool", "gbp_per_hour").rows() == [("general", 0.0)]
    assert "committed-1y" not in made.costs["to_capacity_type"]
