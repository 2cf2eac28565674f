"""Fetch, AWS costs: charges by day from Cost Explorer.

Promises that what it gives is whole: every day of the span is in every answer, no group comes twice, and the parts of
each day add up to the day that AWS states without parts. AWS renews its data several times a day, so parts that were
read before and after do not add up, and are an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal
from typing import Any, Final

import polars as pl

from exporters.core.cost_frames import Charge
from exporters.fetch.aws_clients import CostExplorerClient
from exporters.fetch.aws_costs_calls import exact, pages, whole_error
from exporters.fetch.aws_costs_plan import ACCOUNT, RECORD_TYPE, REGION, SERVICE, Query, joined, kind_of, of_accounts

SPENT: Final = "ce:GetCostAndUsage"
SAME_TO: Final = Decimal("0.005")
"""Half a cent: parts and whole are rounded apart from each other, each to ten places."""

NO_REGION: Final = frozenset({"", "NoRegion", "global"})
STATED: Final = (
    "charge_start",
    "charge_end",
    "billing_period",
    "provider",
    "billing_account",
    "sub_account",
    "service",
    "region",
    "charge_category",
    "pricing_category",
    "currency",
    "billed_cost",
    "effective_cost",
)
"""The columns of Charge that Cost Explorer speaks of."""

_SCALE: Final = Decimal(1).scaleb(-18)
_MONEY: Final = Context(prec=38)


@dataclass(frozen=True, slots=True)
class Amount:
    """What a day or a group of a day came to."""

    billed: Decimal
    effective: Decimal
    currency: str


@dataclass(frozen=True, slots=True)
class Explorer:
    """Asks Cost Explorer.

    Args:
        client: the SDK's client of `ce`.
        source: the name of the source.
        account: the account that pays.
        accounts: member accounts to ask for; empty: all.
        net: whether contract discounts are taken off each charge.
    """

    client: CostExplorerClient
    source: str
    account: str
    accounts: Sequence[str] = ()
    net: bool = False
    metrics: tuple[str, str] = field(init=False)

    def __post_init__(self) -> None:
        chosen = ("NetUnblendedCost", "NetAmortizedCost") if self.net else ("UnblendedCost", "AmortizedCost")
        object.__setattr__(self, "metrics", chosen)

    def days(self, first: date, last: date) -> dict[date, Amount]:
        """This will return what each day came to as a whole."""
        found: dict[date, Amount] = {}
        for day, result in self._results(Query("whole days", ()), first, last):
            if day in found:
                raise whole_error(f"{day} came twice", SPENT)
            found[day] = self._amount(result.get("Total", {}), f"{SPENT} of {day}")
        return found

    def members(self, first: date, last: date) -> tuple[str, ...]:
        """This will return the accounts that have charges in a span of days."""
        values = pages(
            self.client.get_dimension_values,
            {"TimePeriod": _period(first, last), "Dimension": ACCOUNT, "Context": "COST_AND_USAGE"},
            items="DimensionValues",
            next_page="NextPageToken",
            action="ce:GetDimensionValues",
        )
        return tuple(sorted(one["Value"] for page in values for one in page["DimensionValues"]))

    def charges(self, query: Query, first: date, last: date) -> list[pl.DataFrame]:
        """This will return the charges of a query that are not nought: the columns STATED of Charge, piece by piece."""
        parts: list[pl.DataFrame] = []
        seen: set[tuple[date, tuple[str, ...]]] = set()
        for day, result in self._results(query, first, last):
            rows: list[dict[str, object]] = []
            for group in result.get("Groups", ()):
                keys = tuple(group.get("Keys", ()))
                where = f"{SPENT} ({query.name}) of {day}"
                if len(keys) != len(query.group_by) or (day, keys) in seen:
                    raise whole_error(f"the group {keys} came twice, or without its keys", where)
                seen.add((day, keys))
                amount = self._amount(group.get("Metrics", {}), where)
                if amount.billed or amount.effective:
                    rows.append(self._row(query, day, dict(zip(query.group_by, keys, strict=True)), amount))
            parts.append(_frame(rows))
        return parts

    def _results(self, query: Query, first: date, last: date) -> Iterator[tuple[date, Mapping[str, Any]]]:
        """Every day's part of every page; a day may go on over a page, and every day of the span must come."""
        filters = [*query.filters, *([of_accounts(self.accounts)] if self.accounts and not query.account else [])]
        chosen = joined(filters)
        arguments: dict[str, Any] = {
            "TimePeriod": _period(first, last),
            "Granularity": "DAILY",
            "Metrics": list(self.metrics),
            **({"GroupBy": [{"Type": "DIMENSION", "Key": key} for key in query.group_by]} if query.group_by else {}),
            **({"Filter": chosen} if chosen else {}),
        }
        come: set[date] = set()
        answers = pages(
            self.client.get_cost_and_usage,
            arguments,
            items="ResultsByTime",
            next_page="NextPageToken",
            action=SPENT,
        )
        for page in answers:
            for result in page["ResultsByTime"]:
                day = _day_of(result)
                come.add(day)
                yield day, result
        wanted = {first + timedelta(days=number) for number in range((last - first).days + 1)}
        if come != wanted:
            shown = ", ".join(day.isoformat() for day in sorted(come ^ wanted)[:3])
            raise whole_error(f"{len(come ^ wanted)} days are missing or were not asked for ({shown})", SPENT)

    def _amount(self, metrics: Mapping[str, Any], where: str) -> Amount:
        if missing := [name for name in self.metrics if name not in metrics]:
            raise whole_error(f"the metrics {', '.join(missing)} are missing", where)
        billed, effective = (exact(metrics[name].get("Amount"), where=where) for name in self.metrics)
        units = {str(metrics[name].get("Unit", "")) for name in self.metrics}
        currency = units.pop()
        if units or len(currency) != 3 or not currency.isalpha() or not currency.isupper():
            raise whole_error(f"the unit {currency!r} of an amount is no currency, or there are two", where)
        return Amount(billed, effective, currency)

    def _row(self, query: Query, day: date, keys: Mapping[str, str], amount: Amount) -> dict[str, object]:
        kind = query.kind or kind_of(keys[RECORD_TYPE])
        start = datetime(day.year, day.month, day.day, tzinfo=UTC)
        region = keys.get(REGION, "")
        return {
            "charge_start": start,
            "charge_end": start + timedelta(days=1),
            "billing_period": day.replace(day=1),
            "provider": "aws",
            "billing_account": self.account,
            "sub_account": query.account or keys[ACCOUNT],
            "service": keys.get(SERVICE),
            "region": None if region in NO_REGION else region,
            "charge_category": kind.charge_category,
            "pricing_category": kind.pricing_category,
            "currency": amount.currency,
            "billed_cost": fitting(amount.billed),
            "effective_cost": fitting(amount.effective),
        }


