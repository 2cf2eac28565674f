"""The recommendation record: one advised change with its money, evidence, risk, refusals and life.

These models are the published JSON schema; report, pages, ledger and emitters read nothing else. Words are those of the
design; what is not known is absent, never null and never zero. Rates are pounds an hour; monthly totals are exact
pence at 730 hours a month. The content follows what AWS Compute Optimizer, GCP Recommender, Azure Advisor and
Turbonomic put into theirs, with pounds, price provenance and an expected range beside it.
"""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer

Gbp = Annotated[Decimal, PlainSerializer(float, return_type=float, when_used="json")]
"""A total of money in pounds, exact to the penny; a number in JSON."""


class Kind(StrEnum):
    """What sort of change is advised."""

    PLACEMENT = "placement"
    PURCHASE_OPTION = "purchase-option"
    COMPLIANCE = "compliance"
    BURST = "burst"
    BURST_RETURN = "burst-return"
    EXTEND = "extend"
    COMMIT = "commit"


class State(StrEnum):
    """Where a recommendation is in its life; the ledger derives it from events."""

    OPEN = "open"
    ACCEPTED = "accepted"
    IMPLEMENTED = "implemented"
    VERIFIED = "verified"
    DISMISSED = "dismissed"
    SNOOZED = "snoozed"
    EXPIRED = "expired"
    SUPERSEDED = "superseded"


SAVING_KINDS = (Kind.PLACEMENT, Kind.PURCHASE_OPTION)
"""Kinds whose savings are added up; the others carry a cost difference of either sign."""


class Confidence(StrEnum):
    """How far the figures can be trusted."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Part(BaseModel):
    """A part of the record: frozen, and nothing undeclared in it."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class WorkloadName(Part):
    """The key of a workload."""

    cluster: str
    namespace: str
    workload_kind: str
    workload: str


class Target(WorkloadName):
    """The workload that the advice is about, with what policy says of it."""

    owner: str | None = None
    residency_class: str | None = None
    criticality: str
    interruption_tolerance: str
    gang_size: int


class Place(Part):
    """A pool and one machine type in it."""

    cluster: str
    pool: str
    provider: str
    region: str
    jurisdiction: str | None = Field(default=None, description="Absent: not known.")
    instance_type: str
    capacity_type: str
    architecture: str


class Terms(Part):
    """What a workload's hour at a place consists of; the terms add up to gbp_per_hour."""

    compute_gbp_per_hour: float
    egress_gbp_per_hour: float
    interruption_gbp_per_hour: float = Field(description="Penalty of the policy × expected interruptions.")
    lost_work_gbp_per_hour: float = Field(description="Work done again and restarts after interruptions.")
    latency_gbp_per_hour: float = Field(
        default=0.0, description="Penalty of the policy × milliseconds, for classes whose goal is latency."
    )


class PricedPlace(Place, Terms):
    """A place with what the workload costs there, in cash; the full cost of owned capacity stands beside it."""

    gbp_per_hour: float = Field(description="Change in cash: owned capacity at its marginal price.")
    full_gbp_per_hour: float = Field(description="The same with owned and committed capacity at its full price.")
    latency_ms: float | None = Field(
        default=None, description="To the farthest end of its data flows. Absent: not known, or its class does not ask."
    )


class Range(Part):
    """An expected amount with the range around it."""

    p10: Gbp
    p50: Gbp
    p90: Gbp


class Monthly(Part):
    """The saving a month and what it consists of; a negative part is a cost of the move."""

    currency: Literal["GBP"] = "GBP"
    saving: Range
    compute_gbp: Gbp
    egress_gbp: Gbp
    interruption_gbp: Gbp
    lost_work_gbp: Gbp
    latency_gbp: Gbp = Decimal(0)
    hours_per_month: int


class OneOff(Part):
    """What the move itself costs, once."""

    state_gib: float
    egress_gbp: float
    restart_minutes: float
    restart_gbp: float
    total_gbp: float
    payback_hours: float | None = Field(default=None, description="Absent: nothing is saved that could pay it back.")


