"""The fleet from Prometheus: hourly counts of nodes become one row a cluster, pool and machine.

What a label does not say stays empty: an unknown capacity type is never taken for on-demand.
"""

from __future__ import annotations

from collections.abc import Mapping

import dataframely as dy
import polars as pl

from recommender.frames import ClusterSample, ObservedPool
from recommender.observe.records import Records
from recommender.observe.usage import canonical_gpu_model

POOL = ("pool", "instance_type", "capacity_type", "provider", "region", "zone", "gpu_model")
NODES = "tuppence:pool_nodes:mean1h"
NODES_PEAK = "tuppence:pool_nodes:max1h"
ALLOCATABLE: Mapping[str, str] = {
    "vcpus_per_node": "tuppence:pool_vcpu_allocatable:mean1h",
    "memory_gib_per_node": "tuppence:pool_memory_gib_allocatable:mean1h",
    "gpus_per_node": "tuppence:pool_gpu_allocatable:mean1h",
}
FLEET_RECORDS = (NODES, NODES_PEAK, *ALLOCATABLE.values())

_KEY = ["cluster", *POOL]


def read_pools(records: Records, observed: dy.DataFrame[ClusterSample]) -> dy.DataFrame[ObservedPool]:
    """This will read the nodes of a window, one query a record.

    An hour in which the cluster was observed and a pool had no node counts as zero.

    Args:
        records: the server and the window.
        observed: when each cluster was observed.
    """
    hours = _by_hour(records, NODES, "nodes").join(
        _by_hour(records, NODES_PEAK, "peak"), on=[*_KEY, "timestamp"], how="left"
    )
    for column, record in ALLOCATABLE.items():
        hours = hours.join(_by_hour(records, record, column), on=[*_KEY, "timestamp"], how="left")
    covered = observed.group_by("cluster").agg(
        pl.col("timestamp").max().alias("_last"), pl.col("coverage_ratio").sum().alias("_hours")
    )
    weight = pl.col("coverage_ratio")
    rows = (
        hours.filter(pl.col("nodes") > 0)
        .join(observed, on=["cluster", "timestamp"])
        .join(covered, on="cluster")
        .group_by(_KEY)
        .agg(
            pl.col("nodes").filter(pl.col("timestamp") == pl.col("_last")).sum().alias("nodes"),
            (pl.col("nodes").dot(weight) / pl.col("_hours").first()).alias("nodes_mean"),
            pl.max_horizontal("nodes", "peak").max().alias("nodes_peak"),
            *(_per_node(column) for column in ALLOCATABLE),
            pl.col("timestamp").max().alias("last_seen"),
        )
        .with_columns(in_settings=pl.lit(value=False))
    )
    return ObservedPool.validate(rows.select(ObservedPool.column_names()).sort(_KEY))


def _by_hour(records: Records, record: str, column: str) -> pl.DataFrame:
    read = records.read(record, POOL).with_columns(canonical_gpu_model("gpu_model"))
    return read.group_by(*_KEY, "timestamp").agg(pl.col("value").sum().alias(column))


def _per_node(column: str) -> pl.Expr:
    """Over the hours that tell it."""
    told = pl.col(column).is_not_null()
    return pl.when(told.any()).then(pl.col(column).sum() / pl.col("nodes").filter(told).sum()).alias(column)
