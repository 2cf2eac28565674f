"""Azure, what every SDK call of every source shares: where tokens may go, and plain errors in place of the SDK's.

Promises that no token leaves for a host other than the configured endpoint, and that no message holds a secret.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from azure.core.exceptions import (
    ClientAuthenticationError,
    DecodeError,
    HttpResponseError,
    ServiceRequestError,
    ServiceResponseError,
)
from azure.core.pipeline.policies import SansIOHTTPPolicy

from exporters.core.errors import IntegrityError, TerminalSourceError, TransientSourceError
from exporters.core.http import RETRYABLE_STATUS

Sdk: TypeAlias = Any
"""An object of the Azure SDK, whose types are not relied upon."""


class OnlyToEndpoint(SansIOHTTPPolicy):  # type: ignore[type-arg]
    """Refuses a link to another host before a token is added to the request.

    Args:
        endpoint: checked base URL of Azure Resource Manager.
        what: what is read, for messages.
    """

    def __init__(self, endpoint: str, *, what: str = "sizes") -> None:
        self._host = urlsplit(endpoint).netloc
        self._what = what

    def on_request(self, request: Sdk) -> None:
        """This will raise IntegrityError if the request would go elsewhere, or in the clear."""
        parts = urlsplit(request.http_request.url)
        if parts.scheme != "https" or parts.netloc.removesuffix(":443") != self._host.removesuffix(":443"):
            raise IntegrityError(
                f"the next page of {self._what} lies elsewhere ({parts.hostname})",
                where=f"https://{self._host}",
                next_step="A proxy may be rewriting links; check sources.azure.management_endpoint.",
            )


@contextmanager
def as_source_errors(place: str, *, what: str, right: str) -> Iterator[None]:
    """This will turn the SDK's errors into ours.

    Args:
        place: where it happened.
        what: what was asked for, as the subject of a sentence.
        right: the right that the identity needs for it.

    Raises:
        TerminalSourceError: no credentials, no right, or a request that is refused.
        TransientSourceError: throttled, cut off, down, or an answer that is not this API's.
    """
    try:
        yield
    except ClientAuthenticationError as error:
        raise TerminalSourceError(
            f"signing in failed ({first_line(error)})",
            where=place,
            next_step="Give Tuppence a managed identity, a workload identity or AZURE_CLIENT_ID, AZURE_TENANT_ID and "
            "AZURE_CLIENT_SECRET; an expired secret must be renewed.",
        ) from error
    except (ServiceRequestError, ServiceResponseError) as error:
        raise TransientSourceError(
            f"the connection failed ({first_line(error)})",
            where=place,
            next_step="Check the network, the proxy, ca_file and sources.azure.management_endpoint.",
        ) from error
    except (
        DecodeError,
        ValueError,
        AttributeError,
        TypeError,
        KeyError,
    ) as error:  # what the SDK raises on another body
        raise TransientSourceError(
            f"{what} is cut off or not the expected JSON",
            where=place,
            next_step="It will be read again at the next refresh; a proxy may be answering instead.",
        ) from error
    except HttpResponseError as error:
        raise (TransientSourceError if error.status_code in RETRYABLE_STATUS else TerminalSourceError)(
            f"{what} was not given ({first_line(error)})",
            where=place,
            next_step=f"Check that the identity has {right}.",
        ) from error


def first_line(error: Exception) -> str:
    """This will return what an error of the SDK says, in one line."""
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
