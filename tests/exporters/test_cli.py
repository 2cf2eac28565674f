"""The exporter's commands as a user types them: data on stdout, everything else on stderr, exit codes kept."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tests.exporters.conftest import book_row
from tuppence import app

WriteBook = Callable[..., Path]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Runs a command in a folder of its own with a settings file for the book at book.csv."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TUPPENCE_CONFIG", raising=False)
    Path("tuppence.yaml").write_text(
        "sources: {book: {enabled: true, files: [book.csv]}, fx: {source: packaged}}\n"
        "store: {url: store}\npackaged: {providers: [aws]}\n"
    )
    return lambda *arguments: CliRunner().invoke(app, list(arguments))


def test_fetch_says_what_came_and_what_was_left_out(run: Callable[..., Result], write_book: WriteBook) -> None:
    write_book(book_row(name="good"), book_row(name="free", price="0"))
    result = run("fetch", "-o", "json")
    assert result.exit_code == 0, result.stderr
    rows = {row["source"]: row for row in json.loads(result.stdout)}
    assert rows["book"]["offers"] == 1
    assert rows["book"]["rejected"] == "1 zero"
    assert rows["fx"]["result"] == "ok"


def test_fetch_of_a_broken_source_fails_and_says_the_next_step(run: Callable[..., Result], tmp_path: Path) -> None:
    result = run("fetch", "book")
    assert result.exit_code == 1
    assert "book.csv" in result.stderr


def test_fetch_of_an_unknown_source_names_the_known_ones(run: Callable[..., Result]) -> None:
    result = run("fetch", "oracle")
    assert result.exit_code == 2
    assert "aws, gcp, azure, onprem, book" in result.stderr


def test_prices_are_listed_cheapest_first(run: Callable[..., Result], write_book: WriteBook) -> None:
    write_book(book_row(name="dear", price="2.50"), book_row(name="cheap", price="1.20"))
    run("fetch", "book")
    result = run("prices", "--provider", "hyperion", "--by", "gpu", "-o", "json")
    rows = json.loads(result.stdout)
    assert [row["x_InstanceType"] for row in rows] == ["cheap", "dear"]
    assert [row["ListUnitPrice"] for row in rows] == [1.2, 2.5]


def test_prices_without_any_account_come_from_the_packaged_book(run: Callable[..., Result]) -> None:
    result = run(
        "prices", "--instance-type", "m5.large", "--region", "eu-west-2", "--capacity-type", "on-demand", "-o", "json"
    )
    (row,) = json.loads(result.stdout)
    assert (row["ListUnitPrice"], row["PricingCurrency"]) == (0.111, "USD")
    assert row["PricingCategory"] == "Standard"


def test_vcpu_hours_are_compared_on_machines_without_gpus(run: Callable[..., Result]) -> None:
    rows = json.loads(run("prices", "--by", "vcpu", "-o", "json").stdout)
    assert rows
    assert all(row["x_GpuModel"] is None and row["x_AcceleratorModel"] is None for row in rows)


def test_a_table_is_cut_and_says_so(run: Callable[..., Result]) -> None:
    result = run("prices", "--limit", "3")
    assert result.exit_code == 0
    assert "--limit shows more" in result.stderr
    assert "gbp_per_vcpu_hour" in result.stdout


def test_csv_has_one_line_an_offer(run: Callable[..., Result]) -> None:
    result = run("prices", "--instance-type", "m5.large", "--region", "eu-west-2", "-o", "csv")
    header, *rows = result.stdout.strip().splitlines()
    assert header.startswith("ProviderName,RegionId,")
    assert len(rows) == 1


def test_illustrative_prices_are_listed_only_when_asked_for(run: Callable[..., Result]) -> None:
    asked = ("prices", "--instance-type", "m5.large", "--region", "eu-west-2", "-o", "json")
    assert [row["x_CapacityType"] for row in json.loads(run(*asked).stdout)] == ["on-demand"]
    notes = {row["x_CapacityType"]: row["x_Note"] for row in json.loads(run(*asked, "--illustrative").stdout)}
    assert notes == {"on-demand": None, "spot": "illustrative"}
    assert "--illustrative shows them" in run(*asked).stderr


def test_a_mistake_in_the_settings_is_exit_code_2_with_its_line(run: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "tuppence.yaml").write_text("store:\n  folder: x\n")
    result = run("prices")
    assert result.exit_code == 2
    assert "line 2: store.folder" in result.stderr


def test_a_store_without_a_name_is_not_the_folder_one_stands_in(run: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "tuppence.yaml").write_text('store:\n  url: ""\n')
    result = run("fetch", "fx")
    assert result.exit_code == 2
    assert "line 2: store.url" in result.stderr


def test_a_settings_file_that_is_named_but_absent_is_an_error(run: Callable[..., Result]) -> None:
    result = run("prices", "--config", "absent.yaml")
    assert result.exit_code == 2
    assert "absent.yaml" in result.stderr


def test_check_passes_for_a_readable_book(run: Callable[..., Result], write_book: WriteBook) -> None:
    write_book(book_row())
    result = run("check", "-o", "json")
    assert result.exit_code == 0, result.stdout
    assert {row["state"] for row in json.loads(result.stdout) if row["source"] == "book"} == {"ok"}


def test_check_fails_with_the_next_step_for_a_missing_book(run: Callable[..., Result]) -> None:
    result = run("check", "-o", "json")
    assert result.exit_code == 1
    (finding,) = [row for row in json.loads(result.stdout) if row["state"] == "failed"]
    assert finding["next_step"]


def test_the_least_rights_are_printed_for_copying(run: Callable[..., Result]) -> None:
    result = run("check", "aws", "--permissions")
    assert result.exit_code == 0
    assert "pricing:GetProducts" in result.stdout
