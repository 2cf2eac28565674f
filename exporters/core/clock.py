"""The only place that reads the clock. Everything else is given a time, so that it can be replayed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol
from zoneinfo import ZoneInfo

LONDON = ZoneInfo("Europe/London")


class Clock(Protocol):
    """Gives the present moment, aware and in UTC."""

    def now(self) -> datetime:
        """This will return the present moment in UTC."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """This will return the machine's time in UTC."""
        return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class FixedClock:
    """A clock that stands still, for replays and tests."""

    moment: datetime

    def now(self) -> datetime:
        """This will return the moment it was made with."""
        return self.moment


def parse_utc(text: str) -> datetime:
    """This will read an ISO 8601 time as UTC; a time without an offset is taken as UTC.

    Raises:
        ValueError: the text is not an ISO 8601 time.
    """
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
