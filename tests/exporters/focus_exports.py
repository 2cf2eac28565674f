"""Billing exports for tests: rows as providers write them, different from the default only where a test says so.

Figures of LOAD_BALANCER and CREDIT are those of two rows of the FinOps Foundation's FOCUS 1.0 sample data (CC BY 4.0,
https://github.com/FinOps-Open-Cost-and-Usage-Spec/FOCUS-Sample-Data), accounts changed.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from exporters.core.clock import FixedClock
from exporters.cost_import import CostImporter
from exporters.settings import ExporterSettings
from exporters.store.shelf import open_shelf

NOW = datetime(2024, 10, 5, 12, tzinfo=UTC)

Row = dict[str, Any]


def charge(day: int = 16, hour: int = 0, **changes: Any) -> Row:
    """This will return a row of FOCUS 1.0: an hour of a virtual machine in London in September 2024, ten cents."""
    start = datetime(2024, 9, day, hour, tzinfo=UTC)
    row: Row = {
        "BilledCost": "0.10",
        "BillingAccountId": "1111",
        "BillingCurrency": "USD",
        "BillingPeriodStart": "2024-09-01T00:00:00Z",
        "BillingPeriodEnd": "2024-10-01T00:00:00Z",
        "ChargeCategory": "Usage",
        "ChargeClass": None,
        "ChargePeriodStart": f"{start:%Y-%m-%dT%H:%M:%SZ}",
        "ChargePeriodEnd": f"{start + timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ}",
        "CommitmentDiscountId": None,
        "CommitmentDiscountStatus": None,
        "ConsumedQuantity": "1",
        "ConsumedUnit": "Hours",
        "ContractedCost": "0.10",
        "EffectiveCost": "0.08",
        "ListCost": "0.12",
        "PricingCategory": "Standard",
        "ProviderName": "AWS",
        "PublisherName": "Amazon Web Services, Inc.",
        "RegionId": "eu-west-2",
        "ResourceId": "i-1",
        "ServiceName": "Amazon Elastic Compute Cloud",
        "SkuId": "SKU",
        "SubAccountId": "2222",
        "Tags": '{"owner": "radiology"}',
    }
    return row | changes


LOAD_BALANCER = {
    "BilledCost": "0.00001605990",
    "EffectiveCost": "0.00000000000",
    "ListCost": "0.00001605990",
    "ContractedCost": "0.00000000000",
    "ServiceName": "Elastic Load Balancing",
    "RegionId": "us-west-2",
    "ConsumedUnit": "LCU-Hours",
}
CREDIT = {
    "BilledCost": "-2.61370000000",
    "EffectiveCost": "-3.00000000000",
    "ListCost": "-2.61370000000",
    "ContractedCost": "-3.00000000000",
    "ChargeCategory": "Credit",
    "PricingCategory": "Other",
    "ConsumedQuantity": None,
    "ConsumedUnit": None,
    "Tags": None,
}


def write_csv(path: Path, rows: Sequence[Mapping[str, Any]], *, null: str = "", made_at: datetime = NOW) -> Path:
    """This will write rows as CSV, as if the provider had written them at `made_at`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows([{name: null if cell is None else cell for name, cell in row.items()} for row in rows])
    dated(path, made_at)
    return path


def dated(path: Path, moment: datetime) -> None:
    """This will give a file the time at which a provider is taken to have written it."""
    os.utime(path, (moment.timestamp(), moment.timestamp()))


def importer(folder: Path, *, now: datetime = NOW, **costs: Any) -> CostImporter:
    """This will return an importer with a store in the folder; a dollar is 75 pence by contract."""
    settings = ExporterSettings.model_validate(
        {
            "store": {"url": str(folder / "store")},
            "costs": costs,
            "sources": {"fx": {"contract_rates": {"USD": "0.75"}}},
        }
    )
    return CostImporter(
        settings=settings, shelf=open_shelf(str(folder / "store")), clock=FixedClock(now), scratch=folder
    )


def days_of_september(first: int, last: int, **changes: Any) -> list[Row]:
    """This will return one charge a day."""
    return [charge(day, **changes) for day in range(first, last + 1)]


def in_september(day: int) -> date:
    """This will return a day of September 2024."""
    return date(2024, 9, day)
