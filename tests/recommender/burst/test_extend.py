"""Extend or commit: when one more node pays, by hand."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import polars as pl
import pytest

from recommender.burst.admissible import Admitted
from recommender.burst.extend import extensions
from recommender.burst.home import shapes
from recommender.forecast.frames import Demand
from recommender.place.candidates import places
from recommender.settings import BurstSettings
from tests.builders import NOON
from tests.recommender.world import BELGIUM, FLEET, machine, pool, pools, prices, standard_offers

OWNED = 32 * 0.01 + 128 * 0.002
"""Full price of an r760, £/h."""
ALLOCATABLE = 32 - (0.06 + 0.01 + 2 * 0.005 + 28 * 0.0025)
CLOUD_NODE = 4 - (0.06 + 0.01 + 2 * 0.005)
BURST = (4 * 0.02 + 16 * 0.003) / CLOUD_NODE * ALLOCATABLE
"""What as many vCPUs as an r760 leaves cost on demand in Belgium, £/h."""


def rows(excess: list[float], fleet: tuple[dict[str, Any], ...] = FLEET, offers: Any = None) -> list[dict[str, Any]]:
    found = places(pools(*fleet), prices(offers).offers)
    seen = [
        {
            "cluster": "onprem-lon",
            "resource": "vcpu",
            "resource_class": "amd64",
            "timestamp": NOON - timedelta(hours=back + 1),
            "demand": 60.0 + value,
        }
        for back, value in enumerate(excess)
    ]
    return extensions(
        Demand.validate(pl.DataFrame(seen)),
        cluster="onprem-lon",
        shapes=shapes(found, "onprem-lon", overhead=(0.0, 0.0)),
        admitted=Admitted((), (), {("vcpu", "amd64"): 60.0}),
        fleet=found,
        settings=BurstSettings(extend_above_ratio=0.25),
    )


def test_a_pool_that_is_short_all_the_time_by_a_whole_node_is_made_one_node_larger() -> None:
    (row,) = rows([ALLOCATABLE] * 10)
    assert (row["kind"], row["nodes"], row["short_ratio"]) == ("extend", 1, 1)
    assert row["node_gbp_per_hour"] == pytest.approx(OWNED)
    assert row["burst_gbp_per_hour"] == pytest.approx(BURST)
    assert row["saving_gbp_per_month"] == pytest.approx((BURST - OWNED) * 730)


def test_a_node_pays_from_the_share_of_the_time_at_which_bursting_costs_as_much() -> None:
    (row,) = rows([ALLOCATABLE] * 10)
    assert row["break_even_ratio"] == pytest.approx(OWNED / BURST)
    assert 0.5 < row["break_even_ratio"] < 0.6
    assert rows([ALLOCATABLE] * 5 + [0.0] * 5)[0]["nodes"] == 0
    assert rows([ALLOCATABLE] * 6 + [0.0] * 4)[0]["nodes"] == 1


def test_each_further_node_must_pay_for_itself() -> None:
    # The first is used all the time, the second six hours of ten, the third one hour of ten.
    excess = [ALLOCATABLE] * 4 + [2 * ALLOCATABLE] * 5 + [3 * ALLOCATABLE]
    assert rows(excess)[0]["nodes"] == 2


def test_a_pool_that_is_seldom_short_is_not_spoken_of() -> None:
    assert rows([5.0] * 2 + [0.0] * 8) == []


def test_committed_capacity_is_the_other_way_where_it_has_a_price() -> None:
    committed = pool("eks-lon", "committed", "m5.xlarge", capacity_type="committed-1y")
    offer = machine("aws", "eu-west-2", "m5.xlarge", "committed-1y", gbp_per_vcpu_hour=0.01, gbp_per_gib_hour=0.001)
    found = rows([CLOUD_NODE] * 10, (*FLEET, committed), [*standard_offers(), offer])
    commit = next(row for row in found if row["kind"] == "commit")
    assert commit["pool"] == "committed"
    assert commit["node_gbp_per_hour"] == pytest.approx(4 * 0.01 + 16 * 0.001)
    assert commit["nodes"] == 1


def test_without_a_price_to_burst_at_nothing_is_said() -> None:
    fleet = tuple(row for row in FLEET if row["tier"] == "owned" or row is BELGIUM)
    offers = [offer for offer in standard_offers() if offer["provider"].item() == "onprem"]
    assert rows([ALLOCATABLE] * 10, fleet, offers) == []