class PriceEvidence(Part):
    """The offer a figure rests on, as its source gave it."""

    used_for: Literal["current", "recommended"]
    source: str
    snapshot_id: str
    origin: str = Field(description="live, cached or packaged.")
    provider: str
    region: str
    zone: str | None = None
    instance_type: str
    capacity_type: str
    price_per_hour: float = Field(description="Native money per machine-hour.")
    currency: str
    gbp_per_hour: float = Field(description="At the plan's price basis.")
    list_gbp_per_hour: float | None = Field(
        default=None, description="At list price; here and below absent: no bill says that other than list is paid."
    )
    effective_gbp_per_hour: float | None = Field(default=None, description="What is really paid, by the bills.")
    gbp_per_vcpu_hour: float
    gbp_per_gib_hour: float
    gbp_per_gpu_hour: float | None = None
    marginal_gbp_per_hour: float | None = None
    split_method: str
    gbp_per_unit: float = Field(description="The exchange rate: pounds per unit of currency.")
    fx_date: date
    fx_source: str
    observed_at: datetime
    max_age_hours: float | None = None
    sku_id: str | None = None
    note: str | None = None


class EgressEvidence(Part):
    """How one data flow is priced at a place."""

    used_for: Literal["current", "recommended"]
    to: str
    direction: str
    gib_per_hour: float
    from_region: str = Field(description="provider/region that the bytes leave, or internet.")
    basis: str = Field(description="internet, region-pair, same-region or inbound.")
    gbp_per_gib: float = Field(description="Average over the month's volume on the same way.")
    gbp_per_hour: float
    source: str | None = Field(default=None, description="Absent, with all below: nothing is billed.")
    snapshot_id: str | None = None
    origin: str | None = None
    currency: str | None = Field(default=None, description="The currency that the list is in.")
    gbp_per_unit: float | None = None
    fx_date: date | None = None
    fx_source: str | None = None
    observed_at: datetime | None = None
    note: str | None = None


class UsageEvidence(Part):
    """The usage a figure rests on."""

    window_start: datetime
    window_end: datetime
    days: float = Field(description="Days of the window in which the cluster was observed.")
    coverage_ratio: float
    samples: int
    running_ratio: float
    vcpu_request_mean: float
    memory_gib_request_mean: float
    gpu_request_mean: float


class Risk(Part):
    """What may go wrong, and how sure the figures are."""

    interruptions_per_month: float = Field(description="Expected, of the whole workload; 0 when not on spot.")
    confidence: Confidence
    confidence_why: tuple[str, ...]


class Guards(Part):
    """The tests of steadiness that the advice passed; absent where the advice is owed to a rule, not to money."""

    saving_gbp_per_month: float
    min_saving_gbp_per_month: float
    saving_ratio: float
    min_saving_ratio: float
    payback_hours: float
    max_payback_hours: float
    balance_ratio: float = Field(description="(saving / all cost) ÷ (disruption / all disruption).")
    min_balance_ratio: float


class Refusal(Part):
    """A cheaper or possible offer that was not advised, and why."""

    rule: str = Field(description="The id of a constraint or a guard.")
    stage: Literal["constraint", "guard", "capacity"]
    why: str
    legal_basis: str | None = None
    also: tuple[str, ...] = Field(default=(), description="Further rules that refuse the same offer.")
    cluster: str
    pool: str
    instance_type: str
    capacity_type: str
    gbp_per_hour: float | None = Field(default=None, description="Absent: it could not be priced.")
    rule_costs_gbp_per_month: Gbp | None = Field(
        default=None, description="What the offer would save against the plan, were the rule not there."
    )
    offers: int = Field(default=1, ge=1, description="Offers that the same rules refuse to this workload.")


class Recommendation(Part):
    """One advised change."""

    id: str = Field(description="Hash of kind, target, recommended cluster and pool: it survives a price tick.")
    etag: str = Field(description="Hash of the inputs: it changes when they do.")
    kind: Kind
    rank: int = Field(ge=1)
    title: str
    target: Target
    current: PricedPlace
    recommended: PricedPlace
    monthly: Monthly | None = Field(default=None, description="Kinds that save.")
    cost_delta_gbp_per_hour: float | None = Field(default=None, description="Kinds that may cost; never a saving.")
    legal_basis: str | None = None
    one_off: OneOff
    prices: tuple[PriceEvidence, ...]
    egress: tuple[EgressEvidence, ...]
    evidence: UsageEvidence
    risk: Risk
    effort: Literal["low", "medium", "high"]
    restart_needed: bool
    rollback_possible: bool
    xor_group: str = Field(description="At most one recommendation of a group can be carried out.")
    guards: Guards | None = None
    refused: tuple[Refusal, ...]
    explanation: tuple[str, ...]
    state: State = State.OPEN
    proposed_at: datetime = Field(description="When it was first advised, since it was last closed.")
    expires_at: datetime
