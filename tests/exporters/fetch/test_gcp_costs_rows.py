"""What a bill of Google's comes to: credits, promotions, fees of commitments spread over what they covered."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporters.core.cost_frames import Charge
from exporters.fetch.gcp_costs_rows import usage_charges
from exporters.fetch.gcp_costs_sku import Sku, read_sku

CORE = "N2 Instance Core running in London"
FEE = "Commitment v1: N2 Cpu in London for 1 Year"
SPEND_FEE = "Commitment - dollar based v1: GCE for 1 year"
CREDITS = ("resource_credit", "spend_credit", "fee_offset", "promotion")


def line(sku: str = CORE, cost: str = "10", *, other: str = "0", **more: Any) -> dict[str, Any]:
    """A row of the query's answer; all credits are those named, and `other` ones (sustained use, discounts …)."""
    row: dict[str, Any] = {
        "day": date(2026, 11, 28),
        "billing_account": "A",
        "invoice_month": "202611",
        "project": "shop",
        "service": "Compute Engine",
        "region": "europe-west2",
        "sku": sku,
        "currency": "GBP",
        "cost_type": "regular",
        "machine": "",
        "owner": "",
        "commitment": "",
        "is_covered": False,
        "unit": "hour",
        "quantity": None,
        "covered_quantity": 0.0,
        "cost": Decimal(cost),
        "list_cost": Decimal(cost),
        **dict.fromkeys(CREDITS, Decimal(0)),
        "without_cost": 0,
        "line_count": 1,
    }
    row |= {name: Decimal(value) if name in CREDITS else value for name, value in more.items()}
    row["all_credits"] = sum((row[name] for name in CREDITS), Decimal(other))
    return row


def covered(cost: str, credit: str, hours: float = 0.0, **more: Any) -> dict[str, Any]:
    return line(cost=cost, resource_credit=credit, is_covered=True, covered_quantity=hours, quantity=hours, **more)


def charged(*rows: dict[str, Any]) -> pl.DataFrame:
    frame = usage_charges(rows, where="table")
    Charge.validate(frame)
    return frame


def sums(frame: pl.DataFrame) -> list[tuple[str, str | None, Decimal, Decimal]]:
    return frame.select("charge_category", "commitment_status", "billed_cost", "effective_cost").rows()


def test_discounts_come_off_the_usage_and_promotions_stand_apart():
    frame = charged(line(cost="10", other="-3.25", promotion="-2"))

    assert sums(frame) == [
        ("Usage", None, Decimal("6.75"), Decimal("6.75")),
        ("Credit", None, Decimal(-2), Decimal(-2)),
    ]
    assert frame["list_cost"].to_list() == [Decimal(10), Decimal(0)]


def test_credits_larger_than_the_cost_leave_a_negative_charge():
    assert sums(charged(line(cost="1", other="-1.5"))) == [("Usage", None, Decimal("-0.5"), Decimal("-0.5"))]


@pytest.mark.parametrize(
    ("cost_type", "category"),
    [("tax", "Tax"), ("adjustment", "Adjustment"), ("rounding_error", "Adjustment")],
)
def test_what_is_no_usage_has_its_own_category(cost_type, category):
    assert sums(charged(line("", "1.20", cost_type=cost_type))) == [(category, None, Decimal("1.2"), Decimal("1.2"))]


def test_spot_is_priced_dynamically():
    frame = charged(line("Spot Preemptible N2 Instance Core running in London", quantity=5.0))

    assert frame.select("pricing_category", "machine", "vcpu_hours").rows() == [("Dynamic", "N2", 5.0)]


def test_a_fee_is_spread_over_the_usage_that_it_covered_in_proportion_to_the_credits():
    # 12 pounds of fee; credits of 6 and 18: 3 and 9 pounds lie on the usage, whose own cost is nought.
    frame = charged(line(FEE, "12"), covered("6", "-6"), covered("20", "-18", project="bank"))

    assert sums(frame) == [
        ("Purchase", None, Decimal(12), Decimal(0)),
        ("Usage", "Used", Decimal(0), Decimal(3)),
        ("Usage", "Used", Decimal(2), Decimal(11)),
    ]


def test_what_was_committed_beyond_the_usage_is_unused():
    # 24 vCPU-hours were committed for 12 pounds, 18 used: 9 pounds lie on the usage, 3 are unused.
    frame = charged(line(FEE, "12", quantity=24.0), covered("18", "-18", hours=18.0))

    assert sums(frame) == [
        ("Purchase", None, Decimal(12), Decimal(0)),
        ("Usage", "Unused", Decimal(0), Decimal(3)),
        ("Usage", "Used", Decimal(0), Decimal(9)),
    ]
    assert frame["pricing_category"].to_list() == [None, "Committed", "Committed"]


def test_a_fee_without_any_usage_is_unused_as_a_whole():
    assert sums(charged(line(FEE, "12"), line(cost="5"))) == [
        ("Purchase", None, Decimal(12), Decimal(0)),
        ("Usage", "Unused", Decimal(0), Decimal(12)),
        ("Usage", None, Decimal(5), Decimal(5)),
    ]


