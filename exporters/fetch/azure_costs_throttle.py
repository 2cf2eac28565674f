"""Azure costs, on the way to the API: waits as long as Cost Management asks, within the deadline, and no longer.

Cost Management seldom sends Retry-After. It names the wait of each limit that was reached in a header of its own, and
the longest one counts. Source: Microsoft Learn, "Azure Cost Management automation FAQ" and "Handle throttling":
x-ms-ratelimit-microsoft.costmanagement-{qpu,entity,tenant,client,clienttype}-retry-after, in seconds; a header
ClientType gives a program a limit of its own.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Final

from azure.core.exceptions import ClientAuthenticationError, ServiceRequestError, ServiceResponseError
from azure.core.pipeline.policies import HTTPPolicy

from exporters.core.errors import TransientSourceError
from exporters.core.http import RETRYABLE_STATUS, retry_after_seconds
from exporters.fetch.azure_session import Sdk
from exporters.fetch.deadline import Deadline

LIMITS: Final = ("qpu", "entity", "tenant", "client", "clienttype")
THROTTLES: Final = 30
"""Throttled answers to one request past which it is a storm, not a queue."""
FAILURES: Final = 5
"""Tries of a request that meets a server error or a cut connection."""
_LONGEST_PAUSE_SECONDS: Final = 60.0
_READ_SECONDS: Final = 180.0
_THROTTLED: Final = 429


def asked_seconds(headers: Mapping[str, str]) -> float | None:
    """This will return the longest wait that an answer asks for, or None if it names none.

    Args:
        headers: of the answer, found in any case.
    """
    waits = [retry_after_seconds(headers)]
    for name in ("retry-after-ms", "x-ms-retry-after-ms"):
        milliseconds = _seconds(headers.get(name))
        waits.append(None if milliseconds is None else milliseconds / 1_000)
    waits += [_seconds(headers.get(f"x-ms-ratelimit-microsoft.costmanagement-{word}-retry-after")) for word in LIMITS]
    return max((wait for wait in waits if wait is not None), default=None)


def _seconds(text: str | None) -> float | None:
    try:
        return max(0.0, float(text)) if text else None
    except ValueError:
        return None


class Patience(HTTPPolicy):  # type: ignore[type-arg]
    """Tries a request again while its answer says that another try can help and there is time.

    Args:
        deadline: of the whole refresh.
        first_pause_seconds: after an answer that names no wait; later ones double.
        place: the endpoint, for messages.
    """

    def __init__(self, deadline: Deadline, *, first_pause_seconds: float, place: str) -> None:
        super().__init__()
        self._deadline = deadline
        self._first_pause_seconds = first_pause_seconds
        self._place = place

    def send(self, request: Sdk) -> Sdk:
        """This will send the request on until an answer is final.

        Raises:
            TransientSourceError: the limit of requests outlasts the deadline, or never ends.
        """
        throttles = failures = 0
        while True:
            left = self._deadline.remaining(self._place)
            request.context.options["read_timeout"] = min(_READ_SECONDS, left)
            try:
                response = self.next.send(request)
            except ClientAuthenticationError:
                raise
            except (ServiceRequestError, ServiceResponseError):
                failures += 1
                if failures >= FAILURES or not self._pause(failures):
                    raise
                continue
            status = response.http_response.status_code
            if status not in RETRYABLE_STATUS:
                return response
            throttles, failures = throttles + (status == _THROTTLED), failures + (status != _THROTTLED)
            asked = asked_seconds(response.http_response.headers)
            if status == _THROTTLED:
                self._wait_for_limit(asked, throttles)
            elif failures >= FAILURES or not self._pause(failures, asked):
                return response

    def _wait_for_limit(self, asked: float | None, throttles: int) -> None:
        seconds = asked or self._backoff(throttles)
        left = self._deadline.remaining(self._place)
        if throttles >= THROTTLES or seconds >= left:
            raise TransientSourceError(
                f"Cost Management is throttling: {throttles} answers in a row said 429, the last asks for "
                f"{seconds:,.0f} s, and {left:,.0f} s are left",
                where=self._place,
                next_step="Split costs less finely (costs.azure.split_by), ask for fewer days "
                "(costs.azure.history_days), or raise costs.azure.deadline_seconds; others of the tenant count too.",
            )
        time.sleep(seconds)

    def _pause(self, failures: int, asked: float | None = None) -> bool:
        """Whether there was time to wait after a failure."""
        seconds = asked or self._backoff(failures)
        if seconds >= self._deadline.remaining(self._place):
            return False
        time.sleep(seconds)
        return True

    def _backoff(self, times: int) -> float:
        return float(min(_LONGEST_PAUSE_SECONDS, self._first_pause_seconds * 2 ** (times - 1)))
