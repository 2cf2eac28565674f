"""Google Cloud's budgets of billing accounts, exact amounts in the currency that each states.

A budget that follows the last period's spend has no amount, and one of a period of its own has no month, quarter or
year: both are reported as skipped. Source: Cloud Billing Budget API v1, billingAccounts.budgets.list.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any, Final

import dataframely as dy
import polars as pl

from exporters.core.cost_frames import COST
from exporters.core.standing_frames import Budget
from exporters.fetch.contract import Skipped
from exporters.fetch.gcp_costs_rest import Rest, unlike

PAGE_SIZE: Final = "100"
NANOS: Final = Decimal("1e-9")
PERIODS: Final = {"MONTH": "month", "QUARTER": "quarter", "YEAR": "year"}
LIMITS: Final = {
    "projects": "projects",
    "resourceAncestors": "folders",
    "services": "services",
    "subaccounts": "subaccounts",
    "labels": "labels",
    "creditTypes": "credits",
}
"""Fields of a filter that leave costs out, and our words for them."""


def budgets(rest: Rest, accounts: Iterable[str], skipped: list[Skipped]) -> dy.DataFrame[Budget]:
    """This will return the budgets of billing accounts.

    Raises:
        SourceError: a page did not arrive.
        IntegrityError: a budget cannot be read.
    """
    rows: list[dict[str, Any]] = []
    for account in accounts:
        where = f"{rest.endpoint} budgets of {account}"
        path = f"v1/billingAccounts/{account}/budgets"
        for page in rest.pages(path, {"pageSize": PAGE_SIZE}):
            try:
                rows.extend(row for one in page.get("budgets", ()) if (row := _row(account, one, skipped)) is not None)
            except (KeyError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
                raise unlike(f"a budget cannot be read ({error!r})", where) from error
    return _frame(rows)


def _row(account: str, one: Mapping[str, Any], skipped: list[Skipped]) -> dict[str, Any] | None:
    name = str(one.get("displayName") or one["name"].rsplit("/", 1)[-1])
    asked = one.get("budgetFilter", {})
    money = one["amount"].get("specifiedAmount")
    if money is None:
        skipped.append(Skipped("", f"budget {name} of {account} follows the last period's spend, which is no amount"))
        return None
    calendar = "" if "customPeriod" in asked else asked.get("calendarPeriod", "MONTH")
    period = PERIODS.get(calendar)
    if period is None:
        skipped.append(Skipped("", f"budget {name} of {account} is for a period of its own"))
        return None
    return {
        "source": "gcp",
        "provider": "gcp",
        "account": account,
        "scope": name,
        "name": one["name"],
        "period": period,
        "amount": format(Decimal(int(money.get("units", 0))) + int(money.get("nanos", 0)) * NANOS, "f"),
        "currency": money["currencyCode"],
        "filters": _filters(asked),
    }


def _filters(asked: Mapping[str, Any]) -> str | None:
    """What a budget is limited to, in words; None: all costs of the account, credits taken off."""
    said = [f"{word}: {_words(asked[field])}" for field, word in LIMITS.items() if asked.get(field)]
    if asked.get("creditTypesTreatment") == "EXCLUDE_ALL_CREDITS":
        said.append("before credits")
    return "; ".join(said) or None


def _words(held: Any) -> str:  # noqa: ANN401 - a list of names, or an object of lists
    if isinstance(held, Mapping):
        return ", ".join(f"{key}={'|'.join(map(str, values))}" for key, values in sorted(held.items()))
    return ", ".join(map(str, held))


def _frame(rows: list[dict[str, Any]]) -> dy.DataFrame[Budget]:
    """Budgets may bear one name; those that do are told apart by their ids."""
    names = [(row["account"], row["scope"]) for row in rows]
    for row in rows:
        identity = row.pop("name").rsplit("/", 1)[-1]
        if names.count((row["account"], row["scope"])) > 1:
            row["scope"] += f" ({identity})"
    schema = {name: column.dtype for name, column in Budget.columns().items()}
    frame = pl.DataFrame(rows, schema=schema | {"amount": pl.String}, orient="row")
    return Budget.validate(frame.with_columns(pl.col("amount").cast(COST)))
