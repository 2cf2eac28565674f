"""How Google's APIs are reached and how long one refresh may take; the part of the edge that needs no SDK."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Literal

from exporters.core.errors import TransientSourceError

PAGE_TIMEOUT_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Connection:
    """Where the Cloud Billing API is, and with what it is asked.

    Args:
        endpoint: checked https:// URL, or http:// to this machine.
        transport: rest or grpc.
        api_key: None: application default credentials.
        first_wait: seconds before the first retry of a page; later ones double.
    """

    endpoint: str
    transport: Literal["rest", "grpc"]
    api_key: str | None = field(repr=False)
    first_wait: float


class Budget:
    """The seconds a refresh has left, on the monotonic clock, so that a stepped wall clock cannot stretch it."""

    __slots__ = ("_end",)

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def remaining(self, *, where: str) -> float:
        """This will return the seconds left.

        Raises:
            TransientSourceError: none are left.
        """
        left = self._end - time.monotonic()
        if left <= 0:
            raise TransientSourceError(
                "the refresh ran into its deadline",
                where=where,
                next_step="Raise sources.gcp.deadline_seconds, or look for throttling; the last good prices stay.",
            )
        return left
