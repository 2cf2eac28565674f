"""Azure costs, first arrow's end: amounts of actual and of amortised cost joined into charges in the words of FOCUS.

Pure. Billed cost is the actual cost (purchases of commitments on the day they are charged); effective cost is the
amortised one (purchases spread over what they cover, and over what was left unused). A group that only one of them has
is nought in the other. Source: Microsoft Learn, "Understand reservation and savings plan costs and usage: actual and
amortised costs".
"""

from __future__ import annotations

import calendar
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import polars as pl
from polars.exceptions import PolarsError

from exporters.core.cost_frames import Charge, CommitmentStatus
from exporters.core.errors import IntegrityError
from exporters.fetch.azure_costs_scope import NARROW, Scope

if TYPE_CHECKING:
    from exporters.fetch.azure_costs_query import Amounts, Key

PROVIDER: Final = "azure"

CATEGORY: Final[Mapping[str, str]] = {
    "usage": "Usage",
    "unusedreservation": "Usage",
    "unusedsavingsplan": "Usage",
    "purchase": "Purchase",
    "tax": "Tax",
    "credit": "Credit",
    "refund": "Adjustment",
    "adjustment": "Adjustment",
    "roundingadjustment": "Adjustment",
}
"""Azure's ChargeType, in lower case, as a FOCUS charge category. FOCUS counts unused commitments as usage."""

_UNUSED: Final = ("unusedreservation", "unusedsavingsplan")

_REGIONS: Final[Mapping[str, str]] = {
    "aenorth": "uaenorth", "aecentral": "uaecentral", "apeast": "eastasia", "apsoutheast": "southeastasia",
    "ateast": "austriaeast", "aucentral": "australiacentral", "aucentral2": "australiacentral2",
    "aueast": "australiaeast", "ausoutheast": "australiasoutheast", "becentral": "belgiumcentral",
    "brsouth": "brazilsouth", "brsoutheast": "brazilsoutheast", "cacentral": "canadacentral", "caeast": "canadaeast",
    "chnorth": "switzerlandnorth", "chwest": "switzerlandwest", "denorth": "germanynorth",
    "dewestcentral": "germanywestcentral", "escentral": "spaincentral", "eunorth": "northeurope",
    "euwest": "westeurope", "frcentral": "francecentral", "frsouth": "francesouth", "ilcentral": "israelcentral",
    "incentral": "centralindia", "insouth": "southindia", "inwest": "westindia", "itnorth": "italynorth",
    "jaeast": "japaneast", "jawest": "japanwest", "krcentral": "koreacentral", "krsouth": "koreasouth",
    "mxcentral": "mexicocentral", "noeast": "norwayeast", "nowest": "norwaywest", "nznorth": "newzealandnorth",
    "plcentral": "polandcentral", "qacentral": "qatarcentral", "secentral": "swedencentral", "sesouth": "swedensouth",
    "uscentral": "centralus", "useast": "eastus", "useast2": "eastus2", "useast3": "eastus3",
    "usnorthcentral": "northcentralus", "ussouthcentral": "southcentralus", "uswest": "westus", "uswest2": "westus2",
    "uswest3": "westus3", "uswestcentral": "westcentralus", "zanorth": "southafricanorth", "zawest": "southafricawest",
    "unassigned": "", "global": "", "unknown": "",
}  # fmt: skip
"""Billing's own spellings of regions; source: FinOps toolkit, open data, Regions (CC BY 4.0)."""


def region_of(location: str) -> str:
    """This will return a region's code for what a bill calls it: uksouth of "UK South", westeurope of "EU West"."""
    bare = location.replace(" ", "").casefold()
    return _REGIONS.get(bare, bare)


def region_expr(location: pl.Expr) -> pl.Expr:
    """This will return the same of a column."""
    return location.str.replace_all(" ", "").str.to_lowercase().replace(dict(_REGIONS))


def category_expr(charge_type: pl.Expr) -> pl.Expr:
    """This will return the FOCUS charge category of a column of Azure's charge types."""
    return charge_type.str.to_lowercase().replace_strict(dict(CATEGORY), default="Adjustment")


def charges(scope: Scope, dimensions: Sequence[str], *, actual: Amounts, amortised: Amounts) -> pl.DataFrame:
    """This will return rows of Charge.

    Args:
        scope: whose they are.
        dimensions: what the values of the keys are of.
        actual: amounts of actual cost.
        amortised: amounts of amortised cost, by the same dimensions.
    """
    rows = [
        _row(scope, dict(zip(dimensions, key.values, strict=True)), key)
        | {"billed_cost": actual.get(key, Decimal(0)), "effective_cost": amortised.get(key, Decimal(0))}
        for key in sorted(actual.keys() | amortised.keys())
    ]
    kinds = {name: column.dtype for name, column in Charge.columns().items()}
    return pl.DataFrame(rows, schema=kinds)


def _row(scope: Scope, values: Mapping[str, str], key: Key) -> dict[str, Any]:
    kind = values.get("charge-type", "").casefold()
    start = datetime.combine(key.day, time.min, UTC)
    return {
        "charge_start": start,
        "charge_end": start + timedelta(days=1),
        "billing_period": key.day.replace(day=1),
        "provider": PROVIDER,
        "billing_account": scope.account,
        "sub_account": values.get("subscription", scope.subscription).lower() or None,
        "service": values.get("service") or None,
        "region": region_of(values.get("region", "")) or None,
        "charge_category": CATEGORY.get(kind, "Adjustment") if kind else None,
        "commitment_status": CommitmentStatus.UNUSED.value if kind in _UNUSED else None,
        "currency": key.currency,
        "owner": values.get("owner") or None,
    }


def last_of_month(day: date) -> date:
    """This will return the last day of a day's month."""
    return day.replace(day=calendar.monthrange(day.year, day.month)[1])


def require_counted_once(frames: Mapping[Scope, pl.LazyFrame]) -> None:
    """This will see to it that no two scopes state the same subscription's days, which would count twice.

    Args:
        frames: rows of Charge by scope. That a subscription lies in a management group is seen only here.

    Raises:
        IntegrityError: two do, or a file behind the rows cannot be read.
    """
    days: dict[tuple[object, ...], Scope] = {}
    for scope in sorted(frames, key=lambda scope: scope.kind in NARROW):
        named = frames[scope].filter(pl.col("sub_account").is_not_null())
        for row in _days_of(named, scope).iter_rows():
            other = days.setdefault(row, scope)
            if other != scope and not _are_parts(scope, other):
                raise IntegrityError(
                    f"subscription {row[0]} is in {other.path} and in {scope.path}, so that it would count twice",
                    where="costs.azure.scopes",
                    next_step="Name scopes that hold different subscriptions.",
                )


def _days_of(charges: pl.LazyFrame, scope: Scope) -> pl.DataFrame:
    try:
        return charges.select("sub_account", "charge_start", "currency").unique().collect(engine="streaming")
    except PolarsError as error:
        raise IntegrityError(
            f"a file of cost details cannot be read ({str(error).splitlines()[0]})",
            where=scope.path,
            next_step="It will be asked again at the next refresh.",
        ) from error


def _are_parts(one: Scope, other: Scope) -> bool:
    """Resource groups, and the parts of one billing account, share a subscription and none of its charges."""
    return one.kind == other.kind and one.kind not in {"management group", "billing account"}
