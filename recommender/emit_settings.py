"""Settings of the hand-over: names that objects carry, and what each system needs to be told.

The section `emit` of the settings file. A new system is a class here and a field of EmitSettings.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import Field, model_validator

from exporters.core.config_file import Section

_DNS_NAME = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"

_MOST_POINTS = 11_000
"""Of a series in one answer of Prometheus (web/api/v1, query_range)."""

CapacityType = Literal["on-demand", "spot", "committed-1y", "committed-3y", "owned"]


def with_file(given: object, *, what: str) -> object:
    """This will put what a file holds in the place of its name: nothing after the settings reads it again.

    Raises:
        ValueError: it cannot be read.
    """
    if not isinstance(given, dict) or given.get("file") is None or given.get("current") is not None:
        return given
    try:
        current = yaml.safe_load(Path(str(given["file"])).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ValueError(f"the {what} in {given['file']} cannot be read ({error})") from error
    return given | {"current": current}


def check_current(current: dict[str, Any] | None, *, kind: str, name: str) -> None:
    """This will refuse an object that is not the one it is given as.

    Raises:
        ValueError: it is of another kind or name, or has no spec.
    """
    if current is None:
        return
    metadata = current.get("metadata")
    found = metadata.get("name") if isinstance(metadata, dict) else None
    if current.get("kind") != kind or found != name:
        raise ValueError(f"what is given as current is not the {kind} {name!r}")
    if not current.get("spec"):
        raise ValueError(f"the {kind} {name!r} has no spec")


class KueueQueue(Section):
    """A ClusterQueue that a worker cluster has now."""

    cluster: str = Field(min_length=1, description="The worker's name in `clusters`.")
    name: str = Field(min_length=1, description="The ClusterQueue's name.")
    file: Path | None = Field(
        default=None, description="What `kubectl get clusterqueue NAME -o yaml` printed; read with the settings."
    )
    current: dict[str, Any] | None = Field(default=None, description="The same, written here instead of in a file.")
    flavors: dict[CapacityType, str] = Field(
        default_factory=dict, description="ResourceFlavor of each capacity type; default: as they are handed over."
    )

    @model_validator(mode="before")
    @classmethod
    def _read(cls, given: object) -> object:
        return with_file(given, what="ClusterQueue")

    @model_validator(mode="after")
    def _is_the_queue(self) -> KueueQueue:
        check_current(self.current, kind="ClusterQueue", name=self.name)
        return self


class KueuePriorities(Section):
    """Value of the WorkloadPriorityClass of each criticality."""

    low: int = 100
    medium: int = 500
    high: int = 1000

    @model_validator(mode="after")
    def _in_order(self) -> KueuePriorities:
        if not self.low < self.medium < self.high:
            raise ValueError("emit.kueue.priorities: low < medium < high must hold")
        return self


class KueueSettings(Section):
    """Kueue and MultiKueue."""

    api_version: Literal["kueue.x-k8s.io/v1beta2", "kueue.x-k8s.io/v1beta1"] = Field(
        default="kueue.x-k8s.io/v1beta2", description="v1beta1 for a Kueue that has no v1beta2."
    )
    queue: str = Field(
        default="tuppence",
        pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
        max_length=63,
        description="Name of the ClusterQueue for clusters that `queues` says nothing of.",
    )
    cohort: str = Field(
        default="",
        pattern=r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$",
        description="Cohort of that ClusterQueue; empty: none, and then nothing is borrowed.",
    )
    queues: tuple[KueueQueue, ...] = Field(default=(), description="ClusterQueues that there are.")
    priorities: KueuePriorities = KueuePriorities()

    @model_validator(mode="after")
    def _distinct(self) -> KueueSettings:
        keys = [(queue.cluster, queue.name) for queue in self.queues]
        if len(set(keys)) != len(keys):
            raise ValueError("emit.kueue.queues: a ClusterQueue is named twice")
        return self


class KarmadaSplit(Section):
    """A workload whose replicas Karmada divides among clusters in fixed shares."""

    cluster: str = Field(min_length=1, description="Where the workload was observed.")
    namespace: str = Field(min_length=1)
    workload_kind: str = "Deployment"
    workload: str = Field(min_length=1)
    clusters: tuple[str, ...] = Field(min_length=2, description="Clusters that it is divided among.")


class KarmadaSettings(Section):
    """Karmada."""

    split: tuple[KarmadaSplit, ...] = Field(
        default=(), description="Workloads that run in several clusters at once, in shares by price."
    )


class FleetSettings(Section):
    """Azure Kubernetes Fleet Manager."""

    api_version: Literal["placement.kubernetes-fleet.io/v1", "placement.kubernetes-fleet.io/v1beta1"] = (
        "placement.kubernetes-fleet.io/v1"
    )
    sort_by: Literal["per-cpu-core-cost", "per-gb-memory-cost"] = Field(
        default="per-cpu-core-cost",
        description="The one cost property that is sorted by: each of the two divides the whole price of a node.",
    )
    weight: int = Field(default=80, ge=1, le=100, description="Weight of the sorter.")
    members: tuple[str, ...] = Field(
        default=(), description="Member clusters of the fleet, AKS or Arc-enabled; empty: all of provider azure."
    )


class VolcanoDataSource(Section):
    """A data set and the clusters that hold it."""

    name: str = Field(min_length=1)
    system: str = Field(min_length=1, description="What holds it: s3, hdfs, hive …")
    type: str = Field(min_length=1, description="bucket, table …")
    to: str = Field(pattern=r"^[^/]+/[^/]+$", description="provider/region of the flows that read or write it.")


class VolcanoHyperJob(Section):
    """A HyperJob of Volcano Global, and the workload that was observed of it."""

    namespace: str = Field(min_length=1)
    name: str = Field(min_length=1, description="The HyperJob's name.")
    cluster: str = Field(min_length=1, description="Where the workload was observed.")
    workload_kind: str = "Job"
    workload: str = Field(min_length=1, description="The workload's name there.")
    file: Path | None = Field(
        default=None, description="What `kubectl get hyperjob NAME -o yaml` printed; read with the settings."
    )
    current: dict[str, Any] | None = Field(default=None, description="The same, written here instead of in a file.")

    @model_validator(mode="before")
    @classmethod
    def _read(cls, given: object) -> object:
        return with_file(given, what="HyperJob")

    @model_validator(mode="after")
    def _is_the_job(self) -> VolcanoHyperJob:
        check_current(self.current, kind="HyperJob", name=self.name)
        return self


class VolcanoSettings(Section):
    """Volcano and Volcano Global."""

    queue_prefix: str = Field(
        default="tuppence",
        pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
        max_length=30,
        description="Before the class in the names of Queues.",
    )
    hyperjobs: tuple[VolcanoHyperJob, ...] = Field(default=(), description="HyperJobs that there are.")
    data_sources: tuple[VolcanoDataSource, ...] = ()
    job_api_version: Literal["batch.volcano.sh/v1alpha1", "batch/v1"] = Field(
        default="batch.volcano.sh/v1alpha1", description="Whose kind Job is that data is claimed for."
    )


class KubernetesSettings(Section):
    """Patches of workloads."""

    weight: int = Field(default=80, ge=1, le=100, description="Of the preferred node affinity.")
    pool_labels: dict[str, dict[str, dict[str, str]]] = Field(
        default_factory=dict,
        description="By cluster and pool, the labels that its nodes carry; default: node.kubernetes.io/instance-type "
        "with the pool's machine types, in the clouds that set it.",
    )
    pilot_scheduler: str = Field(
        default="",
        pattern=r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$",
        description="schedulerName for pilots; empty: the default scheduler places them, as it does all others.",
    )
    pilot_namespaces: tuple[str, ...] = Field(
        default=(), description="Namespaces whose workloads of low criticality are pilots."
    )


class ArgoCdApplication(Section):
    """A workload's place in Git, which an ApplicationSet needs."""

    namespace: str = Field(min_length=1, description="The workload's namespace.")
    workload: str = Field(min_length=1, description="The workload's name.")
    repo_url: str = Field(min_length=1, description="repoURL of the Application's source.")
    path: str = Field(min_length=1, description="Folder in the repository.")
    revision: str = Field(default="HEAD", min_length=1, description="targetRevision.")
    project: str = Field(default="default", min_length=1, description="Argo CD's project.")


