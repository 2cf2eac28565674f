"""Google Cloud: the arrow from a billing export in BigQuery to charges, with commitments and budgets beside them.

Promises every charge of the days asked for of every table named, added up on the server, or an error. Google has no API
that states costs; it writes them to BigQuery, where each look costs money by the bytes that it reads: a dry run tells
them first, and nothing above the budget is run. Commitments come from Compute Engine, budgets from the Budget API, and
which billing accounts there are from the Cloud Billing API.
"""

from __future__ import annotations

import re
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import polars as pl
from pydantic import Field, field_validator, model_validator

from exporters.core.errors import IntegrityError, MissingExtraError, SettingsError, SourceError
from exporters.core.http import checked_endpoint
from exporters.fetch.contract import Finding
from exporters.fetch.cost_contract import CostFetched, CostRequest, CostSource, CostSourceSettings, no_charges
from exporters.fetch.deadline import Deadline
from exporters.fetch.gcp import GcpSettings
from exporters.fetch.gcp_costs_query import absent, is_focus, parameters, statement
from exporters.fetch.gcp_costs_rows import focus_charges, usage_charges

if TYPE_CHECKING:
    from exporters.fetch.gcp_costs_bigquery import Described, Warehouse

NAME = "gcp"
EXTRA = "gcp-bigquery"
_TABLE = re.compile(r"^[a-z][a-z0-9.:-]{4,}\.\w+\.[\w-]+$")
_ACCOUNT = re.compile(r"^[0-9A-F]{6}-[0-9A-F]{6}-[0-9A-F]{6}$")
GIB = 1_073_741_824


