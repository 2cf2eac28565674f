"""The assessment: where the fleet stands before a roll-out, as the JSON that `tuppence assess -o json` prints.

These models are the published schema. What is not known is absent, never null and never zero; rates are pounds an hour,
cash where nothing else is said. The same inputs give the same bytes.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Final, Literal

from pydantic import Field

from recommender.advise.plan import UsageWindow
from recommender.advise.record import Gbp, Part, WorkloadName

SCHEMA_VERSION = 1
Mode = Literal["recommend", "shadow", "pilot", "publish"]
MODES: Final[tuple[Mode, ...]] = ("recommend", "shadow", "pilot", "publish")
"""From nothing that is written to scores that schedulers read."""


class ForecastQuality(Part):
    """How well the next hour of a cluster was foretold in the back-test."""

    series: int = Field(description="Series (resource and class) that can be forecast.")
    not_forecast: int = Field(description="Series of which nothing is foretold.")
    wape_ratio: float | None = Field(default=None, description="Σ|error| ÷ Σ demand, the median over the series.")
    coverage_p90_ratio: float | None = Field(default=None, description="Of past P90 bounds; median over the series.")
    beat_both_naives: int = Field(description="Series whose model is better than both naive ones.")


class ClusterNow(Part):
    """What a cluster costs and how it performs."""

    cluster: str
    provider: str
    region: str
    jurisdiction: str | None = None
    tier: str
    coverage_ratio: float = Field(description="Share of the window in which it was observed; 0: not seen.")
    workloads: int = Field(description="Without system pods.")
    workloads_priced: int
    gbp_per_hour: float | None = Field(default=None, description="Cash, of the priced workloads; absent: none is.")
    full_gbp_per_hour: float | None = Field(default=None, description="The same, owned capacity at its full price.")
    gbp_per_vcpu_hour: float | None = Field(
        default=None, description="Cash ÷ requested vCPUs, of priced workloads without GPUs; absent: there is none."
    )
    full_gbp_per_vcpu_hour: float | None = None
    vcpu_request: float = Field(description="Mean of the window, system pods included.")
    vcpu_allocatable: float | None = Field(default=None, description="Absent: its nodes are not known.")
    memory_gib_request: float
    memory_gib_allocatable: float | None = None
    gpu_request: float
    gpu_allocatable: float | None = None
    allocatable_basis: Literal["seen", "settings"] | None = Field(
        default=None, description="seen: nodes of the window; settings: the owned and committed nodes that are listed."
    )
    spot_ratio: float | None = Field(
        default=None, description="Of requested vCPUs whose capacity type is known; absent: none is."
    )
    capacity_type_unknown_vcpu: float = Field(description="Requested vCPUs in no spot share.")
    pending_ratio: float | None = Field(
        default=None, description="Replica-hours without a node ÷ all; absent: nothing ran or waited."
    )
    pending_hours_ratio: float | None = Field(
        default=None, description="Share of the observed times at which a replica waited; absent: not observed."
    )
    pending_replicas_peak: float = 0.0
    forecast: ForecastQuality | None = Field(default=None, description="Absent: it has no series of demand.")


class PilotCandidate(WorkloadName):
    """A workload that suits a pilot."""

    rank: int = Field(ge=1)
    owner: str | None = None
    residency_class: str
    state_gib: float
    history_days: float
    gbp_per_hour: float
    other_clusters: tuple[str, ...] = Field(description="Where the rules let it run and there is room.")
    recommendation_id: str | None = Field(default=None, description="Absent: it is not advised to move.")
    saving_gbp_per_month: Gbp | None = None


class Obstacle(Part):
    """One reason why a workload does not suit a pilot."""

    rule: Literal[
        "critical", "state", "local-volume", "not-tolerant", "regulated", "unclassified", "history", "coverage",
        "not-enough-data", "no-price", "nowhere-else",
    ]  # fmt: skip
    why: str


class NotForPilot(WorkloadName):
    """A workload that does not suit a pilot, and every reason why."""

    owner: str | None = None
    obstacles: tuple[Obstacle, ...] = Field(min_length=1)


class Gate(Part):
    """One figure by which a step is judged."""

    id: str
    name: str
    value: float | None = Field(default=None, description="Absent: it is not known yet, which is not enough.")
    bound: Literal["at-least", "at-most"]
    threshold: float
    unit: Literal["ratio", "days", "count"]
    met: bool
    basis: str = Field(description="What the figure counts, or why it is not known.")


class Step(Part):
    """A mode and the figures by which the next step from it is judged; of the last mode: by which it stays."""

    mode: Mode
    is_current: bool
    next_mode: Mode | None = Field(default=None, description="Absent: there is none; the figures say whether to stay.")
    met: bool = Field(description="Whether every figure is.")
    gates: tuple[Gate, ...]


class PendingElsewhere(WorkloadName):
    """Pods that wait for a scheduler which is not the default one."""

    scheduler: str
    pods: int
    minutes: int = Field(description="They have waited for at least as long.")


class Assessment(Part):
    """Where the fleet stands, and what stands between it and the next mode."""

    schema_version: int = SCHEMA_VERSION
    generated_at: datetime
    usage_window: UsageWindow
    mode: Mode
    clusters: tuple[ClusterNow, ...]
    pilots: tuple[PilotCandidate, ...]
    not_for_pilot: tuple[NotForPilot, ...]
    steps: tuple[Step, ...]
    pending_on_other_scheduler: tuple[PendingElsewhere, ...] | None = Field(
        default=None, description="Absent: the source of usage does not tell schedulers."
    )

    def to_json(self) -> str:
        """This will write the assessment as JSON with sorted keys; what is not known is left out."""
        document = self.model_dump(mode="json", exclude_none=True)
        return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
