"""The plan: what one evaluation says, as the JSON that `tuppence recommend -o json` prints.

The same inputs give the same bytes: lists are ordered by their keys, rates are rounded once, and the time of the
evaluation is an input.
"""

from __future__ import annotations

import json
from datetime import date, datetime
from typing import Any

from pydantic import Field

from exporters.core.words import PriceBasis
from recommender.advise.capacity_record import CapacityRecommendation
from recommender.advise.commitment_record import CommitmentPlanned
from recommender.advise.record import Gbp, Part, Recommendation, Refusal, WorkloadName

SCHEMA_VERSION = 1


class SnapshotUsed(Part):
    """A snapshot of prices that the plan rests on, or that was too old for it."""

    id: str
    source: str
    taken_at: datetime
    origin: str
    max_age_hours: float | None = None


class UsageWindow(Part):
    """The hours of usage that were read."""

    start: datetime
    end: datetime
    hours: float


class RateUsed(Part):
    """The exchange rate of a currency that usable prices are in."""

    currency: str
    gbp_per_unit: float
    rate_date: date
    fx_source: str


class DiscountUsed(Part):
    """How far below list price the bills say that machines of the fleet are really paid."""

    provider: str
    region: str | None = Field(default=None, description="Absent: evidence of all regions together.")
    instance_family: str | None = Field(default=None, description="Absent: evidence of all families together.")
    capacity_type: str
    discount_ratio: float = Field(description="1 − paid ÷ list; below nought: more than list was paid.")
    list_gbp: float = Field(description="What the charges behind it come to at list price.")
    paid_gbp: float = Field(description="What was paid for them, without commitments, credits and tax.")
    days: int
    last_day: date


class Inputs(Part):
    """What the plan was made from."""

    price_basis: PriceBasis = Field(
        default=PriceBasis.LIST,
        description="list: the providers' prices; effective: less the discounts below, where there is one.",
    )
    discounts: tuple[DiscountUsed, ...] = Field(
        default=(), description="Known of machines of the fleet, whatever the price basis."
    )

    snapshots: tuple[SnapshotUsed, ...]
    stale_snapshots: tuple[SnapshotUsed, ...]
    exchange_rates: tuple[RateUsed, ...]
    usage_window: UsageWindow
    usage_sha256: str
    fleet_sha256: str
    policy_sha256: str


class RuleCount(Part):
    """How many offers a rule refused."""

    rule: str
    offers: int


class Summary(Part):
    """The plan in figures. current − saving + compliance_delta = planned, in £/h."""

    current_gbp_per_hour: float
    planned_gbp_per_hour: float
    saving_gbp_per_hour: float
    compliance_delta_gbp_per_hour: float
    saving_gbp_per_month: Gbp
    current_gbp_per_month: Gbp
    planned_full_gbp_per_hour: float = Field(description="Planned, with owned capacity at its full price.")
    lower_bound_gbp_per_hour: float = Field(
        description="No plan that keeps the constraints and the room can cost less; proven."
    )
    gap_ratio: float | None = Field(
        default=None,
        description="(planned − withheld by guards) / lower bound − 1: how far the best plan found may be from the "
        "optimum; absent: the bound is zero.",
    )
    withheld_by_guards_gbp_per_hour: float = Field(
        description="What the best plan found without guards, decisions and the cap on moves costs less than this one."
    )
    basis: str
    hours_per_month: int
    workloads: int = Field(description="Workloads observed, without system pods.")
    workloads_priced: int
    workloads_system: int = Field(description="System pods' controllers: node overhead, never advised.")
    recommendations: int
    refused_offers: tuple[RuleCount, ...]


class NodeMix(Part):
    """A pool's machines: those that there are, those that packing needs now, those that the plan needs."""

    cluster: str
    pool: str
    capacity_type: str
    instance_type: str
    nodes: int = Field(description="Nodes that hold every replica at peak; a type that the packing does without: 0.")
    nodes_gbp_per_hour: float | None = Field(default=None, description="Cash price of these nodes.")
    gbp_per_hour: float = Field(description="The shares of the workloads placed there; they add up to the plan.")
    now_nodes: int = Field(default=0, description="Nodes that what runs now needs at peak.")
    now_gbp_per_hour: float | None = Field(default=None, description="Cash price of these nodes.")
    current_nodes: float | None = Field(
        default=None, description="Nodes that there are (machines.current_basis); absent: not known."
    )
    current_gbp_per_hour: float | None = Field(default=None, description="Their cash price; absent: there is none.")
    note: str | None = Field(default=None, description="What is not known of these nodes.")