class GcpCostSettings(CostSourceSettings):
    """What the source of Google Cloud's costs can be told."""

    tables: tuple[str, ...] = Field(
        default=(),
        description="Billing exports as project.dataset.table: standard or detailed usage cost, or the FOCUS view; one "
        "of each billing account.",
    )
    query_project: str | None = Field(
        default=None, description="Project that runs and pays for the queries; without it: the table's own."
    )
    max_bytes_per_query: int = Field(
        default=50 * GIB, ge=10 * 1024 * 1024, description="Most bytes that one query may read; more is refused."
    )
    usd_per_tib: float = Field(
        default=6.25, ge=0, description="BigQuery's price of a TiB read, for messages; 6.25 in the US, more elsewhere."
    )
    bigquery_endpoint: str = Field(
        default="https://bigquery.googleapis.com", description="BigQuery API; http:// only to this machine."
    )
    commitment_projects: tuple[str, ...] = Field(
        default=(), description="Projects whose committed use of machines is read from Compute Engine."
    )
    budget_accounts: tuple[str, ...] = Field(
        default=(), description="Billing accounts (XXXXXX-XXXXXX-XXXXXX) whose budgets are read."
    )
    budgets_endpoint: str = Field(
        default="https://billingbudgets.googleapis.com", description="Cloud Billing Budget API."
    )

    @field_validator("tables")
    @classmethod
    def _tables_are_names(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if not _TABLE.match(name):
                raise ValueError(f"{name!r} is not of the form project.dataset.table")
        if len(set(names)) < len(names):
            raise ValueError("a table stands twice: its charges would be added up")
        return names

    @field_validator("budget_accounts")
    @classmethod
    def _accounts_are_ids(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if not _ACCOUNT.match(name):
                raise ValueError(f"{name!r} is not of the form XXXXXX-XXXXXX-XXXXXX")
        return names

    @model_validator(mode="after")
    def _asks_for_something(self) -> GcpCostSettings:
        if self.enabled and not (self.tables or self.commitment_projects or self.budget_accounts):
            raise ValueError("name at least one of tables, commitment_projects, budget_accounts")
        return self


def fetch(settings: GcpCostSettings, cloud: GcpSettings, request: CostRequest) -> CostFetched:
    """This will return the charges of all tables, the commitments of all projects and the budgets of all accounts.

    Raises:
        SettingsError: an endpoint is wrong.
        MissingExtraError: the SDK is not installed.
        TransientSourceError: throttled, timed out or cut off beyond the retries or the deadline.
        TerminalSourceError: credentials or permissions do not suffice, or a query would read more than the budget.
        IntegrityError: a table lacks columns or costs, or two tables state the same account.
    """
    frames = _all_charges(settings, cloud, request) if settings.tables else []
    held = [frame for frame in frames if not frame.is_empty()]
    return CostFetched(
        source=NAME,
        observed_at=request.now,
        charges=pl.concat(held).lazy() if held else no_charges() if settings.tables else None,
        paid_requests=len(settings.tables),
    )


def _all_charges(settings: GcpCostSettings, cloud: GcpSettings, request: CostRequest) -> list[pl.DataFrame]:
    require_bigquery()
    deadline = Deadline.of(request, source=NAME)
    frames: list[pl.DataFrame] = []
    seen: dict[str, str] = {}
    for done, table in enumerate(settings.tables, start=1):
        frame = _charges(settings, cloud, table, request, deadline)
        for account in frame["billing_account"].unique():
            if account in seen:
                raise IntegrityError(
                    f"it states the billing account {account}, which {seen[account]} states too",
                    where=table,
                    next_step="Name one table an account in costs.gcp.tables: standard, detailed or FOCUS.",
                )
            seen[account] = table
        frames.append(frame)
        request.progress("billing tables", done=done, total=len(settings.tables))
    return frames


def _charges(
    settings: GcpCostSettings, cloud: GcpSettings, table: str, request: CostRequest, deadline: Deadline
) -> pl.DataFrame:
    from exporters.fetch import gcp_costs_bigquery as bigquery  # noqa: PLC0415 - it needs the SDK

    warehouse = _warehouse(settings, cloud, table, deadline)
    described = _described(warehouse, table)
    sql = statement(table, described.columns, partitioned_by=described.partitioned_by)
    values = parameters(request.first_day, request.last_day, request.owner_tags)
    read = focus_charges if is_focus(described.columns) else usage_charges
    rows: list[Any] = []
    for page in bigquery.pages(warehouse, table, sql, values, described.location):
        rows.extend(page)
    return read(rows, where=table)


def _described(warehouse: Warehouse, table: str) -> Described:
    from exporters.fetch import gcp_costs_bigquery as bigquery  # noqa: PLC0415 - it needs the SDK

    described = bigquery.describe(warehouse, table)
    if missing := absent(described.columns):
        raise IntegrityError(
            f"it lacks the columns {', '.join(missing)}",
            where=table,
            next_step="Name the export itself (gcp_billing_export_v1_…, gcp_billing_export_resource_v1_… or the FOCUS "
            "view) in costs.gcp.tables, or a view with all of its columns.",
        )
    return described


def _warehouse(settings: GcpCostSettings, cloud: GcpSettings, table: str, deadline: Deadline) -> Warehouse:
    from exporters.fetch import gcp_costs_bigquery as bigquery  # noqa: PLC0415 - it needs the SDK

    endpoint = checked_endpoint(settings.bigquery_endpoint, setting="costs.gcp.bigquery_endpoint")
    return bigquery.Warehouse(
        client=bigquery.open_client(endpoint, settings.query_project or table.rsplit(".", 2)[0]),
        deadline=deadline,
        first_wait=cloud.retry_wait_seconds,
        max_bytes=settings.max_bytes_per_query,
        usd_per_tib=settings.usd_per_tib,
    )


def check(settings: GcpCostSettings, cloud: GcpSettings, request: CostRequest) -> tuple[Finding, ...]:
    """This will look at each table and say what one query would read, without running any."""
    try:
        require_bigquery()
    except MissingExtraError as error:
        return (Finding("sdk", "failed", error.what, error.next_step),)
    deadline = Deadline.of(request, source=NAME)
    return tuple(_looked_at(settings, cloud, table, request, deadline) for table in settings.tables)


def _looked_at(
    settings: GcpCostSettings, cloud: GcpSettings, table: str, request: CostRequest, deadline: Deadline
) -> Finding:
    from exporters.fetch import gcp_costs_bigquery as bigquery  # noqa: PLC0415 - it needs the SDK

    try:
        warehouse = _warehouse(settings, cloud, table, deadline)
        described = _described(warehouse, table)
        sql = statement(table, described.columns, partitioned_by=described.partitioned_by)
        values = parameters(request.first_day, request.last_day, request.owner_tags)
        scanned = bigquery.scanned_bytes(warehouse, table, sql, values, described.location)
    except (SourceError, SettingsError, IntegrityError) as error:
        return Finding(table, "failed", f"{error.where}: {error.what}", error.next_step)
    kind = "FOCUS view" if is_focus(described.columns) else "usage cost export"
    detail = f"{kind}; {(request.last_day - request.first_day).days + 1} days would read {warehouse.price(scanned)}"
    if scanned > settings.max_bytes_per_query:
        step = "Raise costs.gcp.max_bytes_per_query, or ask for fewer days."
        return Finding(table, "failed", f"{detail}, more than the budget", step)
    return Finding(table, "ok", detail)


def require_bigquery() -> None:
    """This will raise MissingExtraError unless BigQuery's client is installed."""
    try:
        found = find_spec("google.cloud.bigquery") is not None
    except ModuleNotFoundError:
        found = False
    if not found:
        raise MissingExtraError(NAME, EXTRA, section="costs")


SOURCE = CostSource(name=NAME, settings_model=GcpCostSettings, fetch=fetch, check=check, cloud="gcp", extra=EXTRA)
