"""The record of a verification: what one move saved, how that was worked out, or why it cannot be said."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Literal

from pydantic import Field

from recommender.advise.record import Gbp, Part, Range


class Outcome(StrEnum):
    """What a verification finds."""

    MEASURED = "measured"
    TOO_EARLY = "too-early"
    VANISHED = "vanished"
    NOT_MOVED = "not-moved"
    MOVED_ON = "moved-on"
    NOT_ENOUGH_DATA = "not-enough-data"
    NO_PRICE = "no-price"
    OWED_TO_A_RULE = "owed-to-a-rule"


class Realised(Part):
    """What one move saved, or why that cannot be said."""

    recommendation_id: str
    title: str
    owner: str | None = None
    outcome: Outcome
    why: str
    implemented_at: datetime
    window_start: datetime
    window_end: datetime
    predicted_gbp_per_month: Gbp | None = Field(default=None, description="As proposed; absent: no saving was.")
    saving: Range | None = Field(
        default=None, description="A month of it, at today's usage; below zero: it costs more."
    )
    counterfactual_gbp_per_hour: float | None = Field(default=None, description="Today's usage at the place left.")
    actual_gbp_per_hour: float | None = None
    price_basis: Literal["today", "proposal"] | None = Field(
        default=None, description="Of which day the price of the place left is."
    )
    realised_gbp: Gbp | None = Field(default=None, description="Saved in the window.")
    predicted_gbp: Gbp | None = Field(default=None, description="What the proposal would make of the same hours.")


@dataclass(frozen=True, slots=True)
class Savings:
    """What all measured moves saved in their windows, and what their proposals would have made of the same hours.

    Args:
        realised_gbp: pounds; may be negative.
        predicted_gbp: pounds.
    """

    realised_gbp: Decimal
    predicted_gbp: Decimal

    @classmethod
    def of(cls, rows: Iterable[Realised]) -> Savings:
        """This will add up measurements; those without a figure add nothing."""
        measured = [one for one in rows if one.realised_gbp is not None and one.predicted_gbp is not None]
        return cls(
            realised_gbp=sum((one.realised_gbp or Decimal(0) for one in measured), Decimal(0)),
            predicted_gbp=sum((one.predicted_gbp or Decimal(0) for one in measured), Decimal(0)),
        )
