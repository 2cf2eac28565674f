"""Azure costs, first arrow: what each day came to by subscription, service, region and owner, from query.usage.

The API groups by two things at most. A third and further ones are asked for as filters, one query for each value that
a list of the values names, and every part must add up to its whole, so that all rows come from one consistent set and
their sum is what the API says of the scope.

Source: Cost Management Query API, 2025-03-01 (QueryDefinition: at most two groupings and two aggregations).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Final, NamedTuple

from azure.mgmt.costmanagement import models

from exporters.core.errors import IntegrityError
from exporters.fetch.azure_costs_client import Costs, Json, Table
from exporters.fetch.azure_costs_scope import Scope

DIMENSIONS: Final[Mapping[str, str]] = {
    "charge-type": "ChargeType",
    "region": "ResourceLocation",
    "subscription": "SubscriptionId",
    "service": "ServiceName",
}
"""Our words and the API's; the owner is a tag."""

OWNER: Final = "owner"
ORDER: Final = ("charge-type", "region", "subscription", "service", OWNER)
"""The last two are grouped; those before are filtered, first what has the fewest values."""

ACTUAL, AMORTISED = "ActualCost", "AmortizedCost"
_COST: Final = "Cost"
_MOST_GROUPS: Final = 2
_SLACK: Final = Decimal("0.001")
"""A part and its whole are both sums of binary fractions on the other side; a thousandth is no cost of anything."""
_WAYS: Final = 2


class Key(NamedTuple):
    """What an amount is of: the day, the currency, and a value for each dimension that was asked."""

    day: date
    currency: str
    values: tuple[str, ...]


Amounts = dict[Key, Decimal]


@dataclass(slots=True)
class Question:
    """What is asked of one scope.

    Args:
        costs: the client.
        scope: where.
        kind: ActualCost or AmortizedCost.
        first_day: first day wanted.
        last_day: last day wanted, in the same month.
        owner_tag: the key of the tag that names an owner.
        undivided: groups whose parts the API did not give; told to the reader.
    """

    costs: Costs
    scope: Scope
    kind: str
    first_day: date
    last_day: date
    owner_tag: str
    undivided: set[str] = field(default_factory=set)


class _ChangedError(Exception):
    """The parts of a group are not its whole: the figures changed between two queries, or a filter did not hold."""


def months(first_day: date, last_day: date) -> Iterator[tuple[date, date]]:
    """This will cut a span of days at the ends of months; the API limits the span of one query."""
    start = first_day
    while start <= last_day:
        next_month = (start.replace(day=1) + timedelta(days=32)).replace(day=1)
        yield start, min(last_day, next_month - timedelta(days=1))
        start = next_month


def amounts(question: Question, dimensions: Sequence[str]) -> Amounts:
    """This will return the amounts by day, currency and dimensions; no charges give none.

    Raises:
        SourceError: the API did not give it.
        IntegrityError: an answer is not believable, or parts twice did not add up to their whole.
    """
    for _ in range(_WAYS):
        try:
            return _divided(question, [word for word in ORDER if word in dimensions], {})
        except _ChangedError as error:
            reason = str(error)
    raise IntegrityError(
        reason,
        where=f"{question.kind} of {question.scope.path}, {question.first_day} to {question.last_day}",
        next_step="Nothing was taken; it will be asked again. If it lasts, split less finely (costs.azure.split_by).",
    )


def _divided(question: Question, dimensions: Sequence[str], where: Mapping[str, str]) -> Amounts:
    if len(dimensions) <= _MOST_GROUPS:
        return _read(question, dimensions, where)
    outer = dimensions[: min(_MOST_GROUPS, len(dimensions) - _MOST_GROUPS)]
    inner = dimensions[len(outer) :]
    found: Amounts = {}
    for values, whole in _by_values(_read(question, outer, where)).items():
        chosen = {**where, **dict(zip(outer, values, strict=True))}
        parts = _divided(question, inner, chosen)
        if not parts and any(whole.values()):
            # How a filter must spell "no value" is not documented; amounts that none finds stay whole instead.
            question.undivided.add(_words(chosen))
            parts = {Key(day, currency, ("",) * len(inner)): amount for (day, currency), amount in whole.items()}
        _require_whole(whole, parts, chosen)
        found |= {Key(key.day, key.currency, values + key.values): amount for key, amount in parts.items()}
    return found


def _by_values(listed: Amounts) -> dict[tuple[str, ...], dict[tuple[date, str], Decimal]]:
    grouped: dict[tuple[str, ...], dict[tuple[date, str], Decimal]] = defaultdict(dict)
    for key, amount in sorted(listed.items()):
        grouped[key.values][key.day, key.currency] = amount
    return grouped


