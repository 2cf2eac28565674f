"""Azure's own cost details: which cost a file states, what its rows are in the words of FOCUS, and what is refused."""

from __future__ import annotations

import csv
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from exporters.core.errors import IntegrityError
from exporters.fetch.azure_details_rows import Report, details_names
from exporters.fetch.cost_files import DataFile
from exporters.fetch.focus_file import Charges, open_charges, require_paired
from exporters.normalise.cost_days import add_days, reduce_charges
from tests.exporters.azure_charges import ACTUAL, AMORTISED, SUBSCRIPTION, Row, usage
from tests.exporters.focus_exports import importer


def written(folder: Path, rows: list[Row], name: str = "details.csv") -> DataFile:
    path = folder / name
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return DataFile(name=name, path=path, sha256=name)


def opened(folder: Path, rows: list[Row], name: str = "details.csv") -> Charges:
    return open_charges(written(folder, rows, name), owner_tags=["owner"])


def charges(folder: Path, *rows: Row) -> list[Row]:
    return opened(folder, list(rows)).rows.collect().to_dicts()


class TestRows:
    def test_a_file_without_commitments_states_both_costs(self, tmp_path):
        found = opened(tmp_path, [usage()])
        assert (found.version, found.report) == ("Azure cost details", Report.EITHER)
        (row,) = found.rows.collect().to_dicts()
        assert (row["billed_cost"], row["effective_cost"]) == (Decimal("0.2"), Decimal("0.2"))

    def test_a_row_names_its_account_service_region_and_day(self, tmp_path):
        (row,) = charges(tmp_path, usage())
        assert (row["provider"], row["billing_account"], row["sub_account"]) == (
            "azure",
            "8611537",
            SUBSCRIPTION.lower(),
        )
        assert (row["service"], row["region"], row["sku_id"]) == ("Virtual Machines", "uksouth", "meter-1")
        assert (row["charge_start"], row["charge_end"]) == (
            datetime(2026, 9, 2, tzinfo=UTC),
            datetime(2026, 9, 3, tzinfo=UTC),
        )
        assert (row["billing_period"], row["currency"], row["charge_category"]) == (date(2026, 9, 1), "GBP", "Usage")

    @pytest.mark.parametrize("day", ["9/2/2026", "09/02/2026", "2026-09-02", "2026-09-02T00:00:00Z"])
    def test_days_are_read_as_month_day_year_or_iso(self, tmp_path, day):
        assert charges(tmp_path, usage(Date=day))[0]["charge_start"] == datetime(2026, 9, 2, tzinfo=UTC)

    def test_a_day_written_the_european_way_is_rejected_not_guessed(self, tmp_path):
        found = charges(tmp_path, usage(), usage(), usage(Date="13/9/2026"))
        assert [row["reject"] for row in found] == [None, None, "malformed"]

    def test_a_machine_has_its_size_and_its_vcpu_hours(self, tmp_path):
        (row,) = charges(tmp_path, usage())
        assert (row["machine"], row["consumed_unit"], row["consumed_quantity"]) == ("Standard_D4s_v5", "Hours", 2.5)
        assert row["vcpu_hours"] == 10

    def test_hours_that_are_sold_by_the_hundred_are_single_hours(self, tmp_path):
        (row,) = charges(tmp_path, usage(UnitOfMeasure="100 Hours", Quantity="0.5"))
        assert (row["consumed_quantity"], row["vcpu_hours"]) == (50, 200)

    def test_the_list_cost_is_the_quantity_at_the_pay_as_you_go_price(self, tmp_path):
        assert charges(tmp_path, usage())[0]["list_cost"] == Decimal("0.25")

    def test_where_no_list_price_stands_none_is_claimed(self, tmp_path):
        assert charges(tmp_path, usage(PayGPrice="0"))[0]["list_cost"] is None

    @pytest.mark.parametrize(
        ("tags", "owner"),
        [
            ('"owner": "radiology"', "radiology"),
            ('{"Owner": "the \\"blue\\" team"}', 'the "blue" team'),
            ('"env": "owner"', None),
            ("", None),
        ],
    )
    def test_tags_name_the_owner_with_braces_or_without(self, tmp_path, tags, owner):
        assert charges(tmp_path, usage(Tags=tags))[0]["owner"] == owner

    @pytest.mark.parametrize(
        ("model", "category"), [("OnDemand", "Standard"), ("Spot", "Dynamic"), ("SavingsPlan", "Committed"), ("", None)]
    )
    def test_pricing_models_become_categories(self, tmp_path, model, category):
        assert charges(tmp_path, usage(PricingModel=model))[0]["pricing_category"] == category

    def test_costs_in_scientific_notation_are_exact(self, tmp_path):
        assert charges(tmp_path, usage(CostInBillingCurrency="5.64902E-05"))[0]["billed_cost"] == Decimal(
            "0.0000564902"
        )

    @pytest.mark.parametrize(
        ("changes", "reason"),
        [({"CostInBillingCurrency": ""}, "absent"), ({"CostInBillingCurrency": "12,50"}, "not-a-number")],
    )
    def test_a_cost_that_cannot_be_read_is_rejected_with_its_reason(self, tmp_path, changes, reason):
        assert charges(tmp_path, usage(**changes))[0]["reject"] == reason

    def test_names_of_a_customer_agreement_are_the_same_in_camel_case(self, tmp_path):
        row = {name[0].lower() + name[1:]: value for name, value in usage().items() if name != "BillingCurrencyCode"}
        del row["payGPrice"]
        (found,) = charges(tmp_path, row | {"billingCurrency": "EUR", "paygCostInBillingCurrency": "0.26"})
        assert (found["currency"], found["billed_cost"], found["list_cost"]) == ("EUR", Decimal("0.2"), Decimal("0.26"))

    def test_other_files_are_not_taken_for_details(self):
        assert details_names(["BilledCost", "x_SkuMeterCategory", "ChargePeriodStart"]) == {}

    def test_a_column_that_is_missing_is_named(self, tmp_path):
        row = usage()
        del row["ChargeType"]
        with pytest.raises(IntegrityError, match="ChargeType"):
            charges(tmp_path, row)


