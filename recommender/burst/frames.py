"""Declared frames of burst: capacity, triggers, what overflows onto which nodes, returns, and longer-term advice.

Amounts are in the resource's unit, money is cash in £/h. The key of a resource class is forecast.frames.SERIES_KEY.
"""

from __future__ import annotations

import dataframely as dy


class CapacityFrame(dy.Schema):
    """What a cluster's owned nodes admit of a resource class."""

    cluster = dy.String(primary_key=True)
    resource = dy.String(primary_key=True)
    resource_class = dy.String(primary_key=True)
    admissible = dy.Float64(min=0, description="by first fit of today's mix of gangs on the nodes, repeated until full")
    nominal = dy.Float64(min=0, description="sum over the nodes; more than can be admitted")


class Trigger(dy.Schema):
    """Whether demand is beyond what owned nodes admit, often enough to act."""

    cluster = dy.String(primary_key=True)
    resource = dy.String(primary_key=True)
    resource_class = dy.String(primary_key=True)
    demand = dy.Float64(min=0, description="now")
    p90 = dy.Float64(nullable=True, min=0, description="of the next hour; null: no forecast")
    admissible = dy.Float64(min=0)
    short = dy.Float64(min=0, description="max(demand, p90) − admissible, 0 if all fits")
    exceeded = dy.UInt32(description="evaluations in which max(demand, p90) was beyond admissible: k")
    evaluations = dy.UInt32(description="evaluations looked at: n")
    is_needed = dy.Bool()
    short_at = dy.Datetime(
        time_unit="us", time_zone="UTC", nullable=True, description="when demand is expected to pass admissible"
    )
    latest_start = dy.Datetime(
        time_unit="us", time_zone="UTC", nullable=True, description="a node asked for later is ready too late"
    )
    why = dy.String()


class Overflow(dy.Schema):
    """Replicas that should leave, where to, and what that costs."""

    cluster = dy.String(primary_key=True)
    namespace = dy.String(primary_key=True)
    workload_kind = dy.String(primary_key=True)
    workload = dy.String(primary_key=True)
    to_cluster = dy.String(primary_key=True)
    to_pool = dy.String(primary_key=True)
    to_instance_type = dy.String(primary_key=True)
    to_capacity_type = dy.String()
    replicas = dy.UInt32(min=1)
    waiting_replicas = dy.UInt32(description="of these, replicas that have no node now")
    gang_size = dy.UInt32(min=1, description="replicas that go together")
    replica_vcpus = dy.Float64(min=0)
    replica_memory_gib = dy.Float64(min=0)
    replica_gpus = dy.Float64(min=0)
    gpu_model = dy.String(description="empty: it asks for no GPU; unknown: for any")
    nodes_gbp_per_hour = dy.Float64(min=0, description="its share of the nodes' price; shares add up to the nodes")
    other_gbp_per_hour = dy.Float64(
        min=0, description="egress, expected interruption, and moving spread over the burst's expected hours"
    )
    one_off_gbp = dy.Float64(min=0, description="of other_gbp_per_hour, what moving costs once, not spread")
    minimum_runtime_minutes = dy.Float64(min=0)


class BurstNodes(dy.Schema):
    """Nodes that the overflow of a cluster runs on."""

    cluster = dy.String(primary_key=True, description="the cluster that is short")
    to_cluster = dy.String(primary_key=True)
    to_pool = dy.String(primary_key=True)
    to_instance_type = dy.String(primary_key=True)
    to_capacity_type = dy.String()
    nodes = dy.UInt32(min=1)
    gbp_per_hour = dy.Float64(min=0, description="of all of them")


class Waiting(dy.Schema):
    """Replicas that have room neither at home nor where the rules let them go."""

    cluster = dy.String(primary_key=True)
    namespace = dy.String(primary_key=True)
    workload_kind = dy.String(primary_key=True)
    workload = dy.String(primary_key=True)
    replicas = dy.UInt32(min=1)
    reason = dy.String(description="a word of place.packing.problem.Unplaced, or too-large-for-home")
    rules = dy.String(description="rules that keep it from every place away from home; empty: none does")


class ActiveBurst(dy.Schema):
    """A burst that runs now, as the ledger or a label says: a workload of a home cluster with replicas elsewhere."""

    cluster = dy.String(primary_key=True, description="home")
    namespace = dy.String(primary_key=True)
    workload_kind = dy.String(primary_key=True)
    workload = dy.String(primary_key=True)
    at_cluster = dy.String(primary_key=True)
    started_at = dy.Datetime(time_unit="us", time_zone="UTC")
    replicas = dy.UInt32(min=1)
    gang_size = dy.UInt32(min=1)
    replica_vcpus = dy.Float64(min=0)
    replica_memory_gib = dy.Float64(min=0)
    replica_gpus = dy.Float64(min=0)
    gpu_model = dy.String()
    minimum_runtime_minutes = dy.Float64(min=0)
    gbp_per_hour = dy.Float64(min=0, description="what it costs where it is")


class Return(dy.Schema):
    """Whether a burst goes home, and if not, why."""

    cluster = dy.String(primary_key=True)
    namespace = dy.String(primary_key=True)
    workload_kind = dy.String(primary_key=True)
    workload = dy.String(primary_key=True)
    at_cluster = dy.String(primary_key=True)
    is_due = dy.Bool()
    saves_gbp_per_hour = dy.Float64(min=0)
    why = dy.String()


class Extension(dy.Schema):
    """Owned capacity that is short for so much of the time that more of it would be cheaper than bursting."""

    cluster = dy.String(primary_key=True)
    resource = dy.String(primary_key=True)
    resource_class = dy.String(primary_key=True)
    kind = dy.String(primary_key=True, description="extend: more owned nodes; commit: committed cloud nodes")
    observed_hours = dy.Float64(min=0)
    short_ratio = dy.Float64(min=0, max=1, description="share of the observed time in which demand was beyond capacity")
    to_cluster = dy.String(description="of the nodes to have")
    pool = dy.String()
    instance_type = dy.String()
    burst_cluster = dy.String(description="of the on-demand machine that they are compared with")
    burst_pool = dy.String()
    burst_instance_type = dy.String()
    nodes = dy.UInt32(description="as many as each pay for themselves; 0: none does")
    node_gbp_per_hour = dy.Float64(min=0, description="full cost of one node, used or not")
    burst_gbp_per_hour = dy.Float64(min=0, description="cheapest on-demand price of the same amount")
    break_even_ratio = dy.Float64(min=0, description="share of the time above which a node pays; over 1: never")
    saving_gbp_per_month = dy.Float64(min=0, description="of all the nodes, 730 hours")


class CapacityUnknown(dy.Schema):
    """An owned cluster of which nothing can be said, and why."""

    cluster = dy.String(primary_key=True)
    reason = dy.String(primary_key=True, description="not-observed, no-shape")
    why = dy.String()
    next_step = dy.String()
