"""The month's forecast and the budgets: real boto3 against a local AWS, and Moto's Budgets."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import boto3
import pytest

from exporters.core.errors import IntegrityError
from exporters.fetch.aws_costs import AwsCostSettings, fetch
from exporters.fetch.aws_costs_budgets import budgets
from exporters.fetch.cost_contract import CostFetched
from tests.fakes.aws import Failure
from tests.fakes.aws_account import use_dummy_credentials
from tests.fakes.aws_costs import BillingServer, Entry
from tests.fakes.aws_payer import EC2, LONDON, NOW, PAYER, QUIET, SHOP, cloud_at, request_in
from tests.fakes.aws_rows import Json


@pytest.fixture(autouse=True)
def dummy_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    use_dummy_credentials(monkeypatch, tmp_path)


@pytest.fixture
def aws() -> Iterator[BillingServer]:
    with BillingServer() as server:
        server.ledger = [
            Entry(date(2026, 6, 30), SHOP, EC2, LONDON, "Usage", "999", "999"),
            Entry(date(2026, 7, 1), SHOP, EC2, LONDON, "Usage", "40", "30"),
            Entry(date(2026, 7, 2), SHOP, EC2, LONDON, "Credit", "-10", "-10"),
            Entry(date(2026, 7, 20), SHOP, EC2, LONDON, "Usage", "70.25", "70"),
            Entry(date(2026, 7, 21), SHOP, EC2, LONDON, "Usage", "5", "5"),
        ]
        server.forecast = forecast("100", "80", "130.5")
        yield server


def forecast(mean: str, lower: str, upper: str, *, unit: str = "USD") -> Json:
    return {
        "Total": {"Amount": mean, "Unit": unit},
        "ForecastResultsByTime": [
            {
                "TimePeriod": {"Start": "2026-07-21", "End": "2026-08-01"},
                "MeanValue": mean,
                "PredictionIntervalLowerBound": lower,
                "PredictionIntervalUpperBound": upper,
            }
        ],
    }


def asked(url: str, scratch: Path, *, request: dict[str, Any] | None = None, **changes: Any) -> CostFetched:
    settings = AwsCostSettings.model_validate(QUIET | {"breakdown": "account"} | changes)
    return fetch(settings, cloud_at(url), request_in(scratch, **request or {}))


def test_a_month_comes_to_what_was_spent_before_today_and_what_is_forecast_from_today(
    aws: BillingServer, tmp_path: Path
) -> None:
    """40 - 10 + 70.25 until yesterday; today's 5 are within the forecast; the days asked for begin on the 19th."""
    found = asked(aws.url, tmp_path, forecast=True).forecasts

    assert found is not None
    assert found.to_dicts() == [
        {
            "source": "aws",
            "provider": "aws",
            "account": PAYER,
            "month": date(2026, 7, 1),
            "currency": "USD",
            "mid": Decimal("200.25"),
            "lower": Decimal("180.25"),
            "upper": Decimal("230.75"),
        }
    ]
    assert aws.asked("GetCostForecast") == [
        {
            "TimePeriod": {"Start": "2026-07-21", "End": "2026-08-01"},
            "Metric": "UNBLENDED_COST",
            "Granularity": "MONTHLY",
            "PredictionIntervalLevel": 80,
        }
    ]
    assert not aws.refused


def test_a_forecast_is_one_paid_request_more_and_no_day_more(aws: BillingServer, tmp_path: Path) -> None:
    fetched = asked(aws.url, tmp_path, forecast=True)

    assert fetched.paid_requests == 2 + 1
    assert fetched.charges is not None
    assert fetched.charges.collect()["charge_start"].dt.date().min() == date(2026, 7, 20)


def test_on_the_first_of_a_month_the_forecast_is_the_month(aws: BillingServer, tmp_path: Path) -> None:
    first = NOW.replace(month=12, day=1)
    request = {
        "now": first,
        "first_day": date(2026, 11, 30),
        "last_day": first.date(),
        "deadline": first + timedelta(minutes=5),
    }

    found = asked(aws.url, tmp_path, forecast=True, request=request).forecasts

    assert found is not None
    assert found["mid"].to_list() == [Decimal(100)]
    assert aws.asked("GetCostForecast")[0]["TimePeriod"] == {"Start": "2026-12-01", "End": "2027-01-01"}


