"""AWS Data Exports as they lie in S3 (Moto): two months, FOCUS and CUR 2.0, delivered over and beside each other.

The layout is that of AWS, "Understanding export delivery": <export>/data/BILLING_PERIOD=YYYY-MM/ holds the files, in a
folder for each delivery where they are kept beside each other, and <export>/metadata/BILLING_PERIOD=YYYY-MM/ the
manifest of the last one.
"""

from __future__ import annotations

import gzip
import io
import json
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import boto3
import polars as pl
import pytest

from exporters.core.errors import IntegrityError
from exporters.cost_import import CostImport, CostImporter
from exporters.fetch.cost_files import find_exports
from exporters.fetch.cost_places import Bucket
from tests.exporters.focus_exports import Row, charge, importer

NOW = datetime(2026, 11, 30, tzinfo=UTC)
FOCUS, CUR = "tuppence-focus", "tuppence-cur2"


@dataclass(slots=True)
class DataExports:
    """A bucket to which AWS delivers."""

    name: str
    s3: Any

    @property
    def url(self) -> str:
        return f"s3://{self.name}/billing"

    def put(self, key: str, body: bytes) -> str:
        self.s3.put_object(Bucket=self.name, Key=key, Body=body)
        return key

    def deliver(
        self, export: str, month: str, files: Sequence[Sequence[Row]], *, form: str = "csv.gz", delivery: str = ""
    ) -> list[str]:
        """One delivery, files first and the manifest last; without a name of its own it overwrites the one before."""
        folder = "/".join(filter(None, ["billing", export, "data", f"BILLING_PERIOD={month}", delivery]))
        keys = [
            self.put(f"{folder}/{export}-{number:05d}.{form}", _body(rows, form))
            for number, rows in enumerate(files, start=1)
        ]
        self.name_files(export, month, keys, delivery=delivery)
        return keys

    def name_files(self, export: str, month: str, keys: Sequence[str], *, delivery: str = "") -> None:
        """The manifest of a month."""
        manifest = {
            "dataFiles": [f"s3://{self.name}/{key}" for key in keys],
            "exportName": export,
            "executionId": delivery,
            "additionalOutputFiles": {"Athena": [f"s3://{self.name}/billing/{export}/create-table.sql"]},
        }
        key = f"billing/{export}/metadata/BILLING_PERIOD={month}/{export}-Manifest.json"
        self.put(key, json.dumps(manifest).encode())


def _body(rows: Sequence[Row], form: str) -> bytes:
    into = io.BytesIO()
    frame = pl.DataFrame(rows, infer_schema_length=None)
    if form == "csv.gz":
        frame.write_csv(into, datetime_format="%Y-%m-%dT%H:%M:%S.000Z")
        return gzip.compress(into.getvalue())
    frame.write_parquet(into, compression="snappy")
    return into.getvalue()


