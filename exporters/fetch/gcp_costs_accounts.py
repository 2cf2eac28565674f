"""Which billing accounts there are, whether they are open, and which projects they pay for, by Google's own client.

Used to say which account's export is not read. Over REST or gRPC, as sources.gcp.transport says.
Source: Cloud Billing API v1, billingAccounts.list and billingAccounts.projects.list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from google.auth.credentials import AnonymousCredentials
from google.cloud import billing_v1

from exporters.core.errors import IntegrityError
from exporters.fetch.deadline import Deadline
from exporters.fetch.gcp_connection import Connection
from exporters.fetch.gcp_session import (
    BILLING_SCOPE,
    as_source_errors,
    default_credentials,
    page_retry,
    page_timeout,
)

Page: TypeAlias = Any
"""A generated message with a page of items; its class carries no static types."""


@dataclass(frozen=True, slots=True)
class BillingAccount:
    """One billing account.

    Args:
        identity: as bills name it, such as 01AB23-45CD67-89EF01.
        name: for people.
        is_open: whether charges can still arise.
        projects: ids of the projects that it pays for.
    """

    identity: str
    name: str
    is_open: bool
    projects: tuple[str, ...]


def billing_accounts(connection: Connection, deadline: Deadline) -> list[BillingAccount]:
    """This will return the billing accounts that the identity can see, with their projects.

    Raises:
        SourceError: a page did not arrive, or there are no usable credentials.
        IntegrityError: a page token repeats itself.
    """
    client = _client(connection)

    def limits(where: str) -> dict[str, Any]:
        retry = page_retry(deadline, first_wait=connection.first_wait, where=where)
        return {"retry": retry, "timeout": page_timeout(deadline, where=where)}

    def accounts(token: str, where: str) -> Page:
        asked = billing_v1.ListBillingAccountsRequest(page_token=token)
        return next(client.list_billing_accounts(request=asked, **limits(where)).pages)

    def paid_for(account: str) -> tuple[str, ...]:
        def projects(token: str, where: str) -> Page:
            asked = billing_v1.ListProjectBillingInfoRequest(name=account, page_token=token)
            return next(client.list_project_billing_info(request=asked, **limits(where)).pages)

        found = _pages(projects, f"{connection.endpoint} {account}/projects")
        return tuple(one.project_id for page in found for one in page.project_billing_info if one.billing_enabled)

    return [
        BillingAccount(
            identity=account.name.removeprefix("billingAccounts/"),
            name=account.display_name,
            is_open=account.open_,
            projects=paid_for(account.name),
        )
        for page in _pages(accounts, f"{connection.endpoint} billingAccounts")
        for account in page.billing_accounts
    ]


def _pages(ask: Callable[[str, str], Page], where: str) -> Iterator[Page]:
    """Every page, each asked for by itself, so that each has its own tries and its own time."""
    token = ""
    while True:
        with as_source_errors(where):
            page = ask(token, where)
        yield page
        if not page.next_page_token:
            return
        if page.next_page_token == token:
            raise IntegrityError("the page token repeats itself", where=where, next_step="Try again later.")
        token = page.next_page_token


def _client(connection: Connection) -> billing_v1.CloudBillingClient:
    """An API key does not suffice: accounts are listed by what an identity may see."""
    plain = connection.endpoint.startswith("http://")
    host = urlsplit(connection.endpoint).netloc
    if plain and connection.transport == "grpc":
        import grpc  # noqa: PLC0415 - only for a plain channel to this machine

        transport = billing_v1.CloudBillingClient.get_transport_class("grpc")
        return billing_v1.CloudBillingClient(transport=transport(channel=grpc.insecure_channel(host)))
    credentials = AnonymousCredentials() if plain else default_credentials(BILLING_SCOPE)  # type: ignore[no-untyped-call]
    return billing_v1.CloudBillingClient(
        credentials=credentials,
        transport=connection.transport,
        client_options={"api_endpoint": host if connection.transport == "grpc" else connection.endpoint},
    )
