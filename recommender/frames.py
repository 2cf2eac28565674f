"""Declared frames of the recommender, in the order of the flow: usage samples, workloads, pools, candidates, costs.

Empty string, not null, stands for "not known" in key columns, so that they join. Requests and usage are totals over
the replicas. Prices come from exporters.core.frames.
"""

from __future__ import annotations

import dataframely as dy

WORKLOAD_KEY = ("cluster", "namespace", "workload_kind", "workload")
POOL_KEY = ("cluster", "pool")
RESIDENCY_NONE = ""


class UsageSample(dy.Schema):
    """One workload at one moment (design: usage file). Attribute columns may follow under their policy names."""

    timestamp = dy.Datetime(
        time_unit="us", time_zone="UTC", primary_key=True, description="start of the time that the sample is a mean of"
    )
    cluster = dy.String(primary_key=True)
    namespace = dy.String(primary_key=True)
    workload_kind = dy.String(
        primary_key=True, description="Kubernetes kind: Deployment, StatefulSet, Job, DaemonSet …"
    )
    workload = dy.String(primary_key=True)
    pool = dy.String(primary_key=True, description="empty: not known")
    instance_type = dy.String(primary_key=True, description="empty: not known")
    capacity_type = dy.String(primary_key=True, description="empty: not known, which is never read as on-demand")
    replicas = dy.Float64(min=0)
    vcpu_request = dy.Float64(min=0, description="vCPUs")
    memory_gib_request = dy.Float64(min=0, description="GiB")
    gpu_request = dy.Float64(min=0, description="GPUs; fractions count")
    gpu_model = dy.String(description="canonical model or empty")
    vcpu_usage = dy.Float64(nullable=True, min=0)
    memory_gib_usage = dy.Float64(nullable=True, min=0)
    gpu_usage_ratio = dy.Float64(nullable=True, min=0, max=1)
    pending_replicas = dy.Float64(min=0)
    replicas_peak = dy.Float64(nullable=True, min=0, description="within the sample's time; null: as the mean")
    vcpu_request_peak = dy.Float64(nullable=True, min=0, description="within the sample's time; null: as the mean")
    memory_gib_request_peak = dy.Float64(
        nullable=True, min=0, description="within the sample's time; null: as the mean"
    )
    gpu_request_peak = dy.Float64(nullable=True, min=0, description="within the sample's time; null: as the mean")


class Workload(dy.Schema):
    """One workload over the window, with the attributes that policy gave it.

    Means are over the whole window, hours in which it did not run counting as zero, because that is what is paid for;
    peaks are what must fit.
    """

    cluster = dy.String(primary_key=True)
    namespace = dy.String(primary_key=True)
    workload_kind = dy.String(primary_key=True)
    workload = dy.String(primary_key=True)
    pool = dy.String(description="where it ran for most of the window; empty: not known")
    instance_type = dy.String(description="empty: not known")
    capacity_type = dy.String(description="empty: not known")
    replicas_mean = dy.Float64(min=0)
    replicas_peak = dy.Float64(min=0)
    vcpu_request_mean = dy.Float64(min=0)
    vcpu_request_peak = dy.Float64(min=0)
    memory_gib_request_mean = dy.Float64(min=0)
    memory_gib_request_peak = dy.Float64(min=0)
    gpu_request_mean = dy.Float64(min=0)
    gpu_request_peak = dy.Float64(min=0)
    gpu_model = dy.String()
    vcpu_usage_p95 = dy.Float64(nullable=True, min=0)
    memory_gib_usage_peak = dy.Float64(nullable=True, min=0)
    gpu_usage_ratio_mean = dy.Float64(nullable=True, min=0, max=1)
    running_ratio = dy.Float64(min=0, max=1, description="share of the covered window in which it ran")
    coverage_ratio = dy.Float64(min=0, max=1, description="share of the window in which its cluster was observed")
    samples = dy.UInt32(min=1)
    first_seen = dy.Datetime(time_unit="us", time_zone="UTC")
    last_seen = dy.Datetime(time_unit="us", time_zone="UTC")
    is_system = dy.Bool(description="node overhead: DaemonSets, kube-system, system-critical; never advised")
    owner = dy.String(description="empty: nobody said")
    residency_class = dy.String(description="a class of the policy; empty: none matched")
    latency_class = dy.String(nullable=True, description="a latency class of the policy; null: nobody said")
    criticality = dy.String(description="low, medium or high")
    interruption_tolerance = dy.String(description="none or spot")
    checkpoint_minutes = dy.Float64(min=0)
    gang_size = dy.UInt32(min=1, description="replicas that must run together in one cluster")
    state_gib = dy.Float64(min=0, description="GiB that move with it")
    minimum_runtime_minutes = dy.Float64(min=0)
    architecture = dy.String(description="amd64 or arm64 it needs; empty: runs on either only if policy says so")
    local_volume = dy.Bool(description="bound to a node's local volumes: does not move")


