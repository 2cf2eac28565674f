"""BigQuery's edge: what a table is, what a query would read, and its rows; nothing is paid for above the budget.

A dry run tells the bytes first, and the same limit goes with the query, so that BigQuery itself refuses to go beyond.
Source: BigQuery REST API v2, tables.get, jobs.insert (dryRun), jobs.query and jobs.getQueryResults.
"""

from __future__ import annotations

import concurrent.futures
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from typing import Any

from google.api_core import exceptions as api_errors
from google.auth.credentials import AnonymousCredentials
from google.cloud import bigquery

from exporters.core.errors import TerminalSourceError, TransientSourceError
from exporters.fetch.deadline import Deadline
from exporters.fetch.gcp_costs_query import INGESTION
from exporters.fetch.gcp_session import as_source_errors, default_credentials, page_retry, page_timeout

BIGQUERY_SCOPE = "https://www.googleapis.com/auth/bigquery"
ROWS_A_PAGE = 10_000
BYTES_PER_TIB = 1_099_511_627_776
BYTES_PER_GIB = 1_073_741_824


@dataclass(frozen=True, slots=True)
class Warehouse:
    """A client with its limits.

    Args:
        client: BigQuery's.
        deadline: the time left.
        first_wait: seconds before the first retry.
        max_bytes: the most bytes one query may read.
        usd_per_tib: what a TiB that is read costs, for messages.
    """

    client: bigquery.Client
    deadline: Deadline
    first_wait: float
    max_bytes: int
    usd_per_tib: float

    def price(self, scanned: int) -> str:
        """This will say how much is read and what that costs."""
        return f"{scanned / BYTES_PER_GIB:,.1f} GiB, about {scanned / BYTES_PER_TIB * self.usd_per_tib:,.2f} USD"


@dataclass(frozen=True, slots=True)
class Described:
    """What a table is.

    Args:
        columns: the names of its columns.
        partitioned_by: the column of its partitions, `_PARTITIONTIME`, or empty.
        location: where it lies; a query must run there.
    """

    columns: frozenset[str]
    partitioned_by: str
    location: str


def open_client(endpoint: str, project: str) -> bigquery.Client:
    """This will return a client whose queries are paid for by a project.

    Credentials are the application default ones; none at all for an http:// endpoint on this machine.

    Raises:
        TerminalSourceError: there are no usable credentials.
    """
    plain = endpoint.startswith("http://")
    credentials = AnonymousCredentials() if plain else default_credentials(BIGQUERY_SCOPE)  # type: ignore[no-untyped-call]
    return bigquery.Client(project=project, credentials=credentials, client_options={"api_endpoint": endpoint})


def describe(warehouse: Warehouse, table: str) -> Described:
    """This will look at a table; it costs nothing.

    Raises:
        SourceError: the table cannot be seen.
    """
    with _as_source_errors(table):
        found = warehouse.client.get_table(
            table, retry=_retry(warehouse, table), timeout=page_timeout(warehouse.deadline, where=table)
        )
    partitioning = found.time_partitioning
    by = "" if partitioning is None else partitioning.field or INGESTION
    return Described(frozenset(field.name for field in found.schema), by, found.location or "")


def scanned_bytes(warehouse: Warehouse, table: str, sql: str, values: Mapping[str, Any], location: str) -> int:
    """This will return the bytes that a query would read, without running it.

    Raises:
        SourceError: BigQuery refuses the query.
    """
    config = bigquery.QueryJobConfig(dry_run=True, use_query_cache=False, query_parameters=_parameters(sql, values))
    with _as_source_errors(table):
        job = warehouse.client.query(
            sql,
            job_config=config,
            location=location or None,
            retry=_retry(warehouse, table),
            job_retry=None,
            timeout=page_timeout(warehouse.deadline, where=table),
        )
        return int(job.total_bytes_processed or 0)


def pages(
    warehouse: Warehouse, table: str, sql: str, values: Mapping[str, Any], location: str
) -> Iterator[list[Mapping[str, Any]]]:
    """This will run a query and return its rows, a page at a time.

    Raises:
        TerminalSourceError: it would read more than the budget, or BigQuery refuses it.
        TransientSourceError: it did not end within the retries or the deadline.
    """
    scanned = scanned_bytes(warehouse, table, sql, values, location)
    if scanned > warehouse.max_bytes:
        raise TerminalSourceError(
            f"the query would read {warehouse.price(scanned)}; the budget is {warehouse.price(warehouse.max_bytes)}",
            where=table,
            next_step="Ask for fewer days (costs.gcp.history_days), or raise costs.gcp.max_bytes_per_query.",
        )
    config = bigquery.QueryJobConfig(
        query_parameters=_parameters(sql, values), maximum_bytes_billed=warehouse.max_bytes, use_query_cache=True
    )
    with _as_source_errors(table):
        rows = warehouse.client.query_and_wait(
            sql,
            job_config=config,
            location=location or None,
            page_size=ROWS_A_PAGE,
            wait_timeout=warehouse.deadline.remaining(table),
            api_timeout=page_timeout(warehouse.deadline, where=table),
            retry=_retry(warehouse, table),
            job_retry=_retry(warehouse, table),
        )
        for page in rows.pages:
            warehouse.deadline.check(table)
            yield list(page)


def _retry(warehouse: Warehouse, table: str) -> Any:  # noqa: ANN401 - google.api_core has no types
    return page_retry(warehouse.deadline, first_wait=warehouse.first_wait, where=table)


def _parameters(
    sql: str, values: Mapping[str, Any]
) -> list[bigquery.ScalarQueryParameter | bigquery.ArrayQueryParameter]:
    """The values that a query names, with BigQuery's types."""
    found: list[bigquery.ScalarQueryParameter | bigquery.ArrayQueryParameter] = []
    for name, value in values.items():
        if f"@{name}" not in sql:
            continue
        if isinstance(value, Sequence) and not isinstance(value, str):
            found.append(bigquery.ArrayQueryParameter(name, "STRING", list(value)))
        else:
            found.append(bigquery.ScalarQueryParameter(name, "DATE" if isinstance(value, date) else "STRING", value))
    return found


@contextmanager
def _as_source_errors(table: str) -> Iterator[None]:
    """The SDK's errors, and what only BigQuery has: a job that fails, and one that is not done in time."""
    try:
        with as_source_errors(table):
            yield
    except (TimeoutError, concurrent.futures.TimeoutError) as error:
        raise TransientSourceError(
            "the query was not done within the deadline, and was cancelled",
            where=table,
            next_step="Raise costs.gcp.deadline_seconds, or ask for fewer days; what was known stays.",
        ) from error
    except TerminalSourceError as error:
        if isinstance(error.__cause__, api_errors.Forbidden | api_errors.NotFound):
            raise TerminalSourceError(
                error.what,
                where=table,
                next_step="Check the table's name, and that the identity has roles/bigquery.dataViewer on its dataset "
                "and roles/bigquery.jobUser on costs.gcp.query_project.",
            ) from error
        raise
