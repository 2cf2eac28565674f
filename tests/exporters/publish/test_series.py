"""Which series prices become."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest

from exporters.core.frames import Offer
from exporters.publish.series import select_series
from exporters.store.read import Prices
from tests.builders import egress_rate, offer, offers
from tests.exporters.publish.sample import HOSTILE, no_prices, prices


def values(of: Prices, name: str, *labels: str, **options: Any) -> dict[Any, float]:
    """The values of one metric by the named labels (a tuple, or a string for one label)."""
    rows = next(one.rows for one in select_series(of, **options) if one.metric.name == name)
    keys = [row if len(labels) > 1 else row[0] for row in rows.select(labels).iter_rows()]
    assert len(set(keys)) == len(keys), "name more labels"
    return dict(zip(keys, rows["value"], strict=True))


def only(*rows: Any) -> Prices:
    """Prices with these offers alone."""
    return prices(offers=offers(*rows))


def test_each_offer_has_the_price_of_the_machine_and_of_its_parts() -> None:
    london = ("m5.large", "on-demand")
    for name, value in {
        "tuppence_price_gbp_per_instance_hour": 0.08,
        "tuppence_price_gbp_per_vcpu_hour": 0.03,
        "tuppence_price_gbp_per_gib_hour": 0.0025,
    }.items():
        assert values(prices(), name, "instance_type", "capacity_type", "zone")[(*london, "")] == value


def test_a_price_per_gpu_is_that_of_a_whole_one_and_only_machines_with_gpus_have_it() -> None:
    assert values(prices(), "tuppence_price_gbp_per_gpu_hour", "instance_type", "gpu_model") == {
        ("g6f.large", "L4"): 0.8
    }


def test_accelerators_are_priced_apart_from_gpus() -> None:
    found = values(prices(), "tuppence_price_gbp_per_accelerator_hour", "accelerator_model", "gpu_model")
    assert found == {("Trainium", ""): 0.72}


def test_the_cheapest_vcpu_is_found_per_region_and_capacity_type_among_machines_without_gpus() -> None:
    found = values(prices(), "tuppence_cheapest_price_gbp_per_vcpu_hour", "provider", "region", "capacity_type")
    assert found == {
        ("aws", "eu-west-2", "on-demand"): 0.03,
        ("aws", "eu-west-2", "spot"): 0.011,
        ("azure", "uksouth", "on-demand"): 0.03,
        ("onprem", "london-dc1", "owned"): 1.0e-7,
    }


def test_the_cheapest_gpu_is_found_per_model() -> None:
    gpu = {"gpu_model": "L4", "gpus": 1.0}
    two = only(
        offer(**gpu, gbp_per_gpu_hour=0.7, instance_type="g6.xlarge"),
        offer(**gpu, gbp_per_gpu_hour=0.6, instance_type="g6.2xlarge"),
        offer(gpu_model="H100", gpus=8.0, gbp_per_gpu_hour=4.0, instance_type="p5.48xlarge"),
    )
    assert values(two, "tuppence_cheapest_price_gbp_per_gpu_hour", "gpu_model") == {"L4": 0.6, "H100": 4.0}


def test_windows_prices_are_no_part_of_a_cheapest_price() -> None:
    windows = only(offer(), offer(operating_system="windows", gbp_per_vcpu_hour=0.001))
    found = values(windows, "tuppence_cheapest_price_gbp_per_vcpu_hour", "region")
    assert found["eu-west-2"] == pytest.approx(0.0301502, rel=1e-6)


@pytest.mark.parametrize("note", ["illustrative", "illustrative: median of July 2026"])
def test_an_illustrative_price_has_no_series_of_any_kind(note: str) -> None:
    shown = only(offer(), offer(capacity_type="spot", note=note, gbp_per_vcpu_hour=0.0001))
    for one in select_series(shown):
        if "capacity_type" in one.metric.labels:
            assert one.rows["capacity_type"].unique().to_list() in ([], ["on-demand"]), one.metric.name


def test_a_price_with_another_note_is_published() -> None:
    noted = only(offer(note="carried over from a public table"))
    assert len(values(noted, "tuppence_price_gbp_per_instance_hour", "instance_type")) == 1


def test_egress_has_one_series_a_tier_with_the_tier_as_a_plain_number() -> None:
    found = values(prices(), "tuppence_egress_price_gbp_per_gib", "destination", "tier_start_gib")
    assert found == {("internet", "0"): 0.0672, ("internet", "10240"): 0.0634}


def test_a_free_tier_is_a_price_of_zero() -> None:
    free = prices(egress=egress_rate(price_per_gib="0"))
    assert values(free, "tuppence_egress_price_gbp_per_gib", "from_region") == {"eu-west-2": 0.0}


def test_a_machine_type_has_one_info_series_a_region_and_it_is_that_of_the_on_demand_offer() -> None:
    found = values(prices(), "tuppence_instance_info", "instance_type", "vcpus", "memory_gib", "gpus", "split_method")
    assert found == {
        ("Standard_D4s_v5", "4", "16", "0", "fitted"): 1.0,
        ("g6f.large", "2", "8", "0.125", "remainder"): 1.0,
        ("m5.large", "2", "8", "0", "fitted"): 1.0,
        ("trn1.2xlarge", "8", "32", "0", "remainder"): 1.0,
        (HOSTILE, "2", "8", "0", "rate-card"): 1.0,
    }


def test_regions_with_offers_have_a_country_and_a_jurisdiction() -> None:
    found = values(prices(), "tuppence_region_info", "provider", "region", "country", "jurisdiction")
    assert set(found) == {("aws", "eu-west-2", "GB", "GB"), ("azure", "uksouth", "GB", "GB")}


def test_regions_of_a_rate_card_are_added_by_the_caller() -> None:
    sites = pl.DataFrame({"provider": ["onprem"], "region": ["london-dc1"], "country": ["GB"], "jurisdiction": ["GB"]})
    assert set(values(prices(), "tuppence_region_info", "region", regions=sites)) == {"london-dc1"}


def test_the_rate_of_exchange_comes_with_its_source_and_its_day() -> None:
    day = datetime(2026, 10, 30, tzinfo=UTC).timestamp()
    assert values(prices(), "tuppence_fx_gbp_per_unit", "currency", "source")["USD", "ecb"] == 0.746330
    assert values(prices(), "tuppence_fx_rate_date_timestamp_seconds", "currency", "source")["USD", "ecb"] == day


def test_a_providers_own_pounds_imply_a_rate() -> None:
    # 0.1665 / 0.222
    found = values(prices(), "tuppence_fx_provider_gbp_per_unit", "currency", "provider")
    assert found == {("USD", "azure"): pytest.approx(0.75)}


def test_series_come_in_the_same_order_whatever_the_order_of_the_offers() -> None:
    backwards = prices(offers=Offer.cast(prices().offers.reverse()))
    for one, other in zip(select_series(prices()), select_series(backwards), strict=True):
        assert one.rows.equals(other.rows), one.metric.name


def test_no_prices_give_no_series() -> None:
    assert all(one.rows.is_empty() for one in select_series(no_prices()))
