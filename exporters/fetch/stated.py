"""Commitments and budgets that a person writes into the settings, in the form in which sources of costs state them.

For clouds whose API is not asked, for contracts that no API knows, and for budgets that are kept nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Literal

import dataframely as dy
import polars as pl
from pydantic import AfterValidator, Field, model_validator

from exporters.core.config_file import Section
from exporters.core.standing_frames import Budget, Commitment, CommitmentKind, CommitmentUnit

SETTINGS = "settings"
"""The source of what stands in the settings."""


def _in_utc(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


Moment = Annotated[datetime, AfterValidator(_in_utc)]
Currency = Annotated[str, Field(pattern=r"^[A-Z]{3}$", description="ISO 4217.")]


class StatedBudget(Section):
    """What somebody means to spend."""

    name: str = Field(min_length=1, description="What people call it; the label `scope`.")
    provider: str = Field(default="", description="aws, azure, gcp …; empty: all together.")
    account: str = Field(default="", description="Account, subscription or billing account; empty: all.")
    period: Literal["month", "quarter", "year"] = Field(default="month", description="What the amount is for.")
    amount: Decimal = Field(gt=0, description="How much.")
    currency: Currency = "GBP"


class StatedCommitment(Section):
    """What was bought in advance."""

    id: str = Field(min_length=1, description="As the bill names it, so that its use is found there.")
    provider: Literal["aws", "azure", "gcp"] = Field(description="Where it was bought.")
    account: str = Field(default="", description="Account, subscription or project that owns it.")
    kind: CommitmentKind = Field(description="savings-plan, reservation or cud.")
    plan_type: str = Field(default="", description="Compute, EC2Instance, standard, convertible …")
    region: str = Field(default="", description="Where it holds; empty: everywhere.")
    instance_family: str = Field(default="", description="m7i, Dsv5, n2; empty: any.")
    instance_type: str = Field(default="", description="m7i.xlarge; empty: any of the family.")
    gpu_model: str = Field(default="", description="Of GPUs that were bought.")
    unit: CommitmentUnit = Field(description="What quantity counts: instance, vcpu, gib, gpu, or money an hour.")
    quantity: float = Field(gt=0, description="How much of the unit.")
    currency: Currency = "GBP"
    cost_per_hour: float | None = Field(
        default=None, ge=0, description="What an hour of all of it costs, upfront fees spread over the term."
    )
    starts_at: Moment = Field(description="Start of the term; UTC where no offset is written.")
    ends_at: Moment = Field(description="End of the term.")
    renews: bool = Field(default=False, description="Whether the provider renews it by itself.")

    @model_validator(mode="after")
    def _ends_after_it_starts(self) -> StatedCommitment:
        if self.ends_at <= self.starts_at:
            raise ValueError(f"commitment {self.id} ends before it starts; write ends_at after starts_at")
        return self


def budgets_of(stated: Sequence[StatedBudget]) -> dy.DataFrame[Budget]:
    """This will return budgets as rows."""
    rows = [
        {"source": SETTINGS, "scope": one.name} | one.model_dump(include={"provider", "account", "period", "currency"})
        for one in stated
    ]
    amounts = pl.Series("amount", [one.amount for one in stated], dtype=pl.Decimal(38, 18))
    frame = pl.DataFrame(rows, schema={name: pl.String for name in Budget.column_names() if name != "amount"})
    return Budget.validate(frame.with_columns(amounts), cast=True)


def commitments_of(stated: Sequence[StatedCommitment]) -> dy.DataFrame[Commitment]:
    """This will return commitments as rows; money costs itself, where nothing else is said."""
    rows = [
        {"source": SETTINGS, "commitment_id": one.id}
        | one.model_dump(mode="python", exclude={"id", "cost_per_hour"})
        | {"kind": one.kind.value, "unit": one.unit.value, "cost_per_hour": _cost_per_hour(one)}
        for one in stated
    ]
    return Commitment.validate(pl.DataFrame(rows, schema=Commitment.create_empty().schema), cast=True)


def _cost_per_hour(one: StatedCommitment) -> float | None:
    return one.quantity if one.cost_per_hour is None and one.unit is CommitmentUnit.MONEY else one.cost_per_hour
