"""Azure costs, what holds now: reservations and savings plans that were bought, and how far they are used.

Promises every one that the identity may see and that is in force. What a reservation costs is its order's total spread
over its term. The SDK has no operation for these lists, so Resource Manager is asked through the same client.

Sources: Azure Reservations API (Microsoft.Capacity/reservations and reservationOrders, 2022-11-01), Billing Benefits
API (Microsoft.BillingBenefits/savingsPlans, 2022-11-01), Cost Management benefit utilization summaries (2025-03-01).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

import dataframely as dy
import polars as pl

from exporters.core.clock import parse_utc
from exporters.core.errors import IntegrityError
from exporters.core.standing_frames import Commitment, CommitmentKind, CommitmentUnit, CommitmentUse
from exporters.fetch.azure_costs_client import Costs, Json
from exporters.fetch.azure_costs_rows import PROVIDER, region_of
from exporters.fetch.azure_session import as_source_errors
from exporters.fetch.azure_sizes import read_name

VERSION: Final = "2022-11-01"
RESERVATIONS_READER: Final = "the role Reservations Reader on /providers/Microsoft.Capacity"
PLANS_READER: Final = "the role Savings plan Reader on /providers/Microsoft.BillingBenefits"
NO_CURRENCY: Final = "XXX"
"""ISO 4217's word for none: what a reservation costs is not always told."""

USE_DAYS: Final = 30
SETTLED_DAYS: Final = 2
_MACHINES: Final = "virtualmachines"
_IN_FORCE: Final = ("succeeded", "creating", "confirmedbilling")
_ORDER: Final = re.compile(r"/reservationorders/([^/]+)/", re.IGNORECASE)
_PLAN: Final = re.compile(r"/savingsplanorders/([^/]+)/savingsplans/([^/]+)$", re.IGNORECASE)
_HOURS_OF_YEAR: Final = 8_760


@dataclass(frozen=True, slots=True)
class _Price:
    """What one unit of an order's quantity costs an hour."""

    currency: str = NO_CURRENCY
    per_hour: float | None = None


@dataclass(frozen=True, slots=True)
class Bought:
    """What was bought in advance and is in force, as Azure lists it.

    Args:
        reservations: of machines and of other services.
        plans: savings plans.
    """

    reservations: Sequence[Json]
    plans: Sequence[Json]


def bought(costs: Costs, now: datetime) -> Bought:
    """This will list the reservations and savings plans that are in force at a moment (UTC).

    Raises:
        SourceError: a list was not given.
        IntegrityError: one of them does not say when it ends.
    """
    reservations = costs.resources(
        "/providers/Microsoft.Capacity/reservations",
        api_version=VERSION,
        what="the list of reservations",
        right=RESERVATIONS_READER,
    )
    plans = costs.resources(
        "/providers/Microsoft.BillingBenefits/savingsPlans",
        api_version=VERSION,
        what="the list of savings plans",
        right=PLANS_READER,
    )
    return Bought(reservations=_in_force(reservations, now), plans=_in_force(plans, now))


def commitments(costs: Costs, found: Bought) -> dy.DataFrame[Commitment]:
    """This will return them as commitments; one request for each order of reservations tells its price.

    Raises:
        IntegrityError: one of them lacks what it cannot be without.
    """
    prices = {order: _order_price(costs, order) for order in sorted({_order(one) for one in found.reservations})}
    rows = [_reservation(one, prices[_order(one)]) for one in found.reservations]
    rows += [_plan(one) for one in found.plans]
    return Commitment.validate(pl.DataFrame(rows, schema=Commitment.create_empty().schema))


def commitment_use(costs: Costs, found: Bought, today: date) -> dy.DataFrame[CommitmentUse]:
    """This will return how far they were used over 30 days.

    Savings plans by their daily summaries, one request each, until two days ago; reservations as their list says it.
    """
    last = today - timedelta(days=SETTLED_DAYS)
    first = last - timedelta(days=USE_DAYS - 1)
    days = f"properties/usageDate ge {first} and properties/usageDate le {last}"
    rows = [
        _use(one, first, last, _plan_ratio(costs, one, days), one["properties"]["commitment"]["currencyCode"])
        for one in found.plans
    ]
    rows += [
        _use(one, today - timedelta(days=length), today - timedelta(days=1), ratio, NO_CURRENCY)
        for one in found.reservations
        for length, ratio in _aggregates(one)
        if length == USE_DAYS
    ]
    return CommitmentUse.validate(pl.DataFrame(rows, schema=CommitmentUse.create_empty().schema))


def _use(one: Mapping[str, Any], first: date, last: date, ratio: float | None, currency: str) -> dict[str, object]:
    return {
        "source": PROVIDER,
        "provider": PROVIDER,
        "account": _account(one),
        "scope": one["id"],
        "first_day": first,
        "last_day": last,
        "used_ratio": ratio,
        "currency": currency,
    }


def _in_force(found: Sequence[Json], now: datetime) -> list[Json]:
    return [
        one
        for one in found
        if str(one["properties"].get("provisioningState", "")).casefold() in _IN_FORCE and _moment(one, _ENDS) > now
    ]


_STARTS: Final = ("benefitStartTime", "effectiveDateTime", "purchaseDateTime", "purchaseDate")
_ENDS: Final = ("expiryDateTime", "expiryDate")