class ArgoCdSettings(Section):
    """Argo CD on the hub."""

    namespace: str = Field(
        default="argocd", pattern=_DNS_NAME, max_length=63, description="Of Argo CD; it reads decisions there only."
    )
    applications: tuple[ArgoCdApplication, ...] = Field(default=(), description="Where workloads stand in Git.")


class MeshService(Section):
    """A Service of a workload, by which others reach it."""

    cluster: str = Field(min_length=1)
    namespace: str = Field(min_length=1)
    workload: str = Field(min_length=1)
    name: str = Field(pattern=_DNS_NAME, max_length=63, description="The Service's name.")


class MeshSettings(Section):
    """Services that clusters share."""

    kind: Literal["cilium", "mcs"] = Field(
        default="cilium", description="cilium: Cluster Mesh; mcs: the Multi-Cluster Services API, as Submariner has it."
    )
    services: tuple[MeshService, ...] = Field(default=(), description="Services of workloads; no name is guessed.")


class KaiSettings(Section):
    """KAI Scheduler's queues."""

    parent_queue: str = Field(default="", description="Parent of the queues; empty: they stand at the top.")


class ClusterProfileSettings(Section):
    """ClusterProfiles of the cluster inventory."""

    namespace: str = Field(default="fleet-system", pattern=_DNS_NAME, max_length=63)
    manager: str = Field(default="tuppence", min_length=1, max_length=63, description="spec.clusterManager.name")


