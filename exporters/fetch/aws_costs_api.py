"""Fetch, AWS costs: one time of asking, from the plan of paid requests to everything that holds, and its check.

The order matters for money: the plan is held against the budget first, then whole days are asked for, then their
parts; what is free comes last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

import dataframely as dy
import polars as pl
import structlog

from exporters.core.errors import SettingsError, TerminalSourceError, TuppenceError
from exporters.core.standing_frames import Budget, Commitment, CommitmentRate
from exporters.fetch import aws_costs_commitments as bought
from exporters.fetch.aws import AwsSettings, chosen_regions
from exporters.fetch.aws_api import NOT_FOR_THIS_ACCOUNT
from exporters.fetch.aws_clients import Clients, CostExplorerClient, billing_home, error_code, plain_errors
from exporters.fetch.aws_costs import NAME, USD_A_REQUEST, AwsCostSettings, price_of
from exporters.fetch.aws_costs_budgets import budgets
from exporters.fetch.aws_costs_calls import Spending
from exporters.fetch.aws_costs_explorer import Explorer, charge_frame, require_whole
from exporters.fetch.aws_costs_forecast import month_forecast
from exporters.fetch.aws_costs_plan import charge_queries
from exporters.fetch.aws_costs_rates import plan_rates, rate_frame
from exporters.fetch.aws_costs_use import commitment_use
from exporters.fetch.contract import Finding, Skipped
from exporters.fetch.cost_contract import CostFetched, CostRequest
from exporters.fetch.deadline import Deadline

_log = structlog.get_logger(__name__)


def fetch_api(settings: AwsCostSettings, cloud: AwsSettings, request: CostRequest) -> CostFetched:
    """This will ask for everything, in order; the first failure ends all of it. What was paid is logged in any case."""
    asking = _Asking.begin(settings, cloud, request)
    try:
        return _all_of(asking)
    finally:
        _log.info("aws_costs_asked", paid_requests=asking.spending.made, usd=asking.spending.made * USD_A_REQUEST)


def _all_of(asking: _Asking) -> CostFetched:
    settings, request = asking.settings, asking.request
    today, members = request.now.date(), asking.members()
    asking.require_budget(len(members))
    since = min(request.first_day, today.replace(day=1)) if settings.forecast else request.first_day
    whole = asking.explorer.days(since, request.last_day)
    queries = charge_queries(settings.breakdown, members)
    parts: list[pl.DataFrame] = []
    for done, query in enumerate(queries):
        request.progress("aws charges", done=done, total=len(queries))
        parts += asking.explorer.charges(query, request.first_day, request.last_day)
    request.progress("aws charges", done=len(queries), total=len(queries))
    require_whole(parts, {day: amount for day, amount in whole.items() if day >= request.first_day})
    currency = whole[max(whole)].currency
    listed, budgets_skipped = asking.budgets() if settings.budgets else (None, ())
    commitments, regions_skipped = asking.commitments()
    return CostFetched(
        source=NAME,
        observed_at=request.now,
        charges=charge_frame(parts),
        forecasts=month_forecast(asking.explorer, today, whole) if settings.forecast else None,
        commitment_use=commitment_use(asking.ce, asking.owner, today, currency) if settings.commitment_use else None,
        commitments=commitments,
        commitment_rates=asking.rates() if settings.savings_plan_rates.families else None,
        budgets=listed,
        skipped=(*budgets_skipped, *regions_skipped),
        paid_requests=asking.spending.made,
    )


def check_api(settings: AwsCostSettings, cloud: AwsSettings, request: CostRequest) -> tuple[Finding, ...]:
    """This will state the price, then make one call of each kind; without credentials nothing further is tried."""
    asking = _Asking.begin(settings, cloud, request)
    price = [_price_finding(settings)]
    day = request.now.date() - timedelta(days=1)
    wanted: list[tuple[str, Callable[[], str], bool]] = [
        ("ce:GetCostAndUsage", lambda: f"{len(asking.explorer.days(day, day))} day read, USD {USD_A_REQUEST}", True),
        ("savingsplans:DescribeSavingsPlans", asking.count_plans, settings.commitments),
        ("ec2:DescribeReservedInstances", asking.count_reservations, settings.commitments),
        ("budgets:ViewBudget", lambda: f"{asking.budgets()[0].height} budgets in force", settings.budgets),
    ]
    return (
        Finding("aws costs credentials", "ok", f"account {asking.owner.account}, bill of {asking.explorer.account}"),
        *price,
        *(_look(action, call) for action, call, is_wanted in wanted if is_wanted),
    )


@dataclass(frozen=True, slots=True)
class _Asking:
    """The clients and the count of one time of asking."""

    settings: AwsCostSettings
    cloud: AwsSettings
    request: CostRequest
    clients: Clients
    spending: Spending
    owner: bought.Owner
    explorer: Explorer
    ce: CostExplorerClient

    @classmethod
    def begin(cls, settings: AwsCostSettings, cloud: AwsSettings, request: CostRequest) -> _Asking:
        clients = Clients(cloud, Deadline.of(request, source=NAME), billing_home(cloud.partition))
        with plain_errors("sources.aws", action="sts:GetCallerIdentity"):
            account = clients.sts().get_caller_identity()["Account"]
        spending = Spending(settings.requests_per_time)
        ce = clients.cost_explorer(each_try=spending.spend)
        explorer = Explorer(ce, NAME, settings.billing_account or account, settings.accounts, settings.net)
        owner = bought.Owner(NAME, account, cloud.partition)
        return cls(settings, cloud, request, clients, spending, owner, explorer, ce)

    def members(self) -> Sequence[str]:
        if self.settings.breakdown != "region" or self.settings.accounts:
            return self.settings.accounts
        return self.explorer.members(self.request.first_day, self.request.last_day)

    def require_budget(self, members: int) -> None:
        """Say what the asking costs, and refuse before the first charge is asked for where it is too much."""
        count = max(1, members)
        _log.info("aws_costs_plan", breakdown=self.settings.breakdown, price=price_of(self.settings, count))
        if why := self.settings.over_budget(count):
            raise SettingsError(
                why.partition(";")[0], where="costs.aws", next_step=why.partition("; ")[2].capitalize() + "."
            )

    def budgets(self) -> tuple[dy.DataFrame[Budget], tuple[Skipped, ...]]:
        client = self.clients.budgets()
        return budgets(client, source=NAME, account=self.owner.account, now=self.request.now)

    def plans(self) -> list[dict[str, object]]:
        return bought.savings_plans(self.clients.savings_plans(), self.owner)

    def reservations(self) -> tuple[list[dict[str, object]], tuple[Skipped, ...]]:
        """Of every region that the account may use; as with prices, one that it may not is named and left out."""
        rows: list[dict[str, object]] = []
        skipped: list[Skipped] = []
        regions, _ = chosen_regions(self.cloud)
        for name in regions:
            try:
                rows += bought.reservations(self.clients.ec2(name), name, self.owner)
            except TerminalSourceError as error:
                code = error_code(error.__cause__)
                if code not in NOT_FOR_THIS_ACCOUNT or len(skipped) + 1 == len(regions):
                    raise
                skipped.append(Skipped(name, f"{code}: its reservations are not listed"))
        return rows, tuple(skipped)

    def commitments(self) -> tuple[dy.DataFrame[Commitment] | None, tuple[Skipped, ...]]:
        if not self.settings.commitments:
            return None, ()
        plans, (reserved, skipped) = self.plans(), self.reservations()
        return bought.commitment_frame([*plans, *reserved]), skipped

    def rates(self) -> dy.DataFrame[CommitmentRate]:
        wanted = self.settings.savings_plan_rates
        regions = wanted.regions or chosen_regions(self.cloud)[0]
        client = self.clients.savings_plans()
        return rate_frame(plan_rates(client, NAME, regions, wanted.families))

    def count_plans(self) -> str:
        return f"{len(self.plans())} Savings Plans"

    def count_reservations(self) -> str:
        found, skipped = self.reservations()
        return f"{len(found)} reservations; {len(skipped)} regions that the account may not use"


def _price_finding(settings: AwsCostSettings) -> Finding:
    count = max(1, len(settings.accounts))
    if why := settings.over_budget(count):
        return Finding("aws costs price", "failed", why, "Fit costs.aws to costs.aws.max_requests_per_day.")
    detail = price_of(settings, count)
    if settings.breakdown == "region" and not settings.accounts:
        detail += "; reckoned for one account: each further one is 2 requests a time more"
    return Finding("aws costs price", "ok", detail)


def _look(action: str, call: Callable[[], str]) -> Finding:
    try:
        return Finding(action, "ok", call())
    except TuppenceError as error:
        return Finding(action, "failed", error.what, error.next_step)
