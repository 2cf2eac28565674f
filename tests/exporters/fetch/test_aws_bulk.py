"""AWS, mode bulk: real HTTP downloads of offer files with the real columns, from a local server."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from exporters.core.errors import IntegrityError, SettingsError, TerminalSourceError, TransientSourceError
from exporters.fetch.aws import AwsSettings, check, fetch
from exporters.fetch.aws_bulk import packaged_shapes
from exporters.fetch.contract import FetchRequest
from exporters.normalise.chosen import Chosen, Filters
from exporters.normalise.row_rules.aws import choose
from tests.fakes.aws import AwsServer, Failure
from tests.fakes.aws_rows import OFFER_HEADER, Json, machine, transfer

NOW = datetime(2026, 7, 21, 9, tzinfo=UTC)
CSV = "/offers/v1.0/aws/AmazonEC2/20260720/eu-west-2/index.csv"
INDEX = "/offers/v1.0/aws/AmazonEC2/current/region_index.json"
LONDON = (
    machine("m5.large", "eu-west-2", "0.1110000000", sku="M5LON"),
    machine("m5.large", "eu-west-2", "0.0000000000", sku="RESERVED", capacitystatus="AllocatedCapacityReservation"),
    machine("g6f.large", "eu-west-2", "0.2564200000", instanceFamily="GPU instance"),
    machine("x1e.61large", "eu-west-2", "9.9000000000", vcpu="64", memory="1,952 GiB"),
    machine("q9g.large", "eu-west-2", "0.0500000000", physicalProcessor="AWS Graviton9 Processor"),
    machine("q9p.large", "eu-west-2", "8.0000000000", instanceFamily="GPU instance", gpu="1"),
)
EGRESS = transfer(
    "AWS Outbound",
    "EUW2-DataTransfer-Out-Bytes",
    "eu-west-2",
    [("0", "10240", "0.0900000000"), ("10240", "Inf", "0.0850000000")],
)


@pytest.fixture
def aws() -> Iterator[AwsServer]:
    with AwsServer() as server:
        server.publish("AmazonEC2", "eu-west-2", list(LONDON))
        server.publish("AWSDataTransfer", "eu-west-2", [EGRESS])
        yield server


def settings_for(aws: AwsServer, **changes: Any) -> AwsSettings:
    given = {"mode": "bulk", "regions": ("eu-west-2",), "endpoints": {"bulk": aws.url}}
    return AwsSettings.model_validate(given | changes)


def request_in(scratch: Path, **changes: Any) -> FetchRequest:
    return FetchRequest(now=NOW, scratch=scratch, **{"deadline": NOW + timedelta(seconds=5)} | changes)


def chosen_from(aws: AwsServer, scratch: Path) -> Chosen:
    fetched = fetch(settings_for(aws), request_in(scratch))
    return choose(fetched, Filters(operating_systems=("linux",), capacity_types=("on-demand", "spot")))


def test_an_offer_file_gives_the_list_prices_to_the_last_digit(aws: AwsServer, tmp_path: Path) -> None:
    chosen = chosen_from(aws, tmp_path)

    assert dict(chosen.prices.select("instance_type", "price_per_hour").iter_rows()) == {
        "m5.large": Decimal("0.111"),
        "g6f.large": Decimal("0.25642"),
        "x1e.61large": Decimal("9.9"),
        "q9g.large": Decimal("0.05"),
    }
    assert chosen.egress["price_per_gib"].to_list() == [Decimal("0.09"), Decimal("0.085")]


def test_shapes_come_from_the_packaged_table_or_from_the_list_itself(aws: AwsServer, tmp_path: Path) -> None:
    chosen = chosen_from(aws, tmp_path)

    shapes = {row["instance_type"]: row for row in chosen.shapes.iter_rows(named=True)}
    assert (shapes["g6f.large"]["gpu_model"], shapes["g6f.large"]["gpus"]) == ("L4", 0.125)
    assert (shapes["x1e.61large"]["vcpus"], shapes["x1e.61large"]["memory_gib"]) == (64.0, 1952.0)
    assert shapes["q9g.large"]["architecture"] == "arm64"
    assert chosen.shapes["shape_source"].unique().to_list() == ["packaged"]


def test_a_gpu_machine_that_no_table_knows_is_rejected(aws: AwsServer, tmp_path: Path) -> None:
    rejects = chosen_from(aws, tmp_path).rejects

    assert rejects.filter(reason="unknown-gpu").select("rows", "example").row(0) == (1, "q9p.large")


def test_a_device_that_the_list_says_is_there_is_not_sold_as_vcpus(aws: AwsServer, tmp_path: Path) -> None:
    """A table that knows the machine but not its device must not put the device's price on the vCPUs."""
    odd = machine("m5.2xlarge", "eu-west-2", "9.0000000000", sku="ODD", instanceFamily="FPGA Instances")
    aws.publish("AmazonEC2", "eu-west-2", [*LONDON, odd])

    chosen = chosen_from(aws, tmp_path)

    assert "m5.2xlarge" not in chosen.prices["instance_type"]
    assert chosen.rejects.filter(reason="unknown-gpu")["rows"].to_list() == [2]


def test_missing_spot_prices_are_said_not_hidden(aws: AwsServer, tmp_path: Path) -> None:
    fetched = fetch(settings_for(aws), request_in(tmp_path))

    [skipped] = fetched.skipped
    assert "spot prices need credentials" in skipped.why
    assert not fetch(settings_for(aws), request_in(tmp_path, capacity_types=("on-demand",))).skipped


