"""The records of what is bought ahead: what a commitment pays for, now and under the plan, and advice to buy or end it.

Rates are pounds an hour. What is not known is absent.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from recommender.advise.record import Part


class CommittedNodes(Part):
    """Nodes of a pool that a commitment pays for."""

    cluster: str
    pool: str
    instance_type: str
    nodes: float = Field(description="Of those that run; not whole where it pays for a part of one.")
    free_nodes: int = Field(default=0, description="More that it would pay for, and that the plan may use.")
    planned_nodes: float = Field(description="Under the plan.")


class CommitmentPlanned(Part):
    """A commitment that has not ended: what it is, and how much of it is used."""

    commitment_id: str
    source: str
    provider: str
    account: str
    kind: str = Field(description="savings-plan, reservation or cud.")
    region: str | None = Field(default=None, description="Absent: it holds everywhere.")
    instance_family: str | None = Field(default=None, description="Absent: any.")
    instance_type: str | None = Field(default=None, description="Absent: any of the family.")
    capacity_type: str
    bought: str = Field(description="How much of what, such as 5 instances or £2.00 an hour.")
    gbp_per_hour: float | None = Field(default=None, description="Of all of it, used or not; absent: not known.")
    used_ratio: float = Field(description="Share that nodes of the fleet take now, at peak.")
    planned_used_ratio: float = Field(description="The same under the plan.")
    unused_gbp_per_hour: float | None = Field(
        default=None, description="Paid under the plan for what no node of the fleet takes; absent: not known."
    )
    nodes: tuple[CommittedNodes, ...]
    starts_at: datetime
    ends_at: datetime
    renews: bool
    note: str | None = Field(default=None, description="What a reader must know.")


class TermOffered(Part):
    """What can be bought for a term, against paying by the hour.

    Loss is what is paid too much in all when usage falls away for good after a month of the term: what is still owed,
    less what was saved before. Negative: the saving before is greater.
    """

    capacity_type: str
    term_months: int
    gbp_per_node_hour: float
    on_demand_gbp_per_node_hour: float
    break_even_ratio: float = Field(description="Share of the term that a node must be used for.")
    break_even_months: float = Field(description="Of use, after which the whole term costs no more than on demand.")
    saving_gbp_per_month: float = Field(description="If usage stays.")
    whole_term_gbp: float = Field(description="What the commitment comes to in all: the most that can be lost.")
    losses_gbp: tuple[tuple[int, float], ...] = Field(description="Month of the term, and the loss if usage ends then.")


class CommitmentAdvice(Part):
    """Whether capacity is worth buying ahead, or renewing."""

    action: Literal["commit", "renew-smaller", "let-lapse"]
    provider: str
    region: str | None = None
    instance_family: str | None = None
    commitment_id: str | None = Field(default=None, description="Of a commitment that ends.")
    steady_nodes: float = Field(description="Nodes that run in nine of ten observed hours, and stay under the plan.")
    covered_nodes: float = Field(description="Of these, what other commitments pay for.")
    nodes: int = Field(ge=0, description="Nodes that are worth buying ahead.")
    observed_days: float
    used_ratio: float | None = Field(default=None, description="Of a commitment that ends: used under the plan.")
    break_even_ratio: float = Field(description="Share of the time above which buying ahead pays.")
    decide_by: datetime | None = Field(default=None, description="When it ends, or is renewed by the provider.")
    terms: tuple[TermOffered, ...] = ()
