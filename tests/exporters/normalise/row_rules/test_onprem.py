"""On-prem prices: the worked example of docs/sources/onprem.md by hand, and what must hold for any card."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporters.fetch.contract import FetchRequest
from exporters.fetch.onprem import OnpremSettings, fetch
from exporters.normalise.chosen import Chosen, Filters
from exporters.normalise.row_rules.onprem import choose, hourly_prices

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)

WORKED_EXAMPLE: dict[str, Any] = {
    "instance_type": "h100-8",
    "vcpus": 192,
    "memory_gib": 1500,
    "gpu_model": "H100",
    "gpus": 8,
    "purchase_price": 240_900,
    "gpu_purchase_price": 192_720,
    "memory_purchase_price": 12_045,
    "life_years": 5,
    "residual_value": 21_900,
    "idle_watts": 2_000,
    "full_watts": 7_000,
    "hosting_per_year": 8_760,
    "support_ratio": 0.08,
    "staff_per_year": 4_380,
    "target_utilisation": 0.8,
}


def chosen(*, filters: Filters | None = None, card: dict[str, Any] | None = None, **machine: Any) -> Chosen:
    changed = {name: value for name, value in (WORKED_EXAMPLE | machine).items() if value is not None}
    site = {"site": "london-1", "country": "GB", "price_per_kwh": 0.25, "pue": 1.4, "machines": [changed]}
    settings = OnpremSettings(rate_cards=[site | (card or {})])
    request = FetchRequest(now=NOW, scratch=Path(), deadline=NOW)
    return choose(fetch(settings, request), filters or Filters())


def price(**machine: Any) -> dict[str, Any]:
    return chosen(**machine).prices.to_dicts()[0]


def test_the_full_price_is_the_worked_example():
    # fixed: (240,900 − 21,900) / 5 + 8,760 + 0.08 × 240,900 + 4,380 = 43,800 + 8,760 + 19,272 + 4,380
    #        = 76,212 a year = 8.70 an hour
    # energy: 2,000 + 5,000 × 0.8 = 6,000 W; 6 × 1.4 × 0.25 = 2.10 an hour
    # so (8.70 + 2.10) over 0.8 is 13.50
    assert price()["price_per_hour"] == Decimal("13.5")


def test_the_marginal_price_is_the_energy_between_idle_and_full():
    assert price()["marginal_price_per_hour"] == Decimal("1.75")  # 5 kW × 1.4 × 0.25


def test_a_machine_that_is_off_when_idle_costs_its_whole_power_for_one_more_hour():
    # marginal: 7 kW × 1.4 × 0.25 = 2.45; full: (8.70 + 7 × 0.8 × 0.35) / 0.8 = (8.70 + 1.96) / 0.8 = 13.325
    row = price(powered_off_when_idle=True)
    assert (row["marginal_price_per_hour"], row["price_per_hour"]) == (Decimal("2.45"), Decimal("13.325"))


def test_the_parts_follow_the_shares_of_the_purchase():
    row = price()
    assert row["price_per_gpu_hour"] == Decimal("1.35")  # 80 % of 13.50 over 8
    assert row["price_per_gib_hour"] == Decimal("0.00045")  # 5 % of 13.50 over 1,500
    assert row["price_per_vcpu_hour"] == Decimal("0.010546875")  # 15 % of 13.50 over 192


def test_without_shares_the_parts_are_left_to_the_common_split():
    row = price(gpu_purchase_price=None, memory_purchase_price=None)
    assert row["price_per_hour"] == Decimal("13.5")
    assert {row[f"price_per_{part}_hour"] for part in ("vcpu", "gib", "gpu")} == {None}


def test_without_a_gpu_memory_and_the_rest_share():
    # 10 % memory: 1.35 / 1,500 = 0.0009; the rest 12.15 / 192 = 0.06328125
    row = price(gpu_model="", gpus=0, gpu_purchase_price=None, memory_purchase_price=24_090)
    assert (row["price_per_gib_hour"], row["price_per_vcpu_hour"]) == (Decimal("0.0009"), Decimal("0.06328125"))
    assert row["price_per_gpu_hour"] is None


def test_support_may_be_an_amount_instead_of_a_ratio():
    assert price(support_ratio=None, support_per_year=19_272)["price_per_hour"] == Decimal("13.5")


def test_half_the_use_doubles_what_the_fixed_costs_add():
    # u = 0.4: power 4,000 W; (8.70 + 4 × 0.35) / 0.4 = 25.25
    assert price(target_utilisation=0.4)["price_per_hour"] == Decimal("25.25")


def test_an_offer_is_owned_linux_in_the_cards_currency_at_its_site():
    row = chosen(card={"currency": "EUR"}).prices.to_dicts()[0]
    assert (row["provider"], row["region"], row["zone"]) == ("onprem", "london-1", "")
    assert (row["capacity_type"], row["operating_system"], row["currency"]) == ("owned", "linux", "EUR")
    assert row["note"] == "full cost at 80% utilisation"


def test_the_shape_is_the_cards():
    (shape,) = chosen().shapes.to_dicts()
    assert (shape["vcpus"], shape["memory_gib"], shape["gpus"], shape["gpu_model"]) == (192.0, 1500.0, 8.0, "H100")
    assert (shape["region"], shape["shape_source"], shape["architecture"]) == ("london-1", "rate-card", "amd64")


def test_egress_is_one_price_wherever_it_goes_and_absent_when_unknown():
    egress = chosen(card={"egress_price_per_gib": 0.01}).egress
    assert sorted(egress["destination"]) == ["internet", "region"]
    assert set(egress["price_per_gib"]) == {Decimal("0.01")}
    assert chosen().egress.height == 0


@pytest.mark.parametrize(
    ("filters", "offers"),
    [
        (Filters(capacity_types=("on-demand", "spot")), 0),
        (Filters(capacity_types=("owned",)), 1),
        (Filters(operating_systems=("windows",)), 0),
        (Filters(families=("m6*", "n2")), 1),
    ],
)
def test_filters_on_capacity_and_system_apply_and_those_on_cloud_families_do_not(filters: Filters, offers: int):
    assert chosen(filters=filters).prices.height == offers


money = st.decimals("0", "1000000", places=2)


@given(
    purchase=st.decimals("1000", "1000000", places=2),
    shares=st.tuples(st.decimals("0", "0.6", places=3), st.decimals("0", "0.4", places=3)),
    shape=st.tuples(st.integers(1, 512), st.integers(1, 6144), st.integers(1, 16)),
    yearly=st.tuples(money, money, money),
    watts=st.tuples(st.integers(0, 3000), st.integers(1, 12000)),
    used=st.decimals("0.01", "1", places=2),
)
def test_for_any_card_the_parts_add_up_and_one_more_hour_never_costs_more_than_the_full_price(
    purchase: Decimal,
    shares: tuple[Decimal, Decimal],
    shape: tuple[int, int, int],
    yearly: tuple[Decimal, Decimal, Decimal],
    watts: tuple[int, int],
    used: Decimal,
):
    vcpus, gib, gpus = shape
    row = {
        "price_per_kwh": "0.25",
        "pue": "1.4",
        "vcpus": str(vcpus),
        "memory_gib": str(gib),
        "gpus": str(gpus),
        "purchase_price": str(purchase),
        "gpu_purchase_price": str(purchase * shares[0]),
        "memory_purchase_price": str(purchase * shares[1]),
        "life_years": "4",
        "residual_value": "0",
        "idle_watts": str(watts[0]),
        "full_watts": str(sum(watts)),
        "hosting_per_year": str(yearly[0]),
        "support_per_year": str(yearly[1]),
        "staff_per_year": str(yearly[2]),
        "target_utilisation": str(used),
        "powered_off_when_idle": "False",
    }
    prices = hourly_prices(row)
    assert prices.vcpu is not None
    assert prices.gib is not None
    assert prices.gpu is not None
    parts = prices.vcpu * vcpus + prices.gib * gib + prices.gpu * gpus
    assert abs(parts - prices.full) <= prices.full * Decimal("1e-9")
    assert 0 <= prices.marginal < prices.full
