"""Google Cloud's costs and commitment prices by command, as a person asks for them, against local APIs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import time_machine
import yaml
from typer.testing import CliRunner

from tests.fakes.bigquery import FakeBigQuery, fake_bigquery, usage_row
from tests.fakes.fx import RateServer
from tests.fakes.gcp import RestServer, sku
from tests.fakes.gcp_skus import LONDON, network_skus, pair
from tuppence import app

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
TABLE = "billing-1.export.gcp_billing_export_v1_01AB23_45CD67_89EF01"
ECB = (
    b'<?xml version="1.0"?><e:Envelope xmlns:e="http://www.gesmes.org/xml/2002-08-01" '
    b'xmlns="http://www.ecb.int/vocabulary/2002-08-01/eurofxref"><Cube><Cube time="2026-11-27">'
    b'<Cube currency="USD" rate="1.2"/><Cube currency="GBP" rate="0.9"/></Cube></Cube></e:Envelope>'
)
YEAR = {"usage": "Commit1Yr"}
YEARS = {"usage": "Commit3Yr"}


@pytest.fixture
def bigquery() -> Iterator[FakeBigQuery]:
    with fake_bigquery() as running:
        yield running


def run(folder: Path, settings: dict[str, Any], *arguments: str, at: datetime = NOW) -> Any:
    path = folder / "tuppence.yaml"
    path.write_text(yaml.safe_dump(settings | {"store": {"url": str(folder / "store")}}))
    with time_machine.travel(at, tick=True):
        result = CliRunner().invoke(app, [*arguments, "-o", "json", "--config", str(path)])
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_what_bigquery_says_is_shown_in_pounds_and_asking_again_replaces_it(bigquery, tmp_path):
    settings = {
        "sources": {"gcp": {"retry_wait_seconds": 0.01}},
        "costs": {"gcp": {"enabled": True, "tables": [TABLE], "bigquery_endpoint": bigquery.url}},
    }
    bigquery.add_table(
        TABLE,
        [
            usage_row("2026-11-26T10:00:00Z", cost=12.5, credits={"SUSTAINED_USAGE_DISCOUNT": -2.5}),
            usage_row("2026-11-27T10:00:00Z", cost=1.0),
        ],
    )
    run(tmp_path, settings, "costs", "refresh", "gcp")
    first = run(tmp_path, settings, "costs", "show", "--by", "service")
    path = ".".join(f'"{part}"' for part in TABLE.split("."))
    bigquery.database.execute(f"UPDATE {path} SET cost = 3.0 WHERE cost = 1.0")
    run(tmp_path, settings, "costs", "refresh", "gcp", at=NOW + timedelta(days=1))

    (before,), (after,) = first, run(tmp_path, settings, "costs", "show", "--by", "service")

    assert (before["service"], float(before["billed_gbp"])) == ("Compute Engine", 11.0)
    assert float(after["billed_gbp"]) == 13.0


def test_prices_of_commitments_are_published_where_they_are_asked_for(tmp_path):
    skus = [
        *pair("N2-LON", "N2 Instance", "London", "0.04073", "0.005458", LONDON),
        *network_skus(),
        sku("C1-CORE", "Commitment v1: N2 Cpu in London for 1 Year", "0.02566", **YEAR),
        sku("C1-RAM", "Commitment v1: N2 Ram in London for 1 Year", "0.00344", unit="GiBy.h", group="RAM", **YEAR),
        sku("C3-CORE", "Commitment v1: N2 Cpu in London for 3 Years", "0.0183", **YEARS),
        sku("C3-RAM", "Commitment v1: N2 Ram in London for 3 Years", "0.00245", unit="GiBy.h", group="RAM", **YEARS),
    ]
    (tmp_path / "key").write_text("key")
    with RestServer(skus) as gcp, RateServer(ECB) as ecb:
        settings = {
            "sources": {
                "fx": {"ecb_endpoint": f"{ecb.url}/eurofxref-daily.xml"},
                "gcp": {
                    "enabled": True,
                    "endpoint": gcp.url,
                    "regions": ["europe-west2"],
                    "page_size": 20,
                    "api_key_file": str(tmp_path / "key"),
                },
            },
            "filters": {"capacity_types": ["on-demand", "committed-1y", "committed-3y"]},
            "packaged": {"enabled": False},
        }
        run(tmp_path, settings, "fetch", "gcp")
        rows = run(tmp_path, settings, "prices", "--instance-type", "n2-standard-4")

    # 4 vCPU and 16 GiB: 4 x 0.04073 + 16 x 0.005458, 4 x 0.02566 + 16 x 0.00344, 4 x 0.0183 + 16 x 0.00245.
    assert {row["x_CapacityType"]: row["ListUnitPrice"] for row in rows} == {
        "on-demand": 0.250248,
        "committed-1y": 0.15768,
        "committed-3y": 0.1124,
    }
