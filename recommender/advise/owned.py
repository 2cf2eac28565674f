"""Capacity that is paid for in any case: how full it is now and under the plan, what it costs, what more is worth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dataframely as dy
import polars as pl

from recommender.advise.plan import OwnedPool, ScarceCapacity
from recommender.frames import LimitPrice
from recommender.place.cost import dominant_share

DIGITS = 9
PAID_FOR = ("owned", "committed-1y", "committed-3y")

_REQUESTS = ("vcpu_request_mean", "memory_gib_request_mean", "gpu_request_mean")
_SHAPES = ("to_vcpus", "to_memory_gib", "to_gpus")


def owned_pools(
    workloads: pl.DataFrame, placed: pl.DataFrame, fleet: pl.DataFrame, scarce: tuple[ScarceCapacity, ...]
) -> tuple[OwnedPool, ...]:
    """This will measure each owned or committed pool that has a price; of several machine types the first stands.

    Use is the greatest share that the mean requests take of vCPU, memory or GPUs of all its nodes; system pods and
    workloads of which nothing can be said take their room too. A DaemonSet counts once for each node of the pool,
    whichever pool its usage names.

    Args:
        workloads: every workload at its present place (`from_…`), with w.
        placed: priced workloads at their planned place (`to_…`), with w.
        fleet: the places, from place.candidates.
        scarce: limits with a shadow price, from scarce_capacity.
    """
    shadows = {(one.cluster, one.pool, one.resource): one.shadow_gbp_per_unit_hour for one in scarce}
    on_nodes = _on_every_node(workloads.filter("per_node"))
    now = workloads.filter(~pl.col("per_node")).select("w", *_REQUESTS, cluster="from_cluster", pool="from_pool")
    moved = placed.select("w", *_REQUESTS, cluster="to_cluster", pool="to_pool")
    then = pl.concat([now.join(moved, on="w", how="anti"), moved])
    pools = (
        fleet.filter(pl.col("to_capacity_type").is_in(PAID_FOR), pl.col("to_vcpus").is_not_null(), "to_nodes_limited")
        .unique(["to_cluster", "to_pool"], keep="first", maintain_order=True)
        .filter(pl.col("to_nodes_max") > 0)
        .join(on_nodes, on="to_cluster", how="left", maintain_order="left")
    )
    used, planned = _nodes_used(pools, now), _nodes_used(pools, then)
    return tuple(
        _pool(row, before, after, shadows)
        for row, before, after in zip(pools.iter_rows(named=True), used, planned, strict=True)
    )


def scarce_capacity(prices: dy.DataFrame[LimitPrice], limits: pl.DataFrame) -> tuple[ScarceCapacity, ...]:
    """This will name the limits that have a price, in the order of their names.

    Args:
        prices: of scarce limits, from place.unguarded.
        limits: from place.capacity.limit_facts.
    """
    named = prices.join(limits, on="limit", how="left").sort("limit")
    return tuple(
        ScarceCapacity(
            scope=row["scope"],
            cluster=row["to_cluster"],
            pool=row["to_pool"],
            provider=row["to_provider"],
            region=row["to_region"],
            namespace=row["namespace"],
            resource=row["resource"],
            free=round(row["free"], DIGITS),
            shadow_gbp_per_unit_hour=round(row["gbp_per_unit_hour"], DIGITS),
        )
        for row in named.iter_rows(named=True)
    )


def _nodes_used(pools: pl.DataFrame, requests: pl.DataFrame) -> list[float]:
    """Nodes' worth of requests in each pool."""
    sums = requests.group_by("cluster", "pool").agg(pl.col(_REQUESTS).sum())
    return (
        pools.join(
            sums, left_on=["to_cluster", "to_pool"], right_on=["cluster", "pool"], how="left", maintain_order="left"
        )
        .with_columns(
            pl.col(name).fill_null(0.0) + pl.col("to_nodes_max") * pl.col(f"{name}_per_node").fill_null(0.0)
            for name in _REQUESTS
        )
        .select(share=dominant_share())
        .to_series()
        .to_list()
    )


def _on_every_node(daemon_sets: pl.DataFrame) -> pl.DataFrame:
    """What one pod of each requests, by cluster: to_cluster and a column `…_per_node` for each request."""
    one_pod = pl.col(_REQUESTS) / pl.col("replicas_mean")
    return daemon_sets.group_by(to_cluster="from_cluster").agg(
        pl.when(pl.col("replicas_mean") > 0).then(one_pod).sort().sum().name.suffix("_per_node")
    )


def _pool(
    row: Mapping[str, Any],
    used: float,
    planned: float,
    shadows: Mapping[tuple[str | None, str | None, str], float],
) -> OwnedPool:
    place = (row["to_cluster"], row["to_pool"])
    prices = ("to_gbp_per_vcpu_hour", "to_gbp_per_gib_hour", "to_gbp_per_gpu_hour")
    full = sum(row[shape] * row[price] for shape, price in zip(_SHAPES, prices, strict=True))
    marginal = row["to_marginal_gbp_per_hour"]
    return OwnedPool(
        cluster=row["to_cluster"],
        pool=row["to_pool"],
        capacity_type=row["to_capacity_type"],
        instance_type=row["to_instance_type"],
        nodes=row["to_nodes_max"],
        used_ratio=round(used / row["to_nodes_max"], DIGITS),
        planned_used_ratio=round(planned / row["to_nodes_max"], DIGITS),
        vcpus_per_node=round(row["to_allocatable_vcpus"], DIGITS),
        memory_gib_per_node=round(row["to_allocatable_memory_gib"], DIGITS),
        gpus_per_node=round(row["to_gpus"], DIGITS),
        marginal_gbp_per_node_hour=None if marginal is None else round(marginal, DIGITS),
        full_gbp_per_node_hour=round(full, DIGITS),
        shadow_gbp_per_vcpu_hour=shadows.get((*place, "vcpus"), 0.0),
        shadow_gbp_per_gib_hour=shadows.get((*place, "memory_gib"), 0.0),
        shadow_gbp_per_gpu_hour=shadows.get((*place, "gpus"), 0.0),
    )
