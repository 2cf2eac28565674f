"""Fetch, AWS costs: into which queries the charges are cut, known before anything is asked. Pure.

Cost Explorer groups by two dimensions at most (AWS, GetCostAndUsage), and wanted are account, service, region and kind
of charge. So charges are cut by kind with filters: each charge falls under exactly one query, and a kind of charge that
AWS adds falls under the last, which asks for all others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

Breakdown = Literal["service", "region", "account"]
Filter = Mapping[str, Any]

ACCOUNT: Final = "LINKED_ACCOUNT"
SERVICE: Final = "SERVICE"
REGION: Final = "REGION"
RECORD_TYPE: Final = "RECORD_TYPE"


@dataclass(frozen=True, slots=True)
class Kind:
    """Record types of Cost Explorer that stand under one charge category of FOCUS.

    Args:
        record_types: as the API spells them; fees of reservations and support have an older and a newer spelling.
        charge_category: of FOCUS.
        pricing_category: of FOCUS; None: the record type does not tell on-demand from spot.
    """

    record_types: tuple[str, ...]
    charge_category: str
    pricing_category: str | None = None


USAGE: Final = Kind(("Usage", "SavingsPlanNegation"), "Usage")
COMMITTED: Final = Kind(("DiscountedUsage", "SavingsPlanCoveredUsage"), "Usage", "Committed")
PURCHASE: Final = Kind(
    ("Fee", "RIFee", "Upfront", "Recurring", "SavingsPlanUpfrontFee", "SavingsPlanRecurringFee", "Support"), "Purchase"
)
TAX: Final = Kind(("Tax",), "Tax")
CREDIT: Final = Kind(("Credit",), "Credit")
OTHER: Final = Kind((), "Adjustment")
"""Refunds, discounts by contract, and whatever else there is."""

KINDS: Final = (USAGE, COMMITTED, PURCHASE, TAX, CREDIT)


@dataclass(frozen=True, slots=True)
class Query:
    """One question about charges.

    Args:
        name: for messages.
        group_by: the dimensions of its groups, in the order of their keys.
        filters: which charges; all of them must hold.
        kind: what its charges are; None: the record type among its keys says so.
        account: whose charges they are; None: among its keys.
    """

    name: str
    group_by: tuple[str, ...]
    filters: tuple[Filter, ...] = ()
    kind: Kind | None = None
    account: str | None = None


def charge_queries(breakdown: Breakdown, accounts: Sequence[str]) -> tuple[Query, ...]:
    """This will return the queries of a time of asking; each is one paid request and one more for each further page.

    Args:
        breakdown: how far charges are told apart.
        accounts: the member accounts, for `region`; the others do not need them.
    """
    if breakdown == "account":
        return (Query("charges", (ACCOUNT, RECORD_TYPE)),)
    by_service = [Query(_title(kind), (ACCOUNT, SERVICE), (of_kind(kind),), kind) for kind in (*KINDS, OTHER)]
    if breakdown == "service":
        return tuple(by_service)
    by_region = [
        Query(f"{_title(kind)} of {account}", (SERVICE, REGION), (of_kind(kind), of_accounts([account])), kind, account)
        for account in accounts
        for kind in (USAGE, COMMITTED)
    ]
    return (*by_region, *by_service[2:])


def of_kind(kind: Kind) -> Filter:
    """This will return the filter for charges of a kind; of OTHER: those of no named one."""
    if kind is OTHER:
        return {"Not": _among(RECORD_TYPE, [name for one in KINDS for name in one.record_types])}
    return _among(RECORD_TYPE, kind.record_types)


def of_accounts(accounts: Sequence[str]) -> Filter:
    """This will return the filter for charges of member accounts."""
    return _among(ACCOUNT, accounts)


def joined(filters: Sequence[Filter]) -> Filter | None:
    """This will return the filter under which all of several hold; AWS wants two or more in an And."""
    return {"And": list(filters)} if len(filters) > 1 else filters[0] if filters else None


def kind_of(record_type: str) -> Kind:
    """This will return the kind of a record type."""
    return next((kind for kind in KINDS if record_type in kind.record_types), OTHER)


def _among(dimension: str, values: Sequence[str]) -> Filter:
    return {"Dimensions": {"Key": dimension, "Values": list(values), "MatchOptions": ["EQUALS"]}}


def _title(kind: Kind) -> str:
    return f"{kind.pricing_category} {kind.charge_category}".removeprefix("None ")
