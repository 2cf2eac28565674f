"""The row rule of AWS: which of the many rows of a machine is its price."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporters.core.errors import IntegrityError
from exporters.fetch.contract import Fetched, Skipped
from exporters.normalise.chosen import Filters
from exporters.normalise.row_rules.aws import choose
from tests.fakes.aws_fetched import M5, choose_linux, fetched, prices, reasons
from tests.fakes.aws_rows import machine, spot_price
from tests.properties import examples

METAL = {"family": "Compute Instance (bare metal)", "vcpu": "96", "memory": "384 GiB"}


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


@settings(max_examples=examples(20, 100))
@given(st.decimals(min_value=Decimal("1e-10"), max_value=Decimal(100000), places=10))
def test_every_price_survives_to_its_last_digit(price: Decimal) -> None:
    chosen = choose_linux([machine("m5.large", "eu-west-2", f"{price:.10f}")])

    assert prices(chosen) == {"m5.large": price}
