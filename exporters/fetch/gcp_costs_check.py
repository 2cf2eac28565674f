"""What `tuppence check` says of Google Cloud's costs: each table and its price, each account and whether it is read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from exporters.core.errors import IntegrityError, SettingsError, SourceError
from exporters.core.http import checked_endpoint
from exporters.fetch.contract import Finding, Skipped
from exporters.fetch.cost_contract import CostRequest
from exporters.fetch.deadline import Deadline
from exporters.fetch.gcp import GcpSettings
from exporters.fetch.gcp_connection import Connection
from exporters.fetch.gcp_costs_accounts import BillingAccount, billing_accounts
from exporters.fetch.gcp_costs_charges import question
from exporters.fetch.gcp_costs_settings import GcpCostSettings
from exporters.fetch.gcp_costs_standing import read_budgets, read_commitments

_OF_TABLE: Final = re.compile(r"_([0-9A-F]{6})_([0-9A-F]{6})_([0-9A-F]{6})$", re.IGNORECASE)
"""Google names an export after its billing account (Cloud Billing, "Set up Cloud Billing data export")."""

_MISTAKES: Final = (SourceError, SettingsError, IntegrityError)


def findings(
    settings: GcpCostSettings, cloud: GcpSettings, request: CostRequest, deadline: Deadline
) -> tuple[Finding, ...]:
    """This will look at everything that is named, and at the accounts that the identity can see; nothing is paid."""
    return (
        *(_table(settings, cloud, table, request, deadline) for table in settings.tables),
        *_accounts(settings, cloud, deadline),
        *_standing(settings, cloud, request, deadline),
    )


def _table(
    settings: GcpCostSettings, cloud: GcpSettings, table: str, request: CostRequest, deadline: Deadline
) -> Finding:
    try:
        asked = question(settings, cloud, table, request, deadline)
        scanned = asked.scanned_bytes()
    except _MISTAKES as error:
        return _failed(table, error)
    days = (request.last_day - request.first_day).days + 1
    kind = "FOCUS view" if asked.is_focus else "usage cost export"
    detail = f"{kind}; {days} days would read {asked.warehouse.price(scanned)}"
    if scanned > settings.max_bytes_per_query:
        step = "Raise costs.gcp.max_bytes_per_query, or ask for fewer days."
        return Finding(table, "failed", f"{detail}, more than the budget", step)
    return Finding(table, "ok", detail)


def _accounts(settings: GcpCostSettings, cloud: GcpSettings, deadline: Deadline) -> Iterator[Finding]:
    subject = "billing.accounts.list"
    try:
        found = billing_accounts(
            Connection(
                endpoint=checked_endpoint(cloud.endpoint, setting="sources.gcp.endpoint"),
                transport=cloud.transport,
                api_key=None,
                first_wait=cloud.retry_wait_seconds,
            ),
            deadline,
        )
    except _MISTAKES as error:
        # The charges are read without it: it only tells whether an account is missing.
        yield Finding(subject, "warning", f"{error.where}: {error.what}", error.next_step)
        return
    if not found:
        step = "Give the identity roles/billing.viewer to have exports checked against the accounts that there are."
        yield Finding(subject, "warning", "the identity can see no billing account", step)
    read = {"-".join(match.groups()).upper() for table in settings.tables if (match := _OF_TABLE.search(table))}
    named = all(_OF_TABLE.search(table) for table in settings.tables)
    for account in found:
        yield _account(account, is_read=account.identity in read, is_told=named)


def _account(account: BillingAccount, *, is_read: bool, is_told: bool) -> Finding:
    subject = f"billing account {account.identity}"
    state = "open" if account.is_open else "closed"
    detail = f"{account.name}: {state}, pays for {len(account.projects)} projects"
    if is_read:
        return Finding(subject, "ok", f"{detail}; its export is read")
    if not account.is_open:
        return Finding(subject, "ok", detail)
    if not is_told:
        return Finding(subject, "ok", f"{detail}; the names of the tables do not tell whether it is read")
    step = "Turn its export to BigQuery on, and add the table to costs.gcp.tables."
    return Finding(subject, "warning", f"{detail}; no table of costs.gcp.tables is its export", step)


def _standing(
    settings: GcpCostSettings, cloud: GcpSettings, request: CostRequest, deadline: Deadline
) -> Iterator[Finding]:
    skipped: list[Skipped] = []
    try:
        if (held := read_commitments(settings, cloud, request.now, deadline, skipped)) is not None:
            yield Finding("compute.commitments.list", "ok", f"{held['commitment_id'].n_unique()} commitments hold")
    except _MISTAKES as error:
        yield _failed("compute.commitments.list", error)
    try:
        if (meant := read_budgets(settings, cloud, deadline, skipped)) is not None:
            yield Finding("billing.budgets.list", "ok", f"{meant.height} budgets")
    except _MISTAKES as error:
        yield _failed("billing.budgets.list", error)


def _failed(subject: str, error: SourceError | SettingsError | IntegrityError) -> Finding:
    return Finding(subject, "failed", f"{error.where}: {error.what}", error.next_step)