class HubSettings(Section):
    """The hub that live scores are written to: an API server with Open Cluster Management's AddOnPlacementScore.

    What may be written is the business of `recommend.mode` and of the approvals in the ledger.
    """

    kubeconfig: Path | None = Field(default=None, description="Credentials for the hub; see also in_cluster.")
    context: str | None = Field(default=None, description="Context of the kubeconfig; default: its current one.")
    in_cluster: bool = Field(default=False, description="Use the service account of the pod that this runs in.")
    score_name: str = Field(
        default="finops", pattern=_DNS_NAME, max_length=253, description="Of the objects that Placements read."
    )
    shadow_name: str = Field(
        default="finops-shadow", pattern=_DNS_NAME, max_length=253, description="Of the objects that nothing reads."
    )
    pilot_namespaces: tuple[str, ...] = Field(
        default=(), description="Namespaces of the hub, one a managed cluster, that the mode pilot may write to."
    )
    managed_clusters: dict[str, str] = Field(
        default_factory=dict, description="The name of a cluster on the hub, where it is another one than here."
    )
    requests_per_second: float = Field(default=20, gt=0, le=1_000, description="Most requests to the hub.")
    publish_every_minutes: int = Field(default=5, ge=1, le=1_440, description="Minutes between rounds while serving.")
    jitter_seconds: int = Field(default=30, ge=0, le=3_600, description="Most by which a round is early or late.")
    max_valid_hours: float = Field(
        default=24, gt=0, le=168, description="No score stands longer than this, whatever its inputs allow."
    )
    clock_tolerance_seconds: float = Field(
        default=120, ge=1, description="Most by which the hub's clock may differ before nothing is written."
    )
    timeout_seconds: float = Field(default=10, gt=0, description="Longest wait for one answer of the hub.")
    take_over: bool = Field(
        default=False, description="Take fields that another field manager owns; otherwise that is reported."
    )

    @property
    def is_set(self) -> bool:
        """There is a hub."""
        return self.in_cluster or self.kubeconfig is not None

    @model_validator(mode="after")
    def _names_differ(self) -> HubSettings:
        if self.score_name == self.shadow_name:
            raise ValueError("score_name and shadow_name must differ, or shadow scores would be read")
        if self.in_cluster and self.kubeconfig is not None:
            raise ValueError("set kubeconfig or in_cluster, not both")
        return self


class ScoreSettings(Section):
    """Scores of clusters."""

    usage_max_age_hours: float = Field(
        default=3, gt=0, le=336, description="How long after its end usage may stand behind a score."
    )


class OcmSettings(Section):
    """Open Cluster Management; see also `hub`, which names the scores and the clusters."""

    namespace: str = Field(default="tuppence", pattern=_DNS_NAME, max_length=63, description="Of the Placements.")
    cluster_sets: tuple[str, ...] = Field(
        default=(), description="ManagedClusterSets that are bound in the namespace; empty: all that are."
    )
    number_of_clusters: int = Field(default=1, ge=1, description="Clusters that a class is placed in.")
    require_claims: bool = Field(
        default=False, description="Ask for the cluster's own claim of its jurisdiction beside the hub's label."
    )
    unreachable_seconds: int = Field(default=300, ge=0, description="How long an unreachable cluster stays chosen.")
    debug_url: str | None = Field(
        default=None, description="Of the placement controller; predictions are then checked by dry runs."
    )
    debug_token_file: Path | None = Field(default=None, description="Bearer token that may create Placements.")
    debug_ca_file: Path | None = Field(default=None, description="CA bundle for debug_url; default: the system's.")


