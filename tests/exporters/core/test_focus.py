"""Exported rows carry FOCUS names and the exact native digits."""

from __future__ import annotations

import json

from exporters.core.focus import OFFER_COLUMNS_1_2, offers_as_focus
from exporters.core.output import rows_as_json
from tests.builders import offer


def test_native_price_keeps_its_last_digit() -> None:
    row = json.loads(rows_as_json(offers_as_focus(offer(price_per_hour="3.673385", currency="USD"))))[0]
    assert row["ListUnitPrice"] == 3.673385
    assert row["PricingCurrency"] == "USD"


def test_capacity_types_become_pricing_categories() -> None:
    assert offers_as_focus(offer(capacity_type="spot"))["PricingCategory"].to_list() == ["Dynamic"]
    assert offers_as_focus(offer(capacity_type="on-demand"))["PricingCategory"].to_list() == ["Standard"]


def test_no_zone_is_null_not_an_empty_text() -> None:
    assert offers_as_focus(offer(zone=""))["AvailabilityZone"].to_list() == [None]


def test_custom_columns_carry_the_prefix_that_focus_asks_for() -> None:
    focus_columns = {"ProviderName", "RegionId", "AvailabilityZone", "SkuId", "PricingCategory", "PricingUnit"}
    focus_columns |= {"PricingCurrency", "ListUnitPrice"}
    assert {name for name in OFFER_COLUMNS_1_2.values() if not name.startswith("x_")} == focus_columns