def test_an_account_that_is_too_new_has_no_forecast(aws: BillingServer, tmp_path: Path) -> None:
    aws.fail("GetCostForecast", Failure(400, "DataUnavailableException"))

    found = asked(aws.url, tmp_path, forecast=True).forecasts

    assert found is not None
    assert found.is_empty()


def test_a_month_whose_bill_changes_its_currency_has_no_forecast(aws: BillingServer, tmp_path: Path) -> None:
    aws.forecast = forecast("100", "80", "130", unit="EUR")

    fetched = asked(aws.url, tmp_path, forecast=True)

    assert fetched.forecasts is not None
    assert fetched.forecasts.is_empty()
    assert fetched.charges is not None


@pytest.mark.parametrize(
    ("answer", "match"),
    [
        ({}, "0 months came"),
        (forecast("100", "80", "130") | {"ForecastResultsByTime": []}, "0 months came"),
        (forecast("much", "80", "130"), "no number"),
    ],
)
def test_a_forecast_that_is_not_whole_is_refused(aws: BillingServer, tmp_path: Path, answer: Json, match: str) -> None:
    aws.forecast = answer

    with pytest.raises(IntegrityError, match=match):
        asked(aws.url, tmp_path, forecast=True)


def budget(name: str, amount: str = "500", **changes: Any) -> Json:
    limit = {"Amount": amount, "Unit": "USD"}
    return {"BudgetName": name, "BudgetType": "COST", "TimeUnit": "MONTHLY", "BudgetLimit": limit} | changes


def test_budgets_in_force_are_listed_and_others_named(aws: BillingServer, tmp_path: Path) -> None:
    day = NOW.timestamp()
    aws.page_size = 2
    aws.lists["DescribeBudgets"] = [
        budget("all", "1000.10"),
        budget("year", "12000", TimeUnit="ANNUALLY"),
        budget("over", TimePeriod={"Start": day - 2e7, "End": day - 1e6}),
        budget("to come", TimePeriod={"Start": day + 1e6, "End": day + 2e7}),
        budget("planned", PlannedBudgetLimits=planned(day)),
        budget("hours", BudgetType="USAGE"),
        budget("daily", TimeUnit="DAILY"),
    ]

    fetched = asked(aws.url, tmp_path, budgets=True)

    assert fetched.budgets is not None
    assert {(row["scope"], row["period"], row["amount"], row["currency"]) for row in fetched.budgets.to_dicts()} == {
        ("all", "month", Decimal("1000.10"), "USD"),
        ("year", "year", Decimal(12000), "USD"),
        ("planned", "month", Decimal(700), "USD"),
    }
    assert [one.region for one in fetched.skipped] == ["budget hours", "budget daily"]
    assert not aws.refused


def test_a_budget_below_nought_is_refused(aws: BillingServer, tmp_path: Path) -> None:
    aws.lists["DescribeBudgets"] = [budget("all", "-1")]

    with pytest.raises(IntegrityError, match="not what it should be"):
        asked(aws.url, tmp_path, budgets=True)


def planned(now: float) -> Json:
    """600 last month, 700 this, 800 the next."""
    month = 2_592_000
    limits = {int(now) - month - 9: "600", int(now) - 9: "700", int(now) + month - 9: "800"}
    return {str(start): {"Amount": amount, "Unit": "USD"} for start, amount in limits.items()}


def test_moto_lists_the_budgets_that_were_made_there(moto_url: str, tmp_path: Path) -> None:
    client = boto3.client("budgets", region_name="us-east-1", endpoint_url=moto_url)
    client.create_budget(
        AccountId=PAYER,
        Budget={
            "BudgetName": "cloud",
            "BudgetType": "COST",
            "TimeUnit": "QUARTERLY",
            "BudgetLimit": {"Amount": "75.5", "Unit": "USD"},
            "TimePeriod": {"Start": NOW - timedelta(days=30), "End": NOW + timedelta(days=300)},
        },
    )
    found, skipped = budgets(client, source="aws", account=PAYER, now=NOW)

    assert [(row["scope"], row["period"], row["amount"]) for row in found.to_dicts()] == [
        ("cloud", "quarter", Decimal("75.5"))
    ]
    assert skipped == ()