def charge_frame(parts: Sequence[pl.DataFrame]) -> pl.LazyFrame:
    """This will return what queries gave as Charge; what Cost Explorer does not say is null."""
    schema = Charge.create_empty().schema
    unsaid = [pl.lit(None, kind).alias(name) for name, kind in schema.items() if name not in STATED]
    return pl.concat([_frame([]), *parts]).lazy().with_columns(unsaid).select(list(schema))


def require_whole(parts: Sequence[pl.DataFrame], whole: Mapping[date, Amount]) -> None:
    """This will hold the parts of each day against the day as AWS states it without parts.

    Raises:
        IntegrityError: they differ by half a cent or more, or are in another currency.
    """
    by_day = pl.concat([_frame([]), *parts]).group_by(day=pl.col("charge_start").dt.date(), currency="currency")
    costs = by_day.agg(pl.col("billed_cost", "effective_cost").sum())
    sums = {(day, currency): (billed, effective) for day, currency, billed, effective in costs.iter_rows()}
    for day, stated in whole.items():
        others = [currency for at, currency in sums if at == day and currency != stated.currency]
        if others:
            raise whole_error(f"{day} has charges in {others[0]} and is stated in {stated.currency}", SPENT)
        billed, effective = sums.get((day, stated.currency), (Decimal(0), Decimal(0)))
        if abs(billed - stated.billed) >= SAME_TO or abs(effective - stated.effective) >= SAME_TO:
            raise whole_error(
                f"the charges of {day} come to {billed} billed and {effective} amortised, the whole day to "
                f"{stated.billed} and {stated.effective} {stated.currency}: AWS renewed its data in between, or a "
                "charge falls under no query",
                SPENT,
            )


def _frame(rows: Sequence[Mapping[str, object]]) -> pl.DataFrame:
    whole = Charge.create_empty().schema
    return pl.DataFrame(rows, schema={name: whole[name] for name in STATED})


def _period(first: date, last: date) -> dict[str, str]:
    """AWS, DateInterval: the end is exclusive."""
    return {"Start": first.isoformat(), "End": (last + timedelta(days=1)).isoformat()}


def _day_of(result: Mapping[str, Any]) -> date:
    try:
        return date.fromisoformat(str(result["TimePeriod"]["Start"])[:10])
    except (KeyError, TypeError, ValueError) as error:
        raise whole_error("a result came without its day", SPENT) from error


def fitting(amount: Decimal) -> Decimal:
    """This will return money to the 18 places that it is kept in; AWS writes ten."""
    return amount.quantize(_SCALE, context=_MONEY)