class TestActualAndAmortised:
    def test_a_file_of_actual_cost_states_what_was_billed_and_nothing_else(self, tmp_path):
        found = opened(tmp_path, ACTUAL)
        assert found.report is Report.ACTUAL
        rows = found.rows.collect()
        assert (rows["billed_cost"].sum(), rows["effective_cost"].sum()) == (Decimal("876.2"), Decimal(0))

    def test_a_file_of_amortised_cost_states_what_is_effective_and_nothing_else(self, tmp_path):
        found = opened(tmp_path, AMORTISED)
        assert found.report is Report.AMORTISED
        rows = found.rows.collect()
        assert (rows["billed_cost"].sum(), rows["effective_cost"].sum()) == (Decimal(0), Decimal("0.4"))
        assert rows["commitment_status"].to_list() == [None, "Used", "Unused"]

    def test_the_two_together_are_one_day_with_hours_and_list_cost_counted_once(self, tmp_path):
        both = [opened(tmp_path, ACTUAL, "actual.csv"), opened(tmp_path, AMORTISED, "amortised.csv")]
        require_paired(both, where="folder")
        days = add_days(*(reduce_charges(one.rows, file=one.file.name) for one in both))
        sums = days.select("billed_cost", "effective_cost", "list_cost", "vcpu_hours").sum().row(0)
        # two machines of 2.5 hours at a list price of 10p; what was left unused ran nothing
        assert sums == (Decimal("876.2"), Decimal("0.4"), Decimal("0.5"), 20.0)
        on_demand = days.filter(charge_category="Usage", pricing_category="Standard")
        assert on_demand.select("billed_cost", "effective_cost", "vcpu_hours").rows() == [
            (Decimal("0.2"), Decimal("0.2"), 10.0)
        ]

    @pytest.mark.parametrize(
        ("files", "words"),
        [
            ([ACTUAL], "of actual cost; billed"),
            ([AMORTISED], "of amortised cost; billed"),
            ([ACTUAL, AMORTISED, [usage(Quantity="9")]], "could be meant by others"),
        ],
    )
    def test_one_without_the_other_is_refused(self, tmp_path, files, words):
        found = [opened(tmp_path, rows, f"{number}.csv") for number, rows in enumerate(files)]
        with pytest.raises(IntegrityError, match=words):
            require_paired(found, where="folder")

    def test_files_without_commitments_stand_alone(self, tmp_path):
        require_paired([opened(tmp_path, [usage()])], where="folder")

    def test_a_file_that_holds_both_is_refused(self, tmp_path):
        with pytest.raises(IntegrityError, match="actual and of amortised"):
            opened(tmp_path, [*ACTUAL, *AMORTISED])

    def test_a_folder_with_both_is_imported_and_one_alone_changes_nothing(self, tmp_path):
        exports = tmp_path / "exports"
        exports.mkdir()
        written(exports, ACTUAL, "actual.csv")
        run = importer(tmp_path, now=datetime(2026, 10, 20, tzinfo=UTC)).run
        with pytest.raises(IntegrityError, match="need both files"):
            run([str(exports)])
        written(exports, AMORTISED, "amortised.csv")
        found = run([str(exports)])
        assert [file.version for file in found.files] == ["Azure cost details, actual", "Azure cost details, amortised"]
        assert found.days.select("billed_gbp", "effective_gbp").sum().row(0) == (Decimal("876.2"), Decimal("0.4"))