def test_columns_that_hold_nothing_may_be_left_out(aws: AwsServer, tmp_path: Path) -> None:
    header = [name for name in OFFER_HEADER if name not in {"GPU", "LeaseContractLength", "PurchaseOption"}]
    aws.publish("AmazonEC2", "eu-west-2", list(LONDON[:1]), header=header[::-1])

    assert chosen_from(aws, tmp_path).prices["price_per_hour"].to_list() == [Decimal("0.111")]


def test_a_missing_column_of_the_rule_is_named(aws: AwsServer, tmp_path: Path) -> None:
    header = [name for name in OFFER_HEADER if name != "CapacityStatus"]
    aws.publish("AmazonEC2", "eu-west-2", list(LONDON), header=header)

    with pytest.raises(IntegrityError, match="no column 'CapacityStatus'"):
        fetch(settings_for(aws), request_in(tmp_path))


@pytest.mark.parametrize("whole_minus", [1, 3, 25, 300], ids=str)
def test_a_file_cut_off_without_announced_length_is_not_taken_as_whole(
    aws: AwsServer, tmp_path: Path, whole_minus: int
) -> None:
    size = len(aws.files[CSV].rstrip())
    aws.fail("GET", Failure(cut_after=size - whole_minus, announce=False), region=CSV)

    with pytest.raises(IntegrityError, match="cut off in its last line"):
        fetch(settings_for(aws), request_in(tmp_path))


def test_a_shorter_body_than_announced_is_tried_again(aws: AwsServer, tmp_path: Path) -> None:
    aws.fail("GET", Failure(cut_after=500), region=CSV)

    assert chosen_from(aws, tmp_path).prices.height == 4


@pytest.mark.parametrize(
    "throttle",
    [Failure(429, headers={"Retry-After": "0"}, body=b""), Failure(503, body=b"slow down")],
    ids=["429", "503"],
)
def test_throttling_is_waited_out(aws: AwsServer, tmp_path: Path, throttle: Failure) -> None:
    aws.fail("GET", throttle, region=CSV)

    assert chosen_from(aws, tmp_path).prices.height == 4


@pytest.mark.parametrize(
    ("path", "body", "expected", "message"),
    [
        (INDEX, b"<html>welcome</html>", TerminalSourceError, "not a region index"),
        (INDEX, b"", TerminalSourceError, "not a region index"),
        (INDEX, b'{"regions": {"eu-west-2": {}}}', TerminalSourceError, "not a region index"),
        (INDEX, b'{"regions": {}}', TerminalSourceError, "no offer file for eu-west-2"),
        (
            INDEX,
            b'{"regions": {"eu-west-2": {"currentVersionUrl": "https://evil.example/index.json"}}}',
            IntegrityError,
            "leads elsewhere",
        ),
        (CSV, b"<html>welcome</html>", IntegrityError, "not an offer file"),
        (CSV, b"", IntegrityError, "not an offer file"),
    ],
    ids=["html index", "empty index", "half index", "region missing", "other host", "html file", "empty file"],
)
def test_what_is_not_an_offer_file_is_refused(
    aws: AwsServer, tmp_path: Path, path: str, body: bytes, expected: type[Exception], message: str
) -> None:
    aws.files[path] = body

    with pytest.raises(expected, match=message):
        fetch(settings_for(aws), request_in(tmp_path))


def test_a_file_without_a_price_is_refused(aws: AwsServer, tmp_path: Path) -> None:
    nothing: list[Json] = []
    aws.publish("AmazonEC2", "eu-west-2", nothing)

    with pytest.raises(IntegrityError, match="holds no price"):
        fetch(settings_for(aws), request_in(tmp_path))


def test_a_scratch_directory_that_cannot_be_written_is_named(aws: AwsServer, tmp_path: Path) -> None:
    with pytest.raises(TransientSourceError, match="cannot be written"):
        fetch(settings_for(aws), request_in(tmp_path / "gone"))


def test_a_full_disk_is_named(aws: AwsServer, tmp_path: Path) -> None:
    (tmp_path / "AmazonEC2-eu-west-2.csv").symlink_to("/dev/full")

    with pytest.raises(TransientSourceError, match="No space left on device"):
        fetch(settings_for(aws), request_in(tmp_path))


def test_a_file_that_is_torn_in_its_middle_gives_no_price(aws: AwsServer, tmp_path: Path) -> None:
    body = aws.files[CSV]
    middle = len(body) // 2
    aws.files[CSV] = body[:middle] + b"\xff\xfe\x00" + body[middle:]

    with pytest.raises(IntegrityError, match="cannot be read"):
        chosen_from(aws, tmp_path)


def test_the_deadline_ends_the_download(aws: AwsServer, tmp_path: Path) -> None:
    with pytest.raises(TransientSourceError, match="deadline"):
        fetch(settings_for(aws), request_in(tmp_path, deadline=NOW))


def test_the_sovereign_cloud_has_no_known_offer_files() -> None:
    settings = AwsSettings(mode="bulk", regions=("eusc-de-east-1",), partition="aws-eusc")
    request = FetchRequest(now=NOW, scratch=Path("unused"), deadline=NOW + timedelta(seconds=5))

    with pytest.raises(SettingsError, match="no public offer files"):
        fetch(settings, request)


def test_check_looks_for_each_region_in_the_indexes(aws: AwsServer, tmp_path: Path) -> None:
    found = check(settings_for(aws), request_in(tmp_path))
    missing = check(settings_for(aws, regions=("eu-west-1",)), request_in(tmp_path))

    assert [one.state for one in found] == ["ok", "ok", "warning"]
    assert [one.state for one in missing] == ["failed", "failed", "warning"]
    assert "eu-west-1" in missing[0].detail


def test_the_packaged_table_has_no_empty_device() -> None:
    table = packaged_shapes().collect()

    assert table.height > 1000
    assert table.select("gpu_model", "gpus", "accelerator_model", "accelerators").null_count().sum_horizontal()[0] == 0
