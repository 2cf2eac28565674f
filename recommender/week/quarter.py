"""Quarters as the calendar in Britain has them, and what verified moves saved in one. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime

from exporters.core.clock import LONDON
from recommender.ledger.measurement import Outcome, Realised

MONTHS = 3


@dataclass(frozen=True, slots=True)
class Quarter:
    """A quarter of the calendar year: January to March, and so on; not of the financial year from April.

    Args:
        first: its first day.
    """

    first: date

    @classmethod
    def of(cls, moment: datetime) -> Quarter:
        """This will return the quarter that a moment lies in, by London's clock."""
        day = moment.astimezone(LONDON).date()
        return cls(date(day.year, (day.month - 1) // MONTHS * MONTHS + 1, 1))

    @property
    def title(self) -> str:
        """As ``October to December 2026``."""
        return f"{self.first:%B} to {self.first.replace(month=self.first.month + MONTHS - 1):%B %Y}"

    def holds(self, moment: datetime) -> bool:
        """This will tell whether a moment lies in it."""
        return Quarter.of(moment) == self


def measured_in(rows: Iterable[Realised], quarter: Quarter) -> tuple[Realised, ...]:
    """This will return the moves that were measured in a quarter: a window of usage counts where it ends."""
    return tuple(one for one in rows if one.outcome is Outcome.MEASURED and quarter.holds(one.window_end))
