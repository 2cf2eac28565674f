"""Realised savings: what today's usage would cost where it was, less what it costs; nothing else is a saving.

The move is that of world.py: web from on demand in London (4 × 0.03 + 16 × 0.004 = £0.184/h) to owned machines (an
eighth of a node of £0.32/h = £0.04/h).
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recommender.advise.decision import Question
from recommender.advise.record import Recommendation
from recommender.ledger.measurement import Outcome, Realised
from recommender.ledger.realised import CarriedOut, realised
from tests.builders import NOON
from tests.recommender.ledger.remembering import only
from tests.recommender.world import (
    BELGIUM,
    GENERAL,
    METAL,
    SPOT,
    flow,
    flows,
    machine,
    node_agents,
    plan,
    policy,
    pools,
    prices,
    standard_offers,
    standard_pools,
    workload,
    workloads,
)

FORTNIGHT = timedelta(days=14)
MOVED = {"cluster": "onprem-lon", "pool": "metal", "instance_type": "r760", "capacity_type": "owned"}
ADVICE = only(plan(workload(), pools=pools(GENERAL, METAL)))


def verified(
    *rows: dict[str, Any], advice: Recommendation = ADVICE, at: Any = NOON - FORTNIGHT, **changes: Any
) -> Realised:
    """The measurement of one move, made a fortnight before, by the usage since."""
    inputs: dict[str, Any] = {"prices": prices(), "flows": flows(), "pools": standard_pools()} | changes
    question = Question(
        prices=inputs["prices"],
        workloads=workloads(*rows, *node_agents()),
        pools=inputs["pools"],
        policy=policy(),
        at=NOON,
        usage_window=(NOON - FORTNIGHT, NOON),
        expires_after_hours=168.0,
        min_coverage_ratio=0.8,
    )
    [one] = realised([CarriedOut(advice, at)], question, inputs["flows"], inputs["pools"])
    return one


def test_the_saving_is_what_todays_usage_would_cost_there_less_what_it_costs_here() -> None:
    one = verified(workload(**MOVED))
    assert one.outcome is Outcome.MEASURED
    assert one.counterfactual_gbp_per_hour == pytest.approx(0.184)
    assert one.actual_gbp_per_hour == pytest.approx(0.04)
    assert one.saving is not None
    month = 0.144 * 730
    assert [float(x) for x in (one.saving.p10, one.saving.p50, one.saving.p90)] == pytest.approx(
        [month * 13 / 14, month, month * 15 / 14], abs=0.006
    )
    assert float(one.realised_gbp or 0) == pytest.approx(0.144 * 14 * 24, abs=0.006)
    assert (one.predicted_gbp, one.predicted_gbp_per_month) == (one.realised_gbp, one.saving.p50)
    assert one.price_basis == "today"


def test_usage_that_doubled_doubles_the_saving_and_not_the_prediction() -> None:
    one = verified(workload(**MOVED, vcpu_request_mean=8.0, memory_gib_request_mean=32.0))
    assert float(one.realised_gbp or 0) == pytest.approx(2 * 0.144 * 336, abs=0.006)
    assert float(one.predicted_gbp or 0) == pytest.approx(0.144 * 336, abs=0.006)


def test_a_place_left_that_has_become_cheap_makes_the_saving_a_loss() -> None:
    cheap = machine("aws", "eu-west-2", "m5.xlarge", "on-demand", gbp_per_vcpu_hour=0.005, gbp_per_gib_hour=0.0005)
    one = verified(workload(**MOVED), prices=prices([cheap, *standard_offers()[1:]]))
    # 4 × 0.005 + 16 × 0.0005 − 0.04 = −0.012
    assert float(one.realised_gbp or 0) == pytest.approx(-0.012 * 336, abs=0.006)
    assert one.saving is not None
    assert one.saving.p10 < one.saving.p50 < one.saving.p90 < 0


def test_a_place_left_without_a_price_today_is_priced_as_on_the_day_of_the_proposal() -> None:
    one = verified(
        workload(**MOVED, vcpu_request_mean=8.0, memory_gib_request_mean=16.0), prices=prices(standard_offers()[1:])
    )
    assert one.price_basis == "proposal"
    assert one.counterfactual_gbp_per_hour == pytest.approx(8 * 0.03 + 16 * 0.004)


def test_a_pool_that_is_gone_from_the_fleet_still_has_its_price() -> None:
    one = verified(workload(**MOVED), pools=pools(BELGIUM, METAL))
    assert (one.outcome, one.price_basis) == (Outcome.MEASURED, "today")
    assert one.counterfactual_gbp_per_hour == pytest.approx(0.184)


def test_data_that_leaves_counts_on_both_sides() -> None:
    """10 GiB an hour to the internet, 7,300 a month: of them 7,200 at £0.08 from AWS, nothing on the own line."""
    leaving = flow(to="internet", gib_per_hour=10.0) | {"cluster": "onprem-lon"}
    one = verified(workload(**MOVED), flows=flows(leaving))
    assert one.counterfactual_gbp_per_hour == pytest.approx(0.184 + 7200 * 0.08 / 730)
    assert one.actual_gbp_per_hour == pytest.approx(0.04)


def test_the_same_cluster_bought_differently_is_measured_by_its_pool() -> None:
    tolerant = {"interruption_tolerance": "spot", "checkpoint_minutes": 30.0}
    advice = only(plan(workload(**tolerant), pools=pools(GENERAL, SPOT)))
    moved = workload(**tolerant, pool="spot", capacity_type="spot")
    one = verified(moved, advice=advice, pools=pools(GENERAL, SPOT))
    assert one.outcome is Outcome.MEASURED
    assert one.saving is not None
    assert advice.monthly is not None
    assert one.saving.p50 == advice.monthly.saving.p50
    assert verified(workload(**tolerant), advice=advice, pools=pools(GENERAL, SPOT)).outcome is Outcome.NOT_MOVED


@pytest.mark.parametrize(
    ("rows", "outcome", "why"),
    [
        ([], Outcome.VANISHED, "neither at the old place nor at the new one"),
        ([workload()], Outcome.NOT_MOVED, "it still runs in eks-lon, and not in onprem-lon"),
        ([workload(), workload(**MOVED)], Outcome.NOT_MOVED, "it still runs in eks-lon too"),
        ([workload(**MOVED | {"pool": "other"})], Outcome.MOVED_ON, "it runs in pool other, not in metal"),
        ([workload(**MOVED, coverage_ratio=0.5)], Outcome.NOT_ENOUGH_DATA, "50% of the 14 days"),
        ([workload(**MOVED | {"instance_type": "r999"})], Outcome.NO_PRICE, "what it costs now is not known"),
    ],
)
def test_what_is_no_saving_is_told_apart(rows: list[dict[str, Any]], outcome: Outcome, why: str) -> None:
    one = verified(*rows)
    assert one.outcome is outcome
    assert why in one.why
    assert (one.saving, one.realised_gbp, one.predicted_gbp) == (None, None, None)


def test_usage_of_before_the_move_proves_nothing() -> None:
    one = verified(workload(**MOVED), at=NOON - FORTNIGHT + timedelta(seconds=1))
    assert (one.outcome, one.realised_gbp) == (Outcome.TOO_EARLY, None)


def test_a_move_owed_to_a_rule_is_no_saving() -> None:
    abroad = workload(cluster="gke-bel", pool="general", instance_type="n2-standard-4")
    advice = only(plan(abroad, pools=pools(GENERAL, BELGIUM)))
    assert verified(workload(), advice=advice).outcome is Outcome.OWED_TO_A_RULE


def test_of_two_moves_of_one_workload_only_the_last_is_measured() -> None:
    question = Question(
        prices=prices(),
        workloads=workloads(workload(**MOVED), *node_agents()),
        pools=standard_pools(),
        policy=policy(),
        at=NOON,
        usage_window=(NOON - FORTNIGHT, NOON),
        expires_after_hours=168.0,
        min_coverage_ratio=0.8,
    )
    older = ADVICE.model_copy(update={"id": "0lder"})
    carried = [CarriedOut(ADVICE, NOON - FORTNIGHT), CarriedOut(older, NOON - 2 * FORTNIGHT)]
    found = realised(carried, question, flows(), standard_pools())
    assert {one.recommendation_id: one.outcome for one in found} == {
        "0lder": Outcome.MOVED_ON,
        ADVICE.id: Outcome.MEASURED,
    }


@settings(max_examples=10)
@given(st.floats(0.1, 30.0), st.floats(0.1, 100.0), st.floats(0.8, 1.0))
def test_the_saving_is_the_difference_of_the_two_costs_whatever_is_used(vcpus: float, gib: float, seen: float) -> None:
    one = verified(workload(**MOVED, vcpu_request_mean=vcpus, memory_gib_request_mean=gib, coverage_ratio=seen))
    there, here = vcpus * 0.03 + gib * 0.004, 0.32 * max(vcpus / 32, gib / 128)
    assert one.counterfactual_gbp_per_hour == pytest.approx(there, abs=1e-8)
    assert one.actual_gbp_per_hour == pytest.approx(here, abs=1e-8)
    assert float(one.realised_gbp or 0) == pytest.approx((there - here) * 336 * seen, abs=0.006)
    assert one.saving is not None
    assert one.saving.p10 <= one.saving.p50 <= one.saving.p90
