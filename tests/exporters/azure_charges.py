"""Charges of Azure for tests: asked of a local Cost Management, or as rows of its cost details."""

from __future__ import annotations

from datetime import date
from typing import Any

import polars as pl

from exporters.core.cost_frames import Charge
from exporters.fetch.azure_costs import AzureCostSettings, fetch
from exporters.fetch.cost_contract import CostFetched, CostRequest
from tests.fakes.azure_costs import FakeCosts, cost_cloud, cost_request

SUB = "00000000-0000-0000-0000-00000000000a"
OTHER = "00000000-0000-0000-0000-00000000000b"
SUB_SCOPE = f"/subscriptions/{SUB}"
GROUP_SCOPE = "/providers/Microsoft.Management/managementGroups/acme"
ACCOUNT_SCOPE = "/providers/Microsoft.Billing/billingAccounts/8611537"
DAY = date(2026, 11, 28)
NEXT = date(2026, 11, 29)
SUBSCRIPTION = "0000000A-0000-0000-0000-000000000000"
RESERVATION = "11111111-2222-3333-4444-555555555555"
Row = dict[str, Any]


def usage(**changes: Any) -> Row:
    """A row as enterprise agreements write it: two and a half hours of a machine of four vCPUs at 8p, listed at 10p."""
    row = {
        "BillingAccountId": "8611537",
        "SubscriptionId": SUBSCRIPTION,
        "ResourceLocation": "UK South",
        "Date": "9/2/2026",
        "MeterCategory": "Virtual Machines",
        "MeterId": "meter-1",
        "UnitOfMeasure": "1 Hour",
        "Quantity": "2.5",
        "EffectivePrice": "0.08",
        "CostInBillingCurrency": "0.2",
        "PayGPrice": "0.10",
        "ConsumedService": "Microsoft.Compute",
        "ResourceId": "/subscriptions/a/vm-1",
        "Tags": '"owner": "radiology","env": "prod"',
        "AdditionalInfo": '{"ServiceType": "Standard_D4s_v5", "VCPUs": 4}',
        "ReservationId": "",
        "benefitId": "",
        "ChargeType": "Usage",
        "PricingModel": "OnDemand",
        "BillingCurrencyCode": "GBP",
        "BillingPeriodStartDate": "9/1/2026",
    }
    return row | changes


COVERED = {"ReservationId": RESERVATION, "PricingModel": "Reservation"}
BOUGHT = usage(
    ChargeType="Purchase", CostInBillingCurrency="876", Quantity="1", UnitOfMeasure="1", AdditionalInfo="", **COVERED
)
ACTUAL = [usage(), usage(CostInBillingCurrency="0", **COVERED), BOUGHT]
AMORTISED = [
    usage(),
    usage(CostInBillingCurrency="0.15", **COVERED),
    usage(ChargeType="UnusedReservation", CostInBillingCurrency="0.05", Quantity="0.5", **COVERED),
]


def request(first_day: date = DAY, last_day: date = NEXT, **changes: Any) -> CostRequest:
    return cost_request(first_day, last_day, **changes)


def ask(fake: FakeCosts, *scopes: str, asked: CostRequest | None = None, **changes: object) -> CostFetched:
    only_charges = dict.fromkeys(("forecast", "budgets", "commitments"), False)
    told = {"enabled": True, "scopes": scopes or (SUB_SCOPE,), **only_charges, **changes}
    return fetch(AzureCostSettings.model_validate(told), cost_cloud(fake), asked or request())


def rows(fetched: CostFetched, *columns: str) -> list[tuple[object, ...]]:
    assert fetched.charges is not None
    frame = fetched.charges.collect()
    Charge.validate(frame)
    return sorted(frame.select(*columns).rows(), key=str)


def totals(fetched: CostFetched) -> tuple[object, ...]:
    assert fetched.charges is not None
    return fetched.charges.select(pl.col("billed_cost", "effective_cost").sum()).collect().row(0)
