"""Sorting out prices: each bad one is counted by its reason, and one of them never spoils the rest."""

from __future__ import annotations

from decimal import Decimal

import polars as pl
import pytest

from exporters.core.frames import OFFER_KEY
from exporters.normalise.chosen import one_per_key, sort_out_prices

KEY_VALUES = {
    "provider": "aws",
    "region": "eu-west-2",
    "zone": "",
    "instance_type": "m5.large",
    "operating_system": "linux",
    "capacity_type": "on-demand",
}


def candidates(*prices: str | None, currencies: tuple[str, ...] = ()) -> pl.DataFrame:
    money = pl.DataFrame({"price_per_hour": prices, "currency": currencies or ("USD",) * len(prices)})
    return money.with_columns(*(pl.lit(value).alias(name) for name, value in KEY_VALUES.items()), sku=pl.lit("SKU"))


@pytest.mark.parametrize(
    ("price", "reason"),
    [
        (None, "absent"),
        (" ", "absent"),
        ("0.0000000000", "zero"),
        ("-0.111", "negative"),
        ("NaN", "not-a-number"),
        ("inf", "not-a-number"),
        ("1,234.5", "not-a-number"),
        ("123456789012345678901234", "malformed"),
        ("0.00000000000001", "malformed"),
    ],
)
def test_a_bad_price_is_counted_by_its_reason_beside_a_good_one(price: str | None, reason: str) -> None:
    parted = sort_out_prices(candidates(price, "0.111"), price="price_per_hour", example="sku")

    assert parted.good["price_per_hour"].to_list() == [Decimal("0.111")]
    assert parted.rejects.select("reason", "region", "rows", "example").rows() == [(reason, "eu-west-2", 1, "SKU")]


def test_a_price_keeps_its_last_digit() -> None:
    parted = sort_out_prices(candidates("0.250248", "1e-3"), price="price_per_hour", example="sku")

    assert parted.good["price_per_hour"].to_list() == [Decimal("0.250248"), Decimal("0.001")]
    assert parted.rejects.is_empty()


def priced(*prices: str, currencies: tuple[str, ...] = ()) -> pl.DataFrame:
    return sort_out_prices(candidates(*prices, currencies=currencies), price="price_per_hour", example="sku").good


def test_the_same_price_twice_is_one_price() -> None:
    assert one_per_key(priced("0.111", "0.1110"), example="sku").good.height == 1


def test_two_prices_for_one_offer_are_ambiguous() -> None:
    parted = one_per_key(priced("0.111", "0.112"), example="sku")

    assert parted.good.is_empty()
    assert parted.rejects["reason"].to_list() == ["ambiguous"]
    assert parted.rejects["rows"].to_list() == [2]


def test_the_same_number_in_two_currencies_is_ambiguous() -> None:
    parted = one_per_key(priced("0.111", "0.111", currencies=("USD", "CNY")), example="sku", key=OFFER_KEY)

    assert parted.good.is_empty()
    assert parted.rejects["reason"].to_list() == ["ambiguous"]
