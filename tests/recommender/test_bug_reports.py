"""What users of other tools had to report is checked here before anybody has to report it again."""

from __future__ import annotations

from datetime import timedelta

import polars as pl
import pytest

from exporters.core.frames import Offer
from exporters.store.read import combine
from tests.builders import NOON, snapshot
from tests.recommender.world import (
    BELGIUM,
    GENERAL,
    METAL,
    SPOT,
    fx_snapshot,
    machine,
    plan,
    policy,
    pools,
    prices,
    standard_offers,
    standard_rates,
    workload,
)


def test_savings_never_exceed_the_bill() -> None:
    # kubectl-cost 96: a saving of 225 thousand on a bill of 42 thousand.
    rows = [workload(f"w{n}", vcpu_request_mean=float(n + 1)) for n in range(10)]
    made = plan(*rows)
    for one in made.recommendations:
        assert 0 <= float(one.monthly.saving.p90) <= one.current.gbp_per_hour * 730 + 0.005
    assert 0 < made.summary.saving_gbp_per_month < made.summary.current_gbp_per_month


def test_no_saving_is_computed_at_spot_prices_where_only_on_demand_is_allowed() -> None:
    # Karpenter pull request 3217.
    made = plan(workload(), pools=pools(GENERAL, SPOT))
    assert made.recommendations == ()
    assert made.summary.lower_bound_gbp_per_hour == pytest.approx(0.184)


def test_an_hour_on_own_machines_is_an_hour_and_not_a_month() -> None:
    # OpenCost 3781: on-prem 730 times too cheap.
    there = workload(cluster="onprem-lon", pool="metal", instance_type="r760", capacity_type="owned")
    [placed] = plan(there, pools=pools(METAL)).placements
    assert placed.gbp_per_hour == pytest.approx(0.32 / 8)


def test_a_stale_spot_price_is_not_known_and_chooses_nothing() -> None:
    # SkyPilot 1437.
    on_demand, spot, *_ = standard_offers()
    from_book = Offer.validate(spot.with_columns(source=pl.lit("book")))
    old = snapshot("book", taken_at=NOON - timedelta(hours=72), offers=from_book)
    fresh = snapshot("aws", offers=on_demand)
    tolerant = workload(interruption_tolerance="spot")
    made = plan(tolerant, prices=combine([old, fresh, fx_snapshot()], now=NOON), pools=pools(GENERAL, SPOT))
    assert made.recommendations == ()
    assert [(one.rule, one.why) for one in made.refused] == [
        ("price_unknown", "no usable spot price for m5.xlarge in eu-west-2")
    ]
    assert made.refused[0].gbp_per_hour is None


def test_spot_dearer_than_on_demand_is_passed_over_and_flagged() -> None:
    # SkyPilot 4914.
    dear = machine("aws", "eu-west-2", "m5.xlarge", "spot", gbp_per_vcpu_hour=0.04, gbp_per_gib_hour=0.004)
    made = plan(
        workload(interruption_tolerance="spot"),
        prices=prices([standard_offers()[0], dear], standard_rates()),
        pools=pools(GENERAL, SPOT),
    )
    assert made.recommendations == ()
    assert [one.what for one in made.price_warnings] == ["spot costs £0.2240 an hour, on-demand £0.1840"]


def test_a_spot_node_is_never_priced_as_a_standard_one() -> None:
    # OpenCost 3226.
    on_spot = workload(pool="spot", capacity_type="spot", interruption_tolerance="spot")
    [placed] = plan(on_spot, pools=pools(GENERAL, SPOT)).placements
    assert placed.gbp_per_hour == pytest.approx(4 * 0.01 + 16 * 0.004 / 3 + 2 * 0.15 / 730 * 1.5, abs=1e-4)
    nameless = plan(workload(pool="", capacity_type=""), pools=pools(GENERAL, SPOT))
    assert [one.reason for one in nameless.not_enough_data if one.workload] == ["unknown-pool"]


def test_small_savings_can_be_held_back_in_pounds_and_in_percent() -> None:
    # Karpenter 735 and 1124.
    europe = workload(residency_class="europe")
    fleet = pools(GENERAL, BELGIUM)
    # (0.184 − 0.128) × 730 = £40.88, 30 %.
    assert len(plan(europe, pools=fleet).recommendations) == 1
    for steady in ({"min_saving_gbp_per_month": 41}, {"min_saving_ratio": 0.31}):
        assert plan(europe, pools=fleet, policy=policy(steady=steady)).recommendations == ()


def test_all_replicas_are_in_the_sum() -> None:
    # krr 385: replicas were not multiplied. Requests are totals: 10 replicas of 0.4 vCPU are 4 vCPU.
    rows = [workload(f"w{n}", vcpu_request_mean=0.4, memory_gib_request_mean=1.6, replicas_mean=1.0) for n in range(10)]
    split = plan(*rows, pools=pools(GENERAL)).summary.current_gbp_per_hour
    assert split == pytest.approx(plan(workload(), pools=pools(GENERAL)).summary.current_gbp_per_hour)
