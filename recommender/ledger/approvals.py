"""What a person approves that is no recommendation, such as changed settings: rows of the ledger, only ever added."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Approval:
    """One approval.

    Args:
        number: 1, 2, 3 … within the ledger; two approvals never share one.
        subject: what sort of thing was approved, such as `calibration`.
        at: when (UTC).
        author: who approved.
        reason: why, in the author's words.
        detail: exactly what was approved, as JSON.
    """

    number: int
    subject: str
    at: datetime
    author: str
    reason: str
    detail: str
