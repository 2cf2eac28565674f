"""From billing exports to what was paid on each day."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from exporters.core.clock import FixedClock
from exporters.core.errors import IntegrityError, SettingsError
from exporters.core.frames import FxRate
from exporters.cost_import import CostImporter
from exporters.settings import ExporterSettings
from exporters.store.costs import read_costs
from exporters.store.shelf import open_shelf
from exporters.store.write import write_rates
from tests.exporters.focus_exports import (
    CREDIT,
    LOAD_BALANCER,
    NOW,
    Row,
    charge,
    dated,
    days_of_september,
    importer,
    in_september,
    write_csv,
)


def kept(folder: Path) -> pl.DataFrame:
    """What the store holds."""
    return read_costs(importer(folder).shelf).days


def sums(folder: Path, column: str, by: str) -> dict[Any, Decimal]:
    """Sums of a column of what the store holds."""
    rows = kept(folder).group_by(by).agg(pl.col(column).sum())
    return {key: amount.normalize() for key, amount in rows.iter_rows()}


def run(folder: Path, rows: Sequence[Row], name: str = "export.csv", *, made_at: datetime = NOW) -> Any:
    """Import rows as a file of their own."""
    return importer(folder).run([str(write_csv(folder / "in" / name, rows, made_at=made_at))])


def test_charges_come_to_what_the_bill_says_to_the_last_digit(tmp_path: Path) -> None:
    done = run(tmp_path, [charge(**LOAD_BALANCER), charge(day=24, **CREDIT), *days_of_september(1, 30)])
    days = kept(tmp_path)
    assert days["billed_cost"].sum() == Decimal("0.0000160599") - Decimal("2.6137") + 30 * Decimal("0.10")
    assert days["effective_cost"].sum() == 30 * Decimal("0.08") - 3
    assert days["rows"].sum() == 32
    assert done.months == ("2024-09",)
    assert done.rejects.is_empty()


def test_each_amount_is_in_pounds_at_the_rate_of_its_currency_and_says_which(tmp_path: Path) -> None:
    run(tmp_path, [charge(), charge(BillingCurrency="GBP"), charge(BillingCurrency="EUR")])
    rows = kept(tmp_path).select("currency", "billed_gbp", "fx_source", "fx_date").sort("currency").to_dicts()
    assert rows[1:] == [
        {"currency": "GBP", "billed_gbp": Decimal("0.1"), "fx_source": "none", "fx_date": in_september(16)},
        {"currency": "USD", "billed_gbp": Decimal("0.075"), "fx_source": "contract", "fx_date": in_september(16)},
    ]
    assert rows[0]["fx_source"] == "packaged"
    # ECB euro reference rate of 16 September 2024: one euro was 0.84278 pounds.
    assert rows[0]["billed_gbp"] == pytest.approx(Decimal("0.084278"), abs=Decimal("0.0000001"))


def test_a_weekend_takes_the_rate_of_friday(tmp_path: Path) -> None:
    run(tmp_path, [charge(13, BillingCurrency="EUR"), charge(15, BillingCurrency="EUR")])
    assert kept(tmp_path)["fx_date"].to_list() == [in_september(13), in_september(13)]


def test_what_was_imported_before_is_not_counted_again(tmp_path: Path) -> None:
    run(tmp_path, days_of_september(1, 5))
    before = kept(tmp_path)
    again = run(tmp_path, days_of_september(1, 5), "under another name.csv")
    assert [one.note for one in again.files] == ["already imported, nothing to do"]
    assert again.months == ()
    assert_frame_equal(kept(tmp_path), before)


def test_a_copy_of_a_file_in_the_same_folder_is_left_out(tmp_path: Path) -> None:
    first = write_csv(tmp_path / "in" / "export.csv", days_of_september(1, 3))
    shutil.copy2(first, first.with_name("export (copy).csv"))
    done = importer(tmp_path).run([str(tmp_path / "in")])
    assert sorted(one.note for one in done.files) == ["", "a copy of another file, left out"]
    assert kept(tmp_path)["rows"].sum() == 3


def test_the_same_charges_in_another_order_and_format_are_left_out(tmp_path: Path) -> None:
    rows = days_of_september(1, 3)
    write_csv(tmp_path / "in" / "a.csv", rows)
    pl.DataFrame(rows[::-1], schema=dict.fromkeys(rows[0], pl.String)).write_parquet(tmp_path / "in" / "b.parquet")
    done = importer(tmp_path).run([str(tmp_path / "in")])
    assert [one.note for one in done.files] == ["", "the same charges as another file, left out"]
    assert kept(tmp_path)["rows"].sum() == 3


def test_parts_of_one_export_that_happen_to_cost_the_same_both_count(tmp_path: Path) -> None:
    for number, hour in enumerate((1, 2)):
        write_csv(tmp_path / "in" / f"part-{number}.csv", [charge(hour=hour)])
    importer(tmp_path).run([str(tmp_path / "in")])
    assert kept(tmp_path)["rows"].sum() == 2


def test_a_later_export_replaces_the_days_that_it_states_anew_and_says_so(tmp_path: Path) -> None:
    run(tmp_path, days_of_september(1, 3))
    done = run(tmp_path, [charge(3, BilledCost="0.40"), charge(4)], "later.csv")
    assert sums(tmp_path, "billed_cost", "charge_day") == {
        in_september(1): Decimal("0.1"),
        in_september(2): Decimal("0.1"),
        in_september(3): Decimal("0.4"),
        in_september(4): Decimal("0.1"),
    }
    (restated,) = done.restated.to_dicts()
    assert (restated["charge_day"], restated["billed_before"], restated["billed_now"]) == (
        in_september(3),
        Decimal("0.1"),
        Decimal("0.4"),
    )


def test_another_account_and_another_bill_are_not_replaced(tmp_path: Path) -> None:
    run(tmp_path, [charge(3)])
    run(tmp_path, [charge(3, BillingAccountId="9999")], "other account.csv")
    run(tmp_path, [charge(3, BillingPeriodStart="2024-10-01T00:00:00Z")], "late on the next bill.csv")
    assert kept(tmp_path)["rows"].sum() == 3


def manifest(folder: Path, document: object, *, made_at: datetime = NOW) -> None:
    path = folder / "Export-Manifest.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    dated(path, made_at)


def test_of_two_whole_exports_of_a_bill_the_later_stands_and_charges_that_it_dropped_are_gone(tmp_path: Path) -> None:
    for name, rows, hours in (("2", days_of_september(1, 3), 0), ("1", [charge(1), charge(3)], 1)):
        made_at = NOW + timedelta(hours=hours)
        write_csv(tmp_path / "in" / name / "data-00001.csv", rows, made_at=made_at)
        manifest(tmp_path / "in" / name, {"dataFiles": [f"s3://bucket/{name}/data-00001.csv"]}, made_at=made_at)
    importer(tmp_path).run([str(tmp_path / "in")])
    assert sorted(kept(tmp_path)["charge_day"]) == [in_september(1), in_september(3)]


def test_a_manifest_that_names_a_missing_file_is_an_error_that_loses_nothing(tmp_path: Path) -> None:
    run(tmp_path, days_of_september(1, 3))
    before = kept(tmp_path)
    write_csv(tmp_path / "new" / "part-1.csv", [charge(3, BilledCost="9")])
    manifest(tmp_path / "new", {"blobs": [{"blobName": "x/part-1.csv"}, {"blobName": "x/part-2.csv"}]})
    with pytest.raises(IntegrityError, match=r"1 of 2 files that the manifest names are not there \(part-2.csv\)"):
        importer(tmp_path).run([str(tmp_path / "new")])
    assert_frame_equal(kept(tmp_path), before)


def test_a_file_with_fewer_rows_than_its_manifest_says_is_an_error(tmp_path: Path) -> None:
    write_csv(tmp_path / "new" / "part-1.csv", [charge()])
    manifest(tmp_path / "new", {"blobs": [{"blobName": "x/part-1.csv", "dataRowCount": 2}]})
    with pytest.raises(IntegrityError, match="the file has 1 rows, its manifest says 2"):
        importer(tmp_path).run([str(tmp_path / "new")])


def test_two_folders_that_state_the_same_day_without_a_manifest_are_not_guessed_about(tmp_path: Path) -> None:
    write_csv(tmp_path / "in" / "a" / "x.csv", [charge()])
    write_csv(tmp_path / "in" / "b" / "x.csv", [charge(BilledCost="0.2")])
    with pytest.raises(IntegrityError, match=r"states 1 days that .* states too"):
        importer(tmp_path).run([str(tmp_path / "in")])
    assert kept(tmp_path).is_empty()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"BilledCost": None}, "absent"),
        ({"EffectiveCost": None}, "absent"),
        ({"ProviderName": None}, "absent"),
        ({"ProviderName": "NULL"}, "absent"),
        ({"BilledCost": "1,234.50"}, "not-a-number"),
        ({"ListCost": "n/a"}, "not-a-number"),
        ({"ChargePeriodStart": "yesterday"}, "malformed"),
        ({"ChargePeriodEnd": "2024-09-09T23:00:00Z"}, "period-inside-out"),
        ({"BillingCurrency": "dollars"}, "currency"),
        ({"BillingCurrency": "XAU"}, "no-exchange-rate"),
        ({"CommitmentDiscountStatus": "Unused", "EffectiveCost": "-1"}, "negative"),
    ],
)
def test_a_charge_that_cannot_be_read_is_counted_by_its_reason(tmp_path: Path, changes: Row, reason: str) -> None:
    path = write_csv(tmp_path / "in.csv", [*days_of_september(1, 9), charge(10) | changes])
    done = importer(tmp_path, max_rejected_ratio=0.1).run([str(path)])
    assert done.rejects.select("reason", "rows").rows() == [(reason, 1)]
    assert kept(tmp_path)["rows"].sum() == 9


def test_an_export_with_too_many_of_them_is_refused_whole_and_says_why(tmp_path: Path) -> None:
    rows = [*days_of_september(1, 9), charge(10, BilledCost="x", ResourceId="i-7")]
    with pytest.raises(IntegrityError, match=r"1 of 10 charges cannot be read: 1 not-a-number .*i-7"):
        run(tmp_path, rows)
    assert kept(tmp_path).is_empty()


def test_credits_refunds_taxes_support_and_marketplace_keep_their_category(tmp_path: Path) -> None:
    run(
        tmp_path,
        [
            charge(BilledCost="-1.20", EffectiveCost="-1.20", ChargeClass="Correction"),
            charge(ChargeCategory="Tax", BilledCost="2", ListCost=None, ContractedCost=None, PricingCategory=None),
            charge(ChargeCategory="Purchase", ServiceName="AWS Support (Business)", BilledCost="29"),
            charge(PublisherName="Red Hat Inc.", ServiceName="Red Hat Enterprise Linux", BilledCost="3"),
            charge(**CREDIT),
        ],
    )
    assert sums(tmp_path, "billed_cost", "charge_category") == {
        "Usage": Decimal("1.8"),
        "Tax": Decimal(2),
        "Purchase": Decimal(29),
        "Credit": Decimal("-2.6137"),
    }


def test_a_day_is_whole_once_it_has_settled_and_a_later_one_has_begun(tmp_path: Path) -> None:
    run(tmp_path, days_of_september(1, 5), made_at=datetime(2024, 9, 5, 6, tzinfo=UTC))
    found = dict(kept(tmp_path).select("charge_day", "is_whole").iter_rows())
    assert [day.day for day, whole in sorted(found.items()) if whole] == [1, 2, 3]


def test_the_last_day_of_a_bill_is_whole_a_day_after_the_bill_has_ended(tmp_path: Path) -> None:
    run(tmp_path, [charge(30)], made_at=datetime(2024, 10, 1, 23, tzinfo=UTC))
    assert kept(tmp_path)["is_whole"].to_list() == [False]
    run(tmp_path, [charge(30), charge(30, hour=5)], "later.csv", made_at=datetime(2024, 10, 2, tzinfo=UTC))
    assert kept(tmp_path)["is_whole"].to_list() == [True]


def test_months_older_than_those_that_are_kept_are_left_out_and_named(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "in.csv", [charge(), charge(ChargePeriodStart="2024-08-31T23:00:00Z")])
    done = importer(tmp_path, retention_months=2).run([str(path)])
    assert (done.months, done.too_old) == (("2024-09",), ("2024-08",))
    assert importer(tmp_path, retention_months=2).run([str(path)]).months == ()


def test_a_path_with_nothing_in_it_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="there is no export"):
        importer(tmp_path).run([str(tmp_path / "*.csv")])


def test_days_convert_anew_once_the_rates_of_their_days_are_known(tmp_path: Path) -> None:
    """The packaged history ends before the charge; its own day's rate comes later, and replaces the older one."""
    path = write_csv(
        tmp_path / "export.csv",
        [
            charge()
            | {
                "BillingPeriodStart": "2026-11-01T00:00:00Z",
                "ChargePeriodStart": "2026-11-24T00:00:00Z",
                "ChargePeriodEnd": "2026-11-24T01:00:00Z",
            }
        ],
        made_at=datetime(2026, 11, 29, tzinfo=UTC),
    )
    settings = ExporterSettings.model_validate({"store": {"url": str(tmp_path / "store")}})
    shelf = open_shelf(settings.store.url)
    one = CostImporter(settings=settings, shelf=shelf, clock=FixedClock(datetime(2026, 11, 30, tzinfo=UTC)))
    one.run([str(path)])
    assert read_costs(shelf).days["fx_source"].to_list() == ["packaged"]
    day = date(2026, 11, 24)
    rate = {"currency": "USD", "gbp_per_unit": 0.8, "rate_date": day, "fx_source": "ecb"}
    write_rates(shelf, FxRate.cast(pl.DataFrame([rate])))
    assert one.run([str(path)]).months == ("2026-11",)
    (row,) = read_costs(shelf).days.to_dicts()
    assert (row["fx_date"], row["fx_source"], row["billed_gbp"]) == (day, "ecb", Decimal("0.08"))
