"""What the API takes and gives, as models: its OpenAPI document is made from them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated, Literal

from fastapi import Path
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints

from recommender.advise.capacity_record import CapacityRecommendation
from recommender.advise.record import Recommendation, State
from recommender.ledger.decide import Decision
from recommender.ledger.events import Event, EventKind
from recommender.ledger.feedback import by_person
from recommender.ledger.standing import Standing

AdviceId = Annotated[str, Path(pattern="^[0-9a-f]{8,64}$", description="A recommendation's whole id.")]

Time = Annotated[AwareDatetime, Field(ge=datetime(2020, 1, 1, tzinfo=UTC), lt=datetime(2200, 1, 1, tzinfo=UTC))]
REASON_LENGTH = 2000
Reason = Annotated[str, StringConstraints(max_length=REASON_LENGTH)]
GivenReason = Annotated[str, StringConstraints(min_length=1, max_length=REASON_LENGTH, pattern=r"\S")]


class RecommendationPage(BaseModel):
    """A page of the plan's recommendations."""

    generated_at: datetime = Field(description="Of the plan.")
    total: int = Field(description="Of all pages.")
    limit: int
    offset: int
    items: list[Recommendation]


class CapacityPage(BaseModel):
    """Advice on owned capacity."""

    generated_at: datetime = Field(description="Of the plan.")
    total: int
    items: list[CapacityRecommendation]


class EventItem(BaseModel):
    """One event of the ledger."""

    sequence: int
    kind: EventKind
    at: datetime
    author: str
    reason: str = ""
    until: datetime | None = None
    happened_at: datetime | None = Field(default=None, description="Of implemented: when the move was made.")
    successor_id: str | None = Field(default=None, description="Of superseded: the advice that took its place.")
    etag: str | None = Field(default=None, description="Of proposed: the hash of the figures.")
    expires_at: datetime | None = Field(default=None, description="Of proposed: how long the advice stands.")


class EventsPage(BaseModel):
    """What happened to one recommendation, oldest first."""

    items: list[EventItem]

    @classmethod
    def of(cls, events: Iterable[Event]) -> EventsPage:
        """This will show events without their documents."""
        return cls(items=[EventItem.model_validate(asdict(one)) for one in events])


class StandingNow(BaseModel):
    """Where a recommendation stands."""

    recommendation_id: str
    state: State
    since: datetime
    author: str
    reason: str = ""
    until: datetime | None = None
    sequence: int = Field(description="Of the last event.")

    @classmethod
    def of(cls, now: Standing) -> StandingNow:
        """This will show where it stands."""
        return cls(
            recommendation_id=now.recommendation_id,
            state=now.state,
            since=now.since,
            author=now.author,
            reason=now.reason,
            until=now.until,
            sequence=now.last.sequence,
        )


class _Asked(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    def of(self, author: str) -> Decision:
        """This will return the decision of an author."""
        values = self.model_dump(include={"reason", "until", "happened_at"})
        kind = EventKind(getattr(self, "decision"))  # noqa: B009 - each kind declares it as a literal of its own
        return Decision(kind, author, **values)


class Accept(_Asked):
    """Somebody will carry it out."""

    decision: Literal["accepted"]
    reason: Reason = ""


class Dismiss(_Asked):
    """The workload is not advised to that place again, for good or until a time."""

    decision: Literal["dismissed"]
    reason: GivenReason = Field(description="Why; it stands beside the refused place in later plans.")
    until: Time | None = None


class Snooze(_Asked):
    """The workload is left alone until a time."""

    decision: Literal["snoozed"]
    until: Time
    reason: Reason = ""


class Implement(_Asked):
    """It was carried out."""

    decision: Literal["implemented"]
    happened_at: Time | None = Field(default=None, description="When the move was made; absent: now.")
    applied_by: str = Field(default="", max_length=500, description="A pull request's address, a ticket, by hand.")
    reason: Reason = ""

    def of(self, author: str) -> Decision:
        """This will return the decision, with who or what applied it as its evidence."""
        applied = self.applied_by.strip()
        evidence = by_person(applied).model_dump_json(exclude_none=True) if applied else None
        return Decision(
            EventKind.IMPLEMENTED,
            author,
            self.reason or applied,
            happened_at=self.happened_at,
            evidence=evidence,
        )


class Reopen(_Asked):
    """It was accepted, dismissed, snoozed, or said to be carried out by mistake."""

    decision: Literal["reopened"]
    reason: Reason = ""


DecisionBody = Annotated[Accept | Dismiss | Snooze | Implement | Reopen, Field(discriminator="decision")]
