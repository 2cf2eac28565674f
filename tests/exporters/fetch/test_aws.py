"""AWS, mode api: real boto3 against a local server that speaks the protocols of AWS."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from exporters.fetch.aws import AwsSettings, fetch
from exporters.fetch.contract import Fetched, FetchRequest
from exporters.normalise.chosen import Filters
from exporters.normalise.row_rules.aws import choose
from tests.fakes.aws import AwsServer
from tests.fakes.aws_rows import gpu, instance_type, machine, spot_price, transfer

NOW = datetime(2026, 7, 21, 9, tzinfo=UTC)
LINUX = Filters(operating_systems=("linux",), capacity_types=("on-demand", "spot"))


@pytest.fixture(autouse=True)
def dummy_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_PROFILE", "AWS_DEFAULT_REGION", "AWS_REGION", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))


@pytest.fixture
def aws() -> Iterator[AwsServer]:
    """London and Northern Virginia."""
    with AwsServer() as server:
        server.products = [
            machine("m5.large", "eu-west-2", "0.1110000000", sku="M5LON"),
            machine("c5.large", "eu-west-2", "0.1010000000", memory="4 GiB"),
            machine("r5.large", "eu-west-2", "0.1480000000", memory="16 GiB"),
            machine("p5.48xlarge", "us-east-1", "55.0400000000", vcpu="192", memory="2048 GiB", gpu="8"),
            machine("g6f.large", "us-east-1", "0.2020000000"),
            machine("m5.large", "us-east-1", "0.0960000000"),
        ]
        server.transfers = [
            transfer(
                "AWS Outbound",
                f"{code}DataTransfer-Out-Bytes",
                region,
                [("0", "10240", "0.09"), ("10240", "Inf", "0.085")],
            )
            for code, region in (("EUW2-", "eu-west-2"), ("", "us-east-1"))
        ]
        server.instance_types = {
            "eu-west-2": [
                instance_type("m5.large"),
                instance_type("c5.large", mib=4096),
                instance_type("r5.large", mib=16384),
            ],
            "us-east-1": [
                instance_type("m5.large"),
                instance_type("p5.48xlarge", vcpus=192, mib=2097152, GpuInfo=gpu("H100", 81920, 8)),
                instance_type("g6f.large", GpuInfo=gpu("L4", 2861, 0, partition=0.125, logical=1)),
            ],
        }
        server.spot = {
            "eu-west-2": [[spot_price("eu-west-2a", "euw2-az2", "m5.large", "0.041900")]],
            "us-east-1": [[spot_price("us-east-1a", "use1-az4", "m5.large", "0.038100")]],
        }
        yield server


def settings_for(aws: AwsServer, **changes: Any) -> AwsSettings:
    given = {"regions": ("eu-west-2", "us-east-1"), "max_attempts": 2}
    endpoints = dict.fromkeys(("pricing", "ec2", "sts", "bulk"), aws.url)
    return AwsSettings.model_validate(given | {"endpoints": endpoints} | changes)


def request_in(scratch: Path, **changes: Any) -> FetchRequest:
    return FetchRequest(now=NOW, scratch=scratch, deadline=NOW + timedelta(minutes=5), **changes)


def prices_of(fetched: Fetched, filters: Filters = LINUX) -> dict[tuple[str, str, str], Decimal]:
    rows = choose(fetched, filters).prices
    return {(r["region"], r["zone"], r["instance_type"]): r["price_per_hour"] for r in rows.iter_rows(named=True)}


def test_list_and_spot_prices_arrive_to_the_last_digit(aws: AwsServer, tmp_path: Path) -> None:
    fetched = fetch(settings_for(aws), request_in(tmp_path))

    prices = prices_of(fetched)
    assert prices["eu-west-2", "", "m5.large"] == Decimal("0.111")
    assert prices["us-east-1", "", "p5.48xlarge"] == Decimal("55.04")
    assert prices["eu-west-2", "euw2-az2", "m5.large"] == Decimal("0.0419")
    assert len(prices) == 8


def test_an_eighth_of_an_l4_is_an_eighth_of_a_gpu(aws: AwsServer, tmp_path: Path) -> None:
    shapes = choose(fetch(settings_for(aws), request_in(tmp_path)), LINUX).shapes

    gpus = {r["instance_type"]: (r["gpu_model"], r["gpus"]) for r in shapes.iter_rows(named=True)}
    assert gpus["g6f.large"] == ("L4", 0.125)
    assert gpus["p5.48xlarge"] == ("H100", 8.0)
    assert gpus["m5.large"] == ("", 0.0)