class Flow(dy.Schema):
    """A workload's data flow to or from another place."""

    cluster = dy.String(primary_key=True)
    namespace = dy.String(primary_key=True)
    workload_kind = dy.String(primary_key=True)
    workload = dy.String(primary_key=True)
    to = dy.String(primary_key=True, description="internet, or provider/region")
    direction = dy.String(primary_key=True, description="in or out, seen from the workload")
    gib_per_hour = dy.Float64(min=0)
    flow_source = dy.String(nullable=True, description="who says so: policy, kubecost, obi, beyla, cadvisor")
    confidence = dy.String(nullable=True, description="stated, measured, inferred or upper-bound")


class Pool(dy.Schema):
    """A place a workload can go: a cluster's pool and one machine type it may use."""

    cluster = dy.String(primary_key=True)
    pool = dy.String(primary_key=True)
    instance_type = dy.String(primary_key=True)
    provider = dy.String()
    region = dy.String()
    zone = dy.String(description="empty: any zone of the region")
    jurisdiction = dy.String(description="GB, EEA …; empty: unknown, which no residency rule lets pass")
    tier = dy.String(description="owned or cloud")
    capacity_type = dy.String()
    nodes_min = dy.UInt32()
    nodes_max = dy.UInt32(nullable=True, description="null: no limit of its own")


class ObservedPool(dy.Schema):
    """Nodes that were seen in a cluster, by pool and machine; settings stand where both speak.

    Means are over the hours in which the cluster was observed. What a node allows pods to request is less than its
    machine has.
    """

    cluster = dy.String(primary_key=True)
    pool = dy.String(primary_key=True, description="empty: not known")
    instance_type = dy.String(primary_key=True, description="empty: not known")
    capacity_type = dy.String(primary_key=True, description="empty: not known, which is never read as on-demand")
    provider = dy.String(primary_key=True, description="empty: not known")
    region = dy.String(primary_key=True, description="empty: not known")
    zone = dy.String(primary_key=True, description="empty: not known")
    gpu_model = dy.String(primary_key=True, description="canonical model or empty")
    in_settings = dy.Bool(description="a pool of the settings")
    nodes = dy.Float64(min=0, description="mean of the last hour in which the cluster was observed")
    nodes_mean = dy.Float64(min=0)
    nodes_peak = dy.Float64(min=0)
    vcpus_per_node = dy.Float64(nullable=True, min=0, description="allocatable; null: not told")
    memory_gib_per_node = dy.Float64(nullable=True, min=0, description="allocatable; null: not told")
    gpus_per_node = dy.Float64(nullable=True, min=0, description="allocatable; null: none, or not told")
    last_seen = dy.Datetime(time_unit="us", time_zone="UTC", description="start of the last hour with a node")


class Quota(dy.Schema):
    """Limits of a cluster over all its pools."""

    cluster = dy.String(primary_key=True)
    vcpus = dy.Float64(nullable=True, min=0, description="machine vCPUs; null: no limit")
    gpus = dy.Float64(nullable=True, min=0, description="machine GPUs; null: no limit")
    nodes = dy.Float64(nullable=True, min=0, description="null: no limit")


class RegionQuota(dy.Schema):
    """A cloud's quota in one region, over all clusters there."""

    provider = dy.String(primary_key=True)
    region = dy.String(primary_key=True)
    vcpus = dy.Float64(nullable=True, min=0, description="machine vCPUs; null: no limit")
    gpus = dy.Float64(nullable=True, min=0, description="machine GPUs; null: no limit")


