"""An account at the local AWS: credentials, settings, and what two regions sell."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import botocore.loaders
import pytest

from exporters.fetch.aws import AwsSettings
from exporters.fetch.contract import Fetched, FetchRequest
from exporters.normalise.chosen import Filters
from exporters.normalise.row_rules.aws import choose
from tests.fakes.aws import AwsServer
from tests.fakes.aws_rows import gpu, instance_type, machine, spot_price, transfer

NOW = datetime(2026, 7, 21, 9, tzinfo=UTC)
LINUX = Filters(operating_systems=("linux",), capacity_types=("on-demand", "spot"))
LOADER = botocore.loaders.create_loader()
"""Reading EC2's service model takes longer than a whole fetch, so the tests read it once."""


def use_dummy_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The SDK finds these credentials and nothing of the machine's own."""
    for name in ("AWS_PROFILE", "AWS_DEFAULT_REGION", "AWS_REGION", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("botocore.session.create_loader", lambda _path: LOADER)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))


def furnish(server: AwsServer) -> None:
    """London and Northern Virginia: prices, machine types, spot, egress."""
    server.products = [
        machine("m5.large", "eu-west-2", "0.1110000000", sku="M5LON"),
        machine("c5.large", "eu-west-2", "0.1010000000", memory="4 GiB"),
        machine("r5.large", "eu-west-2", "0.1480000000", memory="16 GiB"),
        machine("p5.48xlarge", "us-east-1", "55.0400000000", vcpu="192", memory="2048 GiB", gpu="8"),
        machine("g6f.large", "us-east-1", "0.2020000000"),
        machine("m5.large", "us-east-1", "0.0960000000"),
    ]
    server.transfers = [
        transfer("AWS Outbound", f"{code}DataTransfer-Out-Bytes", region, [("0", "Inf", "0.0900000000")])
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


def settings_for(aws: AwsServer, **changes: Any) -> AwsSettings:
    given = {"regions": ("eu-west-2", "us-east-1"), "max_attempts": 1}
    endpoints = dict.fromkeys(("pricing", "ec2", "sts", "bulk"), aws.url)
    return AwsSettings.model_validate(given | {"endpoints": endpoints} | changes)


def london(aws: AwsServer, **changes: Any) -> AwsSettings:
    return settings_for(aws, **{"regions": ("eu-west-2",)} | changes)


def request_in(scratch: Path, **changes: Any) -> FetchRequest:
    return FetchRequest(now=NOW, scratch=scratch, **{"deadline": NOW + timedelta(minutes=5)} | changes)


def prices_of(fetched: Fetched, filters: Filters = LINUX) -> dict[tuple[str, str, str], Decimal]:
    rows = choose(fetched, filters).prices
    return {(r["region"], r["zone"], r["instance_type"]): r["price_per_hour"] for r in rows.iter_rows(named=True)}
