"""Azure costs, first arrow: what subscriptions, management groups and billing accounts were charged, by day.

Promises every page of every query or an exception: actual cost as billed, amortised cost as effective, in the currency
that each row states. Credentials and endpoint are those of `sources.azure`. Needs the extra `azure`.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, Final, Literal

import polars as pl
from pydantic import Field, model_validator

from exporters.core.errors import IntegrityError, MissingExtraError, TuppenceError
from exporters.fetch.azure import AzureSettings, tls_endpoint, trusted_ca_file
from exporters.fetch.azure_costs_rows import charges
from exporters.fetch.azure_costs_scope import NARROW, Scope, ScopePath, require_apart, scope_of
from exporters.fetch.contract import Finding, Skipped
from exporters.fetch.cost_contract import CostFetched, CostRequest, CostSource, CostSourceSettings, no_charges
from exporters.fetch.deadline import Deadline

if TYPE_CHECKING:
    from exporters.fetch.azure_costs_client import Costs

NAME: Final = "azure"
_SETTING: Final = "costs.azure"
Division = Literal["region", "owner", "charge-type"]


class AzureCostSettings(CostSourceSettings):
    """Costs of Azure, asked of Cost Management."""

    scopes: tuple[ScopePath, ...] = Field(
        default=(),
        description="Whose costs: /subscriptions/ID, /subscriptions/ID/resourceGroups/NAME, "
        "/providers/Microsoft.Management/managementGroups/ID, /providers/Microsoft.Billing/billingAccounts/ID[/…].",
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

    @model_validator(mode="after")
    def _scopes_apart(self) -> AzureCostSettings:
        require_apart(self.scopes)
        if self.enabled and not self.scopes:
            raise ValueError("name at least one scope, such as /subscriptions/ID")
        return self


def fetch(settings: AzureCostSettings, cloud: AzureSettings, request: CostRequest) -> CostFetched:
    """This will return all charges of the scopes over the days asked for.

    Raises:
        SettingsError: an endpoint that is not https.
        SourceError, IntegrityError: anything less than everything, or a subscription that two scopes hold.
    """
    skipped: list[Skipped] = []
    with _client(settings, cloud, request) as costs:
        frames = _all_charges(settings, costs, request, skipped)
        standing = _standing(settings, costs, request, skipped)
    rows = [frame for frame in frames.values() if not frame.is_empty()]
    return replace(standing, charges=pl.concat(rows).lazy() if rows else no_charges(), skipped=tuple(skipped))


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
) -> dict[Scope, pl.DataFrame]:
    from exporters.fetch.azure_costs_query import months  # noqa: PLC0415 - the SDK is an extra

    spans = list(months(request.first_day, request.last_day))
    frames: dict[Scope, list[pl.DataFrame]] = {scope_of(path): [] for path in settings.scopes}
    for place, scope in enumerate(frames):
        for number, (first_day, last_day) in enumerate(spans):
            asked = _Asked(costs, scope, first_day, last_day, _owner_tag(settings, request))
            frames[scope].append(_month(settings, asked, skipped))
            request.progress(NAME, done=place * len(spans) + number + 1, total=len(frames) * len(spans))
    joined = {scope: pl.concat(parts) for scope, parts in frames.items()}
    _require_counted_once(joined)
    return joined


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
            asked.scope.path, f"charges without {words} are not told apart further, as the API does not divide them"
        )
        for words in sorted({words for question in questions for words in question.undivided})
    ]
    return charges(asked.scope, dimensions, actual=actual, amortised=amortised)


def _require_counted_once(frames: Mapping[Scope, pl.DataFrame]) -> None:
    """That a subscription lies in a management group or an account is seen only when both state it."""
    days: dict[tuple[object, ...], Scope] = {}
    for scope in sorted(frames, key=lambda scope: scope.kind in NARROW):
        named = frames[scope].filter(pl.col("sub_account").is_not_null())
        for row in named.select("sub_account", "charge_start", "currency").unique().iter_rows():
            other = days.setdefault(row, scope)
            if other != scope and not _are_parts(scope, other):
                raise IntegrityError(
                    f"subscription {row[0]} is in {other.path} and in {scope.path}, so that it would count twice",
                    where=f"{_SETTING}.scopes",
                    next_step="Name scopes that hold different subscriptions.",
                )


def _are_parts(one: Scope, other: Scope) -> bool:
    """Resource groups, and the parts of one billing account, share a subscription and none of its charges."""
    return one.kind == other.kind and one.kind not in {"management group", "billing account"}


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
