"""The Google SDK's edge: credentials, client, retries and errors for the catalogue and the machine types.

The client of google-cloud-billing has no default retry, so one is supplied for each page: throttling, 5xx and cut
connections are tried again, Retry-After and RetryInfo are obeyed, and nothing outlives the refresh's deadline.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

import google.auth
import requests
from google.api_core import exceptions as api_errors
from google.api_core.retry import Retry
from google.auth import exceptions as auth_errors
from google.auth.api_key import Credentials as ApiKey
from google.auth.credentials import AnonymousCredentials, Credentials
from google.cloud import billing_v1
from google.protobuf.json_format import ParseError
from google.rpc.error_details_pb2 import RetryInfo

from exporters.core.errors import IntegrityError, TerminalSourceError, TransientSourceError
from exporters.core.http import retry_after_seconds
from exporters.fetch.deadline import Deadline
from exporters.fetch.gcp_connection import PAGE_TIMEOUT_SECONDS, Connection

BILLING_SCOPE = "https://www.googleapis.com/auth/cloud-billing.readonly"
COMPUTE_SCOPE = "https://www.googleapis.com/auth/compute.readonly"

WAIT_MAX_SECONDS = 60.0
MENDABLE = (
    api_errors.TooManyRequests,
    api_errors.ServiceUnavailable,
    api_errors.BadGateway,
    api_errors.GatewayTimeout,
    api_errors.InternalServerError,
    requests.exceptions.ConnectionError,
    requests.exceptions.Timeout,
    requests.exceptions.ChunkedEncodingError,
    ConnectionError,
)
"""What another try can mend; the gRPC classes (ResourceExhausted, DeadlineExceeded …) are subclasses of these."""


@dataclass(frozen=True, slots=True)
class Session:
    """A client with its limits.

    Args:
        client: the catalogue's client.
        deadline: the time left.
        first_wait: seconds before the first retry of a page.
        where: the endpoint, for messages.
        identity: which credentials are in use, for a person; never the secret.
    """

    client: billing_v1.CloudCatalogClient
    deadline: Deadline
    first_wait: float
    where: str
    identity: str


def open_session(connection: Connection, deadline: Deadline) -> Session:
    """This will return a client for the catalogue.

    Credentials: the API key if there is one; none at all for an http:// endpoint on this machine, so that a token
    never travels in the clear; else the application default credentials. A plain gRPC channel carries none.

    Raises:
        TerminalSourceError: there are no usable credentials.
    """
    plain = connection.endpoint.startswith("http://")
    credentials: Credentials
    if connection.api_key and not (plain and connection.transport == "grpc"):
        credentials, identity = ApiKey(connection.api_key), "API key"  # type: ignore[no-untyped-call]
    elif plain:
        credentials = AnonymousCredentials()  # type: ignore[no-untyped-call]
        identity = "none (endpoint on this machine)"
    else:
        credentials, identity = default_credentials(BILLING_SCOPE), "application default credentials"
    return Session(
        client=_client(connection, credentials, plain=plain),
        deadline=deadline,
        first_wait=connection.first_wait,
        where=connection.endpoint,
        identity=identity,
    )


def default_credentials(scope: str) -> Credentials:
    """This will return the application default credentials for a scope.

    Raises:
        TerminalSourceError: there are none, or their file cannot be used.
    """
    try:
        credentials, _ = google.auth.default(scopes=[scope])
    except (auth_errors.GoogleAuthError, OSError) as error:
        raise TerminalSourceError(
            f"there are no usable application default credentials ({type(error).__name__})",
            where="sources.gcp",
            next_step="Set sources.gcp.api_key_file, or run: gcloud auth application-default login",
        ) from error
    return credentials


def _client(connection: Connection, credentials: Credentials, *, plain: bool) -> billing_v1.CloudCatalogClient:
    if connection.transport == "rest":
        return billing_v1.CloudCatalogClient(
            credentials=credentials, transport="rest", client_options={"api_endpoint": connection.endpoint}
        )
    host = urlsplit(connection.endpoint).netloc
    if not plain:
        return billing_v1.CloudCatalogClient(
            credentials=credentials, transport="grpc", client_options={"api_endpoint": host}
        )
    import grpc  # noqa: PLC0415 - only for a plain channel to this machine

    transport = billing_v1.CloudCatalogClient.get_transport_class("grpc")
    return billing_v1.CloudCatalogClient(transport=transport(channel=grpc.insecure_channel(host)))


def page_retry(deadline: Deadline, *, first_wait: float, where: str) -> Retry:
    """This will return the retry for one page, ending with the deadline.

    A pause that the other side names is waited for; one beyond the deadline ends the refresh at once.
    """

    def wait_as_told(error: Exception) -> None:
        seconds = _seconds_told(error)
        if seconds is None:
            return
        if seconds > deadline.remaining(where):
            raise TransientSourceError(
                f"the server asks to wait {seconds:.0f} s, longer than this refresh may take",
                where=where,
                next_step="It will be tried again at the next refresh; the last good prices stay.",
            ) from error
        time.sleep(seconds)

    return Retry(
        predicate=lambda error: isinstance(error, MENDABLE),
        initial=first_wait,
        maximum=WAIT_MAX_SECONDS,
        timeout=deadline.remaining(where),
        on_error=wait_as_told,
    )


def page_timeout(deadline: Deadline, *, where: str) -> float:
    """This will return how long one try of a page may take, in seconds."""
    return min(PAGE_TIMEOUT_SECONDS, deadline.remaining(where))


def _seconds_told(error: Exception) -> float | None:
    """The pause in a Retry-After header or in google.rpc.RetryInfo (a message over gRPC, JSON over REST)."""
    response = getattr(error, "response", None)
    headers = getattr(response, "headers", None)
    if headers is not None and (seconds := retry_after_seconds(headers)) is not None:
        return seconds
    for detail in getattr(error, "details", None) or ():
        if isinstance(detail, RetryInfo):
            return float(detail.retry_delay.seconds) + float(detail.retry_delay.nanos) / 1e9
        if isinstance(detail, dict) and str(detail.get("@type", "")).endswith("google.rpc.RetryInfo"):
            return float(str(detail.get("retryDelay", "0s")).removesuffix("s"))
    return None


@contextmanager
def as_source_errors(where: str) -> Iterator[None]:
    """This will turn what the SDK raises into errors that say what to do.

    Raises:
        TransientSourceError: retries ran out.
        TerminalSourceError: credentials, permissions or a request that the API refuses.
        IntegrityError: the answer is not what the API promises (HTML, cut JSON).
    """
    try:
        yield
    except (api_errors.RetryError, *MENDABLE, auth_errors.TransportError) as error:
        cause = error.__cause__ or error
        raise TransientSourceError(
            f"no answer within the retries ({_brief(cause)})",
            where=where,
            next_step="Check the network and the API quota; it will be tried again and the last good prices stay.",
        ) from error
    except auth_errors.GoogleAuthError as error:
        raise TerminalSourceError(
            f"the credentials were refused ({_brief(error)})",
            where=where,
            next_step="Renew them: gcloud auth application-default login, or a new key in sources.gcp.api_key_file.",
        ) from error
    except (ParseError, requests.exceptions.JSONDecodeError, UnicodeDecodeError) as error:
        raise IntegrityError(
            f"the answer is not the API's JSON ({_brief(error)})",
            where=where,
            next_step="Look for a proxy or a login page between here and the endpoint; the last good prices stay.",
        ) from error
    except api_errors.GoogleAPICallError as error:
        raise TerminalSourceError(
            f"the API refused ({_brief(error)})",
            where=where,
            next_step="Check the credentials, that the API is enabled in their project, and the sources.gcp settings.",
        ) from error


def _brief(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error)[:200]}"