@pytest.fixture(scope="module")
def s3(moto_url: str) -> Iterator[Any]:
    environment = {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "eu-west-2",
        "AWS_REGION": "eu-west-2",
        "AWS_ENDPOINT_URL": moto_url,
        "AWS_ALLOW_HTTP": "true",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        yield boto3.client("s3", endpoint_url=moto_url)


@pytest.fixture
def aws(s3: Any) -> DataExports:
    name = f"exports-{secrets.token_hex(4)}"
    s3.create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": "eu-west-2"})
    return DataExports(name, s3)


@pytest.fixture
def costs(tmp_path: Path) -> CostImporter:
    return importer(tmp_path, now=NOW)


def focus(month: int, day: int, billed: str, **changes: Any) -> Row:
    """A charge of FOCUS 1.0 in 2026."""
    start = datetime(2026, month, day, tzinfo=UTC)
    return charge() | {
        "BilledCost": billed,
        "EffectiveCost": billed,
        "BillingPeriodStart": f"2026-{month:02d}-01T00:00:00Z",
        "BillingPeriodEnd": f"2026-{month + 1:02d}-01T00:00:00Z",
        "ChargePeriodStart": f"{start:%Y-%m-%dT%H:%M:%SZ}",
        "ChargePeriodEnd": f"{start:%Y-%m-%d}T01:00:00Z",
        **changes,
    }


def cur2(month: int, day: int, unblended: float, **changes: Any) -> Row:
    """A line of CUR 2.0 as Parquet has it: times, doubles and maps."""
    start = datetime(2026, month, day, tzinfo=UTC)
    return {
        "bill_payer_account_id": "3333",
        "bill_billing_period_start_date": start.replace(day=1),
        "line_item_usage_account_id": "4444",
        "line_item_usage_start_date": start,
        "line_item_usage_end_date": start.replace(hour=1),
        "line_item_line_item_type": "Usage",
        "line_item_product_code": "AmazonEC2",
        "line_item_currency_code": "USD",
        "line_item_unblended_cost": unblended,
        "line_item_usage_amount": 1.0,
        "pricing_unit": "Hrs",
        "product_region_code": "eu-west-2",
        "resource_tags": [{"key": "user_owner", "value": "radiology"}],
        **changes,
    }


def billed(done: CostImport) -> dict[str, Decimal]:
    """What each month of an import came to, in dollars."""
    days = done.days.group_by(month=pl.col("charge_day").dt.strftime("%Y-%m")).agg(pl.col("billed_cost").sum())
    return dict(days.iter_rows())


@pytest.mark.parametrize("form", ["csv.gz", "snappy.parquet"])
def test_two_months_in_several_files_are_read(aws: DataExports, costs: CostImporter, form: str) -> None:
    aws.deliver(FOCUS, "2026-06", [[focus(6, 3, "1.10")], [focus(6, 4, "2.20")]], form=form)
    aws.deliver(FOCUS, "2026-07", [[focus(7, 5, "3.30"), focus(7, 6, "-0.30", ChargeCategory="Credit")]], form=form)

    assert billed(costs.run([aws.url])) == {"2026-06": Decimal("3.30"), "2026-07": Decimal("3.00")}


@pytest.mark.parametrize("form", ["csv.gz", "snappy.parquet"])
def test_the_columns_of_cur_are_read_as_they_are_delivered(aws: DataExports, costs: CostImporter, form: str) -> None:
    rows = [cur2(6, 3, 1.5), cur2(6, 3, 0.25, line_item_line_item_type="Tax")]
    if form == "csv.gz":
        rows = [row | {"resource_tags": '{"user_owner":"radiology"}'} for row in rows]
    aws.deliver(CUR, "2026-06", [rows], form=form)

    done = costs.run([aws.url])

    found = {row["charge_category"]: row for row in done.days.iter_rows(named=True)}
    assert {name: row["billed_cost"] for name, row in found.items()} == {
        "Usage": Decimal("1.5"),
        "Tax": Decimal("0.25"),
    }
    assert (found["Usage"]["billing_account"], found["Usage"]["sub_account"]) == ("3333", "4444")


def test_an_overwritten_month_replaces_what_it_was(aws: DataExports, costs: CostImporter) -> None:
    aws.deliver(FOCUS, "2026-06", [[focus(6, 3, "1.10")], [focus(6, 4, "2.20")]])
    aws.deliver(FOCUS, "2026-07", [[focus(7, 5, "3.30")]])
    costs.run([aws.url])
    aws.deliver(FOCUS, "2026-06", [[focus(6, 3, "1.00"), focus(6, 4, "2.00"), focus(6, 5, "4.00")]])

    done = costs.run([aws.url])

    assert billed(done)["2026-06"] == Decimal("7.00")
    assert done.restated["billed_now"].to_list() == [Decimal("1.00"), Decimal("2.00")]


def test_a_chunk_that_an_overwriting_delivery_left_behind_is_left_out(aws: DataExports, costs: CostImporter) -> None:
    """The first delivery had two files, the second has one; the other still lies there."""
    aws.deliver(FOCUS, "2026-06", [[focus(6, 3, "1.10")], [focus(6, 4, "2.20")]])
    aws.deliver(FOCUS, "2026-06", [[focus(6, 3, "1.00"), focus(6, 4, "2.00")]])

    assert billed(costs.run([aws.url])) == {"2026-06": Decimal("3.00")}


def test_of_deliveries_beside_each_other_the_last_one_counts(aws: DataExports, costs: CostImporter) -> None:
    aws.deliver(FOCUS, "2026-06", [[focus(6, 3, "1.10")], [focus(6, 4, "2.20")]], delivery="2026-07-01T04:00:00Z-a1")
    aws.deliver(FOCUS, "2026-06", [[focus(6, 3, "1.00")], [focus(6, 4, "2.00")]], delivery="2026-07-02T04:00:00Z-b2")

    done = costs.run([aws.url])

    assert billed(done) == {"2026-06": Decimal("3.00")}
    assert len(done.files) == 2


def test_a_manifest_of_each_delivery_changes_nothing(aws: DataExports, costs: CostImporter) -> None:
    """The first delivery's files are gone from the bucket; its manifest still lies in its folder."""
    aws.put(
        f"billing/{FOCUS}/metadata/BILLING_PERIOD=2026-06/a1/{FOCUS}-Manifest.json",
        json.dumps(
            {"dataFiles": [f"s3://{aws.name}/billing/{FOCUS}/data/BILLING_PERIOD=2026-06/a1/x.csv.gz"]}
        ).encode(),
    )
    aws.deliver(FOCUS, "2026-06", [[focus(6, 3, "1.00")]], delivery="b2")

    assert billed(costs.run([aws.url])) == {"2026-06": Decimal("1.00")}


def test_a_month_whose_manifest_has_not_come_is_not_read(aws: DataExports, costs: CostImporter) -> None:
    aws.deliver(FOCUS, "2026-06", [[focus(6, 3, "1.00")]])
    aws.put(f"billing/{FOCUS}/data/BILLING_PERIOD=2026-07/{FOCUS}-00001.csv.gz", _body([focus(7, 5, "3")], "csv.gz"))

    assert billed(costs.run([aws.url])) == {"2026-06": Decimal("1.00")}


@pytest.mark.parametrize("delivery", ["", "b2"])
def test_a_file_that_is_missing_is_never_taken_from_another_month_or_delivery(
    aws: DataExports, costs: CostImporter, delivery: str
) -> None:
    aws.deliver(FOCUS, "2026-06", [[focus(6, 3, "1.00")]], delivery="a1" if delivery else "")
    (key,) = aws.deliver(FOCUS, "2026-07", [[focus(7, 3, "3.00")]], delivery=delivery)
    if delivery:
        aws.deliver(FOCUS, "2026-07", [[focus(7, 3, "9.00")]], delivery="a1")
    aws.s3.delete_object(Bucket=aws.name, Key=key)
    aws.name_files(FOCUS, "2026-07", [key])

    with pytest.raises(IntegrityError, match=f"1 of 1 files .* not there \\({FOCUS}-00001"):
        costs.run([aws.url])


def test_a_month_of_a_copy_is_never_taken_for_another(tmp_path: Path) -> None:
    """On this machine the keys of the bucket do not hold, and only the folder tells the months apart."""
    folder = tmp_path / "copy"
    for month in ("2026-06", "2026-07"):
        path = folder / "data" / f"BILLING_PERIOD={month}" / f"{FOCUS}-00001.csv.gz"
        path.parent.mkdir(parents=True)
        path.write_bytes(_body([focus(int(month[-2:]), 3, "1")], "csv.gz"))
        manifest = folder / "metadata" / f"BILLING_PERIOD={month}" / f"{FOCUS}-Manifest.json"
        manifest.parent.mkdir(parents=True)
        named = f"s3://b/billing/{FOCUS}/data/BILLING_PERIOD={month}/{FOCUS}-00001.csv.gz"
        manifest.write_text(json.dumps({"dataFiles": [named]}), encoding="utf-8")
    (folder / "data" / "BILLING_PERIOD=2026-07" / f"{FOCUS}-00001.csv.gz").unlink()

    with pytest.raises(IntegrityError, match="1 of 1 files"):
        find_exports([str(folder)], scratch=tmp_path)


def test_a_delivery_that_is_under_way_is_not_read(
    aws: DataExports, costs: CostImporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Times are to the second, in S3 and in Moto; so the manifest is dated a minute back instead of waiting."""
    aws.deliver(FOCUS, "2026-06", [[focus(6, 3, "1.00")]])
    listed = Bucket.entries

    def a_minute_earlier(place: Bucket) -> list[Any]:
        return [
            replace(one, modified=one.modified - timedelta(minutes=1)) if one.name.endswith(".json") else one
            for one in listed(place)
        ]

    monkeypatch.setattr(Bucket, "entries", a_minute_earlier)
    with pytest.raises(IntegrityError, match=r"newer than the manifest .* AWS is delivering"):
        costs.run([aws.url])


def test_an_object_that_changes_after_it_was_listed_is_refused(aws: DataExports, tmp_path: Path) -> None:
    (key,) = aws.deliver(FOCUS, "2026-06", [[focus(6, 3, "1.00")]])
    place = Bucket(aws.url)
    place.entries()
    aws.put(key, _body([focus(6, 3, "2.00")], "csv.gz"))

    with pytest.raises(IntegrityError, match="written anew"):
        place.local(key, tmp_path)


def test_an_object_that_is_taken_away_after_it_was_listed_is_refused(aws: DataExports, tmp_path: Path) -> None:
    (key,) = aws.deliver(FOCUS, "2026-06", [[focus(6, 3, "1.00")]])
    place = Bucket(aws.url)
    place.entries()
    aws.s3.delete_object(Bucket=aws.name, Key=key)

    with pytest.raises(IntegrityError, match="taken away"):
        place.read(key)


def test_the_older_report_with_its_versions_counts_the_last_one(aws: DataExports, costs: CostImporter) -> None:
    """<report>/<from>-<to>/<version>/ holds a version and its manifest; the one above names the last version."""
    for version, cost in (("v1", 1.0), ("v2", 2.0)):
        row = cur2(6, 3, cost)
        row.pop("resource_tags")
        key = aws.put(f"billing/old/20260601-20260701/{version}/old-00001.csv.gz", _body([row], "csv.gz"))
        body = json.dumps({"reportKeys": [key]}).encode()
        aws.put(f"billing/old/20260601-20260701/{version}/old-Manifest.json", body)
        aws.put("billing/old/20260601-20260701/old-Manifest.json", body)

    done = costs.run([aws.url])

    assert billed(done) == {"2026-06": Decimal(2)}
    assert len(done.files) == 1
