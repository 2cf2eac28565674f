"""Inputs that no fleet should have give clear reasons, no exception, and no advice made of nothing."""

from __future__ import annotations

from typing import Any

import pytest

from recommender.advise.plan import Plan
from tests.recommender.world import (
    GENERAL,
    METAL,
    SPOT,
    machine,
    plan,
    policy,
    pool,
    pools,
    prices,
    standard_offers,
    workload,
)


def refused(made: Plan, rule: str) -> list[str]:
    return [one.why for one in made.refused if one.rule == rule]


def test_a_workload_larger_than_any_node_stays_and_is_told_so() -> None:
    made = plan(workload(vcpu_request_mean=100.0, replicas_mean=1.0), pools=pools(GENERAL, METAL))
    assert made.recommendations == ()
    [why] = refused(made, "machine_size")
    assert why.startswith("a replica needs 100.0 vCPU")


def test_a_gang_larger_than_any_cluster_stays_and_is_told_so() -> None:
    gang = workload(gang_size=40, replicas_mean=40.0, vcpu_request_mean=40.0, memory_gib_request_mean=40.0 * 8)
    made = plan(gang, pools=pools(GENERAL, METAL))
    assert made.recommendations == ()
    assert any(one.rule == "gang" or "gang" in one.also for one in made.refused)


def test_a_pool_without_a_price_is_unknown_and_not_free() -> None:
    without = [one for one in standard_offers() if one["provider"][0] != "onprem"]
    made = plan(workload(), pools=pools(GENERAL, METAL), prices=prices(without))
    assert made.recommendations == ()
    assert refused(made, "price_unknown") == ["no usable owned price for r760 in london"]
    assert made.summary.lower_bound_gbp_per_hour == pytest.approx(made.summary.current_gbp_per_hour)


def test_spot_that_is_dearer_than_on_demand_is_not_advised() -> None:
    dear = machine("aws", "eu-west-2", "m5.xlarge", "spot", gbp_per_vcpu_hour=0.05, gbp_per_gib_hour=0.006)
    offers = [standard_offers()[0], dear]
    made = plan(workload(interruption_tolerance="spot"), pools=pools(GENERAL, SPOT), prices=prices(offers))
    assert made.recommendations == ()
    assert made.price_warnings


def test_a_fleet_of_one_cluster_has_nothing_to_advise() -> None:
    made = plan(workload(), pools=pools(GENERAL))
    assert (made.recommendations, made.refused) == ((), ())
    assert made.summary.planned_gbp_per_hour == made.summary.current_gbp_per_hour


@pytest.mark.parametrize(
    "nothing",
    [
        {"vcpu_request_mean": 0.0, "memory_gib_request_mean": 0.0},
        {"vcpu_request_mean": 0.0, "memory_gib_request_mean": 0.0, "replicas_mean": 0.0, "running_ratio": 0.0},
    ],
)
def test_a_workload_without_requests_is_not_advised(nothing: dict[str, Any]) -> None:
    made = plan(workload(**nothing))
    assert made.recommendations == ()
    assert [one.reason for one in made.not_enough_data if one.workload == "web"] == ["no-requests"]


def test_a_class_that_allows_no_jurisdiction_of_the_fleet_leaves_a_breach_and_a_valid_bound() -> None:
    nowhere = policy(classes={"uk": {"residency": ["NZ"], "legal_basis": "a typing mistake"}})
    made = plan(workload(), policy=nowhere)
    assert made.recommendations == ()
    assert [one.workload for one in made.breaches] == ["web"]
    assert made.summary.lower_bound_gbp_per_hour <= made.summary.planned_gbp_per_hour


def test_owned_racks_without_a_node_take_nothing() -> None:
    empty = pool("onprem-lon", "metal", "r760", provider="onprem", region="london", tier="owned",
                 capacity_type="owned", nodes_max=0)  # fmt: skip
    made = plan(workload(), pools=pools(GENERAL, empty))
    assert made.recommendations == ()
    assert made.owned_capacity == ()
