"""What the hub refuses, in words: what is tried again, what is about one namespace, and what is about all of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import httpx2
import msgspec
import stamina
from lightkube.core.exceptions import ConfigError

from exporters.core.errors import SettingsError, TuppenceError
from exporters.core.http import RETRYABLE_STATUS, retry_after_seconds

ATTEMPTS = 4
LONGEST_SECONDS = 60.0
"""In which all tries of one request must fit; a server that asks for a longer pause is asked again next round."""


class HubError(TuppenceError):
    """The hub as a whole did not do what was asked.

    Args:
        what: see TuppenceError.
        where: see TuppenceError.
        next_step: see TuppenceError.
        code: the status of the answer; None: there was none.
    """

    def __init__(self, what: str, *, where: str, next_step: str, code: int | None = None) -> None:
        super().__init__(what, where=where, next_step=next_step)
        self.code = code


class HubAwayError(HubError):
    """The hub does not answer, or asks for patience; the same request may succeed later."""


class _AgainError(HubAwayError):
    """Worth another try now."""

    def __init__(self, what: str, *, where: str, next_step: str, code: int | None, after_seconds: float | None) -> None:
        super().__init__(what, where=where, next_step=next_step, code=code)
        self.after_seconds = after_seconds


class NamespaceRefusedError(HubError):
    """One namespace is refused; others may be written.

    Args:
        what: see TuppenceError.
        where: the namespace.
        next_step: see TuppenceError.
        code: the status of the answer.
    """

    @property
    def is_missing(self) -> bool:
        """The object, or its namespace, is not there."""
        return self.code == httpx2.codes.NOT_FOUND

    @property
    def is_conflict(self) -> bool:
        """Somebody else has it."""
        return self.code == httpx2.codes.CONFLICT


def attempts() -> Iterable[stamina.Attempt]:
    """This will yield the tries of one request."""

    def again(error: Exception) -> bool | float:
        if not isinstance(error, _AgainError):
            return False
        if error.after_seconds is None:
            return True
        return error.after_seconds if error.after_seconds <= LONGEST_SECONDS else False

    return stamina.retry_context(
        on=again, attempts=ATTEMPTS, timeout=LONGEST_SECONDS, wait_initial=0.2, wait_max=10.0, wait_jitter=0.2
    )


@contextmanager
def translated(address: str, *, namespace: str | None, what: str = "") -> Iterator[None]:
    """This will put what an API client raises into words.

    Args:
        address: of the hub.
        namespace: that the request is about; None: all.
        what: the kind of the objects that were asked for.

    Raises:
        HubError: see its kinds.
    """
    try:
        yield
    except httpx2.HTTPStatusError as error:
        raise _refused(error.response, address, namespace, what) from error
    except httpx2.TransportError as error:
        raise _AgainError(
            f"it does not answer ({type(error).__name__}: {error})",
            where=address,
            next_step="Check the address and the network; nothing that was written stands past its validUntil.",
            code=None,
            after_seconds=None,
        ) from error
    except (KeyError, ValueError, msgspec.MsgspecError) as error:
        # The client looks for a content type that a proxy in between need not send.
        raise HubError(
            f"it answers with something that is not of a Kubernetes API server ({error})",
            where=address,
            next_step="Check that the address is the hub's, and that no proxy answers in its place.",
        ) from error
    except (ConfigError, OSError) as error:
        raise SettingsError(
            f"the credentials for the hub cannot be used ({error})",
            where="emit.hub",
            next_step="Check that kubectl reaches the hub with the same credentials.",
        ) from error


def _refused(answer: httpx2.Response, address: str, namespace: str | None, what: str) -> HubError:
    code, status = answer.status_code, _status(answer)
    message = str(status.get("message") or f"HTTP {code}")
    if code in RETRYABLE_STATUS:
        return _AgainError(
            f"it asks for patience ({message})",
            where=address,
            next_step="The next round tries again; lower emit.hub.requests_per_second should it last.",
            code=code,
            after_seconds=retry_after_seconds(answer.headers),
        )
    if code == httpx2.codes.UNAUTHORIZED:
        return HubError(
            f"it does not accept the credentials ({message})",
            where=address,
            next_step="Renew the token or certificate that emit.hub names; a token file is read again each time.",
            code=code,
        )
    if code == httpx2.codes.NOT_FOUND and not status.get("details", {}).get("name"):
        return HubError(
            f"it does not know {what or 'AddOnPlacementScore'} ({message})",
            where=address,
            next_step="Install Open Cluster Management's definitions on the hub, or name the right context.",
            code=code,
        )
    if namespace is None:
        return HubError(
            f"it refuses to list {what} ({message})",
            where=address,
            next_step="Give the right: tuppence mode rbac MODE prints the manifests for kubectl apply.",
            code=code,
        )
    return NamespaceRefusedError(message, where=f"namespace {namespace}", next_step=_next(code), code=code)


def _next(code: int) -> str:
    if code == httpx2.codes.FORBIDDEN:
        return "Give the right: tuppence mode rbac MODE prints the manifests for kubectl apply."
    if code == httpx2.codes.NOT_FOUND:
        return "Map the cluster to its name on the hub with emit.hub.managed_clusters, if it is a managed cluster."
    if code == httpx2.codes.CONFLICT:
        return "Another field manager or object has it: remove that, use another score_name, or set emit.hub.take_over."
    return "The hub's definition of AddOnPlacementScore differs from the one this was written for."


def _status(answer: httpx2.Response) -> Mapping[str, Any]:
    try:
        found = answer.json()
    except (json.JSONDecodeError, UnicodeDecodeError, httpx2.ResponseNotRead):
        return {}
    return found if isinstance(found, dict) else {}
