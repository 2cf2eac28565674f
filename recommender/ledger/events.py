"""What can happen to a recommendation: the ledger's rows. Nothing is ever changed in them, only added."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

TUPPENCE = "tuppence"
"""The author of what an evaluation or a verification writes."""
SCHEDULER = "scheduler"
"""The author of moves that were read back from a scheduler's decision."""


class EventKind(StrEnum):
    """The events, in the words of the design."""

    PROPOSED = "proposed"
    ACCEPTED = "accepted"
    DISMISSED = "dismissed"
    SNOOZED = "snoozed"
    REOPENED = "reopened"
    IMPLEMENTED = "implemented"
    VERIFIED = "verified"
    EXPIRED = "expired"
    SUPERSEDED = "superseded"


@dataclass(frozen=True, slots=True)
class Event:
    """One event of one recommendation.

    Args:
        recommendation_id: whose.
        sequence: 1, 2, 3 … within the recommendation; two events never share one.
        kind: what happened.
        at: when it was written down (UTC).
        author: who did it.
        reason: why, in the author's words.
        until: of `dismissed` and `snoozed`: how long it holds; None: for good.
        happened_at: of `implemented`: when the move was made.
        successor_id: of `superseded`: the advice that took its place.
        etag: of `proposed`: the hash of the figures.
        expires_at: of `proposed`: how long the advice stands.
        xor_group: of `proposed`: the workload, of which one piece of advice can be carried out.
        document: of `proposed`: the record with the prices of the day; of `implemented`: the evidence of who or what
            applied it (feedback.Evidence); as JSON. Read only when asked for.
        measured: of `verified`: what was saved and how that was worked out, as JSON.
    """

    recommendation_id: str
    sequence: int
    kind: EventKind
    at: datetime
    author: str
    reason: str = ""
    until: datetime | None = None
    happened_at: datetime | None = None
    successor_id: str | None = None
    etag: str | None = None
    expires_at: datetime | None = None
    xor_group: str | None = None
    document: str | None = None
    measured: str | None = None
