"""From usage samples to demand: what was requested, and what waited for a node, by cluster and resource class.

Requests drive scheduling, so demand is requests and never usage. A replica that waits is counted by what its workload's
replicas request. System pods are node overhead and no demand. A moment at which the cluster was not observed is left
out; one at which it was observed and nothing of the class ran is a zero.
"""

from __future__ import annotations

import dataframely as dy
import polars as pl

from recommender.forecast.frames import RESOURCES, SERIES_KEY, UNKNOWN_CLASS, Demand
from recommender.frames import WORKLOAD_KEY, ClusterSample, UsageSample, Workload

DEFAULT_ARCHITECTURE = "amd64"
LEAST_OBSERVED_RATIO = 0.5
"""A sample's time that was observed for less than half is not known."""


def demand(
    samples: dy.DataFrame[UsageSample], observed: dy.DataFrame[ClusterSample], workloads: dy.DataFrame[Workload]
) -> dy.DataFrame[Demand]:
    """This will add up demand.

    Args:
        samples: usage.
        observed: when each cluster was observed.
        workloads: what observe says of them: architecture (amd64 where it says none), and which are system pods.

    Returns:
        One row a series and observed moment. A class that never requested anything has no series, except vcpu and
        memory_gib of a cluster in which something ran.
    """
    facts = workloads.select(*WORKLOAD_KEY, "architecture", "is_system")
    by_time = with_waiting(samples).join(facts, on=WORKLOAD_KEY, how="left")
    architecture = pl.col("architecture").fill_null("").replace("", DEFAULT_ARCHITECTURE)
    model = pl.col("gpu_model").replace("", UNKNOWN_CLASS)
    long = (
        by_time.filter(~pl.col("is_system").fill_null(value=False))
        .with_columns(architecture=architecture, gpu_model=model)
        .unpivot(
            on=RESOURCES,
            index=["cluster", "timestamp", "architecture", "gpu_model"],
            variable_name="resource",
            value_name="demand",
        )
        .filter((pl.col("resource") != "gpu") | (pl.col("demand") > 0))
        .with_columns(resource_class=pl.when(pl.col("resource") == "gpu").then("gpu_model").otherwise("architecture"))
        .group_by(*SERIES_KEY, "timestamp")
        .agg(pl.col("demand").sum())
    )
    seen = observed.filter(pl.col("coverage_ratio") >= LEAST_OBSERVED_RATIO).select("cluster", "timestamp")
    return Demand.validate(
        long.select(SERIES_KEY)
        .unique()
        .join(seen, on="cluster", how="inner")
        .join(long, on=[*SERIES_KEY, "timestamp"], how="left")
        .with_columns(pl.col("demand").fill_null(0.0))
        .select(Demand.column_names())
        .sort(Demand.primary_key())
    )


def with_waiting(samples: pl.DataFrame) -> pl.DataFrame:
    """This will return, for each workload and moment, what it requests with its waiting replicas.

    Returns:
        The workload's key, timestamp, replicas, pending_replicas, vcpu, memory_gib, gpu (totals over both), and for one
        replica `replica_vcpu`, `replica_memory_gib`, `replica_gpu`: null if none of its replicas ever ran, so that
        what the waiting ones request is not known and not counted.
    """
    known = pl.col("gpu_model").filter(pl.col("gpu_model") != "")
    by_time = (
        samples.group_by(*WORKLOAD_KEY, "timestamp")
        .agg(
            pl.col("replicas", "pending_replicas").sum(),
            *(pl.col(f"{name}_request").sum() for name in RESOURCES),
            known.sort().first().alias("gpu_model"),
        )
        .sort(*WORKLOAD_KEY, "timestamp")
    )
    each = [
        pl.when(pl.col("replicas") > 0).then(pl.col(f"{name}_request") / pl.col("replicas")).alias(f"replica_{name}")
        for name in RESOURCES
    ]
    return (
        by_time.with_columns(each)
        .with_columns(
            pl.col("gpu_model", *(f"replica_{name}" for name in RESOURCES))
            .forward_fill()
            .backward_fill()
            .over(WORKLOAD_KEY)
        )
        .with_columns(pl.col("gpu_model").fill_null(""))
        .with_columns(
            (pl.col(f"{name}_request") + pl.col("pending_replicas") * pl.col(f"replica_{name}").fill_null(0.0)).alias(
                name
            )
            for name in RESOURCES
        )
        .drop(f"{name}_request" for name in RESOURCES)
    )
