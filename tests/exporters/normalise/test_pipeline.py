"""The whole arrow: every price that goes in comes out in pounds or is counted."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from exporters.core.errors import IntegrityError
from exporters.normalise.chosen import Chosen


def test_a_list_price_comes_out_to_the_last_digit_with_its_pounds_rate_and_source(run, chosen, price, shape):
    # AWS Price List, m5.large in eu-west-2: 0.111 USD; ECB of 30 October 2026: 0.746330 GBP.
    offer = run(chosen([price("m5.large", "0.111")], [shape("m5.large", 2, 8)])).offers.to_dicts()[0]

    assert offer["price_per_hour"] == Decimal("0.111")
    assert offer["gbp_per_hour"] == pytest.approx(0.08284263, rel=1e-12)
    assert (offer["gbp_per_unit"], offer["fx_date"], offer["fx_source"]) == (0.746330, date(2026, 10, 30), "ecb")
    assert (offer["source"], offer["observed_at"].isoformat()) == ("aws", "2026-11-30T12:00:00+00:00")


def test_a_machine_without_a_shape_is_counted_and_not_published(run, chosen, price, shape):
    result = run(chosen([price("m5.large", "0.111"), price("m99.large", "0.2")], [shape("m5.large", 2, 8)]))

    assert result.offers["instance_type"].to_list() == ["m5.large"]
    assert result.rejects.to_dicts() == [
        {"reason": "unknown-shape", "region": "eu-west-2", "rows": 1, "example": "m99.large"}
    ]


def test_the_shape_of_the_region_goes_before_the_shape_of_all_regions(run, chosen, price, shape):
    prices = [price("m5.large", "0.111"), price("m5.large", "0.107", region="eu-west-1")]
    shapes = [shape("m5.large", 2, 8), shape("m5.large", 4, 16, region="eu-west-1")]

    offers = run(chosen(prices, shapes)).offers

    assert offers.select("region", "vcpus").rows() == [("eu-west-1", 4.0), ("eu-west-2", 2.0)]


def test_a_refresh_without_any_offer_left_is_refused_with_the_counts(run, chosen, price):
    with pytest.raises(IntegrityError, match=r"no offer is left \(2 unknown-shape\).*last good prices stay"):
        run(chosen([price("m5.large", "0.111"), price("m5.xlarge", "0.222")], []))


def test_a_refresh_without_any_price_is_refused(run, chosen):
    with pytest.raises(IntegrityError, match="the source gave no prices"):
        run(chosen([], []))


def test_a_source_of_egress_alone_needs_no_offers(run, chosen):
    tier = {
        "provider": "aws",
        "from_region": "eu-west-2",
        "destination": "internet",
        "to_region": "",
        "tier_start_gib": 0.0,
        "currency": "USD",
        "price_per_gib": Decimal("0.09"),
    }

    result = run(chosen([], [], [tier]))

    assert result.offers.is_empty()
    assert result.egress["gbp_per_gib"].to_list() == pytest.approx([0.0671697])


def test_the_order_of_the_rows_does_not_matter(run, chosen, price, shape):
    machines = [("c5.large", "0.101", 2, 4), ("m5.large", "0.111", 2, 8), ("r5.large", "0.148", 2, 16)]
    rows = chosen([price(name, usd) for name, usd, _, _ in machines], [shape(m[0], m[2], m[3]) for m in machines])
    backwards = Chosen(rows.prices.reverse(), rows.shapes.reverse(), rows.egress, rows.rejects)

    assert_frame_equal(run(backwards).offers, run(rows).offers)


def test_the_energy_of_owned_capacity_is_converted_too(run, chosen, price, shape):
    node = price(
        "gpu-node", "8", provider="onprem", capacity_type="owned", currency="GBP", marginal_price_per_hour="0.5"
    )

    offers = run(chosen([node], [shape("gpu-node", 64, 512, provider="onprem")])).offers

    assert offers.select("marginal_gbp_per_hour", "gbp_per_unit", "fx_source").row(0) == (0.5, 1.0, "none")


def test_the_row_rules_own_rejects_are_kept(run, chosen, price, shape):
    rows = chosen([price("m5.large", "0.111"), price("m99.large", "1")], [shape("m5.large", 2, 8)])
    before = pl.DataFrame({"reason": ["zero"], "region": ["eu-west-2"], "rows": [3], "example": ["u-6tb1.metal"]})
    counted = Chosen(rows.prices, rows.shapes, rows.egress, rows.rejects.vstack(before.cast(rows.rejects.schema)))

    assert run(counted).rejects.select("reason", "rows").rows() == [("unknown-shape", 1), ("zero", 3)]
