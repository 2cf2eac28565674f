"""Weeks as people in Britain name them: Monday to Sunday, London's clock, ISO 8601 numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from exporters.core.clock import LONDON
from recommender.observe.coverage import Window

_ISO_WEEK = re.compile(r"^(\d{4})-?W(\d{2})$")


@dataclass(frozen=True, slots=True)
class Week:
    """A week by its Monday."""

    monday: date

    @property
    def id(self) -> str:
        """The ISO week, as ``2026-W48``."""
        year, number, _ = self.monday.isocalendar()
        return f"{year}-W{number:02}"

    @property
    def title(self) -> str:
        """The week by its first day, as ``Week of 23 November 2026``."""
        return f"Week of {self.monday:%-d %B %Y}"

    @property
    def window(self) -> Window:
        """From Monday 00:00 to the next, London time, in UTC: 167 or 169 hours when the clocks change."""
        return Window(start=_midnight(self.monday), end=_midnight(self.monday + timedelta(days=7)))

    @classmethod
    def of(cls, moment: datetime) -> Week:
        """This will return the week that a moment lies in."""
        day = moment.astimezone(LONDON).date()
        return cls(day - timedelta(days=day.weekday()))

    @classmethod
    def last_whole(cls, now: datetime) -> Week:
        """This will return the last week that has ended."""
        return cls(cls.of(now).monday - timedelta(days=7))

    @classmethod
    def parse(cls, text: str) -> Week:
        """This will read an ISO week (``2026-W48``) or any date in the week (``2026-11-25``).

        Raises:
            ValueError: it is neither.
        """
        if found := _ISO_WEEK.match(text):
            return cls(date.fromisocalendar(int(found.group(1)), int(found.group(2)), 1))
        day = date.fromisoformat(text)
        return cls(day - timedelta(days=day.weekday()))


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), tzinfo=LONDON).astimezone(UTC)