class Machines(Part):
    """Nodes of all pools, now and as planned: whole nodes, where the summary has shares of requests."""

    now_nodes: int
    planned_nodes: int
    now_gbp_per_hour: float
    planned_gbp_per_hour: float
    lower_bound_gbp_per_hour: float = Field(description="No nodes that hold the planned pods in their pools cost less.")
    gap_ratio: float | None = Field(
        default=None, description="planned / lower bound − 1; absent: the bound is zero (nothing costs cash)."
    )
    now_without_node: int = Field(description="Workloads that peaks of all at once leave without nodes; not counted.")
    planned_without_node: int = Field(description="The same under the plan.")
    current_basis: str = Field(
        default="packed",
        description="seen: nodes that were seen; usage: packed on the machine types that usage names; packed: on any.",
    )
    current_nodes: float | None = Field(default=None, description="Nodes that there are, priced or not.")
    current_gbp_per_hour: float | None = Field(
        default=None, description="Cash price of those that have one; absent: none has."
    )
    current_nodes_without_price: float = Field(default=0.0, description="Nodes that are in no figure in pounds.")
    current_nodes_not_in_settings: float = Field(default=0.0, description="Nodes in pools that nothing is advised of.")
    nodes_removed: int = Field(default=0, description="Nodes that fall away when the plan is carried out.")
    nodes_added: int = Field(default=0, description="Nodes that the plan needs more, in other pools or of other types.")
    saving_gbp_per_hour: float | None = Field(
        default=None, description="What nodes that fall away cost, less what those cost that are added."
    )
    basis: str


class Placement(WorkloadName):
    """Where a workload runs under the plan."""

    to_cluster: str
    to_pool: str
    instance_type: str
    capacity_type: str
    gbp_per_hour: float
    current_gbp_per_hour: float = Field(description="What it costs where it is now.")
    owner: str | None = None
    recommendation_id: str | None = Field(default=None, description="Absent: it stays.")


class OwnedPool(Part):
    """A pool that is paid for in any case, owned or committed: how full it is, and what a node of it costs."""

    cluster: str
    pool: str
    capacity_type: str
    instance_type: str
    nodes: int
    used_ratio: float = Field(description="Mean requests now ÷ all its nodes, of the scarcest resource.")
    planned_used_ratio: float = Field(description="The same under the plan.")
    vcpus_per_node: float | None = Field(default=None, description="That a node leaves for pods.")
    memory_gib_per_node: float | None = Field(default=None, description="The same in GiB.")
    gpus_per_node: float | None = Field(default=None, description="The same in GPUs.")
    marginal_gbp_per_node_hour: float | None = Field(default=None, description="What one more hour costs in cash.")
    full_gbp_per_node_hour: float
    shadow_gbp_per_vcpu_hour: float = Field(description="What one more requested vCPU there would save an hour.")
    shadow_gbp_per_gib_hour: float = Field(description="The same for a GiB.")
    shadow_gbp_per_gpu_hour: float = Field(description="The same for a GPU.")


class ScarceCapacity(Part):
    """A limit that more workloads want than fit, and what one more unit of it would be worth (shadow price)."""

    scope: str = Field(description="pool, cluster, region or namespace.")
    cluster: str | None = None
    pool: str | None = None
    provider: str | None = None
    region: str | None = None
    namespace: str | None = None
    resource: str = Field(description="vcpus, memory_gib, gpus or nodes.")
    free: float = Field(description="What is free of it before the plan.")
    shadow_gbp_per_unit_hour: float


class WorkloadRefusal(Refusal):
    """A refusal with the workload it was made for."""

    workload: WorkloadName


class NotEnoughData(Part):
    """A workload, or a whole cluster, of which nothing is said, and why."""

    cluster: str
    namespace: str | None = None
    workload_kind: str | None = None
    workload: str | None = None
    reason: str
    why: str
    next_step: str


class Breach(WorkloadName):
    """A workload that runs where a hard rule does not let it run."""

    rule: str
    why: str
    legal_basis: str | None = None
    recommendation_id: str | None = Field(
        default=None, description="Absent: no legal place has room and a price, or somebody decided against it."
    )


class PriceWarning(Part):
    """Something odd about a price of the fleet that a person should look at."""

    provider: str
    region: str
    instance_type: str
    what: str


class Plan(Part):
    """One evaluation."""

    schema_version: int = SCHEMA_VERSION
    generated_at: datetime
    inputs: Inputs
    summary: Summary
    node_mix: tuple[NodeMix, ...]
    machines: Machines | None = Field(default=None, description="Absent: the plan is of a version before.")
    owned_capacity: tuple[OwnedPool, ...]
    scarce_capacity: tuple[ScarceCapacity, ...]
    commitments: tuple[CommitmentPlanned, ...] = Field(
        default=(), description="What is bought ahead and has not ended. Empty: there is none, or it is ignored."
    )
    placements: tuple[Placement, ...]
    recommendations: tuple[Recommendation, ...]
    capacity: tuple[CapacityRecommendation, ...] = Field(
        default=(), description="Advice about owned capacity that is full: to burst, to come home, to buy more."
    )
    refused: tuple[WorkloadRefusal, ...]
    not_enough_data: tuple[NotEnoughData, ...]
    breaches: tuple[Breach, ...]
    price_warnings: tuple[PriceWarning, ...]

    def to_json(self, *, indent: int | None = 2) -> str:
        """This will write the plan as JSON with sorted keys; what is not known is left out."""
        return json.dumps(self.document(), indent=indent, sort_keys=True, ensure_ascii=False)

    def document(self) -> dict[str, Any]:
        """This will return the plan as JSON values; what is not known is left out."""
        return self.model_dump(mode="json", exclude_none=True)
