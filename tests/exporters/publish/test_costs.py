"""Which series what was paid becomes: whole windows or none."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from exporters.core.frames import FxRate
from exporters.publish.costs import LastImport, select_cost_series
from exporters.publish.exposition import render
from exporters.publish.health import Health
from exporters.publish.published import PublishedPrices
from exporters.publish.series import Series
from exporters.store.costs import Costs, read_costs
from exporters.store.standing import Standing
from tests.exporters.focus_exports import Row, charge, days_of_september, importer, write_csv
from tests.exporters.publish.sample import prices

GOLDEN = Path(__file__).parent / "golden" / "costs.txt"
SIXTH_AT_NOON = datetime(2024, 9, 6, 12, tzinfo=UTC)
COST = "tuppence_cost_gbp"


def imported(folder: Path, rows: Sequence[Row], *, made_at: datetime = SIXTH_AT_NOON) -> Costs:
    """What the store holds after an import; a dollar is 75 pence."""
    one = importer(folder, max_rejected_ratio=0.2)
    one.run([str(write_csv(folder / "export.csv", rows, made_at=made_at))])
    return read_costs(one.shelf)


def of_costs(costs: Costs, *, now: datetime = SIXTH_AT_NOON, **options: Any) -> list[Series]:
    """The series of costs, with nothing beside them."""
    limits: dict[str, Any] = {"top_services": 20, "max_groups": 100}
    return select_cost_series(costs, Standing(), FxRate.create_empty(), now=now, **(limits | options))


def values(costs: Costs, name: str, *labels: str, today: date = date(2024, 9, 6), **limits: int) -> dict[Any, float]:
    """The values of one metric by the named labels (a tuple, or a string for one label)."""
    series = of_costs(costs, now=datetime(today.year, today.month, today.day, 12, tzinfo=UTC), **limits)
    rows = next(one.rows for one in series if one.metric.name == name)
    keys = [row if len(labels) > 1 else row[0] for row in rows.select(labels).iter_rows()]
    assert len(set(keys)) == len(keys), "name more labels"
    return {key: pytest.approx(value) for key, value in zip(keys, rows["value"], strict=True)}


def test_yesterday_is_absent_until_it_is_whole(tmp_path: Path) -> None:
    costs = imported(tmp_path, days_of_september(1, 6))
    assert values(costs, COST, "window", "basis", today=date(2024, 9, 6)) == {
        ("month_to_date", "billed"): 0.1 * 0.75 * 4,
        ("month_to_date", "effective"): 0.08 * 0.75 * 4,
        ("last_whole_day", "billed"): 0.075,
        ("last_whole_day", "effective"): 0.06,
    }
    assert values(costs, COST, "window", "basis", today=date(2024, 9, 5))["yesterday", "billed"] == 0.075


def test_the_last_whole_day_is_each_accounts_own_and_absent_once_it_is_days_ago(tmp_path: Path) -> None:
    rows = [
        *days_of_september(1, 6),
        *days_of_september(1, 4, BillingAccountId="9", SubAccountId=None, BilledCost="0.2"),
    ]
    costs = imported(tmp_path, rows)
    of_6th = values(costs, COST, "account", "window", "basis", today=date(2024, 9, 6))
    assert of_6th["2222", "last_whole_day", "billed"] == 0.075
    assert of_6th["9", "last_whole_day", "billed"] == 0.15
    of_8th = values(costs, COST, "account", "window", "basis", today=date(2024, 9, 8))
    assert ("2222", "last_whole_day", "billed") in of_8th
    assert ("9", "last_whole_day", "billed") not in of_8th


def test_discounts_that_hold_are_told_by_family_region_and_of_all(tmp_path: Path) -> None:
    name, labels = "tuppence_effective_discount_ratio", ("instance_family", "region", "capacity_type")
    machines = [
        row
        for family, paid in (("m5", "80"), ("c6i", "78"))
        for row in days_of_september(
            1, 12, ListCost="100", ContractedCost=paid, SkuPriceDetails=f'{{"InstanceType":"{family}.large"}}'
        )
    ]
    few = days_of_september(1, 3, ListCost="100", SkuPriceDetails='{"InstanceType":"r5.large"}')
    costs = imported(tmp_path, [*machines, *few], made_at=datetime(2024, 9, 13, 12, tzinfo=UTC))
    found = values(costs, name, *labels, today=date(2024, 9, 13))
    assert found["m5", "eu-west-2", "on-demand"] == 0.2
    assert found["c6i", "all", "on-demand"] == 0.22
    assert not [key for key in found if key[0] == "r5"]
    assert values(costs, name, *labels, today=date(2024, 9, 13), discount_days=7, max_groups=1).keys() == {
        ("all", "all", "on-demand")
    }


def test_the_end_of_the_last_whole_day_is_told(tmp_path: Path) -> None:
    found = values(
        imported(tmp_path, days_of_september(1, 6)), "tuppence_cost_whole_until_timestamp_seconds", "account"
    )
    assert found == {"1111": datetime(2024, 9, 5, tzinfo=UTC).timestamp()}


def test_month_to_date_stops_when_the_export_stopped_days_ago(tmp_path: Path) -> None:
    costs = imported(tmp_path, days_of_september(1, 6))
    assert values(costs, COST, "window", "basis", today=date(2024, 9, 8)) != {}
    assert values(costs, COST, "window", "basis", today=date(2024, 9, 9)) == {}


def test_last_month_is_shown_once_its_last_day_is_whole(tmp_path: Path) -> None:
    october = date(2024, 10, 2)
    early = imported(tmp_path / "early", days_of_september(1, 30), made_at=datetime(2024, 10, 1, 9, tzinfo=UTC))
    assert {window for window, _ in values(early, COST, "window", "basis", today=october)} == {"last_whole_day"}
    whole = imported(tmp_path / "whole", days_of_september(1, 30), made_at=datetime(2024, 10, 2, 1, tzinfo=UTC))
    assert values(whole, COST, "window", "basis", today=october)["last_month", "billed"] == 30 * 0.075


def test_services_and_groups_past_the_limits_become_other_and_nothing_is_lost(tmp_path: Path) -> None:
    rows = [charge(day, ServiceName=f"S{number}", BilledCost=str(number)) for day in (1, 6) for number in range(1, 6)]
    rows += [charge(1, RegionId=f"region-{number}", ServiceName="S5", BilledCost="0") for number in range(4)]
    costs = imported(tmp_path, rows)
    bound = values(costs, COST, "service", "region", "basis", top_services=2, max_groups=2)
    assert {service for service, _, _ in bound} == {"S5", "other"}
    assert len({key[:2] for key in bound}) == 3
    every = sum(value.expected for key, value in bound.items() if key[2] == "billed")
    assert every == pytest.approx(0.75 * 15)


def commitment(status: str, day: int = 1, **changes: Any) -> Row:
    """A charge of a savings plan."""
    category = "Usage" if status == "Used" else "Purchase"
    return charge(
        day,
        CommitmentDiscountStatus=status,
        CommitmentDiscountId="sp-1",
        PricingCategory="Committed",
        ChargeCategory=category,
        **changes,
    )


def test_coverage_is_of_list_cost_and_utilisation_of_what_the_commitment_costs(tmp_path: Path) -> None:
    costs = imported(
        tmp_path,
        [
            commitment("Used", ListCost="3", EffectiveCost="2", BilledCost="0"),
            commitment("Unused", ListCost="0", EffectiveCost="0.5", BilledCost="0"),
            charge(1, ListCost="1"),
            charge(1, ListCost="5", PricingCategory="Dynamic"),
            charge(1, ListCost="7", ServiceName="Amazon Simple Storage Service"),
            charge(6),
        ],
    )
    assert values(costs, "tuppence_commitment_coverage_ratio", "scope") == {"Amazon Elastic Compute Cloud": 0.75}
    assert values(costs, "tuppence_commitment_utilisation_ratio", "scope") == {"sp-1": 0.8}


def test_a_commitment_that_cost_nothing_has_no_utilisation(tmp_path: Path) -> None:
    costs = imported(tmp_path, [commitment("Used", EffectiveCost="0"), charge(6)])
    assert values(costs, "tuppence_commitment_utilisation_ratio", "scope") == {}


def test_the_share_with_an_owner_is_of_the_effective_cost_of_usage(tmp_path: Path) -> None:
    costs = imported(
        tmp_path,
        [
            charge(1, EffectiveCost="3"),
            charge(1, EffectiveCost="1", Tags=None),
            charge(1, EffectiveCost="9", Tags=None, ChargeCategory="Tax"),
            charge(6),
        ],
    )
    assert values(costs, "tuppence_cost_allocation_ratio", "window") == {"month_to_date": 0.75}


def test_a_vcpu_hour_has_the_price_that_was_paid_and_the_list_price(tmp_path: Path) -> None:
    details = '{"CoreCount": 4, "InstanceType": "m5.xlarge"}'
    costs = imported(
        tmp_path,
        [
            charge(1, SkuPriceDetails=details, ConsumedQuantity="2", EffectiveCost="0.32", ListCost="0.40"),
            charge(1, SkuPriceDetails=None, ConsumedQuantity="5"),
            charge(6, SkuPriceDetails=None),
        ],
    )
    assert values(costs, "tuppence_cost_gbp_per_vcpu_hour", "basis") == {
        "effective": 0.32 * 0.75 / 8,
        "list": 0.40 * 0.75 / 8,
    }


def test_the_list_price_is_absent_where_a_charge_has_none(tmp_path: Path) -> None:
    costs = imported(tmp_path, [charge(1, ConsumedUnit="vCPU-Hours", ListCost=None), charge(6)])
    assert set(values(costs, "tuppence_cost_gbp_per_vcpu_hour", "basis")) == {"effective"}


def test_what_each_owner_bears_adds_up_with_nobody_and_others(tmp_path: Path) -> None:
    rows = [
        *days_of_september(1, 6, Tags='{"owner": "radiology"}'),
        *days_of_september(1, 6, Tags='{"team": "studio"}', EffectiveCost="0.04"),
        *days_of_september(1, 6, Tags=None, EffectiveCost="0.01"),
        *days_of_september(1, 6, Tags='{"owner": "small"}', EffectiveCost="0.002"),
    ]
    costs = imported(tmp_path, rows)
    four_days = 4 * 0.75
    assert values(costs, "tuppence_owner_cost_gbp", "owner") == {
        "radiology": 0.08 * four_days,
        "studio": 0.04 * four_days,
        "small": 0.002 * four_days,
        "nobody": 0.01 * four_days,
    }
    assert values(costs, "tuppence_owner_cost_gbp", "owner", max_groups=2) == {
        "radiology": 0.08 * four_days,
        "studio": 0.04 * four_days,
        "other": 0.002 * four_days,
        "nobody": 0.01 * four_days,
    }


def test_costs_are_served_beside_prices_and_both_count_against_the_limit(tmp_path: Path) -> None:
    series = of_costs(imported(tmp_path, days_of_september(1, 6)), top_services=5, max_groups=5)
    published = PublishedPrices(Health(), max_series=50)
    published.publish(prices())
    assert published.publish_costs(series)
    assert published.current is not None
    body = b"".join(published.current.bodies.text.plain(b"")).decode()
    assert "tuppence_cost_gbp{" in body
    assert "tuppence_price_gbp_per_instance_hour{" in body
    few = PublishedPrices(Health(), max_series=42)
    few.publish(prices())
    assert not few.publish_costs(series)


def test_the_body_is_the_golden_one(tmp_path: Path) -> None:
    costs = imported(
        tmp_path,
        [
            *days_of_september(1, 6),
            *days_of_september(1, 6, ProviderName="Microsoft", SubAccountId=None, ServiceName='Say "hi"', Tags=None),
            commitment("Used", ListCost="3", EffectiveCost="2", ConsumedUnit="vCPU-Hours"),
            commitment("Unused", ListCost="0", EffectiveCost="0.5"),
            charge(1, BilledCost="?"),
        ],
    )
    last = LastImport(source="files", success=True, finished_at=SIXTH_AT_NOON)
    bodies = render(of_costs(costs, top_services=5, max_groups=9, last_imports=[last]))
    assert b"".join(bodies.text.plain(b"")).decode() == GOLDEN.read_text(encoding="utf-8")