_SHARES_REQUESTED = (
    'sum by (resource) (kube_pod_container_resource_requests{resource=~"cpu|memory"} * on (namespace, pod) '
    'group_left () max by (namespace, pod) (kube_pod_status_phase{phase=~"Pending|Running"} == 1)) '
    '/ sum by (resource) (kube_node_status_allocatable{resource=~"cpu|memory"})'
)
"""Of kube-state-metrics: what pods that wait or run request, by what nodes allow."""


class DsfSettings(Section):
    """The Dynamic Scoring Framework: the scorer that the recommender serves, and how its agents reach it."""

    token_file: Path | None = Field(
        default=None, description="Bearer token that agents must send; unset: the scorer is not served."
    )
    scorer_url: str = Field(
        default="http://tuppence-recommender.tuppence.svc:10211",
        pattern=r"^https?://[^/]+$",
        description="Of the recommender, as the hub and the agents reach it; without a path.",
    )
    location: Literal["Internal", "External"] = Field(
        default="Internal", description="External: the scorer is outside of the agents' clusters."
    )
    namespace: str = Field(default="dynamic-scoring", pattern=_DNS_NAME, max_length=63)
    token_secret: str = Field(
        default="tuppence-scorer-token", pattern=_DNS_NAME, description="Secret with the token, beside each agent."
    )
    token_secret_key: str = Field(default="token", min_length=1)
    prometheus_url: str = Field(
        default="http://prometheus-operated.monitoring.svc:9090",
        pattern=r"^https?://[^/]+$",
        description="Of the Prometheus that an agent asks in its own cluster; without a path.",
    )
    queries: tuple[str, ...] = Field(
        default=(_SHARES_REQUESTED,),
        min_length=1,
        description="PromQL for the share of each resource that is requested, a series each, 1 = all there is.",
    )
    range_hours: int = Field(default=168, ge=48, le=744, description="History that an agent sends.")
    step_seconds: int = Field(default=300, ge=60, le=3_600)
    interval_seconds: int = Field(default=300, ge=60, le=3_600, description="Between two scorings of a cluster.")
    max_body_mib: float = Field(default=8, gt=0, le=64, description="Longest request that is read.")

    @model_validator(mode="after")
    def _can_be_asked(self) -> DsfSettings:
        points = self.range_hours * 3_600 / self.step_seconds
        if points > _MOST_POINTS:
            raise ValueError(
                f"{points:,.0f} points a series are more than the {_MOST_POINTS:,} that Prometheus answers; "
                "raise step_seconds"
            )
        if any(";" in one for one in self.queries):
            raise ValueError("a query may not hold ';': agents split there, inside of strings too")
        return self


class EmitSettings(Section):
    """How advice is written for schedulers."""

    label_prefix: str = Field(
        default="tuppence.internal",
        pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
        max_length=200,
        description="DNS name before the slash in labels and annotations; the default is of the private domain.",
    )
    class_expires_after_hours: float = Field(
        default=24, gt=0, description="Life of objects that serve a class and carry out no recommendation."
    )
    node_labels: dict[str, dict[CapacityType, dict[str, str]]] = Field(
        default_factory=dict,
        description="By provider and capacity type, the labels that such nodes carry; default: those of Karpenter, GKE "
        "and AKS where they have one, else <label_prefix>/capacity-type.",
    )
    kueue: KueueSettings = KueueSettings()
    karmada: KarmadaSettings = KarmadaSettings()
    fleet: FleetSettings = FleetSettings()
    volcano: VolcanoSettings = VolcanoSettings()
    hub: HubSettings = HubSettings()
    score: ScoreSettings = ScoreSettings()
    kubernetes: KubernetesSettings = KubernetesSettings()
    argocd: ArgoCdSettings = ArgoCdSettings()
    mesh: MeshSettings = MeshSettings()
    kai: KaiSettings = KaiSettings()
    cluster_profile: ClusterProfileSettings = ClusterProfileSettings()
    ocm: OcmSettings = OcmSettings()
    dsf: DsfSettings = DsfSettings()
