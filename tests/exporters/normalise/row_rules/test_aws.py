"""The row rule of AWS: which of the many rows of a machine is its price."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporters.core.errors import IntegrityError
from exporters.fetch.aws_instance_types import (
    DEVICE_SCHEMA,
    INSTANCE_TYPE_SCHEMA,
    SPOT_SCHEMA,
    device_rows,
    instance_type_row,
    spot_row,
)
from exporters.fetch.aws_price_list import PRODUCT_COLUMNS, TRANSFER_COLUMNS, raw_schema, read_item
from exporters.fetch.contract import Fetched, Skipped
from exporters.normalise.chosen import Chosen, Filters
from exporters.normalise.row_rules.aws import choose
from tests.fakes.aws_rows import Json, gpu, instance_type, machine, spot_price, transfer

NOW = datetime(2026, 7, 21, 9, tzinfo=UTC)
LINUX = Filters(operating_systems=("linux",), capacity_types=("on-demand", "spot"))
M5 = machine("m5.large", "eu-west-2", "0.1110000000", sku="M5")
METAL = {"family": "Compute Instance (bare metal)", "vcpu": "96", "memory": "384 GiB"}


def fetched(
    products: Sequence[Json],
    *,
    types: Mapping[str, Sequence[Json]] | None = None,
    spot: Sequence[Json] | None = None,
    transfers: Sequence[Json] | None = None,
    skipped: Sequence[Skipped] = (),
) -> Fetched:
    """Raw frames as the fetch leaves them; types not given are plain 2 vCPU, 8 GiB machines, egress is flat."""
    names = {(p["product"]["attributes"]["regionCode"], p["product"]["attributes"]["instanceType"]) for p in products}
    regions = sorted({region for region, _ in names}) or ["eu-west-2"]
    described = types or {r: [instance_type(name) for region, name in sorted(names) if region == r] for r in regions}
    tier = [("0", "Inf", "0.09")]
    flat = [
        transfer("AWS Outbound", "DataTransfer-Out-Bytes", region, tier, sku=region, currency=currency)
        for region in regions
        for currency in [{"cn-north-1": "CNY", "eusc-de-east-1": "EUR"}.get(region, "USD")]
    ]
    every = [(region, item) for region, items in described.items() for item in items]
    frames = {
        "products": _raw(products, PRODUCT_COLUMNS, ["OnDemand", "Reserved"]),
        "transfers": _raw(flat if transfers is None else transfers, TRANSFER_COLUMNS, ["OnDemand"]),
        "instance_types": pl.LazyFrame([instance_type_row(*one) for one in every], schema=INSTANCE_TYPE_SCHEMA),
        "devices": pl.LazyFrame([row for one in every for row in device_rows(*one)], schema=DEVICE_SCHEMA),
        "regions": pl.LazyFrame({"region": regions}),
    }
    if spot is not None:
        rows = [spot_row("eu-west-2", item | {"Timestamp": datetime.fromisoformat(item["Timestamp"])}) for item in spot]
        frames["spot"] = pl.LazyFrame(rows, schema=SPOT_SCHEMA)
    return Fetched(source="aws", observed_at=NOW, frames=frames, skipped=tuple(skipped))


def _raw(items: Sequence[Json], columns: Any, terms: list[str]) -> pl.LazyFrame:
    rows = [row for item in items for row in read_item(json.dumps(item), columns, terms=terms, where="test")]
    return pl.LazyFrame(rows, schema=raw_schema(columns))


def choose_linux(products: Sequence[Json], **more: Any) -> Chosen:
    return choose(
        fetched(products, **more), Filters(operating_systems=("linux",), capacity_types=("on-demand", "spot"))
    )


def prices(chosen: Chosen) -> dict[str, Decimal]:
    return dict(chosen.prices.select("instance_type", "price_per_hour").iter_rows())


def reasons(chosen: Chosen) -> dict[str, int]:
    return dict(chosen.rejects.group_by("reason").agg(pl.col("rows").sum()).iter_rows())


@pytest.mark.parametrize(
    "other",
    [
        {"capacitystatus": "UnusedCapacityReservation"},
        {"capacitystatus": "AllocatedCapacityReservation"},
        {"marketoption": "CapacityBlock"},
        {"tenancy": "Dedicated"},
        {"tenancy": "Host"},
        {"operatingSystem": "RHEL", "operation": "RunInstances:0010"},
        {"operatingSystem": "Windows", "operation": "RunInstances:0002"},
        {"preInstalledSw": "SQL Web", "operation": "RunInstances:0200"},
        {"licenseModel": "Bring your own license"},
        {"operation": "RunInstances:0g00"},
        {"locationType": "AWS Local Zone"},
        {"locationType": "AWS Wavelength Zone"},
        {"family": "Dedicated Host"},
    ],
    ids=lambda other: " ".join(other.values()),
)
def test_other_rows_of_the_same_machine_are_not_its_price(other: dict[str, str]) -> None:
    """A capacity block or a reservation once made whole catalogues wrong by a factor of a thousand."""
    chosen = choose_linux([M5, machine("m5.large", "eu-west-2", "0.0320000000", sku="OTHER", **other)])

    assert prices(chosen) == {"m5.large": Decimal("0.111")}
    assert chosen.prices["sku_id"].to_list() == ["M5"]
    assert chosen.rejects.is_empty()


@pytest.mark.parametrize(
    ("price", "reason"),
    [
        ("0.0000000000", "zero"),
        ("-0.1", "negative"),
        ("", "absent"),
        (None, "absent"),
        ("NaN", "not-a-number"),
        ("free", "not-a-number"),
    ],
)
def test_bad_prices_are_counted_by_what_is_wrong_with_them(price: str | None, reason: str) -> None:
    chosen = choose_linux([M5, machine("c5.large", "eu-west-2", price, sku="BAD")])

    assert prices(chosen).keys() == {"m5.large"}
    assert chosen.rejects.filter(reason=reason, example="BAD")["rows"].to_list() == [1]


def test_two_products_with_different_prices_are_ambiguous_not_guessed() -> None:
    chosen = choose_linux([M5, *(machine("c5.large", "eu-west-2", p, sku=f"C5-{p}") for p in ("0.1", "0.2"))])

    assert prices(chosen).keys() == {"m5.large"}
    assert reasons(chosen)["ambiguous"] == 2


@pytest.mark.parametrize("change", [{"currency": "CNY"}, {"unit": "Quantity"}])
def test_a_price_in_another_currency_or_unit_is_rejected(change: dict[str, str]) -> None:
    chosen = choose_linux([M5, machine("c5.large", "eu-west-2", "0.6930000000", sku="ODD", **change)])

    assert prices(chosen).keys() == {"m5.large"}
    assert reasons(chosen)[{"CNY": "currency", "Quantity": "unit"}[next(iter(change.values()))]] == 1


def test_a_price_in_two_currencies_keeps_the_regions_own() -> None:
    both = machine("m5.large", "eu-west-2", "0.1110000000", sku="M5")
    [term] = both["terms"]["OnDemand"].values()
    [dimension] = term["priceDimensions"].values()
    dimension["pricePerUnit"]["EUR"] = "0.0990000000"

    chosen = choose_linux([both])

    assert chosen.prices.select("currency", "price_per_hour").rows() == [("USD", Decimal("0.111"))]
    assert reasons(chosen)["currency"] == 1


@pytest.mark.parametrize(
    ("region", "currency"), [("cn-north-1", "CNY"), ("eusc-de-east-1", "EUR"), ("us-east-1", "USD")]
)
def test_each_partition_lists_in_its_own_currency(region: str, currency: str) -> None:
    chosen = choose_linux([machine("m5.large", region, "0.6930000000", currency=currency)])

    assert chosen.prices["currency"].to_list() == [currency]


def test_the_newest_term_that_is_not_in_the_future_holds() -> None:
    changed = machine(
        "m5.large",
        "eu-west-2",
        "0.0990000000",
        effective="2026-08-01T00:00:00Z",
        earlier={"2026-07-01T00:00:00Z": "0.1110000000", "2024-07-01T00:00:00Z": "0.1200000000"},
    )

    chosen = choose_linux([changed])

    assert prices(chosen) == {"m5.large": Decimal("0.111")}
    assert chosen.prices["effective_from"].to_list() == [datetime(2026, 7, 1, tzinfo=UTC)]


def test_a_machine_that_is_not_sold_yet_has_no_price() -> None:
    chosen = choose_linux([M5, machine("m9.large", "eu-west-2", "0.2", effective="2026-12-01T00:00:00Z", sku="SOON")])

    assert prices(chosen).keys() == {"m5.large"}
    assert chosen.rejects.filter(reason="absent", example="SOON").height == 1


def test_a_clock_that_lags_years_behind_publishes_nothing() -> None:
    late = fetched([M5])
    early = Fetched(source="aws", observed_at=datetime(2019, 1, 1, tzinfo=UTC), frames=late.frames)

    with pytest.raises(IntegrityError, match="clock"):
        choose(early, Filters())


def test_bare_metal_is_priced_shared_not_with_the_dedicated_surcharge() -> None:
    """us-east-1, July 2026: m7i.metal-24xl is 4.8384 shared, as m7i.24xlarge, and 5.32224 dedicated."""
    chosen = choose_linux(
        [
            machine("m7i.metal-24xl", "us-east-1", "4.8384000000", sku="SHARED", **METAL),
            machine("m7i.metal-24xl", "us-east-1", "5.3222400000", sku="DEDICATED", tenancy="Dedicated", **METAL),
            machine("i3.metal", "us-east-1", "4.9920000000", sku="ONLY", tenancy="Dedicated", **METAL),
        ]
    )

    assert prices(chosen) == {"m7i.metal-24xl": Decimal("4.8384"), "i3.metal": Decimal("4.992")}


def test_windows_has_its_own_rule() -> None:
    windows = {"operatingSystem": "Windows", "operation": "RunInstances:0002"}
    rows = [
        M5,
        machine("m5.large", "eu-west-2", "0.2030000000", sku="WIN", **windows),
        machine(
            "m5.large",
            "eu-west-2",
            "0.1110000000",
            sku="BYOL",
            operatingSystem="Windows",
            operation="RunInstances:0800",
        ),
    ]

    chosen = choose(fetched(rows), Filters(operating_systems=("linux", "windows"), capacity_types=("on-demand",)))

    by_system = dict(chosen.prices.select("operating_system", "price_per_hour").iter_rows())
    assert by_system == {"linux": Decimal("0.111"), "windows": Decimal("0.203")}


def test_a_region_without_a_usable_price_is_named() -> None:
    with pytest.raises(IntegrityError, match=r"us-east-1 \(on-demand\)"):
        choose_linux([M5, machine("m5.large", "us-east-1", "0.0000000000")])


def test_family_globs_let_families_through() -> None:
    rows = [M5, *(machine(f"{f}.large", "eu-west-2", "0.1") for f in ("m6i", "m6gd", "c6i"))]

    chosen = choose(fetched(rows), Filters(families=("m6*", "c6i"), capacity_types=("on-demand",)))

    assert set(chosen.shapes["family"]) == {"m6i", "m6gd", "c6i"}


@pytest.mark.parametrize(
    ("name", "family", "generation"),
    [
        ("m6i.large", "m6i", "6i"),
        ("c7gn.large", "c7gn", "7gn"),
        ("r5.large", "r5", "5"),
        ("m7i.metal-24xl", "m7i", "7i"),
    ],
)
def test_family_and_generation_come_from_the_name(name: str, family: str, generation: str) -> None:
    shapes = choose_linux([machine(name, "eu-west-2", "1")]).shapes

    assert shapes.select("family", "generation").row(0) == (family, generation)


@pytest.mark.parametrize(
    ("name", "devices", "expected"),
    [
        ("g6f.large", {"GpuInfo": gpu("L4", 2861, 0, partition=0.125, logical=1)}, ("L4", 0.125)),
        ("gr6f.4xlarge", {"GpuInfo": gpu("L4", 11444, 0, partition=0.5, logical=1)}, ("L4", 0.5)),
        ("g5.48xlarge", {"GpuInfo": gpu("A10G", 22888, 8)}, ("A10G", 8.0)),
        ("p4d.24xlarge", {"GpuInfo": gpu("A100", 40960, 8)}, ("A100-40GB", 8.0)),
        ("p4de.24xlarge", {"GpuInfo": gpu("A100", 81920, 8)}, ("A100-80GB", 8.0)),
    ],
)
def test_gpus_are_counted_whole_or_in_fractions(name: str, devices: Json, expected: tuple[str, float]) -> None:
    types = {"eu-west-2": [instance_type(name, **devices)]}

    shapes = choose_linux([machine(name, "eu-west-2", "1")], types=types).shapes

    assert shapes.select("gpu_model", "gpus").row(0) == expected


def test_an_accelerator_that_is_listed_twice_is_counted_once() -> None:
    device = {"Name": "Inferentia2", "Count": 12, "MemoryInfo": {"SizeInMiB": 32768}}
    both = {"InferenceAcceleratorInfo": {"Accelerators": [device]}, "NeuronInfo": {"NeuronDevices": [device]}}
    types = {"eu-west-2": [instance_type("inf2.48xlarge", **both)]}

    shapes = choose_linux([machine("inf2.48xlarge", "eu-west-2", "12.98")], types=types).shapes

    assert shapes.select("accelerator_model", "accelerators", "gpus").row(0) == ("Inferentia2", 12.0, 0.0)


@pytest.mark.parametrize(
    "devices", [gpu("Z9000", 16384, 1), gpu("L4", 2861, 0, partition=0.0), {"Gpus": [{"Name": "L4"}]}], ids=str
)
def test_a_gpu_that_is_unknown_or_cannot_be_counted_has_no_price(devices: Json) -> None:
    types = {"eu-west-2": [instance_type("m5.large"), instance_type("g9.large", GpuInfo=devices)]}

    chosen = choose_linux([M5, machine("g9.large", "eu-west-2", "1")], types=types)

    assert prices(chosen).keys() == {"m5.large"}
    assert chosen.rejects.filter(reason="unknown-gpu", example="g9.large").height == 1


@pytest.mark.parametrize("architecture", ["arm64_mac", "x86_64_mac", ""])
def test_a_machine_of_no_architecture_that_runs_kubernetes_is_rejected(architecture: str) -> None:
    types = {"eu-west-2": [instance_type("m5.large"), instance_type("mac2.metal", architecture=architecture)]}

    chosen = choose_linux([M5, machine("mac2.metal", "eu-west-2", "1")], types=types)

    assert chosen.rejects.filter(reason="unknown-shape", example="mac2.metal").height == 1


def test_a_type_that_ec2_does_not_offer_in_the_region_is_not_an_offer() -> None:
    rows = [M5, machine("m5.large", "us-east-1", "0.096"), machine("u9.large", "us-east-1", "0.1")]
    types = {
        "eu-west-2": [instance_type("m5.large"), instance_type("u9.large")],
        "us-east-1": [instance_type("m5.large")],
    }

    chosen = choose_linux(rows, types=types)

    assert chosen.prices.filter(instance_type="u9.large").is_empty()
    assert chosen.rejects.filter(reason="unknown-shape")["region"].to_list() == ["us-east-1"]


def test_a_type_that_differs_between_regions_is_described_in_each() -> None:
    rows = [machine("m5.large", region, "0.1") for region in ("eu-west-2", "us-east-1")]
    types = {"eu-west-2": [instance_type("m5.large")], "us-east-1": [instance_type("m5.large", mib=16384)]}

    shapes = choose_linux(rows, types=types).shapes

    assert dict(shapes.select("region", "memory_gib").iter_rows()) == {"eu-west-2": 8.0, "us-east-1": 16.0}
    assert choose_linux(rows).shapes["region"].to_list() == [""]


def test_the_newest_spot_price_of_each_zone_id_holds_under_either_spelling() -> None:
    spot = [
        spot_price("eu-west-2a", "euw2-az2", "m5.large", "0.041900", "2026-06-01T00:00:00+00:00"),
        spot_price(
            "eu-west-2a", "euw2-az2", "m5.large", "0.043300", "2026-07-20T00:00:00+00:00", "Linux/UNIX (Amazon VPC)"
        ),
        spot_price("eu-west-2b", "euw2-az3", "m5.large", "0.040000", "2026-05-01T00:00:00+00:00"),
        spot_price("eu-west-2a", "euw2-az2", "m5.large", "0.090000", "2026-07-21T00:00:00+00:00", "Windows"),
        spot_price("eu-west-2-man-1a", "euw2-man1-az1", "m5.large", "0.050000"),
    ]

    chosen = choose_linux([M5], spot=spot)

    rows = chosen.prices.filter(capacity_type="spot").select("zone", "price_per_hour", "currency").rows()
    assert rows == [("euw2-az2", Decimal("0.0433"), "USD"), ("euw2-az3", Decimal("0.04"), "USD")]


def test_two_spot_prices_of_the_same_moment_are_ambiguous() -> None:
    spot = [spot_price("eu-west-2a", "euw2-az2", "m5.large", price) for price in ("0.04", "0.05")]
    spot.append(spot_price("eu-west-2b", "euw2-az3", "m5.large", "0.04"))

    chosen = choose_linux([M5], spot=spot)

    assert chosen.prices.filter(capacity_type="spot")["zone"].to_list() == ["euw2-az3"]
    assert reasons(chosen)["ambiguous"] == 2


def test_a_spot_price_without_zone_id_is_counted_not_given_the_shuffled_name() -> None:
    named = spot_price("eu-west-2a", "euw2-az2", "m5.large", "0.04")
    nameless = spot_price("eu-west-2b", "", "m5.large", "0.04")

    chosen = choose_linux([M5], spot=[named, nameless])

    assert chosen.rejects.filter(reason="missing-component")["example"].to_list() == ["eu-west-2b"]


def test_a_region_without_spot_prices_did_not_answer_whole() -> None:
    with pytest.raises(IntegrityError, match=r"eu-west-2 \(spot\)"):
        choose_linux([M5], spot=[])


def test_skipped_regions_are_counted_with_their_reason() -> None:
    chosen = choose_linux([M5], skipped=[Skipped("eu-south-2", "OptInRequired: not opted in")])

    [row] = chosen.rejects.filter(reason="region-skipped").iter_rows(named=True)
    assert (row["region"], row["example"]) == ("eu-south-2", "OptInRequired: not opted in")


@given(st.decimals(min_value=Decimal("1e-10"), max_value=Decimal(100000), places=10))
def test_every_price_survives_to_its_last_digit(price: Decimal) -> None:
    chosen = choose_linux([machine("m5.large", "eu-west-2", f"{price:.10f}")])

    assert prices(chosen) == {"m5.large": price}


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
