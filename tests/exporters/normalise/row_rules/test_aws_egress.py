"""The row rule of AWS for data transfer."""

from __future__ import annotations

from decimal import Decimal

import pytest

from exporters.normalise.chosen import Chosen
from tests.fakes.aws_fetched import M5, choose_linux, reasons
from tests.fakes.aws_rows import Json, transfer

EUW2 = "eu-west-2"
LADDER = [("0", "10240", "0.0900000000"), ("10240", "51200", "0.0850000000"), ("51200", "Inf", "0.0700000000")]
FLAT = [("0", "Inf", "0.5000000000")]
INTERNET = transfer("AWS Outbound", "EUW2-DataTransfer-Out-Bytes", EUW2, LADDER)
PAIR = transfer("InterRegion Outbound", "EUW2-EU-AWS-Out-Bytes", EUW2, [("0", "Inf", "0.0200000000")], to="eu-west-1")
ZONE = transfer("IntraRegion", "EUW2-DataTransfer-Regional-Bytes", EUW2, [("0", "Inf", "0.0100000000")], to=EUW2)


def egress(*transfers: Json) -> Chosen:
    return choose_linux([M5], transfers=transfers)


def test_egress_has_its_tiers_its_pairs_and_both_ends_of_a_zone_crossing() -> None:
    rows = (
        egress(INTERNET, PAIR, ZONE).egress.select("destination", "to_region", "tier_start_gib", "price_per_gib").rows()
    )

    assert rows == [
        ("internet", "", 0.0, Decimal("0.09")),
        ("internet", "", 10240.0, Decimal("0.085")),
        ("internet", "", 51200.0, Decimal("0.07")),
        ("region", "eu-west-1", 0.0, Decimal("0.02")),
        ("zone", "", 0.0, Decimal("0.02")),
    ]


@pytest.mark.parametrize(
    "other",
    [
        transfer(
            "AWS Outbound", "EUW2-DataTransfer-Out-Bytes", EUW2, [("0", "Inf", "0.5")], sku="S", operation="S3-Out"
        ),
        transfer("AWS Outbound", "EUW2-CloudFront-Out-Bytes", EUW2, [("0", "Inf", "0.5")]),
        transfer("AWS Outbound", "EUW2-DataTransfer-Out-Bytes", "eu-west-1", [("0", "Inf", "0.5")], sku="FAR"),
        transfer("IntraRegion-xAZ-In", "EUW2-DataTransfer-xAZ-In-Bytes", EUW2, [("0", "Inf", "0.0")]),
        transfer("InterRegion Inbound", "EUW2-EU-AWS-In-Bytes", EUW2, [("0", "Inf", "0.0")], to="eu-west-1"),
        transfer(
            "InterRegion Outbound",
            "EUW2-X-AWS-Out-Bytes",
            EUW2,
            [("0", "Inf", "9")],
            to="lz",
            toLocationType="AWS Local Zone",
        ),
        transfer("AWS Outbound", "DataTransfer-Out-Bytes", EUW2, FLAT, fromLocationType="AWS Local Zone"),
    ],
    ids=["of a service", "cloudfront", "other region", "xAZ zero", "inbound", "to local zone", "from local zone"],
)
def test_other_transfer_rows_are_left_out(other: Json) -> None:
    chosen = egress(INTERNET, other)

    assert chosen.egress.height == 3
    assert chosen.egress["price_per_gib"].max() == Decimal("0.09")


def test_a_ladder_with_a_missing_rung_is_no_price() -> None:
    for torn in (LADDER[:1], LADDER[1:], [LADDER[0], LADDER[2]]):
        chosen = egress(transfer("AWS Outbound", "EUW2-DataTransfer-Out-Bytes", EUW2, torn))

        assert chosen.egress.is_empty()
        assert reasons(chosen) == {"missing-component": len(torn), "absent": 1}


def test_a_free_tier_is_a_real_row_and_a_negative_price_is_none() -> None:
    free = transfer(
        "AWS Outbound", "EUW2-DataTransfer-Out-Bytes", EUW2, [("0", "1", "0.0000000000"), ("1", "Inf", "0.09")]
    )
    negative = transfer("IntraRegion", "EUW2-DataTransfer-Regional-Bytes", EUW2, [("0", "Inf", "-0.01")])

    chosen = egress(free, negative)

    assert chosen.egress["price_per_gib"].to_list() == [Decimal(0), Decimal("0.09")]
    assert reasons(chosen)["negative"] == 1


@pytest.mark.parametrize(("change", "reason"), [({"unit": "GiB-Mo"}, "unit"), ({"currency": "EUR"}, "currency")])
def test_transfer_in_another_unit_or_currency_is_rejected(change: dict[str, str], reason: str) -> None:
    odd = transfer("IntraRegion", "EUW2-DataTransfer-Regional-Bytes", EUW2, [("0", "Inf", "0.01")], **change)

    assert reasons(egress(INTERNET, odd)) == {reason: 1}


def test_a_region_without_internet_egress_is_counted() -> None:
    assert egress(ZONE).rejects.filter(reason="absent")["example"].to_list() == ["no internet egress price"]


def test_two_prices_for_one_way_out_are_ambiguous() -> None:
    other = transfer("AWS Outbound", "EUW2-DataTransfer-Out-Bytes", EUW2, [("0", "Inf", "0.05")], sku="OTHER")

    assert egress(INTERNET, other).egress["tier_start_gib"].to_list() == [10240.0, 51200.0]
