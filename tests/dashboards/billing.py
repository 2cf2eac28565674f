"""Billing exports of a made-up company, up to today: two clouds, a savings plan, one unusual day."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.exporters.focus_exports import Row, charge, write_csv

DAYS = 100
UNUSUAL_USD = 400.0
SETTINGS: dict[str, Any] = {
    "settle_hours": 0,
    "max_rejected_ratio": 0.1,
    "budgets": [{"name": "whole-company", "amount": "20000"}, {"name": "aws", "provider": "aws", "amount": "4000"}],
}
"""A day is whole once it has ended, so that there is something of this month on any day but its first."""


def write_billing(folder: Path, *, now: datetime) -> dict[str, Any]:
    """This will write an export of each cloud into a folder of its own, and return the section costs of the settings.

    On the day before yesterday AWS's machines ran as usual, yesterday for twice the cost.
    """
    today = now.date()
    days = [today - timedelta(days=before) for before in range(DAYS, -1, -1)]
    aws = [row for day in days for row in _aws(day, unusual=day == today - timedelta(days=1))]
    aws.append(charge_on(today - timedelta(days=2), BilledCost="?"))
    azure = [row for day in days for row in _azure(day)]
    for name, rows in (("aws", aws), ("azure", azure)):
        write_csv(folder / name / "export.csv", rows, made_at=now)
    plan = {
        "id": "sp-1",
        "provider": "aws",
        "account": "1111",
        "kind": "savings-plan",
        "unit": "money",
        "quantity": 0.5,
        "starts_at": now - timedelta(days=300),
        "ends_at": now + timedelta(days=65),
    }
    paths = [str(folder / name / "export.csv") for name in ("aws", "azure")]
    return SETTINGS | {"paths": paths, "commitments": [plan]}


def charge_on(day: date, **changes: Any) -> Row:
    """A charge on a day, on the bill of its month."""
    start = datetime(day.year, day.month, day.day, tzinfo=UTC)
    period = {"ChargePeriodStart": f"{start:%Y-%m-%dT%H:%M:%SZ}", "ChargePeriodEnd": f"{start:%Y-%m-%dT01:00:00Z}"}
    month = {"BillingPeriodStart": f"{start:%Y-%m-01T00:00:00Z}", "SkuPriceDetails": None}
    return charge(**(period | month | changes))


def _aws(day: date, *, unusual: bool) -> list[Row]:
    hours, cost = ("960", UNUSUAL_USD) if unusual else ("480", UNUSUAL_USD / 2)
    machine = {"SkuPriceDetails": '{"CoreCount": 4, "InstanceType": "m7i.xlarge"}'}
    ours = machine | {"RegionId": "eu-west-1", "ConsumedQuantity": "80"}
    plan = {"CommitmentDiscountId": "sp-1", "PricingCategory": "Committed", "BilledCost": "0"}
    rows = [
        charge_on(day, **machine, ConsumedQuantity=hours, **_money(cost, listed=1.25 * cost)),
        charge_on(day, **(ours | _money(10.0, listed=16.0) | plan), CommitmentDiscountStatus="Used"),
        charge_on(day, **(_money(2.0, listed=0.0) | plan), CommitmentDiscountStatus="Unused"),
        charge_on(day, **_money(20.0, listed=20.0), ServiceName="Amazon Simple Storage Service", Tags=None),
    ]
    if day.day == 1:
        rows.append(charge_on(day, **_money(500.0, listed=500.0), ChargeCategory="Tax", Tags=None))
    return rows


def _azure(day: date) -> list[Row]:
    weekend = day.weekday() > 4
    same = {"ProviderName": "Microsoft", "BillingAccountId": "3333", "SubAccountId": "4444", "RegionId": "uksouth"}
    cost = 90.0 if weekend else 150.0
    return [
        charge_on(day, **same, **_money(cost, listed=cost), BillingCurrency="GBP", ServiceName="Virtual Machines"),
    ]


def _money(cost: float, *, listed: float) -> Row:
    amount = f"{cost:.2f}"
    return {"BilledCost": amount, "EffectiveCost": amount, "ContractedCost": amount, "ListCost": f"{listed:.2f}"}
