"""Google Cloud: the arrow from a billing export in BigQuery to charges, with commitments and budgets beside them.

Promises every charge of the days asked for of every table named, added up on the server, or an error. Google has no API
that states costs; it writes them to BigQuery, where each look costs money by the bytes that it reads: a dry run tells
them first, and nothing above the budget is run. Commitments come from Compute Engine, budgets from the Budget API, and
which billing accounts there are from the Cloud Billing API.
"""

from __future__ import annotations

from importlib.util import find_spec

import polars as pl

from exporters.core.errors import MissingExtraError
from exporters.fetch.contract import Finding, Skipped
from exporters.fetch.cost_contract import CostFetched, CostRequest, CostSource, no_charges
from exporters.fetch.deadline import Deadline
from exporters.fetch.gcp import GcpSettings
from exporters.fetch.gcp_costs_settings import GcpCostSettings

NAME = "gcp"
EXTRA = "gcp-bigquery"


def fetch(settings: GcpCostSettings, cloud: GcpSettings, request: CostRequest) -> CostFetched:
    """This will return the charges of all tables, the commitments of all projects and the budgets of all accounts.

    What is not named stays as it was known.

    Raises:
        SettingsError: an endpoint is wrong.
        MissingExtraError: the SDK is not installed.
        TransientSourceError: throttled, timed out or cut off beyond the retries or the deadline.
        TerminalSourceError: credentials or permissions do not suffice, or a query would read more than the budget.
        IntegrityError: a table lacks columns or costs, or two tables state the same account.
    """
    _require_sdk()
    from exporters.fetch import gcp_costs_charges, gcp_costs_standing  # noqa: PLC0415 - they need the SDK

    deadline = Deadline.of(request, source=NAME)
    skipped: list[Skipped] = []
    commitments = gcp_costs_standing.read_commitments(settings, cloud, request.now, deadline, skipped)
    budgets = gcp_costs_standing.read_budgets(settings, cloud, deadline, skipped)
    frames = gcp_costs_charges.all_charges(settings, cloud, request, deadline)
    held = [frame for frame in frames if not frame.is_empty()]
    return CostFetched(
        source=NAME,
        observed_at=request.now,
        charges=pl.concat(held).lazy() if held else no_charges() if frames else None,
        commitments=commitments,
        budgets=budgets,
        paid_requests=len(frames),
        skipped=tuple(skipped),
    )


def check(settings: GcpCostSettings, cloud: GcpSettings, request: CostRequest) -> tuple[Finding, ...]:
    """This will look at each table and account, and say what one query would read, without running any."""
    try:
        _require_sdk()
    except MissingExtraError as error:
        return (Finding("sdk", "failed", error.what, error.next_step),)
    from exporters.fetch.gcp_costs_check import findings  # noqa: PLC0415 - it needs the SDK

    return findings(settings, cloud, request, Deadline.of(request, source=NAME))


def _require_sdk() -> None:
    for module in ("google.cloud.bigquery", "google.cloud.billing_v1"):
        try:
            found = find_spec(module) is not None
        except ModuleNotFoundError:
            found = False
        if not found:
            raise MissingExtraError(NAME, EXTRA, section="costs")


SOURCE = CostSource(name=NAME, settings_model=GcpCostSettings, fetch=fetch, check=check, cloud="gcp", extra=EXTRA)
