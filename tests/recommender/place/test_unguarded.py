"""The bound is of the question that is solved, and what guards withhold is told apart."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.properties import examples
from tests.recommender.test_cycle import ROWS, world_of
from tests.recommender.world import GENERAL, METAL, plan, policy, pools, workload

BIG = {"vcpu_request_mean": 40.0, "memory_gib_request_mean": 40.0, "replicas_mean": 10.0}


def test_the_bound_honours_the_room_that_owned_machines_have() -> None:
    # Each costs 40 × 0.03 + 40 × 0.004 = 1.36 in the cloud, 40/32 × 0.32 = 0.40 on the racks, which hold one of them.
    total = plan(workload("a", **BIG), workload("b", **BIG), pools=pools(GENERAL, METAL)).summary
    assert total.lower_bound_gbp_per_hour == pytest.approx(1.76)
    assert total.planned_gbp_per_hour == pytest.approx(1.76)
    assert total.gap_ratio == pytest.approx(0.0, abs=1e-8)
    assert total.withheld_by_guards_gbp_per_hour == 0


def test_what_a_threshold_withholds_is_not_a_gap() -> None:
    strict = policy(steady={"min_saving_gbp_per_month": 1_000})
    total = plan(workload(), pools=pools(GENERAL, METAL), policy=strict).summary
    assert total.planned_gbp_per_hour == pytest.approx(0.184)
    assert total.lower_bound_gbp_per_hour == pytest.approx(0.04)
    assert total.gap_ratio == 0
    assert total.withheld_by_guards_gbp_per_hour == pytest.approx(0.144)


def test_the_scarce_resource_of_a_rack_has_a_price_and_the_others_have_none() -> None:
    made = plan(workload("a", **BIG), workload("b", **BIG), pools=pools(GENERAL, METAL))
    [rack] = made.owned_capacity
    # One of two finds room: 40 vCPU more, of which 23.7 are there, would save 0.96 an hour.
    assert 0 < rack.shadow_gbp_per_vcpu_hour <= 0.96 / (80 - 63.7) + 1e-6
    assert (rack.shadow_gbp_per_gib_hour, rack.shadow_gbp_per_gpu_hour) == (0.0, 0.0)
    [scarce] = made.scarce_capacity
    assert (scarce.scope, scarce.cluster, scarce.pool, scarce.resource) == ("pool", "onprem-lon", "metal", "vcpus")
    assert scarce.shadow_gbp_per_unit_hour == rack.shadow_gbp_per_vcpu_hour


@settings(max_examples=examples(6, 40), suppress_health_check=[HealthCheck.too_slow])
@given(rows=ROWS, threshold=st.floats(0, 200), most=st.integers(0, 5))
def test_bound_gap_and_what_is_withheld_add_up_to_the_plan(rows: list[dict], threshold: float, most: int) -> None:  # type: ignore[type-arg]
    rules = policy(steady={"min_saving_gbp_per_month": threshold, "max_moves_per_week": most})
    total = plan(**world_of(rows), policy=rules).summary
    assert total.lower_bound_gbp_per_hour <= total.planned_gbp_per_hour + 1e-9
    assert total.withheld_by_guards_gbp_per_hour >= 0
    if total.gap_ratio is not None:
        assert total.lower_bound_gbp_per_hour * (1 + total.gap_ratio) + total.withheld_by_guards_gbp_per_hour == (
            pytest.approx(total.planned_gbp_per_hour, abs=1e-6)
        )


def the_plan_is_the_same_with_a_shortlist(rows: list[dict]) -> None:  # type: ignore[type-arg]
    with pytest.MonkeyPatch.context() as patch:
        whole = plan(**world_of(rows))
        patch.setattr("recommender.cycle._MOST_PAIRS", 0)
        short = plan(**world_of(rows))
    assert short.placements == whole.placements
    assert short.summary.model_dump(exclude={"refused_offers"}) == whole.summary.model_dump(exclude={"refused_offers"})


@settings(max_examples=4, suppress_health_check=[HealthCheck.too_slow])
@given(rows=ROWS)
def test_looking_only_at_the_places_that_a_plan_can_use_changes_no_plan(rows: list[dict]) -> None:  # type: ignore[type-arg]
    the_plan_is_the_same_with_a_shortlist(rows)


@pytest.mark.slow
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(rows=ROWS)
def test_in_many_fleets_looking_only_at_those_places_changes_no_plan(rows: list[dict]) -> None:  # type: ignore[type-arg]
    the_plan_is_the_same_with_a_shortlist(rows)