def _moment(one: Mapping[str, Any], names: Sequence[str]) -> datetime:
    text = next((one["properties"][name] for name in names if one["properties"].get(name)), None)
    try:
        # Azure writes seven digits of a second; a datetime has six.
        return parse_utc(re.sub(r"(\.\d{6})\d+", r"\1", text or ""))
    except ValueError:
        raise _lacks(one, " or ".join(names)) from None


def _lacks(one: Mapping[str, Any], what: str) -> IntegrityError:
    return IntegrityError(
        f"{what} is absent or unreadable",
        where=str(one.get("id")),
        next_step="Nothing of the list was taken; look at it in the portal, or set costs.azure.commitments: false.",
    )


def _order(one: Mapping[str, Any]) -> str:
    found = _ORDER.search(str(one.get("id")))
    if found is None:
        raise _lacks(one, "the order in its id")
    return found[1]


def _order_price(costs: Costs, order: str) -> _Price:
    """The total of an order, spread over quantity and term; where it is not told, none."""
    path = f"/providers/Microsoft.Capacity/reservationOrders/{order}"
    answer = costs.resource(
        f"{path}?$expand=schedule", api_version=VERSION, what="a reservation order", right=RESERVATIONS_READER
    )
    told = answer["properties"]
    total = (told.get("planInformation") or {}).get("pricingCurrencyTotal") or {}
    quantity, years = told.get("originalQuantity"), _years(told.get("term"))
    if not total.get("currencyCode") or total.get("amount") is None or not quantity or not years:
        return _Price()
    per_hour = Decimal(total["amount"]) / Decimal(quantity) / (years * _HOURS_OF_YEAR)
    return _Price(currency=total["currencyCode"], per_hour=float(per_hour))


def _years(term: str | None) -> int:
    found = re.fullmatch(r"P(\d+)Y", term or "")
    return int(found[1]) if found else 0


def _account(one: Mapping[str, Any]) -> str:
    scope = str(one["properties"].get("billingScopeId") or "")
    return scope.rpartition("/")[2].lower()


def _reservation(one: Mapping[str, Any], price: _Price) -> dict[str, object]:
    """A reservation; of machines, its size; of other services, the SKU, so that no machine is taken to be covered."""
    told, sku = one["properties"], str((one.get("sku") or {}).get("name") or "")
    quantity = told.get("quantity")
    if not sku or not isinstance(quantity, int) or quantity < 1:
        raise _lacks(one, "sku.name or quantity")
    kind = str(told.get("reservedResourceType") or "")
    is_machine = kind.casefold() == _MACHINES
    flexible = str(told.get("instanceFlexibility")).casefold() == "on"
    return {
        **_common(one, CommitmentKind.RESERVATION),
        "unit": CommitmentUnit.INSTANCE.value,
        "plan_type": ("flexible" if flexible else "fixed") if is_machine else kind,
        "region": region_of(str(one.get("location") or "")),
        "instance_family": read_name(sku).family if is_machine else kind,
        "instance_type": sku,
        "quantity": float(quantity),
        "currency": price.currency,
        "cost_per_hour": None if price.per_hour is None else price.per_hour * quantity,
    }


def _plan(one: Mapping[str, Any]) -> dict[str, object]:
    commitment = one["properties"].get("commitment") or {}
    amount, currency = commitment.get("amount"), commitment.get("currencyCode")
    if amount is None or not currency or str(commitment.get("grain")).casefold() != "hourly":
        raise _lacks(one, "an hourly commitment")
    return {
        **_common(one, CommitmentKind.SAVINGS_PLAN),
        "unit": CommitmentUnit.MONEY.value,
        "plan_type": str((one.get("sku") or {}).get("name") or "").removesuffix("_Savings_Plan"),
        "region": "",
        "instance_family": "",
        "instance_type": "",
        "quantity": float(amount),
        "currency": currency,
        "cost_per_hour": float(amount),
    }


def _common(one: Mapping[str, Any], kind: CommitmentKind) -> dict[str, object]:
    return {
        "source": PROVIDER,
        "provider": PROVIDER,
        "account": _account(one),
        "commitment_id": one["id"],
        "kind": kind.value,
        "gpu_model": "",
        "starts_at": _moment(one, _STARTS),
        "ends_at": _moment(one, _ENDS),
        "renews": bool(one["properties"].get("renew")),
    }


def _aggregates(one: Mapping[str, Any]) -> list[tuple[int, float]]:
    """Days and ratio of use, as the list of reservations states them in per cent."""
    found = (one["properties"].get("utilization") or {}).get("aggregates") or []
    return [
        (int(part["grain"]), float(part["value"]) / 100)
        for part in found
        if part.get("grainUnit") == "days" and part.get("valueUnit") == "percentage"
    ]


def _plan_ratio(costs: Costs, one: Mapping[str, Any], days: str) -> float | None:
    """The mean of a plan's days: a plan is the same amount every hour, so that its mean is that of the whole."""
    names = _PLAN.search(str(one["id"]))
    if names is None:
        raise _lacks(one, "the order and the plan in its id")
    with as_source_errors(str(one["id"]), what="the use of a savings plan", right=PLANS_READER):
        costs.asked += 1
        list_of = costs.sdk.benefit_utilization_summaries.list_by_savings_plan_id
        found = [
            float(day.avg_utilization_percentage)
            for day in list_of(*names.groups(), filter=days, grain_parameter="Daily")
        ]
    return sum(found) / len(found) / 100 if found else None
