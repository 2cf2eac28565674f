"""What became of every report's delivery: rows of the ledger, only ever added, so that nothing is sent twice.

    claimed → sent                       the other side took it
            → failed → claimed → …       the other side surely did not take it; it is tried again
            → unknown, or nothing        no answer came, or the sender died: only a person sends it again

A claim is a row that only one writer can have written, so of two replicas one sends.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

LEASE = timedelta(minutes=15)
"""How long a sender may need; a claim without an outcome that is older was left by one that died."""


class DeliveryState(StrEnum):
    """What is known of a delivery."""

    CLAIMED = "claimed"
    SENT = "sent"
    FAILED = "failed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Delivery:
    """One step of a delivery.

    Args:
        number: 1, 2, 3 … within the ledger; two never share one.
        at: when (UTC).
        week: the report's, as ``2026-W48``.
        scope: an owner; empty: all of them.
        channel: the channel's name in the settings.
        state: claimed, sent, failed or unknown.
        attempt: 1, 2, 3 …
        detail: what the other side answered, or why it failed.
    """

    number: int
    at: datetime
    week: str
    scope: str
    channel: str
    state: DeliveryState
    attempt: int
    detail: str

    @property
    def key(self) -> tuple[str, str, str]:
        """Week, scope and channel: what is delivered once."""
        return (self.week, self.scope, self.channel)


def standing_of(deliveries: Iterable[Delivery], *, at: datetime) -> dict[tuple[str, str, str], Delivery]:
    """This will return the last step of each delivery by then, a claim whose lease is over as `unknown`."""
    last = {one.key: one for one in sorted(deliveries, key=lambda one: one.number) if one.at <= at}
    return {key: _lapsed(one, at) for key, one in last.items()}


def _lapsed(one: Delivery, at: datetime) -> Delivery:
    if one.state is not DeliveryState.CLAIMED or at - one.at < LEASE:
        return one
    return Delivery(
        number=one.number,
        at=one.at,
        week=one.week,
        scope=one.scope,
        channel=one.channel,
        state=DeliveryState.UNKNOWN,
        attempt=one.attempt,
        detail="The sender ended before it knew whether the report was taken.",
    )
