"""Azure costs, what holds now: what the provider expects of the month, and the budgets that somebody set.

Promises a forecast for the whole month or none, and budgets of costs that are in force. Source: Cost Management's
Forecast and Budgets API, 2025-03-01. The forecast states no range in that version.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Final

import dataframely as dy
import polars as pl
from azure.mgmt.costmanagement import models

from exporters.core.errors import IntegrityError, TerminalSourceError
from exporters.core.standing_frames import Budget, ProviderForecast
from exporters.fetch.azure_costs_client import READER, Costs, Json, Table
from exporters.fetch.azure_costs_query import amount_of, currency_of, day_of
from exporters.fetch.azure_costs_rows import PROVIDER, last_of_month
from exporters.fetch.azure_costs_scope import Scope
from exporters.fetch.azure_session import Sdk, as_source_errors
from exporters.fetch.contract import Skipped

PERIODS: Final = {
    "monthly": "month",
    "billingmonth": "month",
    "quarterly": "quarter",
    "billingquarter": "quarter",
    "annually": "year",
    "billingannual": "year",
}
_UNAVAILABLE: Final = 424
"""What the API answers where less than four weeks of history let it expect nothing."""

_STATUSES: Final = ("actual", "forecast")


def forecasts(
    costs: Costs, scopes: Sequence[Scope], today: date, skipped: list[Skipped]
) -> dy.DataFrame[ProviderForecast]:
    """This will return what each scope is expected to be billed for this month, what is spent already included.

    Args:
        costs: the client.
        scopes: whose.
        today: the day (UTC).
        skipped: told which scopes have no forecast, and why.

    Raises:
        SourceError, IntegrityError: the API did not give it, or not in a form that can be believed.
    """
    rows: list[dict[str, object]] = []
    for scope in scopes:
        try:
            table = _ask(costs, scope, today)
        except TerminalSourceError as error:
            if getattr(error.__cause__, "status_code", None) != _UNAVAILABLE:
                raise
            skipped.append(Skipped(scope.path, "no forecast: Azure has too little history of it"))
            continue
        found = _months(table, today)
        if not found:
            skipped.append(Skipped(scope.path, "no forecast: the answer does not reach the end of the month"))
        told = {"source": PROVIDER, "provider": PROVIDER, "account": scope.account, "month": today.replace(day=1)}
        rows += [told | {"currency": currency, "mid": mid} for currency, mid in sorted(found.items())]
    return ProviderForecast.validate(pl.DataFrame(rows, schema=ProviderForecast.create_empty().schema))


def _ask(costs: Costs, scope: Scope, today: date) -> Table:
    definition = models.ForecastDefinition(
        type="ActualCost",
        timeframe="Custom",
        time_period=models.ForecastTimePeriod(
            from_property=datetime.combine(today.replace(day=1), time.min, UTC),
            to=datetime.combine(last_of_month(today), time(23, 59, 59), UTC),
        ),
        dataset=models.ForecastDataset(
            granularity="Daily", aggregation={"Cost": models.ForecastAggregation(name="Cost", function="Sum")}
        ),
        include_actual_cost=True,
        # A part of today would stand beside the forecast of all of today.
        include_fresh_partial_cost=False,
    )
    return costs.table(costs.sdk.forecast.usage, scope.path, definition, what=f"the forecast of {today:%B %Y}")


def _months(table: Table, today: date) -> dict[str, Decimal]:
    """The month by currency; none where a day that is still to come is missing, for then it is no whole month."""
    sums: dict[str, Decimal] = defaultdict(Decimal)
    to_come: dict[str, set[date]] = defaultdict(set)
    if not table.rows:
        return {}
    cost, day, currency, status = (
        table.column("Cost", "PreTaxCost"),
        table.column("UsageDate"),
        table.column("Currency"),
        table.column("CostStatus"),
    )
    last = last_of_month(today)
    for row in table.rows:
        amount, word = amount_of(row[cost]), str(row[status]).casefold()
        if amount is None or word not in _STATUSES:
            raise IntegrityError(
                f"a row is {row!r}", where=table.place, next_step="Nothing of this answer was taken; report it."
            )
        one = currency_of(row[currency], table)
        sums[one] += amount
        if word == "forecast":
            to_come[one].add(day_of(row[day], today.replace(day=1), last, table))
    wanted = {today + timedelta(days=number) for number in range(1, (last - today).days + 1)}
    expected = {one for one, days in to_come.items() if wanted <= days} if wanted else set(sums)
    # Another currency than the one that is expected to go on was used before a change; it has no month to come.
    return {one: sums[one] for one in sums if one in expected or (expected and not to_come[one])}


def budgets(costs: Costs, scopes: Sequence[Scope], now: datetime, skipped: list[Skipped]) -> dy.DataFrame[Budget]:
    """This will return the budgets of costs that are in force, and tell which others there are.

    Args:
        costs: the client.
        scopes: whose.
        now: the moment (UTC).
        skipped: told what was left out and why.
    """
    rows: list[dict[str, object]] = []
    for scope in scopes:
        place = f"{costs.access.endpoint}{scope.path}"
        with as_source_errors(place, what="the list of budgets", right=f"{READER} on {scope.path}"):
            costs.asked += 1
            found = list(costs.sdk.budgets.list(scope.path))
            for budget in found:
                why = _left_out(budget, now)
                if why is None:
                    rows.append(_budget(scope, budget))
                elif why:
                    skipped.append(Skipped(f"budget {budget.name} of {scope.path}", why))
    return Budget.validate(pl.DataFrame(rows, schema=Budget.create_empty().schema))


def _left_out(budget: Sdk, now: datetime) -> str | None:
    """Why a budget is none of ours; empty: it is not in force."""
    told = budget.properties
    start, end = told.time_period.start_date, told.time_period.end_date
    if now < start or (end is not None and now >= end):
        return ""
    category, grain = _word(told.category), _word(told.time_grain)
    if category.casefold() != "cost":
        return f"it is of {category}, not of costs"
    if grain.casefold() not in PERIODS:
        return f"its period is {grain}"
    if told.current_spend is None or not told.current_spend.unit:
        return "it does not state its currency"
    return None


def _word(value: Json) -> str:
    """The SDK makes an enumeration of the words that it knows, and leaves others as they are."""
    return str(getattr(value, "value", value))


def _budget(scope: Scope, budget: Sdk) -> dict[str, object]:
    told = budget.properties
    filters = None if told.filter is None else json.dumps(told.filter.as_dict(), sort_keys=True)
    return {
        "source": PROVIDER,
        "provider": PROVIDER,
        "account": scope.account,
        "scope": budget.name,
        "period": PERIODS[_word(told.time_grain).casefold()],
        "amount": _money(told.amount),
        "currency": told.current_spend.unit,
        "filters": filters,
        "spent": _money(told.current_spend.amount),
        "expected": None if told.forecast_spend is None else _money(told.forecast_spend.amount),
    }


def _money(value: Json) -> Decimal:
    """The SDK reads budgets as floats; their shortest form is what was sent."""
    return round(Decimal(repr(value)), 18)
