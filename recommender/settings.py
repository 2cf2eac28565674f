"""Settings of the recommender: where prices and usage come from, the fleet, the policy, and how it serves.

The sections `prices`, `usage`, `clusters`, `region_quotas`, `latency`, `policy`, `recommend`, `commit`, `ledger`,
`forecast`, `burst`, `emit`, `rollout`, `deliver` and `recommender_web` of the settings file; design: "Files that people
and tests feed in".
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal
from zoneinfo import available_timezones

from pydantic import Field, field_validator, model_validator

from exporters.core.config_file import Section
from recommender.commit_settings import CommitSettings
from recommender.deliver_settings import DeliverSettings
from recommender.emit_settings import EmitSettings
from recommender.prices_settings import PricesSettings
from recommender.rollout_settings import RolloutSettings


class UsageFileSettings(Section):
    """Usage from a file (Parquet or CSV)."""

    path: Path = Field(description="The usage file.")


class PrometheusSettings(Section):
    """Usage from Prometheus, Thanos, Mimir or VictoriaMetrics."""

    url: str = Field(description="Base URL of the query API.")
    cluster_label: str = Field(
        default="cluster", pattern=r"^[a-zA-Z_][a-zA-Z0-9_]*$", description="Label that names the cluster."
    )
    bearer_token_file: Path | None = Field(default=None, description="File with a bearer token.")
    username: str | None = Field(default=None, description="User for basic auth.")
    password_file: Path | None = Field(default=None, description="File with the password for basic auth.")
    tenant: str | None = Field(default=None, description="X-Scope-OrgID for Mimir.")
    ca_file: Path | None = Field(default=None, description="CA bundle for a private certificate.")
    thanos: bool = Field(default=False, description="Ask Thanos for complete answers only (partial_response=false).")
    max_points: int = Field(
        default=5_000_000, ge=1_000, description="Points budget of one query; larger ones are not sent."
    )
    timeout_seconds: float = Field(default=60, gt=0, description="Longest one query may take.")


class UsageSettings(Section):
    """Which usage source, and the window it is read over."""

    file: UsageFileSettings | None = Field(default=None, description="Read usage from a file.")
    prometheus: PrometheusSettings | None = Field(default=None, description="Read usage from Prometheus.")
    window_hours: int = Field(default=168, ge=1, le=24 * 93, description="Hours of usage that advice rests on.")
    min_coverage_ratio: float = Field(default=0.8, gt=0, le=1, description="Below it there is not enough data.")

    @model_validator(mode="after")
    def _one_source(self) -> UsageSettings:
        if self.file is not None and self.prometheus is not None:
            raise ValueError("name either usage.file or usage.prometheus, not both")
        return self


class PoolSettings(Section):
    """A pool of a cluster."""

    name: str = Field(min_length=1, description="The pool's name.")
    capacity_type: Literal["on-demand", "spot", "committed-1y", "committed-3y", "owned"] = Field(
        description="How it is bought."
    )
    instance_types: tuple[str, ...] = Field(min_length=1, description="Machine types it may use.")
    nodes_min: int = Field(default=0, ge=0, description="Nodes it keeps in any case.")
    nodes_max: int | None = Field(
        default=None,
        ge=0,
        description="Most nodes it may have; owned and committed pools: the nodes that are paid for.",
    )


class QuotaSettings(Section):
    """Limits of a cluster over all its pools."""

    vcpus: float | None = Field(default=None, gt=0)
    gpus: float | None = Field(default=None, ge=0)
    nodes: int | None = Field(default=None, gt=0)


class NamespaceQuotaSettings(Section):
    """A namespace's ResourceQuota: what its pods may request at most."""

    namespace: str = Field(min_length=1)
    vcpus: float | None = Field(default=None, ge=0, description="requests.cpu")
    memory_gib: float | None = Field(default=None, ge=0, description="requests.memory, in GiB")
    gpus: float | None = Field(default=None, ge=0, description="requests.nvidia.com/gpu")


class RegionQuotaSettings(Section):
    """A cloud's quota in one region, over all clusters there."""

    provider: str = Field(min_length=1)
    region: str = Field(min_length=1)
    vcpus: float | None = Field(default=None, ge=0, description="vCPUs of nodes.")
    gpus: float | None = Field(default=None, ge=0, description="GPUs of nodes.")


class LatencySettings(Section):
    """How far regions are from each other."""

    file: Path | None = Field(
        default=None,
        description="CSV with from, to (provider/region) and ms; stands before the packaged table.",
    )


