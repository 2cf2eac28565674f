"""One offer stands for a machine at a place: the zone's own, the contract's before the list's, the careful one else."""

from __future__ import annotations

from typing import Any

import polars as pl

from recommender.place.offered import PLACE, offered
from tests.builders import offers
from tests.recommender.world import machine

PRICE = {"gbp_per_gib_hour": 0.004}


def m5(capacity_type: str = "spot", **changes: Any) -> Any:
    return machine("aws", "eu-west-2", "m5.xlarge", capacity_type, **(PRICE | changes))


def asked(zone: str = "", capacity_type: str = "spot") -> pl.DataFrame:
    return pl.DataFrame([("aws", "eu-west-2", zone, "m5.xlarge", capacity_type)], schema=PLACE, orient="row")


ZONES = offers(m5(zone="eu-west-2a", gbp_per_vcpu_hour=0.010), m5(zone="eu-west-2b", gbp_per_vcpu_hour=0.014))


def test_a_place_whose_zone_is_known_takes_that_zones_price() -> None:
    for dearest in (True, False):
        found = offered(ZONES, asked("eu-west-2a"), dearest_zone=dearest)
        assert found["offer_zone"].to_list() == ["eu-west-2a"]


def test_where_the_zone_is_open_the_place_to_go_is_taken_at_its_dearest_and_the_place_left_at_its_cheapest() -> None:
    assert offered(ZONES, asked(), dearest_zone=True)["offer_zone"].to_list() == ["eu-west-2b"]
    assert offered(ZONES, asked(), dearest_zone=False)["offer_zone"].to_list() == ["eu-west-2a"]


def test_a_zone_without_a_price_takes_the_regions_and_never_another_zones() -> None:
    assert offered(ZONES, asked("eu-west-2c"), dearest_zone=True).height == 0
    regional = offers(m5(gbp_per_vcpu_hour=0.012), ZONES)
    assert offered(regional, asked("eu-west-2c"), dearest_zone=True)["offer_zone"].to_list() == [""]


def test_spot_is_never_read_from_on_demand() -> None:
    assert offered(offers(m5("on-demand", gbp_per_vcpu_hour=0.03)), asked(), dearest_zone=True).height == 0


def test_windows_prices_stand_for_nothing_here() -> None:
    windows = m5(gbp_per_vcpu_hour=0.03, operating_system="windows")
    assert offered(windows, asked(), dearest_zone=True).height == 0


def test_a_contract_in_a_price_book_stands_before_the_list_price() -> None:
    both = pl.concat([m5(gbp_per_vcpu_hour=0.010), m5(gbp_per_vcpu_hour=0.012, source="book")])
    assert offered(both, asked(), dearest_zone=False)["gbp_per_vcpu_hour"].to_list() == [0.012]
