"""Where each workload runs now, or why that cannot be said.

Usage names a cluster, a pool, a machine type and a capacity type; the fleet says what those are. What usage leaves
open is filled only where the fleet leaves one answer; a guess is never made, and an unknown capacity type is never
read as on-demand.
"""

from __future__ import annotations

import dataframely as dy
import polars as pl

from recommender.frames import WORKLOAD_KEY, NotEnoughData, Pool, Workload
from recommender.settings import Policy

CLUSTER_FACTS = ("provider", "region", "jurisdiction")


def locate(
    workloads: dy.DataFrame[Workload],
    pools: dy.DataFrame[Pool],
    policy: Policy,
    *,
    min_coverage_ratio: float,
    unfit: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """This will number the workloads and say of each where it is, or the reason why it cannot be advised.

    Args:
        workloads: what ran, with policy attributes.
        pools: the fleet.
        policy: its classes must hold every class that a workload names.
        min_coverage_ratio: share of the window that must have been observed.
        unfit: workloads that observe has already given a reason, columns of the workload's key and reason.

    Returns:
        The workloads in the order of their key with `w` (a number), `provider`, `region`, `zone`, `jurisdiction` of
        the place, pool, instance_type and capacity_type filled in where there is one answer, and `reason`: null, or a
        word of NOT_ENOUGH_DATA.
    """
    ordered = workloads.sort("cluster", "namespace", "workload_kind", "workload").with_row_index("w")
    return (
        ordered.join(_clusters(pools), on="cluster", how="left", maintain_order="left")
        .with_columns(pool=_unless_empty("pool", "only_pool"))
        .join(_pools(pools), on=["cluster", "pool"], how="left", maintain_order="left")
        .with_columns(
            instance_type=_unless_empty("instance_type", "only_type"),
            capacity_type=_unless_empty("capacity_type", "pool_capacity_type"),
            zone=pl.col("pool_zone").fill_null(""),
        )
        .join(_first_reasons(unfit), on=WORKLOAD_KEY, how="left", maintain_order="left")
        .with_columns(reason=pl.coalesce("told_reason", _reason(policy, min_coverage_ratio)))
        .drop("only_pool", "only_type", "pool_zone", "told_reason")
    )


def observed_clusters(
    workloads: pl.DataFrame, pools: pl.DataFrame, *, not_seen: set[str] | None, min_coverage_ratio: float
) -> set[str]:
    """This will return the clusters of the fleet whose use is known.

    Args:
        workloads: what ran; a cluster whose workloads were observed too little is not known.
        pools: the fleet.
        not_seen: clusters that observe has no sample of; None: nobody looked, so a cluster without workloads counts
            as not seen.
        min_coverage_ratio: share of the window that must have been observed.
    """
    enough = workloads.filter(pl.col("coverage_ratio") >= min_coverage_ratio)
    well = set(enough["cluster"])
    if not_seen is None:
        return well
    return set(pools["cluster"]) - not_seen - (set(workloads["cluster"]) - well)


def _first_reasons(unfit: pl.DataFrame | None) -> pl.DataFrame:
    rows = NotEnoughData.create_empty() if unfit is None else unfit
    return rows.group_by(WORKLOAD_KEY).agg(told_reason=pl.col("reason").min())


def _clusters(pools: pl.DataFrame) -> pl.DataFrame:
    one_pool = pl.when(pl.col("pool").n_unique() == 1).then(pl.col("pool").first())
    return (
        pools.sort("cluster", "pool", "instance_type")
        .group_by("cluster", maintain_order=True)
        .agg(*(pl.col(name).first() for name in CLUSTER_FACTS), only_pool=one_pool.first())
    )


def _pools(pools: pl.DataFrame) -> pl.DataFrame:
    one_type = pl.when(pl.len() == 1).then(pl.col("instance_type").first())
    return (
        pools.sort("cluster", "pool", "instance_type")
        .group_by("cluster", "pool", maintain_order=True)
        .agg(
            pool_capacity_type=pl.col("capacity_type").first(),
            pool_zone=pl.col("zone").first(),
            pool_nodes_max=pl.col("nodes_max").first(),
            only_type=one_type.first(),
        )
    )


def _unless_empty(given: str, otherwise: str) -> pl.Expr:
    return pl.when(pl.col(given) == "").then(pl.col(otherwise).fill_null("")).otherwise(pl.col(given))


def _reason(policy: Policy, min_coverage_ratio: float) -> pl.Expr:
    requests = ("vcpu_request_mean", "memory_gib_request_mean", "gpu_request_mean")
    known_class = pl.col("residency_class").is_in(["", *sorted(policy.classes)])
    known_latency = pl.col("latency_class").fill_null("").is_in(["", *sorted(policy.latency_classes)])
    conflict = (pl.col("pool_capacity_type") != pl.col("capacity_type")).fill_null(value=False)
    return (
        pl.when(pl.col("provider").is_null())
        .then(pl.lit("unknown-cluster"))
        .when(pl.col("coverage_ratio") < min_coverage_ratio)
        .then(pl.lit("coverage"))
        .when(~known_class)
        .then(pl.lit("unknown-residency-class"))
        .when(~known_latency)
        .then(pl.lit("unknown-latency-class"))
        .when(pl.sum_horizontal(requests) == 0)
        .then(pl.lit("no-requests"))
        .when(pl.col("pool") == "")
        .then(pl.lit("unknown-pool"))
        .when(pl.col("instance_type") == "")
        .then(pl.lit("unknown-instance-type"))
        .when(pl.col("capacity_type") == "")
        .then(pl.lit("unknown-capacity-type"))
        .when(conflict)
        .then(pl.lit("capacity-type-conflict"))
    )
