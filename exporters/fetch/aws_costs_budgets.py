"""Fetch, AWS costs: the budgets that somebody set, from AWS Budgets. Listing them costs nothing.

Promises that every budget of costs by month, quarter or year that is in force is there; budgets of usage, of
commitments, by the day or of a span of their own are another thing and are left out, by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

import dataframely as dy
import polars as pl

from exporters.core.standing_frames import Budget
from exporters.fetch.aws_clients import BudgetsClient
from exporters.fetch.aws_costs_calls import exact, pages, stated_whole, whole_error
from exporters.fetch.contract import Skipped

ACTION: Final = "budgets:ViewBudget"
PERIODS: Final = {"MONTHLY": "month", "QUARTERLY": "quarter", "ANNUALLY": "year"}


def budgets(
    client: BudgetsClient, *, source: str, account: str, now: datetime
) -> tuple[dy.DataFrame[Budget], tuple[Skipped, ...]]:
    """This will return the budgets of an account that are in force, and those that were left out.

    Args:
        client: the SDK's client of `budgets`.
        source: the name of the source.
        account: the account that owns them.
        now: the moment (UTC).
    """
    answers = pages(
        client.describe_budgets,
        {"AccountId": account, "MaxResults": 100},
        items="Budgets",
        next_page="NextToken",
        action=ACTION,
    )
    rows: list[dict[str, object]] = []
    skipped: list[Skipped] = []
    for page in answers:
        for budget in page["Budgets"]:
            if budget["BudgetType"] != "COST" or budget["TimeUnit"] not in PERIODS:
                why = (
                    f"it is of {budget['BudgetType'].lower()}, {budget['TimeUnit'].lower()}: not costs by month or more"
                )
                skipped.append(Skipped(region=f"budget {budget['BudgetName']}", why=why))
            elif _in_force(budget, now):
                limit = _limit(budget, now)
                rows.append(
                    {
                        "source": source,
                        "provider": "aws",
                        "account": account,
                        "scope": budget["BudgetName"],
                        "period": PERIODS[budget["TimeUnit"]],
                        "amount": exact(limit.get("Amount"), where=f"budget {budget['BudgetName']}"),
                        "currency": limit.get("Unit"),
                    }
                )
    with stated_whole(ACTION):
        frame = Budget.validate(pl.DataFrame(rows, schema=Budget.create_empty().schema), cast=True)
    return frame, tuple(skipped)


def _in_force(budget: Mapping[str, Any], now: datetime) -> bool:
    period = budget.get("TimePeriod", {})
    return bool(period.get("Start", now) <= now < period.get("End", datetime.max.replace(tzinfo=UTC)))


def _limit(budget: Mapping[str, Any], now: datetime) -> Mapping[str, Any]:
    """The limit; of a budget that is planned by period (AWS, PlannedBudgetLimits: keys are starts as epochs), now's."""
    planned = {float(start): limit for start, limit in budget.get("PlannedBudgetLimits", {}).items()}
    begun = [start for start in planned if start <= now.timestamp()]
    if begun:
        return dict(planned[max(begun)])
    if "BudgetLimit" not in budget:
        raise whole_error("it has neither a limit nor a planned one for now", f"budget {budget['BudgetName']}")
    return dict(budget["BudgetLimit"])
