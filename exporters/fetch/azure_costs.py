"""Azure costs, first arrow: what subscriptions, management groups and billing accounts were charged, by day.

Promises every page of every query or an exception: actual cost as billed, amortised cost as effective, in the currency
that each row states. Credentials and endpoint are those of `sources.azure`. Needs the extra `azure`.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, Final, Literal

import dataframely as dy
import polars as pl
from pydantic import Field, model_validator

from exporters.core.errors import MissingExtraError, TuppenceError
from exporters.core.http import client
from exporters.core.standing_frames import NegotiatedPrice
from exporters.fetch.azure import AzureSettings, tls_endpoint, trusted_ca_file
from exporters.fetch.azure_costs_rows import charges, require_counted_once
from exporters.fetch.azure_costs_scope import BILLED, UNREPORTED, Scope, ScopePath, require_apart, scope_of
from exporters.fetch.azure_price_sheet import negotiated_prices
from exporters.fetch.contract import Finding, Skipped
from exporters.fetch.cost_contract import CostFetched, CostRequest, CostSource, CostSourceSettings, no_charges
from exporters.fetch.deadline import Deadline

if TYPE_CHECKING:
    from exporters.fetch.azure_costs_client import Costs

NAME: Final = "azure"
Division = Literal["region", "owner", "charge-type"]


class AzureCostSettings(CostSourceSettings):
    """Costs of Azure, asked of Cost Management."""

    scopes: tuple[ScopePath, ...] = Field(
        default=(),
        description="Whose costs: /subscriptions/ID, /subscriptions/ID/resourceGroups/NAME, "
        "/providers/Microsoft.Management/managementGroups/ID, /providers/Microsoft.Billing/billingAccounts/ID[/…].",
    )
    report: Literal["query", "details"] = Field(
        default="query",
        description="query: sums by day; details: each charge, from reports that Azure makes on request (not of "
        "management groups and resource groups).",
    )
    split_by: tuple[Division, ...] = Field(
        default=("region", "owner"),
        description="What is told apart beside subscription and service; each multiplies the number of queries.",
    )
    owner_tag: str | None = Field(
        default=None, min_length=1, description="The one tag that names an owner; none: the first of costs.owner_tags."
    )
    client_type: str = Field(
        default="tuppence",
        pattern=r"^[\w.-]{1,64}$",
        description="Name of this program in Azure's count of requests, which has a limit of its own.",
    )

    forecast: bool = Field(default=True, description="Whether Azure's forecast of the month is asked for.")
    budgets: bool = Field(default=True, description="Whether the budgets of the scopes are asked for.")
    commitments: bool = Field(
        default=True, description="Whether reservations and savings plans, and how far they are used, are asked for."
    )

    price_sheets: bool = Field(
        default=False, description="Whether the price sheets of billing accounts and billing profiles are fetched."
    )

    @model_validator(mode="after")
    def _scopes_apart(self) -> AzureCostSettings:
        require_apart(self.scopes)
        if self.enabled and not self.scopes:
            raise ValueError("name at least one scope, such as /subscriptions/ID")
        for path in self.scopes if self.report == "details" else ():
            if scope_of(path).kind in UNREPORTED:
                raise ValueError(f"{path} has no cost details; use report: query, or name another scope")
        return self


def fetch(settings: AzureCostSettings, cloud: AzureSettings, request: CostRequest) -> CostFetched:
    """This will return all charges of the scopes over the days asked for.

    Raises:
        SettingsError: an endpoint that is not https.
        SourceError, IntegrityError: anything less than everything, or a subscription that two scopes hold.
    """
    skipped: list[Skipped] = []
    with _client(settings, cloud, request) as costs:
        if settings.report == "details":
            frames = _all_details(settings, cloud, costs, request)
        else:
            frames = _all_charges(settings, costs, request, skipped)
        require_counted_once(frames)
        standing = _standing(settings, costs, request, skipped)
        if settings.price_sheets:
            standing = replace(standing, negotiated_prices=_price_sheets(settings, cloud, costs, request, skipped))
    return replace(standing, charges=pl.concat([no_charges(), *frames.values()]), skipped=tuple(skipped))


def _standing(settings: AzureCostSettings, costs: Costs, request: CostRequest, skipped: list[Skipped]) -> CostFetched:
    """What holds now; what is not asked for stays as it was known."""
    from exporters.fetch.azure_costs_commitments import bought, commitment_use, commitments  # noqa: PLC0415 - an extra
    from exporters.fetch.azure_costs_standing import budgets, forecasts  # noqa: PLC0415 - the SDK is an extra

    scopes = [scope_of(path) for path in settings.scopes]
    now = request.now
    stated = CostFetched(
        source=NAME,
        observed_at=now,
        forecasts=forecasts(costs, scopes, now.date(), skipped) if settings.forecast else None,
        budgets=budgets(costs, scopes, now, skipped) if settings.budgets else None,
    )
    if not settings.commitments:
        return stated
    found = bought(costs, now)
    return replace(
        stated,
        commitments=commitments(costs, found),
        commitment_use=commitment_use(costs, found, now.date()),
    )


def _client(settings: AzureCostSettings, cloud: AzureSettings, request: CostRequest) -> AbstractContextManager[Costs]:
    try:
        from exporters.fetch.azure_costs_client import Access, costs_client  # noqa: PLC0415 - the SDK is an extra
    except ImportError as error:
        raise MissingExtraError("azure", "azure") from error
    access = Access(
        endpoint=tls_endpoint(cloud.management_endpoint, setting="sources.azure.management_endpoint"),
        ca_file=trusted_ca_file(cloud),
        client_type=settings.client_type,
        first_pause_seconds=cloud.throttle_wait_seconds,
        deadline=Deadline.of(request, source=NAME),
    )
    return costs_client(access)


def _all_charges(
    settings: AzureCostSettings, costs: Costs, request: CostRequest, skipped: list[Skipped]
) -> dict[Scope, pl.LazyFrame]:
    from exporters.fetch.azure_costs_query import months  # noqa: PLC0415 - the SDK is an extra

    spans = list(months(request.first_day, request.last_day))
    frames: dict[Scope, list[pl.DataFrame]] = {scope_of(path): [] for path in settings.scopes}
    for place, scope in enumerate(frames):
        for number, (first_day, last_day) in enumerate(spans):
            asked = _Asked(costs, scope, first_day, last_day, _owner_tag(settings, request))
            frames[scope].append(_month(settings, asked, skipped))
            request.progress(NAME, done=place * len(spans) + number + 1, total=len(frames) * len(spans))
    return {scope: pl.concat(parts).lazy() for scope, parts in frames.items()}


def _all_details(
    settings: AzureCostSettings, cloud: AzureSettings, costs: Costs, request: CostRequest
) -> dict[Scope, pl.LazyFrame]:
    from exporters.fetch.azure_costs_reports import Downloads, details  # noqa: PLC0415 - the SDK is an extra

    frames: dict[Scope, pl.LazyFrame] = {}
    with client(verify=trusted_ca_file(cloud) or True) as session:
        downloads = Downloads(costs, session, request.scratch)
        for number, scope in enumerate(map(scope_of, settings.scopes), start=1):
            tags = (settings.owner_tag,) if settings.owner_tag else request.owner_tags
            found = details(downloads, scope, first_day=request.first_day, last_day=request.last_day, owner_tags=tags)
            frames[scope] = no_charges() if found is None else found
            request.progress(NAME, done=number, total=len(settings.scopes))
    return frames


def _price_sheets(
    settings: AzureCostSettings,
    cloud: AzureSettings,
    costs: Costs,
    request: CostRequest,
    skipped: list[Skipped],
) -> dy.DataFrame[NegotiatedPrice]:
    from exporters.fetch.azure_costs_reports import Downloads, price_sheet  # noqa: PLC0415 - the SDK is an extra

    sheets: list[dy.DataFrame[NegotiatedPrice]] = []
    with client(verify=trusted_ca_file(cloud) or True) as session:
        downloads = Downloads(costs, session, request.scratch)
        for scope in map(scope_of, settings.scopes):
            if scope.kind not in BILLED:
                skipped.append(Skipped(scope.path, f"a {scope.kind} has no price sheet"))
                continue
            files = price_sheet(downloads, scope, request.now.date())
            prices, left_out = negotiated_prices(files, account=scope.account, where=f"price sheet of {scope.path}")
            sheets.append(prices)
            if left_out:
                why = f"{left_out} prices of its sheet: of meters that have two, or without a price or a day"
                skipped.append(Skipped(scope.path, why))
    return NegotiatedPrice.validate(pl.concat([NegotiatedPrice.create_empty(), *sheets]))


@dataclass(frozen=True, slots=True)
class _Asked:
    """One month of one scope; an empty owner tag asks for no owners."""

    costs: Costs
    scope: Scope
    first_day: date
    last_day: date
    owner_tag: str


def _owner_tag(settings: AzureCostSettings, request: CostRequest) -> str:
    if "owner" not in settings.split_by:
        return ""
    return settings.owner_tag or next(iter(request.owner_tags), "")


def _month(settings: AzureCostSettings, asked: _Asked, skipped: list[Skipped]) -> pl.DataFrame:
    from exporters.fetch import azure_costs_query as query  # noqa: PLC0415 - the SDK is an extra

    wanted = {"service", *settings.split_by} | ({"subscription"} if asked.scope.is_wide else set())
    dimensions = [word for word in query.ORDER if word in wanted and (word != query.OWNER or asked.owner_tag)]
    questions = [
        query.Question(asked.costs, asked.scope, kind, asked.first_day, asked.last_day, asked.owner_tag)
        for kind in (query.ACTUAL, query.AMORTISED)
    ]
    actual, amortised = (query.amounts(question, dimensions) for question in questions)
    skipped += [
        Skipped(
            asked.scope.path,
            f"charges of {words} stand without a service, because the API found none of them when asked by that",
        )
        for words in sorted({words for question in questions for words in question.undivided})
    ]
    return charges(asked.scope, dimensions, actual=actual, amortised=amortised)


def check(settings: AzureCostSettings, cloud: AzureSettings, request: CostRequest) -> tuple[Finding, ...]:
    """This will look whether the costs of each scope can be read, by one small query each."""
    try:
        with _client(settings, cloud, request) as costs:
            return tuple(_check_scope(costs, scope_of(path), request) for path in settings.scopes)
    except TuppenceError as error:
        return (Finding("credentials", "failed", f"{error.where}: {error.what}", error.next_step),)


def _check_scope(costs: Costs, scope: Scope, request: CostRequest) -> Finding:
    from exporters.fetch import azure_costs_query as query  # noqa: PLC0415 - the SDK is an extra

    subject = f"costs of {scope.path} (Microsoft.CostManagement/query/action)"
    question = query.Question(costs, scope, query.ACTUAL, request.last_day, request.last_day, "")
    try:
        found = query.amounts(question, ["service"])
    except TuppenceError as error:
        return Finding(subject, "failed", f"{error.where}: {error.what}", error.next_step)
    return Finding(subject, "ok", f"{len(found)} services have charges on {request.last_day}")


SOURCE: Final = CostSource(
    name=NAME, settings_model=AzureCostSettings, fetch=fetch, check=check, cloud="azure", extra="azure"
)
