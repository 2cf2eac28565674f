"""The commands for what was really paid, typed as a person types them."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import tuppence
from exporters.core.clock import SystemClock
from tests.exporters.focus_exports import NOW, Row, charge, days_of_september, write_csv

runner = CliRunner()


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Settings with a store in the test's folder, long memory, and a dollar of 75 pence."""
    path = tmp_path / "tuppence.yaml"
    path.write_text(
        f"store: {{url: {tmp_path / 'store'}}}\n"
        "costs: {retention_months: 600, max_rejected_ratio: 0.5}\n"
        'sources: {fx: {contract_rates: {USD: "0.75"}}}\n',
        encoding="utf-8",
    )
    return path


def typed(config: Path, *arguments: str, code: int = 0) -> Result:
    result = runner.invoke(tuppence.app, ["costs", *arguments, "--config", str(config)])
    assert result.exit_code == code, result.output
    return result


def as_json(config: Path, *arguments: str) -> Any:
    return json.loads(typed(config, *arguments, "-o", "json").stdout)


def test_an_import_prints_totals_to_the_penny_and_what_was_left_out(config: Path, tmp_path: Path) -> None:
    rows = [*days_of_september(1, 30), charge(ProviderName="Microsoft", BillingCurrency="GBP"), charge(BilledCost="?")]
    result = typed(config, "import", str(write_csv(tmp_path / "export.csv", rows)))
    assert ["2024-09", "aws", "USD", "30", "3.00", "2.40", "£2.25", "£1.80", "0"] in [
        line.split() for line in result.stdout.splitlines()
    ]
    assert "export.csv: FOCUS 1.0, 32 charges, 1 left out" in result.stderr
    assert "left out 1 not-a-number: AWS" in result.stderr


def test_a_rate_that_is_older_than_its_day_is_named_with_what_to_do(tmp_path: Path) -> None:
    """The packaged history ends months before the charge."""
    path = tmp_path / "plain.yaml"
    path.write_text(f"store: {{url: {tmp_path / 'store'}}}\n", encoding="utf-8")
    day = {"BillingPeriodStart": "2029-01-01T00:00:00Z", "ChargePeriodStart": "2029-01-24T00:00:00Z"}
    row = charge() | day | {"ChargePeriodEnd": "2029-01-24T01:00:00Z"}
    said = typed(path, "import", str(write_csv(tmp_path / "a.csv", [row]))).stderr.replace("\n", " ")
    assert "old rate USD of 2029-01-24 to 2029-01-24 is at the rate of 20" in said
    assert "tuppence fetch fx" in said


def test_a_restated_day_is_named_with_what_it_came_to_before(config: Path, tmp_path: Path) -> None:
    typed(config, "import", str(write_csv(tmp_path / "a.csv", [charge(3)])))
    later = write_csv(tmp_path / "b.csv", [charge(3, BilledCost="0.4")], made_at=NOW + timedelta(days=1))
    assert "restated aws 2024-09-03: billed USD 0.10, now 0.40" in typed(config, "import", str(later)).stderr


def test_json_has_files_totals_rejects_and_restated_days(config: Path, tmp_path: Path) -> None:
    path = str(write_csv(tmp_path / "a.csv", [charge(), charge(BilledCost=None)]))
    done = as_json(config, "import", path)
    assert done["totals"] == [
        {
            "month": "2024-09",
            "provider": "aws",
            "currency": "USD",
            "charges": 1,
            "billed_cost": "0.10",
            "effective_cost": "0.08",
            "billed_gbp": "0.08",
            "effective_gbp": "0.06",
            "open_days": 0,
        }
    ]
    assert [(one["reason"], one["rows"]) for one in done["rejects"]] == [("absent", 1)]
    assert as_json(config, "import", path)["files"][0]["note"] == "already imported, nothing to do"