class BoughtAhead(dy.Schema):
    """A commitment that has not ended: capacity or money an hour that is paid for whether it is used or not."""

    provider = dy.String(primary_key=True)
    account = dy.String(primary_key=True)
    commitment_id = dy.String(primary_key=True)
    source = dy.String(description="the source of costs that stated it, or settings")
    kind = dy.String(description="savings-plan, reservation or cud")
    plan_type = dy.String(description="Compute, EC2Instance …; empty: none")
    region = dy.String(description="region or zone where it holds; empty: everywhere")
    instance_family = dy.String(description="empty: any")
    instance_type = dy.String(description="empty: any of the family")
    gpu_model = dy.String(description="of GPUs that were bought; empty: none")
    capacity_type = dy.String(description="committed-1y or committed-3y, by its term")
    instances = dy.Float64(nullable=True, min=0, description="machines; null: not bought by machine")
    vcpus = dy.Float64(nullable=True, min=0, description="null: not bought by vCPU")
    memory_gib = dy.Float64(nullable=True, min=0, description="null: not bought by GiB")
    gpus = dy.Float64(nullable=True, min=0, description="null: not bought by GPU")
    money_gbp = dy.Float64(nullable=True, min=0, description="£ an hour of charges that it pays; null: not money")
    gbp_per_hour = dy.Float64(nullable=True, min=0, description="what all of it costs an hour; null: not known")
    starts_at = dy.Datetime(time_unit="us", time_zone="UTC")
    ends_at = dy.Datetime(time_unit="us", time_zone="UTC")
    renews = dy.Bool(description="whether the provider renews it by itself")
    unusable = dy.String(description="why it pays for nothing in this evaluation; empty: it does")


class NamespaceQuota(dy.Schema):
    """A namespace's ResourceQuota in one cluster."""

    cluster = dy.String(primary_key=True)
    namespace = dy.String(primary_key=True)
    vcpus = dy.Float64(nullable=True, min=0, description="requested vCPUs (requests.cpu); null: no limit")
    memory_gib = dy.Float64(nullable=True, min=0, description="requested GiB (requests.memory); null: no limit")
    gpus = dy.Float64(nullable=True, min=0, description="requested GPUs (requests.nvidia.com/gpu); null: no limit")


class Latency(dy.Schema):
    """The round trip between two regions, measured; the same both ways."""

    from_ = dy.String(primary_key=True, alias="from", description="provider/region")
    to = dy.String(primary_key=True, description="provider/region")
    ms = dy.Float64(min=0)


class ClusterCost(dy.Schema):
    """What a workload costs at the cheapest place that is allowed in a cluster, by capacity type."""

    cluster = dy.String(primary_key=True, description="where the workload is now, with the next three its key")
    namespace = dy.String(primary_key=True)
    workload_kind = dy.String(primary_key=True)
    workload = dy.String(primary_key=True)
    to_cluster = dy.String(primary_key=True)
    to_capacity_type = dy.String(primary_key=True)
    to_pool = dy.String()
    to_instance_type = dy.String()
    allowed = dy.Bool(description="no rule but room refuses it, and it has a price")
    has_room = dy.Bool(description="no rule refuses it")
    rules = dy.List(dy.String(), description="ids of the rules that refuse the place that comes nearest")
    gbp_per_hour = dy.Float64(nullable=True, min=0, description="in cash, egress included; null: not allowed")
    is_current = dy.Bool(description="the workload is at this place")


class ClassScore(dy.Schema):
    """How a cluster stands for the workloads of a class, as a number that a scheduler compares."""

    score = dy.String(primary_key=True, description="its name, a DNS label")
    cluster = dy.String(primary_key=True)
    residency_class = dy.String(description="empty: a score of the cluster itself")
    resource_class = dy.String(description="cpu, or the GPU model; empty: a score of the cluster itself")
    capacity_type = dy.String(description="any: each workload in the cheapest that it may use; empty: of the cluster")
    value = dy.Int32(min=-100, max=100, description="1..100, higher is cheaper; -100: forbidden or without a price")
    state = dy.String(description="priced, forbidden, unpriced or no-capacity; of the cluster itself: known or unknown")
    gbp_per_hour = dy.Float64(nullable=True, min=0, description="in cash, of all its workloads; null: not priced")
    reference_gbp_per_hour = dy.Float64(nullable=True, min=0, description="what scores 50; null: nothing costs cash")
    workloads = dy.UInt32(description="that the price is of, the same in every cluster")
    reason = dy.String()
    priced_at = dy.Datetime(time_unit="us", time_zone="UTC", nullable=True, description="age of the oldest price")
    usage_until = dy.Datetime(time_unit="us", time_zone="UTC", nullable=True, description="end of the usage")
    valid_until = dy.Datetime(time_unit="us", time_zone="UTC", description="the same for all of a class")
    is_held = dy.Bool(description="of an evaluation before, because an input is missing now")


class Move(dy.Schema):
    """A workload's move in the past, from the ledger: what the cool-down and the cap on moves look at."""

    cluster = dy.String(primary_key=True, description="where the workload is now")
    namespace = dy.String(primary_key=True)
    workload_kind = dy.String(primary_key=True)
    workload = dy.String(primary_key=True)
    moved_at = dy.Datetime(time_unit="us", time_zone="UTC", primary_key=True)
    from_cluster = dy.String()
    from_pool = dy.String()