def _require_whole(whole: Mapping[tuple[date, str], Decimal], parts: Amounts, chosen: Mapping[str, str]) -> None:
    summed: dict[tuple[date, str], Decimal] = defaultdict(Decimal)
    for key, amount in parts.items():
        summed[key.day, key.currency] += amount
    for day, currency in whole.keys() | summed.keys():
        told, found = whole.get((day, currency), Decimal(0)), summed[day, currency]
        if abs(told - found) > _SLACK:
            raise _ChangedError(
                f"on {day} {_words(chosen)} came to {told:.4f} {currency}, its parts to {found:.4f} {currency}"
            )


def _words(chosen: Mapping[str, str]) -> str:
    return ", ".join(f"{word} {value or 'none'}" for word, value in chosen.items())


def _read(question: Question, dimensions: Sequence[str], where: Mapping[str, str]) -> Amounts:
    """One query, all its pages; groups that differ only in case are one."""
    table = question.costs.table(
        question.costs.sdk.query.usage,
        question.scope.path,
        _definition(question, dimensions, where),
        what=f"{question.kind} from {question.first_day} to {question.last_day}",
    )
    found: Amounts = defaultdict(Decimal)
    if not table.rows:
        return found
    cost, day, currency = table.column(_COST, "PreTaxCost"), table.column("UsageDate"), table.column("Currency")
    places = [_place(table, question, word) for word in dimensions]
    for row in table.rows:
        key = Key(
            day_of(row[day], question.first_day, question.last_day, table),
            currency_of(row[currency], table),
            tuple("" if row[place] is None else str(row[place]) for place in places),
        )
        found[key] += _amount(row[cost], table)
    return found


def _place(table: Table, question: Question, word: str) -> int:
    if word != OWNER:
        return table.column(DIMENSIONS[word])
    return table.column("TagValue") if table.has("TagValue") else table.column(question.owner_tag)


def _definition(question: Question, dimensions: Sequence[str], where: Mapping[str, str]) -> models.QueryDefinition:
    filters = [
        models.QueryFilter(
            dimensions=models.QueryComparisonExpression(name=DIMENSIONS[word], operator="In", values_property=[value])
        )
        for word, value in where.items()
    ]
    grouping = [
        models.QueryGrouping(type="TagKey", name=question.owner_tag)
        if word == OWNER
        else models.QueryGrouping(type="Dimension", name=DIMENSIONS[word])
        for word in dimensions
    ]
    return models.QueryDefinition(
        type=question.kind,
        timeframe="Custom",
        time_period=models.QueryTimePeriod(
            from_property=datetime.combine(question.first_day, time.min, UTC),
            to=datetime.combine(question.last_day, time(23, 59, 59), UTC),
        ),
        dataset=models.QueryDataset(
            granularity="Daily",
            aggregation={_COST: models.QueryAggregation(name=_COST, function="Sum")},
            grouping=grouping,
            # The API takes "and" only with two members or more.
            filter=models.QueryFilter(and_property=filters) if len(filters) > 1 else next(iter(filters), None),
        ),
    )


def day_of(value: Json, first_day: date, last_day: date, table: Table) -> date:
    """This will read a day, written as the number 20261130, by some scopes as an ISO time.

    Raises:
        IntegrityError: it is none, or was not asked for.
    """
    text = str(value)
    try:
        day = date.fromisoformat(text[:10]) if "-" in text else datetime.strptime(text, "%Y%m%d").date()  # noqa: DTZ007
    except ValueError:
        raise _unbelievable(table, f"UsageDate is {value!r}") from None
    if not first_day <= day <= last_day:
        raise _unbelievable(table, f"it holds {day}, which was not asked for")
    return day


def currency_of(value: Json, table: Table) -> str:
    """This will read a currency.

    Raises:
        IntegrityError: it is not of ISO 4217's form.
    """
    if not isinstance(value, str) or not re.fullmatch("[A-Z]{3}", value):
        raise _unbelievable(table, f"Currency is {value!r}")
    return value


def amount_of(value: Json) -> Decimal | None:
    """This will return a number of an answer as exact money; None: it is none."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return None
    number = Decimal(value)
    return round(number, 18) if number.is_finite() and abs(number) < Decimal(10) ** 18 else None


def _amount(value: Json, table: Table) -> Decimal:
    amount = amount_of(value)
    if amount is None:
        raise _unbelievable(table, f"a cost is {value!r}")
    return amount


def _unbelievable(table: Table, what: str) -> IntegrityError:
    return IntegrityError(
        what, where=table.place, next_step="Nothing of this answer was taken; it will be asked again."
    )
