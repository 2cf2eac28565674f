"""The owned nodes of a cluster as they are: shapes from the fleet and its prices, what system pods take taken off."""

from __future__ import annotations

import polars as pl

from recommender.burst.admissible import Shape
from recommender.forecast.demand import DEFAULT_ARCHITECTURE


def owned_clusters(fleet: pl.DataFrame) -> list[str]:
    """This will return the clusters of the fleet that have owned nodes, in order.

    Args:
        fleet: from place.candidates.places.
    """
    return sorted(fleet.filter(pl.col("to_capacity_type") == "owned")["to_cluster"].unique())


def shapes(fleet: pl.DataFrame, cluster: str, *, overhead: tuple[float, float]) -> list[Shape]:
    """This will return a cluster's owned nodes by what they leave for workloads.

    A pool with several machine types counts at its smallest, because which of them its nodes are is not said.

    Args:
        fleet: from place.candidates.places.
        cluster: its name.
        overhead: vCPUs and GiB that system pods request in the cluster, spread evenly over its nodes.

    Returns:
        One shape a pool; empty if any pool's machine is not known, because half a cluster is no cluster.
    """
    own = fleet.filter(pl.col("to_cluster") == cluster, pl.col("to_capacity_type") == "owned")
    if own.is_empty() or own["to_vcpus"].null_count():
        return []
    pools = own.group_by("to_pool", maintain_order=True).agg(
        pl.col("to_instance_type", "to_gpu_model", "to_architecture").first(),
        nodes=pl.col("to_nodes_max").max(),
        vcpus=pl.col("to_allocatable_vcpus").min(),
        memory_gib=pl.col("to_allocatable_memory_gib").min(),
        gpus=pl.col("to_gpus").min(),
    )
    count = max(int(pools["nodes"].sum()), 1)
    return [
        Shape(
            pool=row["to_pool"],
            instance_type=row["to_instance_type"],
            nodes=int(row["nodes"]),
            vcpus=max(0.0, row["vcpus"] - overhead[0] / count),
            memory_gib=max(0.0, row["memory_gib"] - overhead[1] / count),
            gpus=row["gpus"],
            gpu_model=row["to_gpu_model"] or "",
            architecture=row["to_architecture"] or DEFAULT_ARCHITECTURE,
        )
        for row in pools.iter_rows(named=True)
    ]
