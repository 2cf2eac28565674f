"""The charges of the tables of billing exports, and what asking for them would read. It needs BigQuery's client."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from exporters.core.errors import IntegrityError
from exporters.core.http import checked_endpoint
from exporters.fetch.cost_contract import CostRequest
from exporters.fetch.deadline import Deadline
from exporters.fetch.gcp import GcpSettings
from exporters.fetch.gcp_costs_bigquery import Described, Warehouse, describe, open_client, pages, scanned_bytes
from exporters.fetch.gcp_costs_query import absent, is_focus, parameters, statement
from exporters.fetch.gcp_costs_rows import focus_charges, usage_charges
from exporters.fetch.gcp_costs_settings import GcpCostSettings


@dataclass(frozen=True, slots=True)
class Question:
    """One query of one table, ready to be put.

    Args:
        warehouse: where.
        table: project.dataset.table.
        described: what the table is.
        sql: the query.
        values: of its parameters.
    """

    warehouse: Warehouse
    table: str
    described: Described
    sql: str
    values: Mapping[str, Any]

    @property
    def is_focus(self) -> bool:
        """Whether the table is Google's FOCUS view."""
        return is_focus(self.described.columns)

    def scanned_bytes(self) -> int:
        """This will return what the query would read, without running it."""
        return scanned_bytes(self.warehouse, self.table, self.sql, self.values, self.described.location)

    def charges(self) -> pl.DataFrame:
        """This will run the query and return its answer as Charge."""
        rows: list[Mapping[str, Any]] = []
        for page in pages(self.warehouse, self.table, self.sql, self.values, self.described.location):
            rows.extend(page)
        return (focus_charges if self.is_focus else usage_charges)(rows, where=self.table)


def question(
    settings: GcpCostSettings, cloud: GcpSettings, table: str, request: CostRequest, deadline: Deadline
) -> Question:
    """This will look at a table and make its query.

    Raises:
        SourceError: the table cannot be seen.
        IntegrityError: it lacks columns.
    """
    endpoint = checked_endpoint(settings.bigquery_endpoint, setting="costs.gcp.bigquery_endpoint")
    warehouse = Warehouse(
        client=open_client(endpoint, settings.query_project or table.rsplit(".", 2)[0]),
        deadline=deadline,
        first_wait=cloud.retry_wait_seconds,
        max_bytes=settings.max_bytes_per_query,
        usd_per_tib=settings.usd_per_tib,
    )
    described = describe(warehouse, table)
    if missing := absent(described.columns):
        raise IntegrityError(
            f"it lacks the columns {', '.join(missing)}",
            where=table,
            next_step="Name the export itself (gcp_billing_export_v1_…, gcp_billing_export_resource_v1_… or the FOCUS "
            "view) in costs.gcp.tables, or a view with all of its columns.",
        )
    sql = statement(table, described.columns, partitioned_by=described.partitioned_by)
    return Question(
        warehouse, table, described, sql, parameters(request.first_day, request.last_day, request.owner_tags)
    )


def all_charges(
    settings: GcpCostSettings, cloud: GcpSettings, request: CostRequest, deadline: Deadline
) -> list[pl.DataFrame]:
    """This will return the charges of each table.

    Raises:
        SourceError: a table or its rows did not arrive, or asking would read more than the budget.
        IntegrityError: a table lacks columns or costs, or two tables state one billing account.
    """
    frames: list[pl.DataFrame] = []
    seen: dict[str, str] = {}
    for done, table in enumerate(settings.tables, start=1):
        frame = question(settings, cloud, table, request, deadline).charges()
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
