"""The record of advice about owned capacity: to burst out of it, to come home, to buy more of it.

One record for one short class of an owned pool and one destination pool. It has the same life in the ledger as other
advice, and is no saving: what it changes in cost stands as a difference of either sign. What is not known is absent.
"""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from recommender.advise.commitment_record import CommitmentAdvice
from recommender.advise.record import Kind, Part, PriceEvidence, Recommendation, Refusal, Risk, State, WorkloadName

CAPACITY_KINDS = (Kind.BURST, Kind.BURST_RETURN, Kind.EXTEND, Kind.COMMIT)
"""Kinds of CapacityRecommendation; all others are of Recommendation."""

CAPACITY_GAP = "capacity-"
"""How the reasons begin for which owned capacity is not judged; they say nothing of single workloads."""
NOT_JUDGED = tuple(f"{CAPACITY_GAP}{reason}" for reason in ("failed", "not-observed", "no-shape"))
"""Of these, the ones that leave open whether earlier advice still holds."""


class CapacityTarget(Part):
    """The owned capacity that the advice is about."""

    cluster: str
    pool: str = Field(description="The owned pool that has the class; of several, the one with the most nodes.")
    resource: str = Field(description="vcpu, memory_gib or gpu.")
    resource_class: str = Field(description="Architecture, or the GPU's model; of a commitment the family.")


class CapacityPlace(Part):
    """A pool that pods go to or come from; of several machine types in it, the one with the most nodes."""

    cluster: str
    pool: str
    provider: str
    region: str
    jurisdiction: str | None = Field(default=None, description="Absent: not known.")
    instance_type: str
    capacity_type: str


class CapacityNodes(Part):
    """Nodes of one machine type that the advice needs, or sets free."""

    instance_type: str
    capacity_type: str
    nodes: int = Field(ge=1)
    gbp_per_hour: float = Field(description="Of all of them.")


class CapacityMove(WorkloadName):
    """Replicas of a workload that leave their home, or return to it."""

    replicas: int = Field(ge=1)
    waiting_replicas: int = Field(default=0, ge=0, description="Of these, replicas that had no node at home.")
    gang_size: int = Field(ge=1)
    replica_vcpus: float
    replica_memory_gib: float
    replica_gpus: float
    gpu_model: str | None = None
    owner: str | None = None
    criticality: str | None = None
    minimum_runtime_minutes: float = Field(description="The longer of the policy's and the workload's own.")
    nodes_gbp_per_hour: float = Field(description="Its share of the nodes away; the shares add up to them.")
    other_gbp_per_hour: float = Field(description="Egress, expected interruption and lost work away.")
    gbp_per_hour: float = Field(description="What it costs away: both together.")
    one_off_gbp: float = Field(description="State that moves and the restart, once.")


class Shortage(Part):
    """What demand is, is expected to be, and what the nodes admit, of the target's class."""

    demand: float
    p50: float | None = Field(default=None, description="Of the next hour. Absent: no forecast.")
    p90: float | None = Field(default=None, description="Of the next hour. Absent: no forecast; demand alone decided.")
    capacity: float = Field(description="What the owned nodes admit, gang by gang.")
    short: float = Field(description="max(demand, P90) − capacity; 0: all fits.")
    exceeded: int | None = Field(default=None, description="Of the last evaluations, those beyond capacity.")
    evaluations: int | None = Field(default=None, description="Evaluations looked at.")
    short_at: datetime | None = Field(default=None, description="When demand is expected to pass capacity.")


class BreakEven(Part):
    """When a further node is worth more than bursting."""

    nodes: int = Field(ge=1, description="As many as each pay for themselves.")
    node_gbp_per_hour: float = Field(description="Full price of one, used or not.")
    burst_gbp_per_hour: float = Field(description="Cheapest on-demand price of the same amount.")
    break_even_ratio: float = Field(description="Share of the time above which a node pays.")
    short_ratio: float = Field(description="Share of the observed time in which demand was beyond capacity.")
    observed_hours: float


class CapacityRecommendation(Part):
    """One advised change of what owned capacity carries, or of how much of it there is."""

    id: str = Field(
        description="Hash of kind, target, recommended cluster and pool (of a return also of the burst that it ends): "
        "it survives a price tick."
    )
    etag: str = Field(description="Hash of the figures: it changes when they do.")
    kind: Kind
    title: str
    target: CapacityTarget
    recommended: CapacityPlace | None = Field(default=None, description="Of a return: home. Absent: kind extend.")
    current: CapacityPlace | None = Field(default=None, description="Where a burst runs that is to return.")
    burst_id: str | None = Field(default=None, description="The burst that a return ends.")
    moves: tuple[CapacityMove, ...] = Field(default=(), description="Empty: kinds extend and commit.")
    nodes: tuple[CapacityNodes, ...] = ()
    cost_delta_gbp_per_hour: float = Field(
        description="Change in cash, of either sign, never a saving. Extend and commit: against bursting for the same, "
        "or paying by the hour; of a commitment that ends: against renewing it whole, or letting it lapse."
    )
    one_off_gbp: float | None = Field(
        default=None, description="State that moves and restarts, once. Absent: not worked out, or nothing moves."
    )
    latest_useful_start: datetime | None = Field(
        default=None, description="Nodes asked for later are ready too late. Absent: a burst does not depend on it."
    )
    earliest_return: datetime | None = Field(
        default=None, description="Of a burst: when its minimum runtime is over, were it begun at the evaluation."
    )
    minimum_runtime_minutes: float | None = Field(default=None, description="The longest of its moves; kind burst.")
    shortage: Shortage | None = Field(default=None, description="What triggered it. Absent: nothing was seen of it.")
    break_even: BreakEven | None = Field(default=None, description="Kinds extend and commit, against bursting.")
    commitment: CommitmentAdvice | None = Field(
        default=None, description="Kind commit, of what runs on demand: to buy it ahead, or not to renew."
    )
    prices: tuple[PriceEvidence, ...]
    risk: Risk
    refused: tuple[Refusal, ...] = ()
    explanation: tuple[str, ...]
    group: str = Field(description="What it is about; advice of a group that is advised no more gives way to the rest.")
    state: State = State.OPEN
    proposed_at: datetime = Field(description="When it was first advised, since it was last closed.")
    expires_at: datetime


class _OfKind(Part):
    """The one field that says which record a document is."""

    model_config = Part.model_config | {"extra": "ignore"}

    kind: Kind


def advice_of(document: str) -> Recommendation | CapacityRecommendation:
    """This will read a record that was written down as JSON, of whichever kind it is.

    Raises:
        pydantic.ValidationError: it is no record.
    """
    kind = _OfKind.model_validate_json(document).kind
    record = CapacityRecommendation if kind in CAPACITY_KINDS else Recommendation
    return record.model_validate_json(document)
