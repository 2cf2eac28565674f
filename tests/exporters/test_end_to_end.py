"""The exporter as it is run: real commands and processes, every source against its fake, a real Prometheus.

List prices: AWS Price List and EC2 (m5.large, p5.48xlarge, an L4 in eighths), Azure Retail Prices (Standard_D4s_v5),
Cloud Billing Catalog (n2-standard-4 and a2-highgpu-1g by their components), ECB reference rates of 30 October 2026.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml
from typer.testing import CliRunner

from tests.exporters.conftest import HEADER
from tests.fakes.aws import AwsServer, Failure
from tests.fakes.aws_rows import gpu, instance_type, machine, spot_price, transfer
from tests.fakes.azure import Answer, FakeAzure, vm, zone_1_ladder
from tests.fakes.fx import RateServer
from tests.fakes.gcp import Failure as GcpFailure
from tests.fakes.gcp import RestServer
from tests.fakes.gcp_skus import catalogue
from tests.servers.prometheus import promtool, running_prometheus, wait_until
from tuppence import app

ROOT = Path(__file__).parents[2]
GBP_PER_USD = 0.8338 / 1.1172
"""0.746330: the pound and the dollar of one euro on 30 October 2026 (ECB)."""

ECB = (
    b'<?xml version="1.0"?><e:Envelope xmlns:e="http://www.gesmes.org/xml/2002-08-01" '
    b'xmlns="http://www.ecb.int/vocabulary/2002-08-01/eurofxref"><Cube><Cube time="2026-10-30">'
    b'<Cube currency="USD" rate="1.1172"/><Cube currency="GBP" rate="0.8338"/></Cube></Cube></e:Envelope>'
)
STRANGE = 'Øx"bow\\ 株\nLtd'
"""A provider's name with a quotation mark, a backslash, a line break and letters from afar."""

RATE_CARD = {
    "site": "london-1",
    "country": "GB",
    "price_per_kwh": 0.25,
    "pue": 1.4,
    "machines": [
        {
            "instance_type": "h100-8",
            "vcpus": 192,
            "memory_gib": 1500,
            "gpu_model": "H100",
            "gpus": 8,
            "purchase_price": 240_900,
            "life_years": 5,
            "residual_value": 21_900,
            "idle_watts": 2_000,
            "full_watts": 7_000,
            "hosting_per_year": 8_760,
            "support_ratio": 0.08,
            "staff_per_year": 4_380,
            "target_utilisation": 0.8,
        }
    ],
}
"""£13.50 an hour, worked out in docs/sources/onprem.md."""


@dataclass(frozen=True, slots=True)
class World:
    """Three clouds and a central bank on this machine, and a settings file that knows them."""

    folder: Path
    aws: AwsServer
    gcp: RestServer
    azure: FakeAzure
    environment: dict[str, str]

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "tuppence", *arguments, "--config", str(self.folder / "tuppence.yaml")],
            cwd=ROOT,
            env=os.environ | self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str, code: int = 0) -> Any:
        """The rows that a command gives; in this process, because starting one takes seconds."""
        settings = str(self.folder / "tuppence.yaml")
        result = CliRunner().invoke(app, [*arguments, "-o", "json", "--config", settings], env=self.environment)
        assert result.exit_code == code, result.stderr
        return json.loads(result.stdout)

    def native(self) -> dict[tuple[str, str, str], tuple[float, str]]:
        """What `prices` says of on-demand and owned offers: native price and currency by provider, region and type."""
        rows = self.run("prices", "--capacity-type", "on-demand", "--capacity-type", "owned")
        return {
            (row["ProviderName"], row["RegionId"], row["x_InstanceType"]): (
                row["ListUnitPrice"],
                row["PricingCurrency"],
            )
            for row in rows
        }


def _fill(aws: AwsServer) -> None:
    aws.products = [
        machine("m5.large", "eu-west-2", "0.1110000000"),
        machine("p5.48xlarge", "us-east-1", "55.0400000000", vcpu="192", memory="2048 GiB", gpu="8"),
        machine("g6f.large", "us-east-1", "0.2020000000"),
    ]
    aws.transfers = [
        transfer("AWS Outbound", f"{code}DataTransfer-Out-Bytes", region, [("0", "Inf", "0.0900000000")])
        for code, region in (("EUW2-", "eu-west-2"), ("", "us-east-1"))
    ]
    aws.instance_types = {
        "eu-west-2": [instance_type("m5.large")],
        "us-east-1": [
            instance_type("p5.48xlarge", vcpus=192, mib=2097152, GpuInfo=gpu("H100", 81920, 8)),
            instance_type("g6f.large", GpuInfo=gpu("L4", 2861, 0, partition=0.125, logical=1)),
        ],
    }
    aws.spot = {
        "eu-west-2": [[spot_price("eu-west-2a", "euw2-az2", "m5.large", "0.041900")]],
        "us-east-1": [[spot_price("us-east-1a", "use1-az4", "g6f.large", "0.081000")]],
    }


