"""An account that pays, at the local AWS: what stands in its books, and how it is asked."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from exporters.fetch.aws import AwsSettings
from exporters.fetch.cost_contract import CostRequest
from tests.fakes.aws_costs import Entry

NOW = datetime(2026, 7, 21, 9, tzinfo=UTC)
D19, D20, D21 = date(2026, 7, 19), date(2026, 7, 20), date(2026, 7, 21)
PAYER, SHOP, LAB = "123456789012", "210987654321", "310987654321"
EC2, S3 = "Amazon Elastic Compute Cloud - Compute", "Amazon Simple Storage Service"
LONDON = "eu-west-2"
BOOKS = (
    Entry(D19, SHOP, EC2, LONDON, "Usage", "10.1234567891", "10.1234567891"),
    Entry(D19, SHOP, EC2, LONDON, "SavingsPlanCoveredUsage", "8", "6"),
    Entry(D19, SHOP, EC2, LONDON, "SavingsPlanNegation", "-8", "0"),
    Entry(D19, SHOP, EC2, LONDON, "DiscountedUsage", "0", "2.5"),
    Entry(D19, PAYER, "Savings Plans for AWS Compute usage", "global", "SavingsPlanRecurringFee", "7.2", "1.2"),
    Entry(D19, LAB, S3, "us-east-1", "Usage", "0.0000000001", "0.0000000001"),
    Entry(D20, SHOP, EC2, LONDON, "Usage", "11", "11"),
    Entry(D20, SHOP, EC2, LONDON, "Credit", "-20", "-20"),
    Entry(D20, SHOP, EC2, LONDON, "Tax", "2.2", "2.2"),
    Entry(D20, SHOP, EC2, LONDON, "Refund", "-0.5", "-0.5"),
    Entry(D20, SHOP, EC2, LONDON, "Enterprise Discount Program Discount", "-1.1", "-1.1"),
    Entry(D20, PAYER, "AWS Support (Business)", "NoRegion", "Support", "100", "100"),
)
QUIET = {"commitments": False, "commitment_use": False, "forecast": False, "budgets": False}


def cloud_at(url: str, **changes: Any) -> AwsSettings:
    endpoints = dict.fromkeys(("sts", "ce", "savingsplans", "budgets", "ec2"), url)
    return AwsSettings.model_validate({"regions": (LONDON,), "max_attempts": 1, "endpoints": endpoints} | changes)


def request_in(scratch: Path, **changes: Any) -> CostRequest:
    asked = {"now": NOW, "first_day": D19, "last_day": D21, "deadline": NOW + timedelta(minutes=5)}
    return CostRequest(**asked | {"scratch": scratch} | changes)
