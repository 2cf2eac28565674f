"""The commands for why costs changed and what is unusual, typed as a person types them."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import tuppence
from tests.exporters.focus_exports import Row, charge, write_csv

runner = CliRunner()
MADE_AT = datetime(2024, 10, 3, tzinfo=UTC)
CAUSES = ("usage", "price", "mix", "commitments", "fx", "new", "gone", "one_off", "unmeasured")


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Settings with a store in the test's folder and long memory; a dollar is 75 pence."""
    path = tmp_path / "tuppence.yaml"
    path.write_text(
        f"store: {{url: {tmp_path / 'store'}}}\n"
        "costs: {retention_months: 600}\n"
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


def day(number: int, cost: str, quantity: str = "10", **changes: Any) -> Row:
    """A charge of EC2 of that effective cost in dollars."""
    return charge(number, EffectiveCost=cost, ConsumedQuantity=quantity, ServiceName="EC2", **changes)


@pytest.fixture
def imported(config: Path, tmp_path: Path) -> Path:
    """September: EC2 at 6 dollars in London and 4 in Ireland a day; on the 30th 90 in London for 100 hours."""
    rows = [day(number, "6") for number in range(1, 30)] + [day(30, "90", "100")]
    rows += [day(number, "4", RegionId="eu-west-1") for number in range(1, 31)]
    rows += [charge(number, ServiceName="S3", EffectiveCost="1", ConsumedUnit="GB") for number in range(1, 31)]
    typed(config, "import", str(write_csv(tmp_path / "export.csv", rows, made_at=MADE_AT)))
    return config


def test_a_day_is_explained_in_pounds_with_a_sentence_a_row(imported: Path) -> None:
    """London 10 → 100 hours at 0.60 → 0.90; Ireland 10 hours at 0.40.

    In dollars: usage ΔQ·P̄ = 90 × (0.50 + 0.8545)/2 = 60.95; mix 65 × 0.4091 × (0.75 − 0.40) = 9.31, for London's share
    grew from 0.5 to 0.9091; price 65 × 0.7045 × 0.30 = 13.74; 84 together.
    """
    result = typed(imported, "explain")
    assert "EC2 in eu-west-2: +£63.00, of which usage +£45.72, price +£10.30, mix +£6.98" in result.stdout
    assert "£7.50" in result.stdout
    assert "£70.50" in result.stdout
    assert "S3" not in result.stdout
    assert "All: +£63.00, of which usage +£45.72" in result.stderr


@pytest.mark.parametrize("form", ["json", "csv"])
def test_parts_add_up_to_the_change_to_the_penny(imported: Path, form: str) -> None:
    text = typed(imported, "explain", "-o", form).stdout
    rows = json.loads(text) if form == "json" else list(csv.DictReader(io.StringIO(text)))
    [row] = rows
    assert sum(round(100 * float(row[f"{cause}_gbp"])) for cause in CAUSES) == 6300
    assert (row["before_gbp"], row["after_gbp"], row["change_gbp"]) == ("7.50", "70.50", "63.00")
    assert (row["service"], row["last_day"], row["span"]) == ("EC2", "2024-09-30", "day")


def test_a_week_ends_on_the_day_named(imported: Path) -> None:
    [row] = as_json(imported, "explain", "--week", "2024-09-30")
    assert (row["before_gbp"], row["after_gbp"]) == ("52.50", "115.50")
    assert as_json(imported, "explain", "--week", "2024-09-29") == []


def test_billed_costs_are_explained_when_asked_for_and_causes_that_cancel_are_shown(imported: Path) -> None:
    """Ten cents a day in each region, whatever the hours."""
    [row] = as_json(imported, "explain", "--basis", "billed")
    assert (row["before_gbp"], row["after_gbp"], row["change_gbp"]) == ("0.15", "0.15", "0.00")
    assert float(row["usage_gbp"]) == -float(row["price_gbp"]) - float(row["mix_gbp"]) > 0


def test_a_day_that_is_not_whole_is_not_compared_and_the_account_is_named(imported: Path) -> None:
    result = typed(imported, "explain", "--day", "2024-10-01")
    assert "not compared aws 1111: whole until 2024-09-30" in result.stderr
    assert as_json(imported, "explain", "--day", "2024-10-01") == []
    assert as_json(imported, "explain", "--provider", "gcp") == []


def test_a_day_and_a_week_at_once_are_refused(imported: Path) -> None:
    result = typed(imported, "explain", "--day", "2024-09-30", "--week", "2024-09-30", code=2)
    assert "Name one of them" in result.stderr


def test_anomalies_are_listed_with_what_was_expected(imported: Path) -> None:
    """Expected £7.50; the least that counts is £10 above it: 7.50 ± 10."""
    result = typed(imported, "anomalies")
    assert "£0.00 to £17.50" in result.stdout
    assert "1 of 14 days of services cost more than was to be expected." in result.stderr
    [row] = as_json(imported, "anomalies")
    assert (row["day"], row["service"], row["excess_gbp"], row["expected_gbp"]) == (
        "2024-09-30",
        "EC2",
        "63.00",
        "7.50",
    )
    assert len(as_json(imported, "anomalies", "--all", "--days", "2")) == 4


def test_with_nothing_imported_the_next_step_is_said(config: Path) -> None:
    assert "tuppence costs import PATH" in typed(config, "explain").stderr
    assert "tuppence costs import PATH" in typed(config, "anomalies").stderr
