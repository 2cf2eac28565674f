"""How full owned capacity is: worked out by hand on two nodes of 32 vCPU and 128 GiB."""

from __future__ import annotations

import pytest

from tests.recommender.world import GENERAL, METAL, machine, plan, pool, pools, prices, standard_offers, workload

ON_METAL = {"cluster": "onprem-lon", "pool": "metal", "instance_type": "r760", "capacity_type": "owned"}


def test_use_is_the_share_of_the_scarcest_resource_over_all_nodes() -> None:
    (metal,) = plan(workload("db", vcpu_request_mean=8.0, memory_gib_request_mean=128.0, **ON_METAL)).owned_capacity
    # Memory: (128 + 0.001 of the node agent) of 256 GiB; vCPU only 8 of 64.
    assert metal.used_ratio == pytest.approx(128.001 / 256)
    assert metal.nodes == 2


def test_what_is_advised_there_counts_in_the_planned_use_only() -> None:
    (metal,) = plan(workload("web")).owned_capacity
    assert metal.used_ratio == pytest.approx(0.001 / 64)
    assert metal.planned_used_ratio == pytest.approx(4.001 / 64)


def test_a_workload_of_which_nothing_is_said_takes_its_room_all_the_same() -> None:
    unsaid = workload("db", vcpu_request_mean=16.0, residency_class="unheard-of", **ON_METAL)
    made = plan(unsaid)
    assert "unknown-residency-class" in [one.reason for one in made.not_enough_data]
    assert made.owned_capacity[0].used_ratio == pytest.approx(16.001 / 64)
    assert made.owned_capacity[0].planned_used_ratio == pytest.approx(16.001 / 64)


def test_a_committed_pool_is_paid_for_too_and_a_pool_on_demand_is_not() -> None:
    committed = pool("eks-lon", "reserved", "m5.xlarge", capacity_type="committed-1y", nodes_max=4)
    offers = [
        *standard_offers(),
        machine("aws", "eu-west-2", "m5.xlarge", "committed-1y", gbp_per_vcpu_hour=0.018, gbp_per_gib_hour=0.0024),
    ]
    made = plan(
        workload(), pools=pools(METAL, committed, pool("eks-lon", "general", "m5.xlarge")), prices=prices(offers)
    )
    assert {(one.pool, one.capacity_type) for one in made.owned_capacity} == {
        ("metal", "owned"),
        ("reserved", "committed-1y"),
    }
    reserved = next(one for one in made.owned_capacity if one.pool == "reserved")
    assert reserved.full_gbp_per_node_hour == pytest.approx(4 * 0.018 + 16 * 0.0024)
    assert reserved.marginal_gbp_per_node_hour is None


def test_a_pool_without_a_price_is_left_out_rather_than_shown_as_free() -> None:
    without_metal = [one for one in standard_offers() if one["provider"][0] != "onprem"]
    assert plan(workload(), prices=prices(without_metal)).owned_capacity == ()


def test_an_owned_pool_tells_what_a_node_leaves_for_pods() -> None:
    # GKE's reserve of 32 vCPU: 0.06 + 0.01 + 2 × 0.005 + 28 × 0.0025 = 0.15; of 128 GiB: 1 + 0.8 + 0.8 + 6.72 + 0.098.
    (metal,) = plan(workload("web")).owned_capacity
    assert metal.vcpus_per_node == pytest.approx(31.85)
    assert metal.memory_gib_per_node == pytest.approx(128 - 9.32 - 100 / 1024)
    assert metal.gpus_per_node == 0


def test_a_daemon_set_counts_once_for_each_node_of_the_pool() -> None:
    # 0.5 vCPU on each of two nodes, beside 8 of a workload and 0.001 of the node agent: 9.001 of 64.
    agent = workload("logs", is_system=True, vcpu_request_mean=1.0, **(ON_METAL | {"workload_kind": "DaemonSet"}))
    db = workload("db", vcpu_request_mean=8.0, **ON_METAL)
    (metal,) = plan(db, agent | {"memory_gib_request_mean": 0.5, "memory_gib_request_peak": 0.5}).owned_capacity
    assert metal.used_ratio == metal.planned_used_ratio == pytest.approx(9.001 / 64)


def test_a_daemon_set_over_two_pools_is_shared_out_by_their_nodes() -> None:
    # Three nodes, 0.5 vCPU on each; no pool is named for it, as its pods stand in both.
    edge = METAL | {"pool": "edge", "nodes_max": 1}
    agent = workload(
        "logs", cluster="onprem-lon", pool="", instance_type="", capacity_type="", workload_kind="DaemonSet",
        is_system=True, replicas_mean=3.0, vcpu_request_mean=1.5, memory_gib_request_mean=0.3,
    )  # fmt: skip
    found = {one.pool: one.used_ratio for one in plan(agent, pools=pools(METAL, edge, GENERAL)).owned_capacity}
    assert found == {"edge": pytest.approx(0.5 / 32), "metal": pytest.approx(1.001 / 64)}