def _settings(folder: Path, aws: AwsServer, gcp: RestServer, azure: FakeAzure, ecb: RateServer) -> dict[str, Any]:
    return {
        "sources": {
            "fx": {"ecb_endpoint": f"{ecb.url}/eurofxref-daily.xml"},
            "aws": {
                "enabled": True,
                "regions": ["eu-west-2", "us-east-1"],
                "endpoints": dict.fromkeys(("pricing", "ec2", "sts", "bulk"), aws.url),
            },
            "gcp": {
                "enabled": True,
                "regions": ["europe-west2", "us-central1"],
                "endpoint": gcp.url,
                "page_size": 20,
                "api_key_file": str(folder / "key"),
            },
            "azure": {
                "enabled": True,
                "regions": ["uksouth"],
                "retail_endpoint": azure.retail_url,
                "throttle_wait_seconds": 0.05,
                "deadline_seconds": 10,
            },
            "onprem": {"enabled": True, "rate_cards": [RATE_CARD]},
            "book": {"enabled": True, "files": [str(folder / "book.csv")]},
        },
        "store": {"url": str(folder / "store")},
        "exporter_web": {"port": 0},
    }


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    for name in [name for name in os.environ if name.startswith(("AWS_", "GOOGLE_", "TUPPENCE_"))]:
        monkeypatch.delenv(name)
    environment = {
        "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": str(tmp_path / "none"),
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "none"),
    }
    name = STRANGE.replace('"', '""')
    (tmp_path / "book.csv").write_bytes(
        f'{HEADER}\r\n"{name}",london,,a100,linux,on-demand,12,96,A100-80GB,1,amd64,GBP,1.20,2026-01-01\r\n'.encode(
            "utf-8-sig"
        )
    )
    (tmp_path / "key").write_text("key")
    with (
        AwsServer() as aws,
        RestServer(catalogue()) as gcp,
        FakeAzure([vm("D4s_v5", 0.222), *zone_1_ladder()]) as azure,
        RateServer(ECB) as ecb,
    ):
        _fill(aws)
        (tmp_path / "tuppence.yaml").write_text(yaml.safe_dump(_settings(tmp_path, aws, gcp, azure, ecb)))
        yield World(tmp_path, aws, gcp, azure, environment)


KNOWN = {
    ("aws", "eu-west-2", "m5.large"): (0.111, "USD"),
    ("aws", "us-east-1", "p5.48xlarge"): (55.04, "USD"),
    ("azure", "uksouth", "Standard_D4s_v5"): (0.222, "USD"),
    ("gcp", "europe-west2", "n2-standard-4"): (0.250248, "USD"),
    ("gcp", "us-central1", "a2-highgpu-1g"): (3.673385, "USD"),
    ("onprem", "london-1", "h100-8"): (13.5, "GBP"),
    (STRANGE, "london", "a100"): (1.2, "GBP"),
}


def test_known_list_prices_come_out_to_the_last_digit(world: World) -> None:
    outcomes = {row["source"]: row for row in world.run("fetch")}
    assert {name: row["result"] for name, row in outcomes.items()} == dict.fromkeys(
        ("fx", "aws", "gcp", "azure", "onprem", "book"), "ok"
    )

    prices = world.native()
    assert {key: prices[key] for key in KNOWN} == KNOWN

    (eighth,) = world.run("prices", "--instance-type", "g6f.large", "--capacity-type", "on-demand")
    assert (eighth["x_Gpus"], eighth["x_GpuModel"]) == (0.125, "L4")
    (m5,) = world.run("prices", "--instance-type", "m5.large", "--capacity-type", "on-demand")
    assert round(m5["x_GbpPerUnit"], 6) == 0.746330
    assert (m5["x_FxDate"], m5["x_FxSource"]) == ("2026-10-30", "ecb")
    assert m5["x_GbpPerHour"] == pytest.approx(0.111 * GBP_PER_USD, abs=1e-12)


