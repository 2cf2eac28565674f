"""Months of costs on the shelf: whole or old, beside the prices and unseen by them."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from exporters.core.errors import StoreError
from exporters.store.cost_write import KEPT_VERSIONS, clear_months
from exporters.store.costs import COST_MANIFEST, CostManifest, cost_folders, one_source_a_day, read_costs
from exporters.store.read import last_snapshots, newest_ids, sources
from exporters.store.shelf import Shelf
from tests.exporters.focus_exports import charge, days_of_september, importer, write_csv

OCTOBER: dict[str, Any] = {"BillingPeriodStart": "2024-10-01T00:00:00Z", "ChargePeriodStart": "2024-10-02T00:00:00Z"}


def imported(folder: Path, *, versions: int = 1) -> Shelf:
    """A shelf with two months, the first of them written several times."""
    one = importer(folder)
    for number in range(versions):
        rows = [
            *days_of_september(1, 3, BilledCost=str(number)),
            charge(BilledCost="0.2", ChargePeriodEnd="2024-10-03T00:00:00Z", **OCTOBER),
        ]
        clock = datetime(2024, 10, 5, number, tzinfo=UTC)
        importer(folder, now=clock).run([str(write_csv(folder / f"{number}.csv", rows, made_at=clock))])
    return one.shelf


def test_months_lie_apart_and_are_read_together(tmp_path: Path) -> None:
    shelf = imported(tmp_path)
    assert list(cost_folders(shelf)) == ["2024-09", "2024-10"]
    costs = read_costs(shelf)
    assert [one.month for one in costs.manifests] == [date(2024, 9, 1), date(2024, 10, 1)]
    assert costs.days.height == 4
    assert read_costs(shelf, months=["2024-10"]).days["billed_cost"].to_list() == [Decimal("0.2")]


def test_readers_of_prices_do_not_see_them(tmp_path: Path) -> None:
    shelf = imported(tmp_path)
    assert sources(shelf) == []
    assert newest_ids(shelf) == frozenset()
    assert last_snapshots(shelf) == []


def test_a_month_without_its_manifest_does_not_exist(tmp_path: Path) -> None:
    shelf = imported(tmp_path, versions=2)
    before = imported(tmp_path / "one")
    newest = cost_folders(shelf)["2024-09"][-1]
    shelf.delete(f"{newest}/{COST_MANIFEST}")
    assert_frame_equal(
        read_costs(shelf, months=["2024-09"]).days.drop("reached"),
        read_costs(before, months=["2024-09"]).days.drop("reached"),
    )


@pytest.mark.parametrize("damage", ["days.parquet", COST_MANIFEST])
def test_a_damaged_month_gives_way_to_the_one_before(tmp_path: Path, damage: str) -> None:
    shelf = imported(tmp_path, versions=2)
    shelf.put(f"{cost_folders(shelf)['2024-09'][-1]}/{damage}", b"{}")
    assert read_costs(shelf, months=["2024-09"]).days["billed_cost"].sum() == 0


def test_a_manifest_of_a_newer_schema_is_refused() -> None:
    newer = CostManifest(month=date(2024, 9, 1), written_at=datetime(2024, 10, 5, tzinfo=UTC)).to_json()
    with pytest.raises(StoreError, match="it has schema version 9"):
        CostManifest.from_json(newer.replace(b'"schema_version": 2', b'"schema_version": 9'), where="x")


def test_the_last_few_versions_of_a_month_stay_and_old_months_go(tmp_path: Path) -> None:
    shelf = imported(tmp_path, versions=KEPT_VERSIONS + 2)
    assert len(cost_folders(shelf)["2024-09"]) == KEPT_VERSIONS
    clear_months(shelf, oldest=date(2024, 10, 1))
    assert list(cost_folders(shelf)) == ["2024-10"]
    assert {key.split("/")[1] for key in shelf.keys("costs")} == {"2024-10"}


def paid(source: str, day: int, *, is_whole: bool, billed: int, account: str = "2222") -> dict[str, Any]:
    """A day of an account as one source states it."""
    return {
        "source": source,
        "provider": "aws",
        "billing_account": "1111",
        "sub_account": account,
        "charge_day": date(2024, 9, day),
        "is_whole": is_whole,
        "billed": billed,
    }


@pytest.mark.parametrize(
    ("files_whole", "asked_whole", "counted"),
    [(True, True, 10), (True, False, 10), (False, True, 11), (False, False, 10)],
)
def test_of_two_sources_that_know_a_day_the_files_stand_unless_only_the_other_states_it_whole(
    *, files_whole: bool, asked_whole: bool, counted: int
) -> None:
    rows = [
        paid("files", 1, is_whole=files_whole, billed=4),
        paid("files", 1, is_whole=files_whole, billed=6),
        paid("aws", 1, is_whole=asked_whole, billed=11),
    ]
    for order in (rows, rows[::-1]):
        assert one_source_a_day(pl.DataFrame(order))["billed"].sum() == counted


def test_days_and_accounts_that_only_one_source_knows_all_count() -> None:
    rows = [
        paid("files", 1, is_whole=True, billed=1),
        paid("aws", 2, is_whole=True, billed=2),
        paid("aws", 1, is_whole=True, billed=4, account="3333"),
        paid("aws", 1, is_whole=True, billed=8, account=""),
    ]
    assert one_source_a_day(pl.DataFrame(rows))["billed"].sum() == 15


def test_a_reader_of_the_past_sees_the_month_as_it_was_written_then(tmp_path: Path) -> None:
    shelf = imported(tmp_path, versions=3)
    at = datetime(2024, 10, 5, 1, 30, tzinfo=UTC)
    assert read_costs(shelf, months=["2024-09"], until=at).days["billed_cost"].sum() == 3