@pytest.mark.parametrize(
    "elsewhere",
    [
        {"region": "europe-west1"},
        {"currency": "USD"},
        {"day": date(2026, 11, 29)},
        {"billing_account": "B"},
        {"sku": "N2 Instance Ram running in London"},
    ],
    ids=["region", "currency", "day", "account", "part"],
)
def test_a_fee_never_reaches_usage_that_its_commitment_cannot_cover(elsewhere):
    frame = charged(line(FEE, "12"), covered("6", "-6") | elsewhere)

    assert sums(frame)[1] == ("Usage", "Unused", Decimal(0), Decimal(12))


def test_a_fee_goes_to_its_own_family_where_that_has_credits():
    c3 = covered("6", "-6", sku="C3 Instance Core running in London")
    frame = charged(line(FEE, "12"), covered("6", "-6"), c3)

    assert frame.filter(pl.col("charge_category") == "Usage").select("machine", "effective_cost").rows() == [
        ("N2", Decimal(12)),
        ("C3", Decimal(0)),
    ]


def test_a_commitment_to_spend_reaches_its_own_credits_in_any_region():
    spent = line(cost="8", spend_credit="-8", is_covered=True, region="europe-west4")
    frame = charged(line(SPEND_FEE, "6", region=""), spent, covered("6", "-6"))

    assert sums(frame) == [
        ("Purchase", None, Decimal(6), Decimal(0)),
        ("Usage", "Used", Decimal(0), Decimal(6)),
        ("Usage", "Used", Decimal(0), Decimal(0)),
    ]


def test_of_the_newer_kind_what_the_offset_leaves_of_the_fee_is_unused():
    fee = line(SPEND_FEE, "10", fee_offset="-9", commitment="subscriptions/1")
    usage = line(cost="9", is_covered=True, commitment="subscriptions/1")

    frame = charged(fee, usage)

    assert sums(frame) == [
        ("Purchase", None, Decimal(1), Decimal(0)),
        ("Usage", "Unused", Decimal(0), Decimal(1)),
        ("Usage", "Used", Decimal(9), Decimal(9)),
    ]
    assert set(frame["commitment_discount_id"]) == {"subscriptions/1"}


def test_a_fee_that_was_wholly_used_or_taken_back_leaves_nothing_unused():
    assert sums(charged(line(SPEND_FEE, "10", fee_offset="-10"))) == [("Purchase", None, Decimal(0), Decimal(0))]
    assert sums(charged(line(FEE, "-4"))) == [("Purchase", None, Decimal(-4), Decimal(-4))]


amounts = st.decimals(min_value=-1000, max_value=1000, places=12)
fees = st.builds(
    lambda cost, hours, sku: line(sku, str(cost), quantity=hours),
    amounts,
    st.none() | st.floats(0, 100),
    st.sampled_from([FEE, SPEND_FEE, "Commitment v1: C3 Ram in London for 3 Years"]),
)
usages = st.builds(
    lambda cost, credit, spent, hours, promotion, sku: line(
        sku,
        str(cost),
        resource_credit=str(credit),
        spend_credit=str(spent),
        promotion=str(promotion),
        covered_quantity=hours,
        is_covered=bool(credit or spent),
    ),
    amounts,
    st.decimals(-1000, 0, places=12),
    st.decimals(-1000, 0, places=12),
    st.floats(0, 100),
    st.decimals(-10, 0, places=12),
    st.sampled_from([CORE, "C3 Instance Core running in London", "C3 Instance Ram running in London", ""]),
)


@given(st.lists(fees | usages, min_size=1, max_size=12))
def test_over_a_day_the_effective_costs_add_up_to_the_bill_to_the_last_place(rows):
    frame = charged(*rows)

    stated = sum((row["cost"] + row["all_credits"] for row in rows), Decimal(0))
    assert sum(frame["billed_cost"], Decimal(0)) == stated
    assert sum(frame["effective_cost"], Decimal(0)) == stated


@pytest.mark.parametrize(
    ("description", "read"),
    [
        ("N2 Instance Core running in London", Sku(False, "core", "n2", False)),
        ("N2D AMD Custom Instance Ram running in Belgium", Sku(False, "ram", "n2d", False)),
        ("N1 Predefined Instance Core running in Americas", Sku(False, "core", "n1", False)),
        ("Custom Instance Core running in Americas", Sku(False, "core", "n1", False)),
        ("Compute optimized Core running in London", Sku(False, "core", "c2", False)),
        ("Spot Preemptible E2 Instance Ram running in London", Sku(False, "ram", "e2", True)),
        ("Commitment v1: Cpu in Americas for 1 Year", Sku(True, "core", "n1", False)),
        ("Commitment v1: C3 Ram in London for 3 Years", Sku(True, "ram", "c3", False)),
        ("Commitment v1: Nvidia L4 GPU running in London for 1 Year", Sku(True, "gpu", "l4", False)),
        ("Nvidia Tesla T4 GPU running in London", Sku(False, "gpu", "t4", False)),
        ("Commitment - dollar based v1: GCE for 1 year", Sku(True, "", "", False)),
        ("SSD backed PD Capacity in London", Sku(False, "ssd", "", False)),
        ("Network Internet Data Transfer Out from London to Americas", Sku(False, "", "", False)),
        ("", Sku(False, "", "", False)),
    ],
)
def test_a_description_says_part_family_and_way_of_buying(description, read):
    assert read_sku(description) == read