@contextmanager
def serving(world: World) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`tuppence export` until the block ends, stopped by a signal; yields the process and its URL."""
    process = world.start("export")
    assert process.stderr is not None
    try:
        announced = next(found for line in process.stderr if (found := re.search(r"(http://\S+)/metrics", line)))
        yield process, announced[1]
    finally:
        process.terminate()
        process.communicate(timeout=20)


def _scrape_config(url: str) -> dict[str, Any]:
    target = {"targets": [url.removeprefix("http://")], "labels": {"region": "where the exporter runs"}}
    job = {"job_name": "tuppence", "honor_labels": True, "static_configs": [target]}
    return {"global": {"scrape_interval": "500ms", "scrape_timeout": "400ms"}, "scrape_configs": [job]}


def test_prometheus_sees_one_cloud_down_and_all_the_others_fresh(world: World) -> None:
    world.run("fetch")
    price = "tuppence_price_gbp_per_instance_hour"
    before = time.time()
    world.azure.fail(Answer(503, "<html>Service Unavailable</html>", {"retry-after": "3600"}))
    world.aws.products[0] = machine("m5.large", "eu-west-2", "0.1150000000")

    with serving(world) as (_, url), running_prometheus(_scrape_config(url)) as prometheus:
        prometheus.wait_for('tuppence_exporter_refresh_failures_total{source="azure"} == 1', seconds=40)
        prometheus.wait_for('count(tuppence_exporter_price_origin_info{origin="live"}) == 5', seconds=40)
        new = f"abs({price}{{instance_type='m5.large',capacity_type='on-demand'}} - {0.115 * GBP_PER_USD})"
        prometheus.wait_for(f"{new} < 1e-9")
        success = prometheus.values("tuppence_exporter_refresh_success", "source")
        prices = prometheus.values(price, "provider", "instance_type", "capacity_type")
        taken = prometheus.values("tuppence_exporter_snapshot_timestamp_seconds", "source")
        origins = prometheus.values("tuppence_exporter_price_origin_info", "source", "origin")
        body = httpx2.get(f"{url}/metrics").content

    ok = dict.fromkeys((("aws",), ("book",), ("fx",), ("gcp",), ("onprem",)), 1.0)
    assert success == ok | {("azure",): 0.0}
    assert prices["aws", "m5.large", "on-demand"] == pytest.approx(0.115 * GBP_PER_USD, abs=1e-9)
    assert prices["azure", "Standard_D4s_v5", "on-demand"] == pytest.approx(0.222 * GBP_PER_USD, abs=1e-9)
    assert prices["onprem", "h100-8", "owned"] == 13.5
    assert prices[STRANGE, "a100", "on-demand"] == 1.2
    assert taken["azure",] < before <= taken["aws",]
    assert {("azure", "cached"), ("aws", "live"), ("gcp", "live")} <= origins.keys()
    checked = promtool("check", "metrics", stdin=body)
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, b"", b"")


def test_a_kill_during_a_refresh_loses_nothing(world: World) -> None:
    """Killed while Google hangs: AWS has its new snapshot, everything else keeps the old one, and a restart goes on."""
    world.run("fetch")
    old = world.native()
    world.aws.products[0] = machine("m5.large", "eu-west-2", "0.1150000000")
    world.azure.lists = {"USD": [vm("D4s_v5", 0.230)], "GBP": [vm("D4s_v5", 0.184, currencyCode="GBP")]}
    asked = len(world.gcp.pages.asked)
    world.gcp.pages.fail_always = GcpFailure(503, delay_seconds=1)

    refresh = world.start("fetch")
    wait_until(
        lambda: len(world.gcp.pages.asked) > asked, seconds=30, otherwise=lambda: str(refresh.communicate(timeout=1))
    )
    os.kill(refresh.pid, signal.SIGKILL)
    refresh.communicate()

    m5 = ("aws", "eu-west-2", "m5.large")
    assert world.native() == old | {m5: (0.115, "USD")}
    world.gcp.pages.fail_always = None
    assert {row["result"] for row in world.run("fetch")} == {"ok"}
    assert world.native() == old | {m5: (0.115, "USD"), ("azure", "uksouth", "Standard_D4s_v5"): (0.23, "USD")}


def test_a_page_that_fails_half_way_leaves_the_old_price_and_stops_no_other_source(world: World) -> None:
    world.run("fetch")
    world.aws.products[0] = machine("m5.large", "eu-west-2", "0.1150000000")
    world.aws.fail("DescribeInstanceTypes", Failure(401, "RequestExpired", "Request has expired"), region="us-east-1")
    world.azure.lists = {"USD": [vm("D4s_v5", 0.230)], "GBP": [vm("D4s_v5", 0.184, currencyCode="GBP")]}

    outcomes = {row["source"]: row["result"] for row in world.run("fetch", code=1)}

    assert outcomes == dict.fromkeys(("fx", "gcp", "azure", "onprem", "book"), "ok") | {"aws": "failed"}
    prices = world.native()
    assert prices["aws", "eu-west-2", "m5.large"] == (0.111, "USD")
    assert prices["azure", "uksouth", "Standard_D4s_v5"] == (0.23, "USD")


def test_a_signal_ends_the_service_while_a_source_hangs(world: World) -> None:
    world.gcp.pages.fail_always = GcpFailure(503, delay_seconds=1)
    with serving(world) as (process, _):
        wait_until(lambda: world.gcp.pages.asked, seconds=30, otherwise=lambda: "Google was not asked")
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=15) == 0
