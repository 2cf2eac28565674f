"""What holds beside the charges: which commitments and budgets are asked for, and where. It needs Google's SDK."""

from __future__ import annotations

from datetime import datetime

import dataframely as dy

from exporters.core.http import checked_endpoint
from exporters.core.standing_frames import Budget, Commitment
from exporters.fetch.contract import Skipped
from exporters.fetch.deadline import Deadline
from exporters.fetch.gcp import GcpSettings
from exporters.fetch.gcp_costs_budgets import budgets
from exporters.fetch.gcp_costs_commitments import commitments
from exporters.fetch.gcp_costs_rest import Rest
from exporters.fetch.gcp_costs_settings import GcpCostSettings
from exporters.fetch.gcp_session import COMPUTE_SCOPE

BUDGET_SCOPE = "https://www.googleapis.com/auth/cloud-billing.readonly"


def read_commitments(
    settings: GcpCostSettings, cloud: GcpSettings, now: datetime, deadline: Deadline, skipped: list[Skipped]
) -> dy.DataFrame[Commitment] | None:
    """This will return the commitments of the projects named; None: none is named."""
    if not settings.commitment_projects:
        return None
    endpoint = checked_endpoint(cloud.compute_endpoint, setting="sources.gcp.compute_endpoint")
    rest = Rest(endpoint, COMPUTE_SCOPE, deadline, cloud.retry_wait_seconds)
    return commitments(rest, settings.commitment_projects, now, skipped)


def read_budgets(
    settings: GcpCostSettings, cloud: GcpSettings, deadline: Deadline, skipped: list[Skipped]
) -> dy.DataFrame[Budget] | None:
    """This will return the budgets of the billing accounts named; None: none is named."""
    if not settings.budget_accounts:
        return None
    endpoint = checked_endpoint(settings.budgets_endpoint, setting="costs.gcp.budgets_endpoint")
    return budgets(Rest(endpoint, BUDGET_SCOPE, deadline, cloud.retry_wait_seconds), settings.budget_accounts, skipped)
