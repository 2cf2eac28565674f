"""Fetch, AWS costs: what this month is expected to come to, from Cost Explorer. One paid request.

Promises a figure for the whole month, with what was already spent, or none; never the forecast of a part of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, Final

import dataframely as dy
import polars as pl

from exporters.core.errors import TerminalSourceError
from exporters.core.standing_frames import ProviderForecast
from exporters.fetch.aws_clients import error_code
from exporters.fetch.aws_costs_calls import NO_DATA, billing_errors, exact, whole_error
from exporters.fetch.aws_costs_explorer import Amount, Explorer, fitting
from exporters.fetch.aws_costs_plan import joined, of_accounts

ACTION: Final = "ce:GetCostForecast"
RANGE_PER_CENT: Final = 80
BOUNDS: Final = {
    "mid": "MeanValue",
    "lower": "PredictionIntervalLowerBound",
    "upper": "PredictionIntervalUpperBound",
}


def month_forecast(explorer: Explorer, today: date, spent: Mapping[date, Amount]) -> dy.DataFrame[ProviderForecast]:
    """This will return what AWS expects this month to come to: spent before today, and forecast from today on.

    AWS, GetCostForecast: the forecast is for the span asked for; a month already begun starts today. An account that is
    too new has none, and neither has a month whose bill changes its currency.

    Args:
        explorer: asks, as it asks for charges.
        today: the day (UTC).
        spent: whole days from the first of the month on.
    """
    answer = _answer(explorer, today)
    if answer is None:
        return ProviderForecast.create_empty()
    results = answer.get("ForecastResultsByTime", ())
    if len(results) != 1 or "Total" not in answer:
        raise whole_error(f"{len(results)} months came for the one that was asked for", ACTION)
    month = today.replace(day=1)
    before = [amount for day, amount in spent.items() if month <= day < today]
    currency = str(answer["Total"].get("Unit", ""))
    if any(amount.currency != currency for amount in before):
        return ProviderForecast.create_empty()
    known = sum((amount.billed for amount in before), Decimal(0))
    sums = {name: fitting(known + exact(results[0].get(theirs), where=ACTION)) for name, theirs in BOUNDS.items()}
    row = {"source": explorer.source, "provider": "aws", "account": explorer.account, "month": month}
    frame = pl.DataFrame([row | {"currency": currency} | sums], schema=ProviderForecast.create_empty().schema)
    return ProviderForecast.validate(frame, cast=True)


def next_month(day: date) -> date:
    """This will return the first day of the month after a day's."""
    return (day.replace(day=28) + timedelta(days=4)).replace(day=1)


def _answer(explorer: Explorer, today: date) -> Mapping[str, Any] | None:
    chosen = joined([of_accounts(explorer.accounts)] if explorer.accounts else [])
    try:
        with billing_errors(ACTION, action=ACTION):
            return explorer.client.get_cost_forecast(
                TimePeriod={"Start": today.isoformat(), "End": next_month(today).isoformat()},
                Metric="NET_UNBLENDED_COST" if explorer.net else "UNBLENDED_COST",
                Granularity="MONTHLY",
                PredictionIntervalLevel=RANGE_PER_CENT,
                **({"Filter": chosen} if chosen else {}),
            )
    except TerminalSourceError as error:
        if error_code(error.__cause__) == NO_DATA:
            return None
        raise
