"""Fetch, AWS costs: how far Savings Plans and reservations were used and what they covered, from Cost Explorer.

Promises that a ratio is one of sums that AWS states, never an average of ratios, and that an account without
commitments is told from one whose answer is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, Final

import dataframely as dy
import polars as pl

from exporters.core.errors import TerminalSourceError
from exporters.core.standing_frames import CommitmentUse
from exporters.fetch.aws_clients import Call, CostExplorerClient, error_code
from exporters.fetch.aws_costs_calls import NO_DATA, billing_errors, exact, pages, stated_whole, whole_error
from exporters.fetch.aws_costs_commitments import Owner

USE_DAYS: Final = 30
SETTLED_DAYS: Final = 2
"""AWS, Cost Explorer: utilisation and coverage of a day are there after up to two days."""

PLANS: Final = "savings-plans"
RESERVATIONS: Final = "ec2-reservations"
_OF_PLANS: Final = ("TotalCommitment", "UnusedCommitment")


def commitment_use(client: CostExplorerClient, owner: Owner, today: date, currency: str) -> dy.DataFrame[CommitmentUse]:
    """This will return how far commitments were used and what they covered, over the last 30 settled days.

    Four paid requests, and one for each hundred plans more. An account without commitments has no rows.

    Args:
        client: the SDK's client of `ce`.
        owner: whose.
        today: the day (UTC).
        currency: of the bill; these answers do not state it.
    """
    last = today - timedelta(days=SETTLED_DAYS)
    first = last - timedelta(days=USE_DAYS - 1)
    span = {"TimePeriod": {"Start": first.isoformat(), "End": (last + timedelta(days=1)).isoformat()}}
    rows = [*_plan_use(client, span), *_reservation_use(client, span)]
    told = {"source": owner.source, "provider": "aws", "account": owner.account, "currency": currency}
    told_rows = [told | {"first_day": first, "last_day": last} | row for row in rows]
    return CommitmentUse.validate(pl.DataFrame(told_rows, schema=CommitmentUse.create_empty().schema), cast=True)


def _plan_use(client: CostExplorerClient, span: Mapping[str, Any]) -> list[dict[str, object]]:
    """Each plan, and all of them together with what they covered; nothing without plans."""
    used, cover = "ce:GetSavingsPlansUtilizationDetails", "ce:GetSavingsPlansCoverage"
    details = _listed(
        client.get_savings_plans_utilization_details,
        {**span, "DataType": ["UTILIZATION"], "MaxResults": 100},
        "SavingsPlansUtilizationDetails",
        used,
    )
    coverage = _listed(
        client.get_savings_plans_coverage, {**span, "Granularity": "MONTHLY"}, "SavingsPlansCoverages", cover
    )
    with stated_whole(used):
        plans = {one["SavingsPlanArn"]: _money(one["Utilization"], _OF_PLANS, used) for one in details}
    with stated_whole(cover):
        spent = [_money(one["Coverage"], ("SpendCoveredBySavingsPlans", "TotalCost"), cover) for one in coverage]
    rows: list[dict[str, object]] = [
        {"scope": arn, "used_ratio": _ratio(total - left, total), "coverage_ratio": None, "unused_cost": left}
        for arn, (total, left) in plans.items()
    ]
    if not plans:
        return rows
    bought, unused = (sum((one[at] for one in plans.values()), Decimal(0)) for at in (0, 1))
    covered, coverable = (sum((one[at] for one in spent), Decimal(0)) for at in (0, 1))
    ratios = {"used_ratio": _ratio(bought - unused, bought), "coverage_ratio": _ratio(covered, coverable)}
    return [*rows, {"scope": PLANS, **ratios, "unused_cost": unused}]


def _listed(call: Call, asked: Mapping[str, Any], items: str, action: str) -> list[Mapping[str, Any]]:
    return _if_any(
        lambda: [
            one for page in pages(call, asked, items=items, next_page="NextToken", action=action) for one in page[items]
        ]
    )


def _reservation_use(client: CostExplorerClient, span: Mapping[str, Any]) -> list[dict[str, object]]:
    """Of EC2, in hours: AWS takes EC2 where no service is named."""
    asked = {**span, "Granularity": "MONTHLY"}
    use, cover = "ce:GetReservationUtilization", "ce:GetReservationCoverage"
    used = _if_any(lambda: [_answer(client.get_reservation_utilization, asked, "UtilizationsByTime", use)])
    covered = _if_any(lambda: [_answer(client.get_reservation_coverage, asked, "CoveragesByTime", cover)])
    names = ("PurchasedHours", "TotalActualHours", "RICostForUnusedHours")
    bought, actual, unused = _money(used[0].get("Total", {}) if used else {}, names, use, absent=Decimal(0))
    hours = covered[0].get("Total", {}).get("CoverageHours", {}) if covered else {}
    reserved, running = _money(hours, ("ReservedHours", "TotalRunningHours"), cover, absent=Decimal(0))
    if not bought:
        return []
    ratios = {"used_ratio": _ratio(actual, bought), "coverage_ratio": _ratio(reserved, running)}
    return [{"scope": RESERVATIONS, **ratios, "unused_cost": unused}]


def _answer(call: Call, asked: Mapping[str, Any], items: str, action: str) -> Mapping[str, Any]:
    """The one page of totals."""
    with billing_errors(action, action=action):
        answer = call(**asked)
    if items not in answer:
        raise whole_error(f"an answer came without {items}", action)
    return answer


def _if_any(ask: Callable[[], list[Any]]) -> list[Any]:
    """What is asked for; nothing where AWS has no data, which is how it says that there are no commitments."""
    try:
        return ask()
    except TerminalSourceError as error:
        if error_code(error.__cause__) == NO_DATA:
            return []
        raise


def _money(
    amounts: Mapping[str, Any], names: Sequence[str], where: str, *, absent: Decimal | None = None
) -> tuple[Decimal, ...]:
    return tuple(
        absent if absent is not None and name not in amounts else exact(amounts.get(name), where=where)
        for name in names
    )


def _ratio(part: Decimal, whole: Decimal) -> float | None:
    return float(part / whole) if whole > 0 else None
