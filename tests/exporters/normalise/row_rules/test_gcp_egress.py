"""Google Cloud's traffic: places become regions, tiers stay whole, and what is not understood is counted."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import polars as pl
import pytest

from exporters.normalise.row_rules.gcp_egress import Egress, egress
from tests.fakes.gcp import sku
from tests.fakes.gcp_frames import fetched
from tests.fakes.gcp_skus import AMERICAS, LONDON, Sku, network_skus

INTERNET = {"unit": "GiBy", "group": "PremiumInternetEgress", "family": "Network"}
PAIR = {"unit": "GiBy", "group": "InterregionEgress", "family": "Network"}


def run(skus: Sequence[Sku], regions: Sequence[str] = LONDON) -> Egress:
    return egress(fetched(skus).frames["skus"].collect(), regions=regions)


def tiers(result: Egress, destination: str, to_region: str = "", from_region: str = "europe-west2"):
    return (
        result.prices.filter(
            pl.col("destination") == destination,
            pl.col("to_region") == to_region,
            pl.col("from_region") == from_region,
        )
        .select("tier_start_gib", "price_per_gib")
        .rows()
    )


def rejected(result: Egress) -> list[tuple[str, str, int]]:
    return result.rejects.select("reason", "region", "rows").rows()


def test_the_internet_price_keeps_every_tier_and_the_free_one_is_a_row_with_price_0():
    assert tiers(run(network_skus()), "internet") == [
        (0.0, Decimal(0)),
        (1.0, Decimal("0.12")),
        (1024.0, Decimal("0.11")),
        (10240.0, Decimal("0.08")),
    ]


def test_the_internet_is_emea_where_it_is_sold_and_the_note_says_so():
    result = run(network_skus(), (*LONDON, "us-central1"))
    notes = dict(result.prices.filter(pl.col("destination") == "internet").select("from_region", "note").rows())
    assert notes == {"europe-west2": "to EMEA", "us-central1": "to Americas"}


def test_standard_tier_and_vpn_traffic_is_not_the_premium_internet_price():
    others = [
        sku("STD", "Network Internet Standard Tier Data Transfer Out from London", "0.085", unit="GiBy"),
        sku(
            "VPN",
            "Network Vpn Internet Egress from London to EMEA",
            "0.01",
            **{**INTERNET, "group": "VPNInternetEgress"},
        ),
        sku("ODD", "Network Internet Data Transfer Out from London to EMEA", "0.01", **{**INTERNET, "group": "Other"}),
    ]
    assert run([*network_skus(), *others]).prices.equals(run(network_skus()).prices)


def test_the_older_word_egress_is_read_too():
    assert tiers(run([sku("OLD", "Network Internet Egress from London to EMEA", "0.12", **INTERNET)]), "internet") == [
        (0.0, Decimal("0.12"))
    ]


def test_a_place_is_the_region_of_that_place():
    assert tiers(run(network_skus()), "region", "europe-west3") == [(0.0, Decimal("0.02"))]


def test_americas_means_the_regions_that_the_catalogue_itself_gives_it():
    result = run(network_skus())
    to_americas = result.prices.filter(pl.col("price_per_gib") == Decimal("0.05"))["to_region"].to_list()
    assert to_americas == sorted(AMERICAS)


def test_a_continent_wide_price_fills_the_pairs_without_their_own():
    within = sku(
        "WITHIN",
        "Network Data Transfer GCP Inter Region within Europe",
        "0.021",
        regions=["global"],
        **PAIR,
    )
    result = run([*network_skus(), within])
    assert tiers(result, "region", "europe-west3") == [(0.0, Decimal("0.02"))]
    assert tiers(result, "region", "europe-west4") == [(0.0, Decimal("0.021"))]
    assert tiers(result, "region", "europe-west2") == []
    note = result.prices.filter(pl.col("to_region") == "europe-west4")["note"][0]
    assert note == "list price within Europe"
    assert tiers(run([within], ("us-central1",)), "region", "europe-west4", "us-central1") == []


def test_a_global_sku_leaves_from_the_place_in_its_name():
    world = sku("W", "Network Inter Region Data Transfer Out from London to Paris", "0.02", regions=["global"], **PAIR)
    result = run([world], ("europe-west2", "europe-west4"))
    assert result.prices["from_region"].to_list() == ["europe-west2"]
    assert result.prices["to_region"].to_list() == ["europe-west9"]


def test_traffic_between_zones_is_one_row_a_region_for_the_sender():
    assert tiers(run(network_skus()), "zone") == [(0.0, Decimal("0.01"))]


def test_traffic_between_zones_that_is_listed_as_free_is_a_row_with_price_0():
    free = sku("FREE", "Network Inter Zone Data Transfer Out", "0", unit="GiBy")
    assert tiers(run([free]), "zone") == [(0.0, Decimal(0))]


def test_an_unknown_place_is_counted_as_an_unknown_region():
    result = run([sku("X", "Network Inter Region Data Transfer Out from London to Atlantis", "0.02", **PAIR)])
    assert result.prices.height == 0
    assert rejected(result) == [("unknown-region", "europe-west2", 1)]
    assert "Atlantis" in result.rejects["example"][0]


def test_two_prices_for_one_pair_are_ambiguous_and_neither_is_published():
    again = sku("AGAIN", "Network Inter Region Data Transfer Out from London to Frankfurt", "0.03", **PAIR)
    result = run([*network_skus(), again])
    assert tiers(result, "region", "europe-west3") == []
    assert rejected(result) == [("ambiguous", "europe-west2", 2)]


def test_two_skus_with_the_same_tiers_are_one():
    again = sku("AGAIN", "Network Inter Region Data Transfer Out from London to Frankfurt", "0.02", **PAIR)
    assert run([*network_skus(), again]).prices.drop("note").equals(run(network_skus()).prices.drop("note"))


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"currency": "IDR"}, "currency"),
        ({"unit": "TiBy"}, "unit"),
    ],
)
def test_a_sku_in_another_currency_or_unit_is_refused_whole(more, reason):
    bad = sku("BAD", "Network Inter Region Data Transfer Out from London to Paris", "0.02", **{**PAIR, **more})
    result = run([bad])
    assert result.prices.height == 0
    assert rejected(result) == [(reason, "europe-west2", 1)]


@pytest.mark.parametrize(
    ("prices", "reason"),
    [
        (((0.0, "0.12"), (1024.0, "-0.11")), "negative"),
        (((1024.0, "0.11"),), "absent"),
        ((), "absent"),
        (((0.0, "0.12"), (0.0, "0.11")), "ambiguous"),
    ],
)
def test_one_bad_tier_refuses_the_whole_price_list(prices, reason):
    result = run([sku("BAD", "Network Internet Data Transfer Out from London to EMEA", *prices, **INTERNET)])
    assert result.prices.height == 0
    assert rejected(result) == [(reason, "europe-west2", 1)]


def test_a_price_that_is_not_a_number_is_its_own_reject():
    raw = fetched([sku("BAD", "Network Inter Zone Data Transfer Out", "0.01", unit="GiBy")]).frames["skus"].collect()
    result = egress(raw.with_columns(price=pl.lit("NaN")), regions=LONDON)
    assert rejected(result) == [("not-a-number", "europe-west2", 1)]
