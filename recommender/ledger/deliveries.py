"""What became of every report's delivery: rows of the ledger, only ever added, so that nothing is sent twice.

    claimed → sent                       the other side took it
            → failed → claimed → …       the other side surely did not take it; it is tried again
            → unknown, or nothing        no answer came, or the sender died: only a person sends it again

A claim is a row that only one writer can have written, so of two replicas one sends.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
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


@dataclass(frozen=True, slots=True)
class Outcomes:
    """What became of a channel's attempts, of all weeks and owners.

    Args:
        sent: reports that the other side took.
        failed: attempts that failed, or of which nobody knows.
        last_sent_at: when the last one was taken (UTC); None: none ever was.
    """

    sent: int = 0
    failed: int = 0
    last_sent_at: datetime | None = None


def outcomes_of(deliveries: Iterable[Delivery], *, at: datetime) -> dict[str, Outcomes]:
    """This will count the attempts of each channel by their last step; one that is under way is not counted."""
    last = {(one.key, one.attempt): one for one in sorted(deliveries, key=lambda one: one.number)}
    found: dict[str, Outcomes] = {}
    for one in (_lapsed(step, at) for step in last.values()):
        before = found.get(one.channel, Outcomes())
        if one.state is DeliveryState.SENT:
            latest = max(one.at, before.last_sent_at or one.at)
            found[one.channel] = Outcomes(before.sent + 1, before.failed, latest)
        elif one.state is not DeliveryState.CLAIMED:
            found[one.channel] = Outcomes(before.sent, before.failed + 1, before.last_sent_at)
    return found


def failing(deliveries: Sequence[Delivery], *, channels: Collection[str], at: datetime) -> tuple[Delivery, ...]:
    """This will return what failed or is unknown of the last week that was delivered, in some channels."""
    week = max((one.week for one in deliveries), default="")
    standing = standing_of((one for one in deliveries if one.week == week), at=at).values()
    bad = {DeliveryState.FAILED, DeliveryState.UNKNOWN}
    return tuple(one for one in standing if one.state in bad and one.channel in channels)


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
