"""How Google's APIs are reached; the part of the edge that needs no SDK."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

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