class ClusterSettings(Section):
    """A cluster of the fleet."""

    name: str = Field(min_length=1, description="The value of the cluster label.")
    provider: str = Field(description="aws, gcp, azure, onprem or a price book's own word.")
    region: str = Field(description="The provider's region code, or the rate card's site.")
    zones: tuple[str, ...] = Field(default=(), description="Zones its nodes are in; empty: any.")
    jurisdiction: str = Field(default="", description="GB, EEA …; empty: taken from the region, else unknown.")
    tier: Literal["owned", "cloud"] = "cloud"
    quotas: QuotaSettings = QuotaSettings()
    namespace_quotas: tuple[NamespaceQuotaSettings, ...] = Field(default=(), description="Kubernetes ResourceQuotas.")
    pools: tuple[PoolSettings, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _pools_are_distinct(self) -> ClusterSettings:
        names = [pool.name for pool in self.pools]
        if len(set(names)) != len(names):
            raise ValueError(f"cluster {self.name!r} names a pool twice")
        namespaces = [quota.namespace for quota in self.namespace_quotas]
        if len(set(namespaces)) != len(namespaces):
            raise ValueError(f"cluster {self.name!r} names the quota of a namespace twice")
        for pool in self.pools:
            if (pool.capacity_type == "owned") != (self.tier == "owned"):
                raise ValueError(
                    f"pool {pool.name!r}: capacity_type owned belongs to clusters of tier owned, and only there"
                )
            if pool.capacity_type == "owned" and pool.nodes_max is None:
                raise ValueError(f"pool {pool.name!r}: an owned pool needs nodes_max, the number of its nodes")
        return self


class ResidencyClass(Section):
    """What workloads of one class may do."""

    residency: tuple[str, ...] = Field(default=(), description="Jurisdictions it may run in; empty: any.")
    legal_basis: str = Field(default="", description="Printed beside every refusal by this rule.")
    goal: Literal["cost", "latency", "reliability"] = Field(
        default="cost", description="Which penalty counts besides the cost: distance, or interruptions more heavily."
    )
    latency_ms_max: float | None = Field(
        default=None, gt=0, description="Most milliseconds to the other ends of its data flows, else to where it is."
    )
    max_gbp_per_vcpu_hour: float | None = Field(default=None, gt=0)
    architectures: tuple[Literal["amd64", "arm64"], ...] = Field(
        default=("amd64",), description="Processor architectures its images are built for."
    )
    gpu_models: tuple[str, ...] = Field(
        default=(), description="GPU models its workloads accept besides the one they ask for."
    )


class FlowSettings(Section):
    """A data flow of a workload."""

    to: str = Field(description="internet, or provider/region such as aws/eu-west-2.")
    gib_per_hour: float = Field(ge=0, description="GiB an hour on average, hours without any counted.")
    direction: Literal["in", "out"] = "out"

    @model_validator(mode="after")
    def _known_place(self) -> FlowSettings:
        if self.to != "internet" and self.to.count("/") != 1:
            raise ValueError("'to' is internet or provider/region, such as aws/eu-west-2")
        return self


class WorkloadMatch(Section):
    """Which workloads a rule is for; globs."""

    cluster: str = "*"
    namespace: str = "*"
    workload_kind: str = "*"
    workload: str = "*"


class Attributes(Section):
    """What a rule, a label or a usage column may say of a workload; None leaves it to the next that speaks."""

    residency_class: str | None = None
    owner: str | None = None
    criticality: Literal["low", "medium", "high"] | None = None
    interruption_tolerance: Literal["none", "spot"] | None = None
    checkpoint_minutes: float | None = Field(default=None, ge=0)
    gang_size: int | None = Field(default=None, ge=1)
    latency_class: str | None = None
    state_gib: float | None = Field(default=None, ge=0)
    minimum_runtime_minutes: float | None = Field(default=None, ge=0)
    architecture: Literal["amd64", "arm64"] | None = None
    local_volume: bool | None = None
    flows: tuple[FlowSettings, ...] | None = None


class PolicyRule(Section):
    """First match wins."""

    match: WorkloadMatch = WorkloadMatch()
    set: Attributes


class Weights(Section):
    """What goals are worth in pounds."""

    latency_gbp_per_ms_hour: float = Field(
        default=0.0002, ge=0, description="Of a millisecond of distance, for classes whose goal is latency."
    )
    interruption_gbp: float = Field(default=1.50, ge=0, description="Of an expected interruption.")
    reliability_interruption_gbp: float = Field(
        default=15.0, ge=0, description="The same, for classes whose goal is reliability."
    )
    restart_minutes: float = Field(
        default=10, ge=0, description="Minutes a replica needs to start again, after a move or an interruption."
    )


class SpotRisk(Section):
    """How often a spot node is taken away, until a provider's own bands or observed interruptions say better.

    The default 0.15 a month is the border between the middle bands (10–15 % and 15–20 %) of the AWS Spot Instance
    Advisor; GCP and Azure publish no rate that can be read without an account.
    """

    interruptions_per_month: dict[str, Annotated[float, Field(ge=0)]] = Field(
        default_factory=dict, description="Expected interruptions of one node a month, by provider."
    )
    default_interruptions_per_month: float = Field(
        default=0.15, gt=0, description="The same for providers that are not named."
    )


class Steady(Section):
    """When a move is worth it."""

    min_saving_gbp_per_month: float = Field(default=20, ge=0)
    min_saving_ratio: float = Field(default=0.15, ge=0, le=1)
    payback_hours: float = Field(default=168, gt=0)
    cool_down_hours: float = Field(default=72, ge=0)
    max_moves_per_week: int = Field(default=20, ge=0)


class Score(Section):
    """How the scheduler that reads scores weighs them; Open Cluster Management's words for its prioritizers."""

    steady_weight: float = Field(default=3, gt=0, le=10, description="Of the Steady prioritizer.")
    cost_weight: float = Field(default=10, gt=0, le=10, description="Of the cost score.")


class LatencyClass(Section):
    """How far workloads of one latency class may be from what they talk to, and what distance is worth to them."""

    latency_ms_max: float | None = Field(
        default=None, gt=0, description="Most milliseconds; the smaller of it and the residency class's counts."
    )
    gbp_per_ms_hour: float | None = Field(
        default=None, ge=0, description="Of a millisecond, whatever the goal; stands before weights."
    )


Kinds = Literal["placement", "purchase-option"]
"""Kinds of advice that save."""


class Policy(Section):
    """Classes, rules, weights and thresholds."""

    classes: dict[str, ResidencyClass] = Field(default_factory=dict)
    latency_classes: dict[str, LatencyClass] = Field(default_factory=dict)
    rules: tuple[PolicyRule, ...] = ()
    weights: Weights = Weights()
    spot: SpotRisk = SpotRisk()
    steady: Steady = Steady()
    score: Score = Score()
    predictions: dict[Kinds, Annotated[float, Field(ge=0.5, le=1.5)]] = Field(
        default_factory=dict, description="What moves of a kind really save, as a share of what advice predicts."
    )

    @model_validator(mode="after")
    def _classes_exist(self) -> Policy:
        for number, rule in enumerate(self.rules):
            name = rule.set.residency_class
            if name is not None and name not in self.classes:
                raise ValueError(f"rules[{number}].set.residency_class: {name!r} is not one of the classes")
            latency = rule.set.latency_class
            if latency is not None and latency not in self.latency_classes:
                raise ValueError(f"rules[{number}].set.latency_class: {latency!r} is not one of the latency_classes")
        return self


class RecommendSettings(Section):
    """How often advice is made and where it is kept."""

    every_minutes: int = Field(default=60, ge=5, description="Minutes between evaluations while serving.")
    expires_after_hours: float = Field(default=24 * 7, gt=0, description="Life of a recommendation.")
    verify_after_days: int = Field(
        default=14, ge=7, le=92, description="Days of usage after a move that its saving is verified by."
    )
    mode: Literal["recommend", "shadow", "pilot", "publish"] = Field(
        default="recommend",
        description="What may be written outside Tuppence, at most: nothing, scores that nothing reads, scores in "
        "emit.hub.pilot_namespaces, all scores. Each step up also needs an approval: tuppence mode set.",
    )


class LedgerSettings(Section):
    """Where proposals and decisions are kept."""

    url: str = Field(
        default="tuppence-data/ledger.sqlite",
        min_length=1,
        description="A SQLite file, or postgresql://user@host/database.",
    )
    password_file: Path | None = Field(default=None, description="File with the password for PostgreSQL.")


class ForecastSettings(Section):
    """Demand in the next hour."""

    horizon_seconds: int = Field(default=3_600, ge=900, le=86_400, description="How far ahead.")
    embargo_seconds: int = Field(
        default=300, ge=0, le=3_600, description="Samples that ended less than this before now are not looked at yet."
    )
    history_days: int = Field(default=21, ge=3, le=92, description="Days of usage that are read.")
    backtest_days: int = Field(default=14, ge=1, le=28, description="Days of past forecasts that a choice rests on.")
    min_history_hours: float = Field(default=48, ge=24, description="Below it nothing is forecast.")
    min_coverage_ratio: float = Field(default=0.8, gt=0, le=1, description="Below it there is not enough data.")
    time_zone: str = Field(default="Europe/London", description="Whose clock daily and weekly habits follow.")

    @field_validator("time_zone")
    @classmethod
    def _known_zone(cls, name: str) -> str:
        if name not in available_timezones():
            raise ValueError(f"{name!r} is not a time zone, such as Europe/London")
        return name


class BurstSettings(Section):
    """When owned pools overflow, how soon a burst must start, and when it ends."""

    evaluations: int = Field(default=5, ge=1, le=24, description="The latest evaluations that are looked at: n.")
    needed: int = Field(default=3, ge=1, le=24, description="In how many of them demand must exceed what fits: k.")
    node_start_seconds: float = Field(default=180, ge=0, description="From asking for a cloud node to a ready one.")
    image_pull_seconds: float = Field(default=120, ge=0, description="Pulling images on a new node.")
    model_load_seconds: float = Field(default=0, ge=0, description="Loading a model before a pod serves.")
    min_runtime_minutes: float = Field(
        default=60, ge=0, description="A burst stays at least this long; a workload's own minimum may be longer."
    )
    idle_evaluations: int = Field(
        default=3, ge=1, le=24, description="Evaluations in a row in which all must fit at home before it returns."
    )
    expected_hours: float = Field(
        default=4, gt=0, description="Over which what moving costs once is spread when choosing what overflows."
    )
    extend_above_ratio: float = Field(
        default=0.25, gt=0, le=1, description="An owned pool short for more of the month than this: extend or commit."
    )

    @model_validator(mode="after")
    def _k_of_n(self) -> BurstSettings:
        if self.needed > self.evaluations:
            raise ValueError("burst.needed cannot exceed burst.evaluations")
        return self


class RecommenderWebSettings(Section):
    """Where the recommender serves."""

    host: str = "127.0.0.1"
    port: int = Field(default=10211, ge=0, le=65535)
    config_file: Path | None = Field(default=None, description="TLS and basic auth, exporter-toolkit format.")
    approvers: tuple[str, ...] = Field(
        default=(), description="Users of the web-config file who may decide about recommendations; others may look."
    )
    tokens_file: Path | None = Field(
        default=None, description="Bearer tokens of machines by name: role (viewer, approver) and SHA-256, in hex."
    )
    session_key_file: Path | None = Field(
        default=None,
        description="Key that forms are signed with, the same for all replicas. None: a new one at each start.",
    )
    decide_without_login: bool = Field(
        default=False,
        description="Whoever reaches the pages may decide, also where nobody has to log in and the address is not "
        "loopback: another door, such as a proxy, checks who they are.",
    )


class RecommenderSettings(Section):
    """All sections of the recommender."""

    prices: PricesSettings = PricesSettings()
    usage: UsageSettings = UsageSettings()
    clusters: tuple[ClusterSettings, ...] = ()
    region_quotas: tuple[RegionQuotaSettings, ...] = ()
    latency: LatencySettings = LatencySettings()
    policy: Policy | Path = Field(default_factory=Policy, description="The policy, or the path of a file with it.")
    recommend: RecommendSettings = RecommendSettings()
    commit: CommitSettings = CommitSettings()
    ledger: LedgerSettings = LedgerSettings()
    forecast: ForecastSettings = ForecastSettings()
    burst: BurstSettings = BurstSettings()
    emit: EmitSettings = EmitSettings()
    rollout: RolloutSettings = RolloutSettings()
    deliver: DeliverSettings = DeliverSettings()
    recommender_web: RecommenderWebSettings = RecommenderWebSettings()

    @model_validator(mode="after")
    def _there_is_a_hub_to_write_to(self) -> RecommenderSettings:
        if self.recommend.mode != "recommend" and not self.emit.hub.is_set:
            raise ValueError(f"recommend.mode is {self.recommend.mode}, and emit.hub names no hub to write to")
        return self

    @model_validator(mode="after")
    def _clusters_are_distinct(self) -> RecommenderSettings:
        names = [cluster.name for cluster in self.clusters]
        if len(set(names)) != len(names):
            raise ValueError("a cluster is named twice")
        regions = [(quota.provider, quota.region) for quota in self.region_quotas]
        if len(set(regions)) != len(regions):
            raise ValueError("region_quotas: a region is named twice")
        return self
