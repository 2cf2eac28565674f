"""The made-up company's bills: read by the real importer, at the discounts that they were made with."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

import polars as pl
import pytest

from exporters.core.clock import FixedClock
from exporters.core.config_file import read_document, validate
from exporters.core.errors import StoreError
from exporters.core.sections import ALL_SECTIONS
from exporters.cost_import import CostImport, CostImporter
from exporters.settings import ExporterSettings
from exporters.store.costs import read_costs
from exporters.store.read import current_prices
from exporters.store.shelf import open_shelf
from recommender.demo.bills import DAYS, ODD_DAY, RESERVATION, RESERVED_DOLLARS_PER_HOUR, RESERVED_MACHINES
from recommender.demo.paid import last_month
from recommender.demo.payers import PAYERS
from recommender.demo.write import add_costs
from recommender.settings import RecommenderSettings
from tests.builders import NOON

TODAY = date(2026, 11, 30)


@dataclass(frozen=True)
class Billed:
    """A company with bills, imported at noon of the day."""

    folder: Path
    settings: ExporterSettings
    imported: CostImport
    days: pl.DataFrame

    def sum(self, column: str, *chosen: pl.Expr) -> float:
        return float(self.days.filter(*chosen)[column].sum())


@pytest.fixture(scope="module")
def billed(company: Path, tmp_path_factory: pytest.TempPathFactory) -> Billed:
    folder = tmp_path_factory.mktemp("billed")
    path = folder / company.name
    for name in (company.name, "usage.parquet"):
        shutil.copy(company.parent / name, folder / name)
    shelf = open_shelf(str(company.parent / "snapshots"))
    add_costs(path, offers=current_prices(shelf, now=NOON).offers, today=TODAY, seed=1)
    settings = validate(read_document(path, {}), ExporterSettings, known=ALL_SECTIONS)
    store = open_shelf(str(folder / "store"))
    importer = CostImporter(settings=settings, shelf=store, clock=FixedClock(NOON), scratch=folder)
    return Billed(folder, settings, importer.run(settings.costs.paths), read_costs(store).days)


def of(provider: str) -> pl.Expr:
    return pl.col("provider") == provider


def test_every_charge_is_read_and_both_packages_take_the_settings(billed: Billed) -> None:
    assert billed.imported.rejects.is_empty()
    assert {one.version for one in billed.imported.files} == {"FOCUS 1.2"}
    validate(read_document(billed.folder / "tuppence.yaml", {}), RecommenderSettings, known=ALL_SECTIONS)
    assert {one.name for one in billed.settings.costs.budgets} == {"platform", "aws"}


def test_there_is_a_bill_for_each_day_up_to_yesterday(billed: Billed) -> None:
    for provider in PAYERS:
        days = billed.days.filter(of(provider))["charge_day"]
        assert (days.n_unique(), days.max()) == (DAYS, date(2026, 11, 29))


@pytest.mark.parametrize("provider", sorted(PAYERS))
def test_machines_on_demand_are_billed_at_what_was_negotiated(billed: Billed, provider: str) -> None:
    machines = (of(provider), pl.col("instance_family") != "", pl.col("pricing_category") == "Standard")
    ratio = billed.sum("billed_cost", *machines) / billed.sum("list_cost", *machines)
    assert ratio == pytest.approx(1 - PAYERS[provider].discount, abs=1e-6)


def test_what_is_reserved_is_paid_whole_each_day_and_not_used_up(billed: Billed) -> None:
    plan = pl.col("commitment_discount_id") == RESERVATION
    paid = DAYS * 24 * RESERVED_MACHINES * RESERVED_DOLLARS_PER_HOUR
    assert billed.sum("billed_cost", plan) == pytest.approx(paid, abs=1e-6)
    assert billed.sum("effective_cost", plan) == pytest.approx(paid, abs=1e-6)
    assert 0 < billed.sum("effective_cost", plan, pl.col("commitment_status") == "Unused") < 0.3 * paid


def test_taxes_are_a_fifth_of_each_month_that_is_over(billed: Billed) -> None:
    october = (pl.col("charge_day").dt.month() == 10, of("azure"))
    tax = pl.col("charge_category") == "Tax"
    assert billed.sum("billed_cost", *october, tax) == pytest.approx(
        0.2 * billed.sum("billed_cost", *october, ~tax), abs=1e-6
    )
    assert billed.days.filter(pl.col("charge_day").dt.month() == 11, tax).is_empty()


def test_one_day_of_data_transfer_stands_out(billed: Billed) -> None:
    days = billed.days.filter(pl.col("service") == "Networking").sort("billed_cost", descending=True)
    assert days["charge_day"][0] == date(2026, 11, 30 - ODD_DAY)
    assert days["billed_cost"][0] > 4 * days["billed_cost"][1]


def test_the_same_seed_gives_the_same_bills(billed: Billed, company: Path, tmp_path: Path) -> None:
    for name in (company.name, "usage.parquet"):
        shutil.copy(company.parent / name, tmp_path / name)
    shelf = open_shelf(str(company.parent / "snapshots"))
    add_costs(tmp_path / company.name, offers=current_prices(shelf, now=NOON).offers, today=TODAY, seed=1)
    for provider in PAYERS:
        name = f"billing/{provider}/focus.csv"
        assert (tmp_path / name).read_bytes() == (billed.folder / name).read_bytes()


def test_what_was_paid_last_month_stands_beside_list(billed: Billed) -> None:
    costs = read_costs(open_shelf(str(billed.folder / "store")))
    rows = last_month(costs, today=datetime(2026, 11, 30, tzinfo=UTC).date()).to_dicts()
    assert [(row["provider"], row["what"]) for row in rows[:2]] == [("aws", "machines"), ("aws", "other")]
    azure = next(row for row in rows if row["provider"] == "azure" and row["what"] == "machines")
    assert (azure["month"], azure["less"]) == ("October 2026", "17.0%")
    early = last_month(costs, today=date(2026, 12, 1)).to_dicts()
    assert early[0]["month"] == "November 2026, 1 of its days not whole yet"


def test_a_folder_that_cannot_be_written_is_an_error_that_says_so(company: Path, tmp_path: Path) -> None:
    for name in (company.name, "usage.parquet"):
        shutil.copy(company.parent / name, tmp_path / name)
    (tmp_path / "billing").write_text("a file where the folder should be")
    shelf = open_shelf(str(company.parent / "snapshots"))
    with pytest.raises(StoreError, match="the bills cannot be written"):
        add_costs(tmp_path / company.name, offers=current_prices(shelf, now=NOON).offers, today=TODAY, seed=1)
