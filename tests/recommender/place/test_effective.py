"""Prices at the basis that counts: which discount stands for an offer, and what has none."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from exporters.core.words import PriceBasis
from exporters.store.read import Prices
from recommender.place.effective import PRICES, at_basis, used_discounts, with_discount
from tests.properties import examples
from tests.recommender.world import appraisal, discounts, machine, prices, standard_offers, standard_pools, workload

EFFECTIVE, LIST = PriceBasis.EFFECTIVE, PriceBasis.LIST
PARTS: dict[str, Any] = {"gbp_per_vcpu_hour": 0.03, "gbp_per_gib_hour": 0.004, "family": "m5"}
LONDON = machine("aws", "eu-west-2", "m5.xlarge", "on-demand", **PARTS)
DUBLIN = machine("aws", "eu-west-1", "m5.xlarge", "on-demand", **PARTS)
OTHER = machine("aws", "eu-west-1", "c6i.xlarge", "on-demand", **PARTS | {"family": "c6i"})
EVERY = discounts(
    {"discount_ratio": 0.4},
    {"region": "", "discount_ratio": 0.3},
    {"region": "", "instance_family": "", "discount_ratio": 0.1},
)


def ratios(*offers: pl.DataFrame, found: Any = EVERY) -> list[float | None]:
    return with_discount(pl.concat(offers), found)["discount_ratio"].to_list()


def test_the_nearest_evidence_stands_for_an_offer() -> None:
    assert ratios(LONDON, DUBLIN, OTHER) == [0.4, 0.3, 0.1]
    assert ratios(LONDON, DUBLIN, OTHER, found=EVERY.filter(pl.col("region") != "")) == [0.4, None, None]


def test_the_discount_can_be_found_again_by_its_key() -> None:
    rows = with_discount(pl.concat([LONDON, DUBLIN, OTHER]), EVERY)
    assert rows.select("discount_region", "discount_instance_family").rows() == [
        ("eu-west-2", "m5"),
        ("", "m5"),
        ("", ""),
    ]


def test_spot_has_its_own_discount_or_none() -> None:
    spot = machine("aws", "eu-west-2", "m5.xlarge", "spot", **PARTS)
    assert ratios(spot) == [None]
    assert ratios(spot, found=discounts({"capacity_type": "spot", "discount_ratio": 0.05})) == [0.05]


def test_a_price_that_was_agreed_in_a_book_keeps_its_figure() -> None:
    assert ratios(machine("aws", "eu-west-2", "m5.xlarge", "on-demand", **PARTS | {"source": "book"})) == [None]


@pytest.mark.parametrize("capacity_type", ["committed-1y", "committed-3y", "owned"])
def test_owned_and_committed_capacity_has_no_discount(capacity_type: str) -> None:
    assert ratios(machine("aws", "eu-west-2", "m5.xlarge", capacity_type, **PARTS)) == [None]


def test_effective_prices_are_list_less_the_discount_in_every_part() -> None:
    listed = prices()
    paid = at_basis(listed, discounts({"discount_ratio": 0.4, "region": "", "instance_family": ""}), EFFECTIVE)
    is_paid_less = (pl.col("provider") == "aws") & (pl.col("capacity_type") == "on-demand")
    for name in PRICES:
        expected = listed.offers.select(pl.when(is_paid_less).then(pl.col(name) * 0.6).otherwise(name)).to_series()
        assert paid.offers[name].to_list() == pytest.approx(expected.to_list(), nan_ok=True)
    assert paid.offers["price_per_hour"].to_list() == listed.offers["price_per_hour"].to_list()
    assert paid.basis is EFFECTIVE


def test_at_list_basis_offers_stay_and_discounts_are_kept_beside() -> None:
    listed = at_basis(prices(), EVERY, LIST)
    assert_frame_equal(listed.offers, prices().offers)
    assert listed.discounts.height == 3


def test_discounts_of_machines_that_the_fleet_does_not_have_are_not_used() -> None:
    offers = [*standard_offers()[1:], machine("aws", "eu-west-2", "m5.xlarge", "on-demand", **PARTS)]
    known = at_basis(prices(offers), discounts({}, {"instance_family": "r5"}, {"provider": "gcp"}), LIST)
    used = used_discounts(known, standard_pools())
    assert used.select("provider", "instance_family").rows() == [("aws", "m5")]


RATIO = st.floats(min_value=-0.5, max_value=0.95)


@settings(max_examples=examples(6, 40), deadline=None)
@given(aws=RATIO, gcp=RATIO, spot=RATIO, basis=st.sampled_from(PriceBasis))
def test_savings_stay_within_what_is_paid_at_either_basis(
    aws: float, gcp: float, spot: float, basis: PriceBasis
) -> None:
    found = discounts(
        {"region": "", "instance_family": "", "discount_ratio": aws},
        {"region": "", "instance_family": "", "discount_ratio": gcp, "provider": "gcp"},
        {"region": "", "instance_family": _family("spot"), "capacity_type": "spot", "discount_ratio": spot},
    )
    rows = [
        workload("web", residency_class="anywhere"),
        workload("batch", residency_class="anywhere", criticality="low", interruption_tolerance="full"),
    ]
    plan = appraisal(*rows, prices=at_basis(prices(), found, basis)).plan
    assert plan.summary.planned_gbp_per_hour >= 0
    for one in plan.recommendations:
        assert one.monthly is not None
        saved = one.current.gbp_per_hour - one.recommended.gbp_per_hour
        assert 0 <= saved <= one.current.gbp_per_hour
        assert 0 <= one.monthly.saving.p50 <= round(one.current.gbp_per_hour * 730, 2) + 0.01


def _family(capacity_type: str) -> str:
    standard: Prices = prices()
    return str(standard.offers.filter(pl.col("capacity_type") == capacity_type)["family"][0])
