"""Quotas count whole nodes: a node of 4 vCPU and 16 GiB holds three replicas of 1 vCPU and 4 GiB, so each is a third.

The constraint lets a move pass that takes a third of a node; the trial on nodes counts the node that it opens.
"""

from __future__ import annotations

from typing import Any

import dataframely as dy
import polars as pl
import pytest

from recommender.advise.plan import Plan, WorkloadRefusal
from recommender.frames import RegionQuota
from tests.recommender.world import GENERAL, SPOT, plan, policy, pool, pools, quotas, workload

EAGER = policy(steady={"min_saving_gbp_per_month": 1, "max_moves_per_week": 100})
ONE_CLUSTER = pools(GENERAL, SPOT)
TWO_CLUSTERS = pools(GENERAL, pool("eks-two", "spot", "m5.xlarge", capacity_type="spot"))


def third(name: str, **changes: Any) -> dict[str, Any]:
    """One replica of which a node holds three; on demand in London, and it may go to spot."""
    size = {"replicas_mean": 1.0, "vcpu_request_mean": 1.0, "memory_gib_request_mean": 4.0}
    return workload(name, interruption_tolerance="spot", **(size | changes))


def on_spot(name: str, **changes: Any) -> dict[str, Any]:
    return third(name, pool="spot", capacity_type="spot", **changes)


def in_london(vcpus: float) -> dy.DataFrame[RegionQuota]:
    row = {"provider": "aws", "region": "eu-west-2", "vcpus": vcpus, "gpus": None}
    return RegionQuota.validate(pl.DataFrame([row], schema=RegionQuota.create_empty().schema))


def advised(*rows: dict[str, Any], **changes: Any) -> list[str]:
    made = plan(*rows, **({"pools": ONE_CLUSTER, "policy": EAGER} | changes))
    return sorted(one.target.workload for one in made.recommendations)


def withheld(made: Plan) -> list[WorkloadRefusal]:
    return [one for one in made.refused if (one.rule, one.stage) == ("quota", "guard")]


def test_a_move_that_opens_a_node_over_the_clusters_quota_is_withheld() -> None:
    # A third runs and a third would come: 2/3 of a node, by shares within a quota of one. In nodes it is two.
    one_node = quotas({"cluster": "eks-lon", "nodes": 1.0})
    made = plan(third("a"), pools=ONE_CLUSTER, policy=EAGER, quotas=one_node)
    assert made.recommendations == ()
    [refusal] = withheld(made)
    assert (refusal.pool, refusal.also) == ("spot", ("simulation",))
    assert refusal.why == (
        "on whole nodes, beside what runs there at its peak, it takes eks-lon to 2 nodes; the quota is 1"
    )
    assert made.machines is not None
    assert made.machines.planned_nodes == 1
    assert made.summary.saving_gbp_per_hour == 0
    assert advised(third("a"), quotas=quotas({"cluster": "eks-lon", "nodes": 2.0})) == ["a"]


@pytest.mark.parametrize(("vcpus", "moves"), [(8.0, ["a"]), (7.5, [])])
def test_a_quota_of_vcpus_counts_those_of_the_machine_and_not_what_it_leaves_for_pods(
    vcpus: float, moves: list[str]
) -> None:
    # Two nodes of 4 vCPU, of which pods get 3.92 each.
    assert advised(third("a"), quotas=quotas({"cluster": "eks-lon", "vcpus": vcpus})) == moves


def test_a_move_onto_a_node_that_is_up_is_advised_where_whole_nodes_exceed_the_quota_already() -> None:
    # A node on demand and a node on spot, a third of each used: two nodes before the move, two while both ends run.
    one_node = quotas({"cluster": "eks-lon", "nodes": 1.0})
    assert advised(third("a"), on_spot("b"), quotas=one_node) == ["a"]


@pytest.mark.parametrize(("vcpus", "moves"), [(12.0, ["a", "b"]), (9.0, ["a"])])
def test_a_regions_quota_counts_the_nodes_of_two_clusters(vcpus: float, moves: list[str]) -> None:
    # One node in each cluster: 8 vCPU. The node of eks-two has one third left, the second mover opens a third node: 12.
    # By shares it would be four thirds of a node running and two thirds coming: 8 vCPU.
    made = plan(
        third("a", criticality="low"),
        third("b"),
        on_spot("c", cluster="eks-two"),
        on_spot("d", cluster="eks-two"),
        pools=TWO_CLUSTERS,
        policy=EAGER,
        region_quotas=in_london(vcpus),
    )
    assert sorted(one.target.workload for one in made.recommendations) == moves
    told = {one.workload.workload: one.why.rpartition(" it takes ")[2] for one in withheld(made)}
    assert told == ({} if len(moves) == 2 else {"b": "aws in eu-west-2 to 12 vCPU; the quota is 9"})


def test_of_two_moves_that_would_both_open_a_node_the_one_that_disturbs_least_for_its_saving_stays_in() -> None:
    # Criticality high counts double against medium; the savings are the same.
    rows = [
        third("a", criticality="high"),
        third("b"),
        on_spot("c", cluster="eks-two"),
        on_spot("d", cluster="eks-two"),
    ]
    london = {"pools": TWO_CLUSTERS, "region_quotas": in_london(9.0)}
    assert advised(*rows, **london) == ["b"]


def test_a_larger_move_that_opens_a_node_does_not_keep_out_a_smaller_one_behind_it() -> None:
    # Room for one third on the node of eks-two. Two thirds come first by saving for each disturbance, and need a node.
    large = third("large", replicas_mean=1.0, vcpu_request_mean=2.0, memory_gib_request_mean=8.0)
    there = [on_spot("c", cluster="eks-two"), on_spot("d", cluster="eks-two")]
    assert advised(large, third("small"), *there, pools=TWO_CLUSTERS, region_quotas=in_london(9.4)) == ["small"]


def test_a_workload_of_no_known_pool_counts_by_what_it_requests() -> None:
    # 4 vCPU on demand, 4 on spot, and 3 that may be on either.
    lost = third("lost", pool="", instance_type="", capacity_type="", vcpu_request_mean=3.0)
    made = plan(third("a"), lost, pools=ONE_CLUSTER, policy=EAGER, quotas=quotas({"cluster": "eks-lon", "vcpus": 10.0}))
    assert made.recommendations == ()
    [refusal] = withheld(made)
    assert refusal.why.endswith("it takes eks-lon to 11 vCPU; the quota is 10")


def test_the_order_of_workloads_does_not_choose_who_stays() -> None:
    rows = [third(name) for name in "abcde"] + [on_spot("f", cluster="eks-two")]
    london = {"pools": TWO_CLUSTERS, "policy": EAGER, "region_quotas": in_london(13.0)}
    forth, back = plan(*rows, **london), plan(*reversed(rows), **london)
    assert forth.to_json() == back.to_json()
    # Two nodes and one of spot are up: 12 vCPU. Two movers fit beside what is there.
    assert len(forth.recommendations) == 2
