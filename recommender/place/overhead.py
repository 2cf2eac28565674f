"""What a node leaves for pods that move: its allocatable room, as nodes told it, less what DaemonSets take of each.

    usage by workload, nodes seen → room of a node by cluster, pool and machine type

A DaemonSet runs one pod on every node that it is let onto (Kubernetes: "DaemonSet"), also on nodes that a plan adds.
One that was seen on fewer than half of its cluster's nodes, or that asks for GPUs, is bound to some of them: it stays
where it was seen. Static pods are named after their node already, so each counts in its pool.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from recommender.frames import ObservedPool

DAEMON_SET = "DaemonSet"
FEWEST_RATIO = 0.5
"""Share of a cluster's nodes below which a DaemonSet is taken to be bound to some of them."""

_TOLD = {"to_allocatable_vcpus": "vcpus_per_node", "to_allocatable_memory_gib": "memory_gib_per_node"}
_SHAPES = {"to_allocatable_vcpus": "to_vcpus", "to_allocatable_memory_gib": "to_memory_gib"}
_OVERHEAD = {"to_allocatable_vcpus": "overhead_vcpus", "to_allocatable_memory_gib": "overhead_memory_gib"}
_MACHINE = ("cluster", "pool", "instance_type")


@dataclass(frozen=True, slots=True)
class NodeRoom:
    """What is known of a node's room beside its machine type.

    Args:
        overhead: cluster, overhead_vcpus, overhead_memory_gib, from node_overhead.
        told: cluster, pool, instance_type, vcpus_per_node, memory_gib_per_node: allocatable, as nodes told it.
    """

    overhead: pl.DataFrame
    told: pl.DataFrame


def with_per_node(workloads: pl.DataFrame, nodes_seen: pl.DataFrame | None) -> pl.DataFrame:
    """This will add `per_node`: whether a workload runs once on every node of its cluster.

    Args:
        workloads: columns of Workload.
        nodes_seen: ObservedPool; None: nobody counted the nodes, so a DaemonSet is on all of them.
    """
    daemon = (pl.col("workload_kind") == DAEMON_SET) & pl.col("is_system") & (pl.col("gpu_request_peak") == 0)
    if nodes_seen is None:
        return workloads.with_columns(per_node=daemon)
    nodes = nodes_seen.group_by("cluster").agg(_cluster_nodes=pl.col("nodes_mean").sum())
    few = (pl.col("replicas_mean") < FEWEST_RATIO * pl.col("_cluster_nodes")).fill_null(value=False)
    return (
        workloads.join(nodes, on="cluster", how="left", maintain_order="left")
        .with_columns(per_node=daemon & ~few)
        .drop("_cluster_nodes")
    )


def node_overhead(workloads: pl.DataFrame) -> pl.DataFrame:
    """This will add up what one pod of each such workload requests at peak.

    Args:
        workloads: from with_per_node.

    Returns:
        cluster, overhead_vcpus, overhead_memory_gib; clusters without one are not in it.
    """
    replicas = pl.col("replicas_peak").clip(lower_bound=1.0)
    return (
        workloads.filter("per_node")
        .group_by("cluster")
        .agg(
            overhead_vcpus=(pl.col("vcpu_request_peak") / replicas).sort().sum(),
            overhead_memory_gib=(pl.col("memory_gib_request_peak") / replicas).sort().sum(),
        )
        .sort("cluster")
    )


def node_room(workloads: pl.DataFrame, nodes_seen: pl.DataFrame | None) -> NodeRoom:
    """This will gather what nodes give to DaemonSets, and what they told of their room.

    Args:
        workloads: from with_per_node.
        nodes_seen: ObservedPool; None: nodes told nothing.
    """
    seen = ObservedPool.create_empty() if nodes_seen is None else nodes_seen
    weight = pl.col("nodes_mean")
    told = (
        seen.filter(weight > 0)
        .group_by(_MACHINE, maintain_order=True)
        .agg(
            ((pl.col(name) * weight).sum() / weight.filter(pl.col(name).is_not_null()).sum()).alias(name)
            for name in _TOLD.values()
        )
    )
    return NodeRoom(node_overhead(workloads), told)


def with_room(rows: pl.DataFrame, room: NodeRoom) -> pl.DataFrame:
    """This will set what a node leaves for pods: what nodes told where they did, less what DaemonSets take.

    Args:
        rows: with `to_cluster`, `to_pool`, `to_instance_type`, the machine's shape and `to_allocatable_…` by formula. A
            node that tells more than its machine has, or nothing, is not believed.
        room: from node_room.
    """
    told = room.told.rename({name: f"to_{name}" for name in _MACHINE})
    taken = room.overhead.rename({"cluster": "to_cluster"})
    return (
        rows.join(told, on=[f"to_{name}" for name in _MACHINE], how="left", maintain_order="left")
        .join(taken, on="to_cluster", how="left", maintain_order="left")
        .with_columns(
            pl.when((pl.col(told_as) > 0) & (pl.col(told_as) <= pl.col(_SHAPES[column])))
            .then(pl.col(told_as))
            .otherwise(pl.col(column))
            .alias(column)
            for column, told_as in _TOLD.items()
        )
        .with_columns(
            (pl.col(column) - pl.col(name).fill_null(0.0)).clip(lower_bound=0.0).alias(column)
            for column, name in _OVERHEAD.items()
        )
        .drop(*_TOLD.values(), *_OVERHEAD.values())
    )
