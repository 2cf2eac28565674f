"""Requests × parts, owned capacity at its marginal price, committed capacity paid for until it is used up."""

from __future__ import annotations

from typing import Any

import pytest

from recommender.advise.record import Kind
from tests.recommender.world import (
    GENERAL,
    METAL,
    flow,
    flows,
    machine,
    plan,
    pool,
    pools,
    prices,
    standard_offers,
    workload,
)

L4 = {"vcpus": 16.0, "memory_gib": 64.0, "gpus": 2.0, "gpu_model": "L4", "gbp_per_vcpu_hour": 0.03}
ON_L4 = {
    "instance_type": "g6",
    "pool": "gpu",
    "gpu_model": "L4",
    "gpu_request_mean": 1.0,
    "vcpu_request_mean": 4.0,
    "memory_gib_request_mean": 16.0,
    "replicas_mean": 1.0,
}


def cost(made: Any, name: str = "web") -> float:
    [found] = [one.gbp_per_hour for one in made.placements if one.workload == name]
    return float(found)


def test_replicas_are_counted_in_the_totals_and_not_multiplied_again() -> None:
    one, ten = workload("one", replicas_mean=1.0), workload("ten", replicas_mean=10.0)
    made = plan(one, ten, pools=pools(GENERAL))
    assert cost(made, "one") == cost(made, "ten") == pytest.approx(0.184)


def test_a_gpu_workload_pays_for_its_gpus_by_model() -> None:
    offers = [machine("aws", "eu-west-2", "g6", "on-demand", gbp_per_gib_hour=0.004, gbp_per_gpu_hour=0.5, **L4)]
    made = plan(
        workload(**ON_L4),
        prices=prices([*standard_offers(), *offers]),
        pools=pools(GENERAL, pool("eks-lon", "gpu", "g6")),
    )
    assert cost(made) == pytest.approx(4 * 0.03 + 16 * 0.004 + 0.5)
    assert made.recommendations == ()


def test_an_owned_gpu_node_is_shared_by_its_scarcest_part() -> None:
    owned = {"tier": "owned", "capacity_type": "owned", "provider": "onprem", "region": "london", "nodes_max": 2}
    offers = [
        machine(
            "onprem",
            "london",
            "dgx",
            "owned",
            gbp_per_gib_hour=0.002,
            gbp_per_gpu_hour=0.3,
            marginal_gbp_per_hour=1.0,
            **L4,
        )
    ]
    there = ON_L4 | {"cluster": "onprem-lon", "instance_type": "dgx", "capacity_type": "owned"}
    made = plan(
        workload(**there),
        prices=prices([*standard_offers(), *offers]),
        pools=pools(pool("onprem-lon", "gpu", "dgx", **owned), METAL),
    )
    # 1 of 2 GPUs, 4 of 16 vCPU, 16 of 64 GiB: half of the node's energy.
    assert cost(made) == pytest.approx(0.5)
    assert made.summary.planned_full_gbp_per_hour == pytest.approx(4 * 0.03 + 16 * 0.002 + 0.3)


COMMITTED = pool("eks-lon", "reserved", "m5.xlarge", capacity_type="committed-1y")
COMMITTED_OFFER = machine(
    "aws", "eu-west-2", "m5.xlarge", "committed-1y", gbp_per_vcpu_hour=0.02, gbp_per_gib_hour=0.0025
)


def test_committed_capacity_of_known_size_costs_no_more_cash_until_it_is_used_up() -> None:
    fleet = pools(GENERAL, COMMITTED | {"nodes_max": 2})
    offers = prices([*standard_offers(), COMMITTED_OFFER])
    made = plan(workload(), pools=fleet, prices=offers)
    [one] = made.recommendations
    assert (one.kind, one.recommended.pool, one.recommended.gbp_per_hour) == (Kind.PURCHASE_OPTION, "reserved", 0.0)
    assert one.recommended.full_gbp_per_hour == pytest.approx(4 * 0.02 + 16 * 0.0025)
    too_much = plan(*(workload(name) for name in ("a", "b", "c")), pools=fleet, prices=offers)
    # Two nodes leave 2 × 3.92 vCPU: room for one workload of 4 vCPU in replicas of 2.
    assert len(too_much.recommendations) == 1


def test_committed_capacity_of_unknown_size_costs_its_price() -> None:
    made = plan(workload(), pools=pools(GENERAL, COMMITTED), prices=prices([*standard_offers(), COMMITTED_OFFER]))
    [one] = made.recommendations
    assert one.recommended.gbp_per_hour == pytest.approx(4 * 0.02 + 16 * 0.0025)


def test_a_data_flow_without_a_price_makes_a_place_unpriced_and_not_free() -> None:
    # Nobody publishes what leaving the site in Leeds costs, so no place but Leeds itself can be priced.
    made = plan(workload(), flows=flows(flow(to="onprem/leeds", direction="in", gib_per_hour=2.0)))
    assert made.recommendations == ()
    [gap] = [one for one in made.not_enough_data if one.workload == "web"]
    assert gap.reason == "no-egress-price"


def test_moving_state_costs_its_bytes_once_and_pays_back_inside_the_horizon_or_not_at_all() -> None:
    light = plan(workload(state_gib=200.0))
    [one] = light.recommendations
    # 100 GiB a month are free, the other 100 cost 0.08; 10 minutes of running twice at 0.04 an hour.
    assert one.one_off.egress_gbp == pytest.approx(8.0)
    assert one.one_off.restart_gbp == pytest.approx(0.04 / 6, abs=1e-9)
    assert one.one_off.payback_hours == pytest.approx((8.0 + 0.04 / 6) / 0.144)
    heavy = plan(workload(state_gib=2_000.0))
    assert heavy.recommendations == ()
    assert [refusal.rule for refusal in heavy.refused if refusal.stage == "guard"] == ["payback"]


def test_a_spot_price_above_on_demand_is_not_chosen() -> None:
    inverted = [
        *standard_offers()[:1],
        machine("aws", "eu-west-2", "m5.xlarge", "spot", gbp_per_vcpu_hour=0.06, gbp_per_gib_hour=0.008),
    ]
    spot = pool("eks-lon", "spot", "m5.xlarge", capacity_type="spot")
    there = workload(pool="spot", capacity_type="spot", interruption_tolerance="spot")
    made = plan(there, prices=prices(inverted), pools=pools(GENERAL, spot))
    [one] = made.recommendations
    assert [warning.what for warning in made.price_warnings] == ["spot costs £0.3680 an hour, on-demand £0.1840"]
    assert (one.recommended.pool, one.recommended.capacity_type) == ("general", "on-demand")
