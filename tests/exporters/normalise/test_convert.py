"""Conversion: one rate a currency, its day and source beside it, and no rate guessed."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import polars as pl
import pytest

from exporters.core.frames import FxRate
from exporters.core.implied_rate import implied_rates


def tier(**changes):
    return {
        "provider": "gcp",
        "from_region": "europe-west2",
        "destination": "internet",
        "to_region": "",
        "tier_start_gib": 0.0,
        "currency": "USD",
        "price_per_gib": Decimal("0.12"),
    } | changes


def test_a_currency_without_a_rate_is_counted_and_never_guessed(run, chosen, price, shape):
    rows = chosen([price("m5.large", "0.111"), price("m6i.large", "1600", currency="IDR")], [shape("m5.large", 2, 8)])
    known = chosen(rows.prices.to_dicts(), [shape("m5.large", 2, 8), shape("m6i.large", 2, 8)])

    result = run(known)

    assert result.offers["instance_type"].to_list() == ["m5.large"]
    assert result.rejects.to_dicts() == [
        {"reason": "no-exchange-rate", "region": "eu-west-2", "rows": 1, "example": "m6i.large (IDR)"}
    ]


def test_mixed_currencies_each_take_their_own_rate(run, chosen, price, shape):
    rows = chosen(
        [price("m5.large", "1"), price("m6i.large", "1", currency="EUR"), price("m7i.large", "1", currency="GBP")],
        [shape(name, 2, 8) for name in ("m5.large", "m6i.large", "m7i.large")],
    )

    assert run(rows).offers["gbp_per_hour"].to_list() == [0.746330, 0.8338, 1.0]


def test_a_pound_is_one_pound_whatever_the_table_says(run, chosen, price, shape):
    wrong = FxRate.validate(
        pl.DataFrame(
            {"currency": ["GBP"], "gbp_per_unit": [1.5], "rate_date": [date(2020, 1, 1)], "fx_source": ["contract"]}
        )
    )
    rows = chosen([price("m5.large", "0.09", currency="GBP")], [shape("m5.large", 2, 8)])

    offer = run(rows, fx=wrong).offers.to_dicts()[0]

    assert (offer["gbp_per_hour"], offer["fx_source"], offer["fx_date"]) == (0.09, "none", date(2026, 11, 30))


def test_the_providers_own_pounds_stand_beside_ours(run, chosen, price, shape):
    rows = chosen([price("m5.large", "0.222", provider_gbp_per_hour=0.1712)], [shape("m5.large", 2, 8)])

    offer = run(rows).offers.to_dicts()[0]

    assert offer["provider_gbp_per_hour"] == 0.1712
    assert offer["gbp_per_hour"] == pytest.approx(0.222 * 0.746330)


def test_egress_tiers_come_out_in_pounds_and_free_tiers_stay_free(run, chosen):
    tiers = [tier(price_per_gib=Decimal(0)), tier(tier_start_gib=1.0), tier(tier_start_gib=1024.0, currency="JPY")]

    result = run(chosen([], [], tiers))

    assert result.egress.select("tier_start_gib", "gbp_per_gib").rows() == [
        (0.0, 0.0),
        (1.0, pytest.approx(0.12 * 0.746330)),
    ]
    assert result.rejects.select("reason", "region", "example").rows() == [
        ("no-exchange-rate", "europe-west2", "internet (JPY)")
    ]


def test_the_rate_a_provider_implies_is_the_median_over_its_offers(run, chosen, price, shape):
    # Quoted pounds are rounded, so single quotients stray (0.77, 0.775, 0.79); offers without pounds do not count.
    quotes = {"D2": ("0.1", 0.0770), "D4": ("0.2", 0.1550), "D8": ("0.4", 0.3160), "D16": ("0.8", None)}
    rows = chosen(
        [price(name, usd, provider="azure", provider_gbp_per_hour=gbp) for name, (usd, gbp) in quotes.items()],
        [shape(name, 2, 8, provider="azure") for name in quotes],
    )

    implied = implied_rates(run(rows).offers)

    assert implied.rows(named=True) == [
        {"provider": "azure", "currency": "USD", "gbp_per_unit": pytest.approx(0.775)},
    ]


def test_prices_that_are_native_pounds_imply_no_rate(run, chosen, price, shape):
    rows = chosen([price("m5.large", "0.09", currency="GBP", provider_gbp_per_hour=0.09)], [shape("m5.large", 2, 8)])

    assert implied_rates(run(rows).offers).is_empty()