class Hold(dy.Schema):
    """A person's decision that keeps advice away for a time, from the ledger."""

    cluster = dy.String(primary_key=True)
    namespace = dy.String(primary_key=True)
    workload_kind = dy.String(primary_key=True)
    workload = dy.String(primary_key=True)
    to_cluster = dy.String(primary_key=True, description="empty, with to_pool: to any place")
    to_pool = dy.String(primary_key=True)
    rule = dy.String(description="dismissed, snoozed or implemented")
    why = dy.String()


class Offered(dy.Schema):
    """The price that stands for one machine type at one place, chosen from the offers."""

    provider = dy.String(primary_key=True)
    region = dy.String(primary_key=True)
    zone = dy.String(primary_key=True, description="the zone asked for; empty: any")
    instance_type = dy.String(primary_key=True)
    capacity_type = dy.String(primary_key=True)
    gbp_per_vcpu_hour = dy.Float64(min=0)
    gbp_per_gib_hour = dy.Float64(min=0)
    gbp_per_gpu_hour = dy.Float64(min=0, description="0 on a machine without GPUs")
    marginal_gbp_per_hour = dy.Float64(nullable=True, min=0)
    vcpus = dy.Float64(min_exclusive=0)
    memory_gib = dy.Float64(min_exclusive=0)
    gpus = dy.Float64(min=0)
    gpu_model = dy.String()
    accelerators = dy.Float64(min=0)
    architecture = dy.String()
    offer_zone = dy.String(description="the zone whose price stands; empty: the region's")
    source = dy.String(description="the source that gave the price")
    note = dy.String(nullable=True, description="illustrative, or what else a reader must know")


class Gain(dy.Schema):
    """What a workload gains at a place it is allowed to go to: what the choice of places looks at."""

    w = dy.UInt32(primary_key=True, description="number of the workload, in the order of its key")
    p = dy.UInt32(primary_key=True, description="number of the place, in the order of its key")
    gain_gbp_per_hour = dy.Float64(description="against staying, what moving costs spread over the payback horizon")
    must_move = dy.Bool(description="it is in breach of a rule where it is")


class Use(dy.Schema):
    """What a workload at a place takes of a limit that it shares with others."""

    w = dy.UInt32(primary_key=True)
    p = dy.UInt32(primary_key=True)
    limit = dy.String(primary_key=True, description="a pool or a cluster, and what of it")
    amount = dy.Float64(min_exclusive=0)
    free = dy.Float64(min=0, description="what is left of the limit before the plan")


class Assignment(dy.Schema):
    """The place each moving workload is given."""

    w = dy.UInt32(primary_key=True)
    p = dy.UInt32()


class LimitPrice(dy.Schema):
    """What one more unit of a scarce limit would be worth (shadow price)."""

    limit = dy.String(primary_key=True, description="as in Use")
    gbp_per_unit_hour = dy.Float64(min_exclusive=0, description="£/h for one more vCPU, GiB, GPU or node")
    free = dy.Float64(min=0, description="what is free of it before the plan")


class StatedAttribute(dy.Schema):
    """What a label or a usage column says of a workload, or of all workloads of a namespace; not yet checked."""

    cluster = dy.String(primary_key=True)
    namespace = dy.String(primary_key=True)
    workload_kind = dy.String(primary_key=True, description="empty, with workload: the whole namespace")
    workload = dy.String(primary_key=True)
    attribute = dy.String(primary_key=True, description="a name of the policy's attributes, or priority_class")
    value = dy.String(description="as it was written; flows as JSON")


class ClusterSample(dy.Schema):
    """That a cluster was observed at a sample's time, whatever ran in it."""

    cluster = dy.String(primary_key=True)
    timestamp = dy.Datetime(time_unit="us", time_zone="UTC", primary_key=True)
    coverage_ratio = dy.Float64(min=0, max=1, description="share of the sample's time in which it was observed")


class NotEnoughData(dy.Schema):
    """A workload, a pool or a whole cluster of which something is not known, and why."""

    cluster = dy.String(primary_key=True)
    namespace = dy.String(primary_key=True, description="empty, with workload: the whole cluster")
    workload_kind = dy.String(primary_key=True, description="Pool: the pool of the cluster that `workload` names")
    workload = dy.String(primary_key=True)
    reason = dy.String(primary_key=True, description="a word of observe.coverage.Reason")
    why = dy.String()
    next_step = dy.String()
