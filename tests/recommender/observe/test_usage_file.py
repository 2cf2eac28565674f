"""Usage files: what is read, and that every mistake is named with its column, count and row."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path

import polars as pl
import pytest

from exporters.core.errors import SettingsError
from recommender.observe.usage_file import read_usage

HEADER = (
    "timestamp,cluster,pool,instance_type,capacity_type,namespace,workload_kind,workload,replicas,vcpu_request,"
    "memory_gib_request,gpu_request,gpu_model,vcpu_usage,memory_gib_usage,gpu_usage_ratio,pending_replicas"
)
ROW = "2026-11-23T10:00:00Z,c1,general,m6i.large,on-demand,shop,Deployment,web,2,4,16,0,,1.5,8,,1"


def csv_file(folder: Path, *rows: str, header: str = HEADER) -> Path:
    path = folder / "usage.csv"
    path.write_text("\n".join((header, *rows)) + "\n", encoding="utf-8")
    return path


def changed(**values: str) -> str:
    fields = dict(zip(HEADER.split(","), ROW.split(","), strict=True)) | values
    return ",".join(fields.values())


def test_a_row_becomes_a_sample(tmp_path: Path):
    usage = read_usage(csv_file(tmp_path, ROW))
    assert usage.samples.to_dicts() == [
        {
            "timestamp": datetime(2026, 11, 23, 10, tzinfo=UTC),
            "cluster": "c1",
            "namespace": "shop",
            "workload_kind": "Deployment",
            "workload": "web",
            "pool": "general",
            "instance_type": "m6i.large",
            "capacity_type": "on-demand",
            "replicas": 2.0,
            "vcpu_request": 4.0,
            "memory_gib_request": 16.0,
            "gpu_request": 0.0,
            "gpu_model": "",
            "vcpu_usage": 1.5,
            "memory_gib_usage": 8.0,
            "gpu_usage_ratio": None,
            "pending_replicas": 1.0,
            "replicas_peak": None,
            "vcpu_request_peak": None,
            "memory_gib_request_peak": None,
            "gpu_request_peak": None,
        }
    ]
    assert usage.observed.to_dicts() == [
        {"cluster": "c1", "timestamp": datetime(2026, 11, 23, 10, tzinfo=UTC), "coverage_ratio": 1.0}
    ]


@pytest.mark.parametrize(
    "written",
    ["2026-11-23T10:00:00", "2026-11-23 10:00", "2026-11-23T10:00:00.000Z", "2026-11-23T11:00:00+01:00"],
)
def test_a_time_without_an_offset_is_utc_and_others_become_utc(tmp_path: Path, written: str):
    usage = read_usage(csv_file(tmp_path, changed(timestamp=written)))
    assert usage.samples["timestamp"].to_list() == [datetime(2026, 11, 23, 10, tzinfo=UTC)]


def test_columns_are_found_by_name_and_nullable_ones_may_be_missing(tmp_path: Path):
    header = "workload,workload_kind,namespace,cluster,timestamp,pending_replicas,gpu_request,memory_gib_request,"
    header += "vcpu_request,replicas"
    path = csv_file(tmp_path, "web,Deployment,shop,c1,2026-11-23T10:00,0,0,16,4,2", header=header)
    row = read_usage(path).samples.row(0, named=True)
    assert (row["workload"], row["pool"], row["vcpu_request"], row["vcpu_usage"]) == ("web", "", 4.0, None)


def test_parquet_with_naive_and_with_zoned_times_reads_the_same(tmp_path: Path):
    frame = pl.read_csv(csv_file(tmp_path, ROW), try_parse_dates=False).with_columns(
        pl.lit(datetime(2026, 11, 23, 10, tzinfo=UTC).replace(tzinfo=None)).alias("timestamp")
    )
    naive, zoned = tmp_path / "naive.parquet", tmp_path / "zoned.parquet"
    frame.write_parquet(naive)
    frame.with_columns(
        pl.col("timestamp").dt.replace_time_zone("UTC").dt.convert_time_zone("America/New_York")
    ).write_parquet(zoned)
    assert read_usage(naive).samples.equals(read_usage(zoned).samples)
    assert read_usage(naive).samples.equals(read_usage(csv_file(tmp_path, ROW)).samples)


def test_a_known_spelling_of_a_gpu_becomes_its_one_word(tmp_path: Path):
    path = csv_file(tmp_path, changed(gpu_model="NVIDIA-A100-SXM4-80GB", gpu_request="1", gpu_usage_ratio="0.5"))
    assert read_usage(path).samples["gpu_model"].to_list() == ["A100-80GB"]


def test_attribute_columns_become_statements_and_the_latest_one_stands(tmp_path: Path):
    path = csv_file(
        tmp_path,
        changed(timestamp="2026-11-23T11:00") + ",new-owner,",
        ROW + ",old-owner,8",
        header=HEADER + ",owner,gang_size",
    )
    stated = {row["attribute"]: row["value"] for row in read_usage(path).stated.to_dicts()}
    assert stated == {"owner": "new-owner", "gang_size": "8"}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (changed(vcpu_request="-1"), r"column 'vcpu_request': 1 values are negative, first in row 2"),
        (changed(vcpu_request="NaN"), r"column 'vcpu_request': 1 values are not a number \(NaN\), first in row 2"),
        (changed(vcpu_request="inf"), r"column 'vcpu_request': 1 values are infinite, first in row 2"),
        (changed(vcpu_request="two"), r"column 'vcpu_request': 1 values are not a number, first in row 2"),
        (changed(vcpu_request=""), r"column 'vcpu_request': 1 values are absent, first in row 2"),
        (changed(cluster=" "), r"column 'cluster': 1 values are absent, first in row 2"),
        (changed(timestamp="yesterday"), r"column 'timestamp': 1 values are not a time, first in row 2"),
        (changed(gpu_usage_ratio="64"), r"'gpu_usage_ratio': 1 values are over 1 \(it is a ratio, not a percentage\)"),
        (changed(vcpu_usage="-0.1"), r"column 'vcpu_usage': 1 values are negative, first in row 2"),
    ],
)
def test_a_value_that_cannot_be_right_is_refused_with_its_place(tmp_path: Path, row: str, message: str):
    with pytest.raises(SettingsError, match=message):
        read_usage(csv_file(tmp_path, row))


def test_all_mistakes_are_counted_in_one_message(tmp_path: Path):
    rows = [
        ROW,
        changed(timestamp="2026-11-23T11:00", replicas="-1"),
        changed(timestamp="2026-11-23T12:00", replicas="-2", memory_gib_request="nan"),
    ]
    with pytest.raises(SettingsError) as caught:
        read_usage(csv_file(tmp_path, *rows))
    assert "column 'replicas': 2 values are negative, first in row 3" in caught.value.what
    assert "column 'memory_gib_request': 1 values are not a number (NaN), first in row 4" in caught.value.what
    assert caught.value.exit_code == 2
    assert str(tmp_path / "usage.csv") == caught.value.where


def test_a_peak_below_the_mean_of_its_time_is_refused(tmp_path: Path):
    header = HEADER + ",vcpu_request_peak"
    assert read_usage(csv_file(tmp_path, ROW + ",4", header=header)).samples["vcpu_request_peak"].to_list() == [4.0]
    with pytest.raises(SettingsError, match="'vcpu_request_peak': 1 values are below vcpu_request, the mean of"):
        read_usage(csv_file(tmp_path, ROW + ",3.9", header=header))


def test_a_repeated_sample_is_refused(tmp_path: Path):
    with pytest.raises(
        SettingsError, match=r"1 rows repeat a sample .* row 3 \(c1/shop/Deployment/web at 2026-11-23T10"
    ):
        read_usage(csv_file(tmp_path, ROW, changed(vcpu_request="8")))


def test_a_workload_in_two_pools_at_one_time_is_not_a_repetition(tmp_path: Path):
    assert read_usage(csv_file(tmp_path, ROW, changed(pool="spot", capacity_type="spot"))).samples.height == 2


def test_a_missing_and_a_misspelt_column_are_named(tmp_path: Path):
    header = HEADER.replace("vcpu_request", "cpu_request")
    with pytest.raises(SettingsError, match="'vcpu_request' is missing; the column 'cpu_request' is not known"):
        read_usage(csv_file(tmp_path, ROW, header=header))


def test_a_misspelt_attribute_is_not_lost_in_silence(tmp_path: Path):
    with pytest.raises(SettingsError, match="the column 'residency_clas' is not known"):
        read_usage(csv_file(tmp_path, ROW + ",nhs", header=HEADER + ",residency_clas"))


def test_a_nested_column_is_refused(tmp_path: Path):
    frame = pl.read_csv(csv_file(tmp_path, ROW)).with_columns(pl.lit(["x"]).alias("flows"))
    frame.write_parquet(tmp_path / "usage.parquet")
    with pytest.raises(SettingsError, match="the column 'flows' is nested; write it as JSON text"):
        read_usage(tmp_path / "usage.parquet")


def test_a_date_where_a_time_belongs_is_refused(tmp_path: Path):
    frame = pl.read_csv(csv_file(tmp_path, ROW)).with_columns(pl.lit(date(2026, 11, 23)).alias("timestamp"))
    frame.write_parquet(tmp_path / "usage.parquet")
    with pytest.raises(SettingsError, match="column 'timestamp': 1 values are not a time, first in row 1"):
        read_usage(tmp_path / "usage.parquet")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("usage.csv", "", "this is not a whole csv file"),
        ("usage.csv", HEADER + "\n", "the usage file has no rows"),
        ("usage.parquet", "PAR1 and then nothing", "this is not a whole parquet file"),
        ("usage.txt", "x", "the ending '.txt' is not .parquet or .csv"),
    ],
)
def test_a_file_that_is_not_whole_is_refused(tmp_path: Path, name: str, content: str, message: str):
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(SettingsError, match=message):
        read_usage(tmp_path / name)


def test_a_file_that_is_not_there_is_named(tmp_path: Path):
    with pytest.raises(SettingsError, match="cannot be read"):
        read_usage(tmp_path / "usage.parquet")
