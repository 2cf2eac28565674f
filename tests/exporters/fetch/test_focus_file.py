"""Exports of every version, cloud and format, read as charges."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from exporters.core.errors import IntegrityError
from exporters.fetch.cost_files import find_exports
from exporters.fetch.focus_columns import cur2_name, map_for
from exporters.fetch.focus_file import Charges, open_charges
from exporters.normalise.cost_days import reduce_charges
from tests.exporters.focus_exports import Row, charge, write_csv

OWNERS = ("owner", "cost-center")


def opened(path: Path) -> Charges:
    """The charges of a file."""
    (export,) = find_exports([str(path)], scratch=path.parent)
    return open_charges(export.files[0], owner_tags=OWNERS)


def read(path: Path) -> pl.DataFrame:
    """The rows of a file."""
    return opened(path).rows.collect()


def added_up(folder: Path, *rows: Row) -> pl.DataFrame:
    """What the charges of a CSV come to, with what their details say."""
    return reduce_charges(opened(write_csv(folder / "export.csv", rows)).rows, file="export.csv").groups


def of_csv(folder: Path, *rows: Row, **options: Any) -> pl.DataFrame:
    """Rows written as CSV and read."""
    return read(write_csv(folder / "export.csv", rows, **options))


def renamed(row: Row, *drop: str, **names: str) -> Row:
    """A row with other column names; some left out."""
    return {names.get(name, name): cell for name, cell in row.items() if name not in drop}


PREVIEW = renamed(
    charge(PricingCategory="On-Demand"),
    "ContractedCost", "CommitmentDiscountStatus", "ChargeClass",
    RegionId="Region", ConsumedQuantity="UsageQuantity", ConsumedUnit="UsageUnit",
)  # fmt: skip
VERSIONS = {
    "FOCUS 1.0-preview": PREVIEW,
    "FOCUS 1.0": charge(),
    "FOCUS 1.1": charge(SkuPriceDetails=None),
    "FOCUS 1.2": charge(SkuPriceDetails=None, InvoiceId="1"),
    "FOCUS 1.3": charge(InvoiceId="1", ServiceProviderName="AWS", HostProviderName="AWS"),
    "FOCUS 1.4": renamed(charge(ServiceProviderName="AWS", HostProviderName="AWS"), "ProviderName", "PublisherName"),
}


@pytest.mark.parametrize("version", VERSIONS)
def test_each_version_is_told_by_its_columns_and_read_by_its_own_map(tmp_path: Path, version: str) -> None:
    found = opened(write_csv(tmp_path / "export.csv", [VERSIONS[version]]))
    assert found.version == version
    (row,) = found.rows.collect().to_dicts()
    assert row["reject"] is None
    assert (row["provider"], row["region"], row["consumed_quantity"], row["billed_cost"]) == (
        "AWS",
        "eu-west-2",
        1.0,
        Decimal("0.1"),
    )


def test_a_file_that_is_no_export_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(IntegrityError, match="neither a FOCUS export nor an AWS Cost and Usage Report"):
        of_csv(tmp_path, {"MeterCategory": "Load Balancer", "costinbillingcurrency": "0.075"})
    with pytest.raises(IntegrityError, match=r"the FOCUS 1.0 export lacks BillingCurrency, EffectiveCost"):
        of_csv(tmp_path, renamed(charge(), "BillingCurrency", "EffectiveCost"))


@pytest.mark.parametrize("null", ["", "NULL", "null", "\\N"])
def test_every_spelling_of_nothing_is_nothing(tmp_path: Path, null: str) -> None:
    (row,) = of_csv(tmp_path, charge(Tags=None, RegionId=None, ListCost=None), null=null).to_dicts()
    assert (row["tags"], row["region"], row["list_cost"], row["reject"]) == (None, None, None, None)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("2024-09-16T10:00:00Z", datetime(2024, 9, 16, 10, tzinfo=UTC)),
        ("2024-09-16T10:00:00.000Z", datetime(2024, 9, 16, 10, tzinfo=UTC)),
        ("2024-09-16 10:00:00", datetime(2024, 9, 16, 10, tzinfo=UTC)),
        ("2024-09-16T10:00Z", datetime(2024, 9, 16, 10, tzinfo=UTC)),
        ("2024-09-16", datetime(2024, 9, 16, tzinfo=UTC)),
        ("2024-09-16T00:30:00+01:00", datetime(2024, 9, 15, 23, 30, tzinfo=UTC)),
    ],
)
def test_a_charge_period_is_in_utc_however_it_is_written(tmp_path: Path, written: str, meant: datetime) -> None:
    (row,) = of_csv(tmp_path, charge(ChargePeriodStart=written, ChargePeriodEnd="2024-09-17T00:00:00Z")).to_dicts()
    assert (row["charge_start"], row["reject"]) == (meant, None)


@pytest.mark.parametrize(
    ("tags", "owner"),
    [
        ('{"owner": "radiology"}', "radiology"),
        ('{"env": "prod", "Cost-Center": "1234"}', "1234"),
        ('{"CostCenter": 1234}', "1234"),
        ('{"Cost_Center": true}', "true"),
        ('{"cost-center": "1234", "owner": "radiology"}', "radiology"),
        ('{"cost-center": "1234", "owner": ""}', "1234"),
        ('{"owner": "O\\"Neill"}', 'O"Neill'),
        ('{"owner": ""}', None),
        ('{"owner": null}', None),
        ('{"owners": "x"}', None),
        ('{"note": "say \\"owner\\": \\"me\\""}', None),
        ('{"name": "owner", "x": "y, \\"owner\\""}', None),
        ("not json", None),
        (None, None),
    ],
)
def test_the_owner_is_the_first_owner_tag_with_a_value_and_not_a_word_inside_another(
    tmp_path: Path, tags: str | None, owner: str | None
) -> None:
    row = of_csv(tmp_path, charge(Tags=tags)).row(0, named=True)
    assert (row["owner"], row["tags"]) == (owner, tags)


@pytest.mark.parametrize(
    ("columns", "machine"),
    [
        ({"SkuPriceDetails": '{"CoreCount": 4, "InstanceType": "m7i.xlarge"}'}, "m7i.xlarge"),
        ({"SkuPriceDetails": '{"x_ServiceType": "Standard_D4s_v5"}'}, "Standard_D4s_v5"),
        ({"x_SkuDetails": '{"ServiceType":"Standard_E8s_v5","VCPUs":8}', "x_UsageType": ""}, "Standard_E8s_v5"),
        ({"x_UsageType": "EUW2-BoxUsage:c6i.2xlarge"}, "c6i.2xlarge"),
        ({"x_UsageType": "EUW2-SpotUsage:g5.xlarge"}, "g5.xlarge"),
        ({"x_UsageType": "EUW2-EBS:VolumeUsage.gp3"}, None),
        (
            {
                "ProviderName": "Google Cloud",
                "ChargeDescription": "Spot Preemptible N2D AMD Instance Core running in London",
            },
            "N2D",
        ),
        ({"ProviderName": "Google Cloud", "ChargeDescription": "Storage PD Capacity in London"}, None),
        ({"ChargeDescription": "$0.34 per On Demand Linux c5.2xlarge Instance Hour"}, None),
        ({"SkuPriceDetails": '{"InstanceType": "m7i.xlarge"}', "ConsumedUnit": "GB"}, None),
    ],
)
def test_the_machine_of_a_charge_by_the_hour_is_what_the_export_names(
    tmp_path: Path, columns: dict[str, str], machine: str | None
) -> None:
    assert added_up(tmp_path, charge(**columns))["machine"].to_list() == [machine]


def as_parquet(folder: Path, row: Row, **columns: Any) -> pl.DataFrame:
    """A row as providers write Parquet: times as timestamps, costs as doubles, and given columns as they are."""
    frame = pl.DataFrame([row], schema=dict.fromkeys(row, pl.String)).with_columns(
        pl.col("^.*Cost$").cast(pl.Float64),
        pl.col("^.*Period(Start|End)$").str.to_datetime("%+").dt.replace_time_zone(None),
    )
    path = folder / "export.parquet"
    frame.with_columns(**columns).write_parquet(path)
    return read(path)


def test_parquet_is_read_whatever_its_types(tmp_path: Path) -> None:
    (row,) = as_parquet(tmp_path, charge()).to_dicts()
    assert (row["billed_cost"], row["charge_start"], row["billing_period"], row["reject"]) == (
        Decimal("0.1"),
        datetime(2024, 9, 16, tzinfo=UTC),
        date(2024, 9, 1),
        None,
    )


def test_tags_of_parquet_may_be_a_map_a_struct_or_text(tmp_path: Path) -> None:
    entries = pl.Series([[{"key": "Owner", "value": "studio"}]])
    for number, tags in enumerate((entries, pl.struct(owner=pl.lit("studio")), pl.lit('{"owner":"studio"}'))):
        (folder := tmp_path / str(number)).mkdir()
        row = as_parquet(folder, charge(), Tags=tags).row(0, named=True)
        assert row["owner"] == "studio", tags
        assert "studio" in row["tags"]


def test_a_cost_that_is_not_finite_is_no_number(tmp_path: Path) -> None:
    for value in (float("nan"), float("inf"), 1e30):
        assert as_parquet(tmp_path, charge(), BilledCost=pl.lit(value))["reject"].to_list() == ["not-a-number"]


def test_a_compressed_file_is_read_as_it_is(tmp_path: Path) -> None:
    plain = write_csv(tmp_path / "plain" / "export.csv", [charge(), charge(17)])
    (tmp_path / "export.csv.gz").write_bytes(gzip.compress(plain.read_bytes()))
    assert read(tmp_path / "export.csv.gz").equals(read(plain))


def test_a_broken_file_is_an_error_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "export.parquet").write_bytes(b"PAR1 and nothing more")
    with pytest.raises(IntegrityError, match="the file cannot be read") as caught:
        read(tmp_path / "export.parquet")
    assert caught.value.where == "export.parquet"


AZURE_DETAILS = '{"ServiceType":"Standard_D2s_v5","VCPUs":2}'


@pytest.mark.parametrize(
    ("changes", "hours"),
    [
        ({"ConsumedUnit": "vCPU-Hours", "ConsumedQuantity": "6"}, 6.0),
        ({"SkuPriceDetails": '{"CoreCount": 4}', "ConsumedQuantity": "1.5"}, 6.0),
        ({"x_SkuDetails": AZURE_DETAILS, "ConsumedQuantity": "3"}, 6.0),
        ({"ConsumedQuantity": "3"}, None),
        ({"ConsumedUnit": "OCPU Hours"}, None),
        ({"ConsumedUnit": "GB", "SkuPriceDetails": '{"CoreCount": 4}'}, None),
        ({"ConsumedUnit": "vCPU-Hours", "ConsumedQuantity": "-6"}, None),
        ({"ConsumedUnit": "vCPU-Hours", "ChargeCategory": "Credit"}, None),
    ],
)
def test_vcpu_hours_are_counted_where_the_export_states_them(tmp_path: Path, changes: Row, hours: float | None) -> None:
    (found,) = added_up(tmp_path, charge(**changes)).select("has_vcpu_hours", "vcpu_hours").rows()
    assert found == (hours is not None, hours or 0)


def line(kind: str, **changes: Any) -> Row:
    """A line of CUR 2.0, unless changed: two dollars of an hour in London, list price three."""
    row: Row = {
        "bill_payer_account_id": "1111",
        "bill_billing_period_start_date": "2023-11-01T00:00:00.000Z",
        "line_item_line_item_type": kind,
        "line_item_usage_account_id": "2222",
        "line_item_usage_start_date": "2023-11-02T00:00:00.000Z",
        "line_item_usage_end_date": "2023-11-02T01:00:00.000Z",
        "line_item_product_code": "AmazonEC2",
        "line_item_currency_code": "USD",
        "line_item_unblended_cost": "2",
        "line_item_usage_amount": "1",
        "pricing_public_on_demand_cost": "3",
        "pricing_term": None,
        "pricing_unit": "Hrs",
        "product_region_code": "eu-west-2",
        "product_vcpu": "4",
        "savings_plan_savings_plan_a_r_n": None,
        "savings_plan_savings_plan_effective_cost": "1.4",
        "savings_plan_total_commitment_to_date": "10",
        "savings_plan_used_commitment": "9.25",
        "reservation_reservation_a_r_n": None,
        "reservation_effective_cost": "1.1",
        "reservation_unused_amortized_upfront_fee_for_billing_period": "0.25",
        "reservation_unused_recurring_fee": "0.5",
    }
    return row | changes


@pytest.mark.parametrize(
    ("kind", "changes", "meant"),
    [
        ("Usage", {}, ("2", "2", "Usage", "Standard", None)),
        ("Usage", {"pricing_term": "Spot"}, ("2", "2", "Usage", "Dynamic", None)),
        (
            "SavingsPlanCoveredUsage",
            {"savings_plan_savings_plan_a_r_n": "sp"},
            ("2", "1.4", "Usage", "Committed", "Used"),
        ),
        ("SavingsPlanNegation", {"line_item_unblended_cost": "-2"}, ("-2", "0", "Usage", None, None)),
        (
            "SavingsPlanRecurringFee",
            {"savings_plan_savings_plan_a_r_n": "sp"},
            ("2", "0.75", "Purchase", None, "Unused"),
        ),
        ("DiscountedUsage", {"reservation_reservation_a_r_n": "ri"}, ("2", "1.1", "Usage", "Committed", "Used")),
        ("RIFee", {"reservation_reservation_a_r_n": "ri"}, ("2", "0.75", "Purchase", None, "Unused")),
        ("Fee", {"reservation_reservation_a_r_n": "ri"}, ("2", "0", "Purchase", None, None)),
        ("Fee", {}, ("2", "2", "Purchase", None, None)),
        ("Tax", {}, ("2", "2", "Tax", None, None)),
        ("Credit", {"line_item_unblended_cost": "-5"}, ("-5", "-5", "Credit", None, None)),
        ("EdpDiscount", {"line_item_unblended_cost": "-0.2"}, ("-0.2", "-0.2", "Adjustment", None, None)),
    ],
)
def test_each_line_item_type_of_a_cur_has_its_amortised_cost(
    tmp_path: Path, kind: str, changes: Row, meant: Sequence[str | None]
) -> None:
    found = opened(write_csv(tmp_path / "cur.csv", [line(kind, **changes)]))
    assert found.version == "AWS CUR 2.0"
    row = found.rows.collect().row(0, named=True)
    costs = (str(row["billed_cost"].normalize()), str(row["effective_cost"].normalize()))
    assert (*costs, row["charge_category"], row["pricing_category"], row["commitment_status"]) == tuple(meant)
    assert (row["provider"], row["service"], row["reject"]) == ("aws", "AmazonEC2", None)


def test_hours_of_a_machine_in_a_cur_are_vcpu_hours(tmp_path: Path) -> None:
    assert of_csv(tmp_path, line("Usage"))["vcpu_hours"].to_list() == [4.0]


PRODUCT = {"product_name": "Amazon Elastic Compute Cloud", "vcpu": "8", "instance_type": "m7i.2xlarge"}


def test_cur_2_keeps_facts_of_the_product_in_a_map(tmp_path: Path) -> None:
    """AWS, CUR 2.0 table dictionary: product is a map of the attributes that have no column of their own."""
    row = line("Usage", product=json.dumps(PRODUCT))
    del row["product_vcpu"]
    as_text = of_csv(tmp_path, row)
    pairs = pl.Series([[{"key": key, "value": value} for key, value in PRODUCT.items()]])
    (folder := tmp_path / "parquet").mkdir()
    path = folder / "cur.parquet"
    pl.DataFrame([row], schema=dict.fromkeys(row, pl.String)).with_columns(product=pairs).write_parquet(path)
    for found in (as_text, read(path)):
        (charge_read,) = found.select("service", "vcpu_hours", "machine").rows()
        assert charge_read == ("Amazon Elastic Compute Cloud", 8.0, "m7i.2xlarge")


OLD_NAMES = {
    "lineItem/UnblendedCost": "line_item_unblended_cost",
    "bill/PayerAccountId": "bill_payer_account_id",
    "pricing/publicOnDemandCost": "pricing_public_on_demand_cost",
    "savingsPlan/SavingsPlanARN": "savings_plan_savings_plan_a_r_n",
    "product/regionCode": "product_region_code",
    "resourceTags/user:Owner": "resource_tags_user:owner",
    "BilledCost": "BilledCost",
}


@pytest.mark.parametrize("old", OLD_NAMES)
def test_columns_of_the_older_report_are_found_by_their_new_names(old: str) -> None:
    assert cur2_name(old) == OLD_NAMES[old]


def test_the_older_report_is_read_with_costs_in_powers_of_ten_and_a_column_a_tag(tmp_path: Path) -> None:
    row = {
        "bill/PayerAccountId": "1111",
        "bill/BillingPeriodStartDate": "2023-11-01T00:00:00.000Z",
        "lineItem/UsageAccountId": "2222",
        "lineItem/LineItemType": "Usage",
        "lineItem/UsageStartDate": "2023-11-02T00:00:00.000Z",
        "lineItem/UsageEndDate": "2023-11-02T01:00:00.000Z",
        "lineItem/ProductCode": "AmazonS3",
        "lineItem/CurrencyCode": "USD",
        "lineItem/UnblendedCost": "9.24E-6",
        "product/ProductName": "Amazon Simple Storage Service",
        "resourceTags/user:Owner": "studio",
    }
    found = of_csv(tmp_path, row).row(0, named=True)
    assert (found["billed_cost"], found["service"], found["owner"]) == (
        Decimal("0.00000924"),
        "Amazon Simple Storage Service",
        "studio",
    )


def test_a_header_of_a_newer_version_than_any_map_is_read_by_the_newest() -> None:
    names = {*VERSIONS["FOCUS 1.4"], "ColumnOfTheFuture"}
    assert map_for(names, where="x").version == "FOCUS 1.4"