@pytest.mark.parametrize(
    ("by", "meant"),
    [
        ("service", [("S3", "15.00"), ("EC2", "7.50")]),
        ("region", [("eu-west-2", "22.50")]),
        ("account", [("1111", "15.00"), ("2222", "7.50")]),
        ("month", [("2024-09", "22.50")]),
        ("category", [("Usage", "22.50")]),
        ("day", [("2024-09-01", "7.50"), ("2024-09-02", "15.00")]),
    ],
)
def test_costs_are_shown_dearest_first_or_in_the_order_of_time(
    config: Path, tmp_path: Path, by: str, meant: list[tuple[str, str]]
) -> None:
    rows = [
        charge(1, ServiceName="EC2", BilledCost="10", EffectiveCost="10"),
        charge(2, ServiceName="S3", BilledCost="20", EffectiveCost="20", SubAccountId=None),
    ]
    typed(config, "import", str(write_csv(tmp_path / "a.csv", rows)))
    assert [(row[by], row["billed_gbp"]) for row in as_json(config, "show", "--by", by)] == meant


def test_a_list_cost_is_shown_only_where_every_charge_has_one(config: Path, tmp_path: Path) -> None:
    rows = [charge(ServiceName="a"), charge(ServiceName="b"), charge(ServiceName="b", ListCost=None)]
    typed(config, "import", str(write_csv(tmp_path / "a.csv", rows)))
    assert {row["service"]: row["list_gbp"] for row in as_json(config, "show")} == {"a": "0.09", "b": None}


def test_months_and_providers_are_chosen_and_a_table_ends_with_the_sum(config: Path, tmp_path: Path) -> None:
    rows = [charge(BilledCost="1"), charge(BilledCost="2", ProviderName="Google Cloud")]
    typed(config, "import", str(write_csv(tmp_path / "a.csv", rows)))
    assert [row["provider"] for row in as_json(config, "show", "--provider", "gcp", "--month", "2024-09")] == ["gcp"]
    assert as_json(config, "show", "--month", "2024-08") == []
    lines = [line.split() for line in typed(config, "show").stdout.splitlines()]
    assert ["all", "£2.25", "£0.12", "£0.18"] in lines


def test_with_nothing_imported_and_nothing_to_import_the_next_step_is_said(config: Path) -> None:
    assert "tuppence costs import PATH" in typed(config, "show").stderr
    assert "Name a path, or set costs.paths." in typed(config, "import", code=2).stderr


def test_discounts_come_with_their_verdict_and_evidence(config: Path, tmp_path: Path) -> None:
    last = SystemClock().now().date() - timedelta(days=3)
    machine: Row = {
        "ListCost": "10",
        "ContractedCost": "8",
        "SkuPriceDetails": '{"InstanceType":"m5.large"}',
        "BillingPeriodStart": "2024-09-01T00:00:00Z",
    }
    days = [last - timedelta(days=before) for before in range(20)]
    rows = [charge(**machine, ChargePeriodStart=f"{day}T00:00:00Z", ChargePeriodEnd=f"{day}T01:00:00Z") for day in days]
    typed(config, "import", str(write_csv(tmp_path / "a.csv", rows, made_at=SystemClock().now())))
    london = next(row for row in as_json(config, "discounts") if row["region"] == "eu-west-2")
    assert (london["instance_family"], london["verdict"], london["discount_ratio"]) == ("m5", "holds", 0.2)
    assert london["days"] == london["charges"] == 19
    line = next(line for line in typed(config, "discounts").stdout.splitlines() if "eu-west-2" in line)
    assert {"£142.50", "£114.00", "20.0"} <= set(line.split())
    assert as_json(config, "discounts", "--days", "7")[-1]["days"] == 7
    assert as_json(config, "discounts", "--provider", "gcp") == []


def test_without_costs_there_are_no_discounts_and_a_next_step(config: Path) -> None:
    assert "No discounts" in typed(config, "discounts").stderr


def test_costs_can_be_listed_by_owner_and_what_nobody_bears_is_named(config: Path, tmp_path: Path) -> None:
    rows = [charge(3), charge(4, Tags=None, EffectiveCost="0.04")]
    typed(config, "import", str(write_csv(tmp_path / "a.csv", rows)))
    found = {row["owner"]: row["effective_gbp"] for row in as_json(config, "show", "--by", "owner")}
    assert found == {"radiology": "0.06", "nobody": "0.03"}


def test_a_month_without_costs_is_told_apart_from_a_store_without(config: Path, tmp_path: Path) -> None:
    assert "No costs yet" in typed(config, "show").stderr
    typed(config, "import", str(write_csv(tmp_path / "a.csv", [charge(3)])))
    assert "No costs of that month or provider" in typed(config, "show", "--month", "2020-01").stderr
