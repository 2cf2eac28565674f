"""The files of an export: found in folders and object stores, and whole by their manifest or refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import boto3
import pytest

from exporters.core.errors import IntegrityError, SettingsError, TerminalSourceError
from exporters.fetch.cost_files import Export, find_exports
from tests.exporters.focus_exports import NOW, charge, dated, write_csv

BUCKET = "billing"


def found(*paths: Path | str, scratch: Path) -> list[Export]:
    """The exports behind paths."""
    return find_exports([str(path) for path in paths], scratch=scratch)


def names(exports: list[Export]) -> list[list[str]]:
    """The names of their files."""
    return [[file.name for file in export.files] for export in exports]


def test_a_file_a_folder_and_a_glob_lead_to_the_same_file(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "in" / "a.csv", [charge()])
    (tmp_path / "in" / "notes.txt").write_text("not an export")
    (tmp_path / "scratch").mkdir()
    for place in (path, path.parent, tmp_path / "*" / "a*.csv", f"file://{path}"):
        (export,) = found(place, scratch=tmp_path / "scratch")
        (file,) = export.files
        assert file.path == path
        assert export.made_at == NOW


def test_exports_come_oldest_first_each_folder_one(tmp_path: Path) -> None:
    for name, hours in (("a", 2), ("b", 1)):
        for part in ("1.csv", "2.csv"):
            write_csv(tmp_path / name / part, [charge(RegionId=name)], made_at=NOW + timedelta(hours=hours))
    assert names(found(tmp_path, scratch=tmp_path)) == [["b/1.csv", "b/2.csv"], ["a/1.csv", "a/2.csv"]]


def manifest(path: Path, document: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document), encoding="utf-8")
    dated(path, NOW)


def test_manifests_of_aws_and_azure_name_the_files_wherever_they_were_copied_from(tmp_path: Path) -> None:
    for month in ("2024-09", "2024-10"):
        write_csv(tmp_path / "data" / f"BILLING_PERIOD={month}" / "x-00001.csv", [charge(RegionId=month)])
        named = f"s3://bucket/prefix/x/data/BILLING_PERIOD={month}/x-00001.csv"
        manifest(tmp_path / "metadata" / f"BILLING_PERIOD={month}" / "x-Manifest.json", {"dataFiles": [named]})
    write_csv(tmp_path / "azure" / "part_0_0001.csv", [charge()])
    manifest(tmp_path / "azure" / "manifest.json", {"blobs": [{"blobName": "e/1/part_0_0001.csv", "dataRowCount": 1}]})
    exports = found(tmp_path, scratch=tmp_path)
    assert sorted(names(exports)) == [
        ["azure/part_0_0001.csv"],
        ["data/BILLING_PERIOD=2024-09/x-00001.csv"],
        ["data/BILLING_PERIOD=2024-10/x-00001.csv"],
    ]
    assert all(export.has_manifest for export in exports)
    assert {file.rows for export in exports for file in export.files} == {None, 1}


@pytest.mark.parametrize("document", ["not a manifest", {"files": []}, {"dataFiles": []}, ["a"]])
def test_a_manifest_that_cannot_be_read_is_an_error(tmp_path: Path, document: object) -> None:
    write_csv(tmp_path / "a.csv", [charge()])
    manifest(tmp_path / "manifest.json", document)
    with pytest.raises(IntegrityError, match="the manifest cannot be read"):
        found(tmp_path, scratch=tmp_path)


def test_nothing_there_is_an_error_that_says_what_is_looked_for(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"no file that ends in \.csv"):
        found(tmp_path, scratch=tmp_path)


@pytest.fixture(scope="module")
def bucket(moto_url: str) -> Iterator[str]:
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
        s3 = boto3.client("s3", endpoint_url=moto_url)
        s3.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": "eu-west-2"})
        for name in ("focus/2024-09/part-1.csv", "focus/2024-09/part-2.csv", "focus/2024-10/part-1.csv"):
            s3.put_object(Bucket=BUCKET, Key=name, Body=f"A\n{name}\n".encode())
        whole = {"dataFiles": [f"s3://{BUCKET}/focus/2024-09/part-1.csv", f"s3://{BUCKET}/focus/2024-09/part-2.csv"]}
        s3.put_object(Bucket=BUCKET, Key="focus/2024-09/m-Manifest.json", Body=json.dumps(whole).encode())
        yield f"s3://{BUCKET}"


def test_objects_are_copied_to_the_scratch_folder(tmp_path: Path, bucket: str) -> None:
    exports = found(f"{bucket}/focus", scratch=tmp_path)
    assert sorted(names(exports)) == [
        ["focus/2024-09/part-1.csv", "focus/2024-09/part-2.csv"],
        ["focus/2024-10/part-1.csv"],
    ]
    copied = {file.name: file.path for export in exports for file in export.files}
    assert all(path.parent == tmp_path for path in copied.values())
    assert copied["focus/2024-10/part-1.csv"].read_text() == "A\nfocus/2024-10/part-1.csv\n"


def test_one_object_or_a_pattern_of_objects_may_be_named(tmp_path: Path, bucket: str) -> None:
    assert names(found(f"{bucket}/focus/2024-10/part-1.csv", scratch=tmp_path)) == [["focus/2024-10/part-1.csv"]]
    assert names(found(f"{bucket}/focus/*/part-2.csv", scratch=tmp_path)) == [["focus/2024-09/part-2.csv"]]


def test_a_bucket_that_refuses_is_an_error_with_its_address(tmp_path: Path, bucket: str) -> None:
    del bucket
    with pytest.raises(TerminalSourceError, match="cannot be listed") as caught:
        found("s3://no-such-bucket/focus", scratch=tmp_path)
    assert caught.value.where == "s3://no-such-bucket/focus"
