"""The commands for sources of costs, budgets, forecasts and commitments, typed as a person types them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import time_machine
import yaml
from typer.testing import CliRunner, Result

import tuppence
from exporters.core.standing_frames import NegotiatedPrice
from exporters.store.shelf import open_shelf
from exporters.store.standing_write import write_statement
from tests.exporters.focus_exports import charge, write_csv
from tests.fakes.opencost import FakeOpenCost, entry, fake_opencost, workload

NOW = datetime(2024, 9, 20, 9, tzinfo=UTC)
runner = CliRunner()


@pytest.fixture
def opencost() -> Iterator[FakeOpenCost]:
    """An OpenCost of a cluster in London that knows one day of one workload."""
    with fake_opencost() as running:
        name, properties = workload("london", "render", "deployment", "frames")
        running.days = {
            date(2024, 9, 18): {
                name: entry(date(2024, 9, 18), properties=properties, cpuCost=3, totalCost=3, cpuCoreHours=40)
            }
        }
        yield running


@pytest.fixture
def config(tmp_path: Path, opencost: FakeOpenCost) -> Path:
    """Settings with a budget, a commitment and OpenCost; a dollar is 75 pence."""
    costs = {
        "budgets": [{"name": "platform", "provider": "aws", "amount": 2, "currency": "GBP"}],
        "commitments": [
            {
                "id": "sp-1",
                "provider": "aws",
                "account": "1111",
                "kind": "savings-plan",
                "region": "eu-west-2",
                "unit": "money",
                "quantity": 2.5,
                "starts_at": "2024-01-01",
                "ends_at": "2024-12-31",
            }
        ],
        "opencost": {
            "enabled": True,
            "history_days": 3,
            "endpoints": [{"cluster": "london", "url": opencost.url, "currency": "GBP"}],
        },
    }
    document = {
        "store": {"url": str(tmp_path / "store")},
        "costs": costs,
        "sources": {"fx": {"contract_rates": {"USD": "0.75"}}},
    }
    path = tmp_path / "tuppence.yaml"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return path


def typed(config: Path, *arguments: str, code: int = 0) -> Result:
    with time_machine.travel(NOW, tick=True):
        result = runner.invoke(tuppence.app, [*arguments, "--config", str(config)])
    assert result.exit_code == code, result.output
    return result


def as_json(config: Path, *arguments: str) -> Any:
    return json.loads(typed(config, *arguments, "-o", "json").stdout)


def import_days(config: Path) -> None:
    """A machine for ten cents a day from August to 19 September, some of it under a commitment that was not used up."""
    august = [
        charge(1)
        | {
            "ChargePeriodStart": f"{day:%Y-%m-%d}T00:00:00Z",
            "ChargePeriodEnd": f"{day:%Y-%m-%d}T01:00:00Z",
            "BillingPeriodStart": f"{day:%Y-%m}-01T00:00:00Z",
        }
        for day in (date(2024, 8, 1) + timedelta(days=n) for n in range(50))
    ]
    plan = {"CommitmentDiscountId": "sp-1", "PricingCategory": "Committed", "BilledCost": "0"}
    used = charge(3, CommitmentDiscountStatus="Used", EffectiveCost="3", **plan)
    unused = charge(3, CommitmentDiscountStatus="Unused", EffectiveCost="1", **plan)
    path = write_csv(config.parent / "export.csv", [*august, used, unused], made_at=NOW)
    typed(config, "costs", "import", str(path))


def test_a_source_that_is_asked_says_what_it_brought(config: Path) -> None:
    (row,) = as_json(config, "costs", "refresh", "opencost")
    assert (row["source"], row["result"], row["paid_requests"]) == ("opencost", "ok", 0)
    (known,) = as_json(config, "costs", "workloads")
    assert (known["cluster"], known["workload"], known["days"], known["vcpu_gbp"], known["total_gbp"]) == (
        "london",
        "frames",
        1,
        3.0,
        3.0,
    )
    assert "£3.00" in typed(config, "costs", "workloads", "--by", "namespace").stdout


def test_a_source_that_fails_says_why_and_ends_with_1(config: Path, opencost: FakeOpenCost) -> None:
    opencost.answers = [(401, "no")] * 5
    result = typed(config, "costs", "refresh", code=1)
    assert "failed" in result.stdout
    assert "error" in result.stderr


def test_a_source_that_there_is_not_is_an_error_with_the_names_of_those_there_are(config: Path) -> None:
    result = typed(config, "costs", "refresh", "oracle", code=2)
    assert "there is no source of costs 'oracle'" in result.stderr
    assert "opencost" in result.stderr


def test_without_a_source_the_next_step_is_told(tmp_path: Path) -> None:
    path = tmp_path / "plain.yaml"
    path.write_text(f"store: {{url: {tmp_path / 'store'}}}\n", encoding="utf-8")
    assert "costs.azure.enabled: true" in typed(path, "costs", "refresh", code=2).stderr
    for command in ("budgets", "forecast", "commitments", "workloads"):
        assert "No " in typed(path, "costs", command).stderr


def test_a_budget_stands_beside_what_the_month_will_have_come_to(config: Path) -> None:
    """30 days of 10 cents are 3 dollars, 2.25 pounds: more than the budget of 2."""
    import_days(config)
    (row,) = as_json(config, "costs", "budgets")
    assert (row["scope"], row["budget_gbp"], row["forecast_gbp"], row["forecast_to_budget"]) == (
        "platform",
        2.0,
        2.25,
        1.125,
    )
    assert "£2.25" in typed(config, "costs", "budgets").stdout
    assert {(one["provider"], one["scope"]) for one in as_json(config, "costs", "forecast")} == {
        ("all", "all"),
        ("aws", "all"),
        ("aws", "platform"),
    }


def test_a_commitment_has_its_price_its_use_and_its_end(config: Path) -> None:
    import_days(config)
    (row,) = as_json(config, "costs", "commitments")
    assert (row["commitment"], row["covers"]) == ("sp-1", "2.5 GBP an hour of any machine in eu-west-2")
    assert (row["rate_gbp_per_hour"], row["used_ratio"]) == (2.5, 0.75)
    assert (row["ends_on"], row["days_left"]) == ("2024-12-31", 102)


def test_check_looks_at_sources_of_costs_too(config: Path, opencost: FakeOpenCost) -> None:
    assert {row["source"] for row in as_json(config, "check", "opencost")} == {"costs.opencost"}
    opencost.answers = [(401, "no")] * 5
    assert "costs.opencost" in typed(config, "check", "opencost", code=1).stdout


def test_check_looks_at_the_paths_of_exports(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    write_csv(tmp_path / "in" / "export.csv", [charge()])
    path = tmp_path / "paths.yaml"
    paths = [str(tmp_path / "in"), str(tmp_path / "empty"), str(tmp_path / "nowhere")]
    document = {
        "store": {"url": str(tmp_path / "store")},
        "costs": {"paths": paths},
        "sources": {"fx": {"source": "packaged"}},
    }
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    with time_machine.travel(NOW, tick=True):
        result = runner.invoke(tuppence.app, ["check", "-o", "json", "--config", str(path)])
    found = {row["subject"]: row for row in json.loads(result.stdout) if row["source"] == "costs.paths"}
    assert {name: row["state"] for name, row in found.items()} == dict(
        zip(paths, ("ok", "failed", "failed"), strict=True)
    )
    assert "1 files" in found[paths[0]]["detail"]
    assert all(row["next_step"] for row in found.values() if row["state"] == "failed")


def test_negotiated_prices_stand_beside_list_the_greatest_discount_first(config: Path) -> None:
    price = {
        "source": "azure",
        "provider": "azure",
        "account": "7654321",
        "product": "Virtual Machines Dsv5",
        "unit": "1 Hour",
        "effective_from": date(2024, 1, 1),
        "effective_to": None,
        "region": "uksouth",
        "currency": "GBP",
        "list_price": Decimal("0.2"),
    }
    rows = [
        price | {"meter_id": "a", "meter": "D4s v5", "negotiated_price": Decimal("0.16")},
        price | {"meter_id": "b", "meter": "D8s v5", "negotiated_price": Decimal("0.1")},
        price | {"meter_id": "c", "meter": "same", "negotiated_price": Decimal("0.2")},
        price
        | {"meter_id": "d", "meter": "over", "negotiated_price": Decimal("0.1")}
        | {"effective_to": date(2024, 5, 1)},
        price | {"meter_id": "e", "meter": "no list", "negotiated_price": Decimal("0.1"), "list_price": None},
    ]
    frame = NegotiatedPrice.validate(pl.DataFrame(rows, schema=NegotiatedPrice.create_empty().schema))
    write_statement(open_shelf(str(config.parent / "store")), "azure", {"negotiated_prices": frame}, now=NOW)
    found = [(row["meter"], row["discount_ratio"]) for row in as_json(config, "costs", "negotiated")]
    assert found == [("D8s v5", 0.5), ("D4s v5", 0.2)]
