"""The first part of the assessment: what each cluster costs now and how it performs.

    workloads where they are with their cost, samples of the window, nodes, forecasts → one record a cluster

Pure. A total is of everything that it counts or it is absent: nodes whose size is not told make no allocatable vCPUs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import dataframely as dy
import polars as pl

from recommender.advise.assess_record import ClusterNow, ForecastQuality
from recommender.forecast.forecast import Forecasts
from recommender.frames import ClusterSample, ObservedPool, Pool, UsageSample, Workload
from recommender.observe.coverage import Window, coverage_of
from recommender.place.allocatable import allocatable_memory_gib, allocatable_vcpus
from recommender.settings import ClusterSettings

RESOURCES = ("vcpu", "memory_gib", "gpu")
_PAID_FOR = ("owned", "committed-1y", "committed-3y")


@dataclass(frozen=True, slots=True)
class Seen:
    """What was observed of the fleet.

    Args:
        clusters: the fleet.
        pools: its pools.
        machines: provider, region, instance_type, vcpus, memory_gib, gpus: what machines have.
        workloads: of the window.
        costs: cluster, is_system, vcpu_request_mean, gpu_request_mean, gbp_per_hour and full_gbp_per_hour (null: not
            known) of each workload where it is.
        samples: of the window and, where there are any, before.
        observed: when each cluster was observed.
        window: the hours that advice rests on.
        nodes: the nodes that were seen; None: the source of usage knows none.
        forecasts: of the next hour.
    """

    clusters: Sequence[ClusterSettings]
    pools: dy.DataFrame[Pool]
    machines: pl.DataFrame
    workloads: dy.DataFrame[Workload]
    costs: pl.DataFrame
    samples: dy.DataFrame[UsageSample]
    observed: dy.DataFrame[ClusterSample]
    window: Window
    nodes: dy.DataFrame[ObservedPool] | None
    forecasts: Forecasts


def clusters_now(seen: Seen) -> tuple[ClusterNow, ...]:
    """This will tell of every cluster of the fleet what it costs and how it performs, in the order of their names."""
    parts = [_coverage(seen), _cost(seen), _requests(seen), _pending(seen), _allocatable(seen)]
    found = {cluster.name: dict[str, Any]() for cluster in seen.clusters}
    for part in parts:
        for row in part.iter_rows(named=True):
            found.get(row["cluster"], {}).update({name: value for name, value in row.items() if value is not None})
    jurisdictions = dict(seen.pools.select("cluster", "jurisdiction").iter_rows())
    forecasts = _forecasts(seen.forecasts)
    return tuple(
        ClusterNow(
            cluster=one.name,
            provider=one.provider,
            region=one.region,
            jurisdiction=jurisdictions.get(one.name) or None,
            tier=one.tier,
            forecast=forecasts.get(one.name),
            **(_EMPTY | {key: value for key, value in found[one.name].items() if key != "cluster"}),
        )
        for one in sorted(seen.clusters, key=lambda cluster: cluster.name)
    )


_EMPTY: dict[str, Any] = {
    "coverage_ratio": 0.0,
    "workloads": 0,
    "workloads_priced": 0,
    "capacity_type_unknown_vcpu": 0.0,
    **{f"{resource}_request": 0.0 for resource in RESOURCES},
}


def _coverage(seen: Seen) -> pl.DataFrame:
    return coverage_of(seen.observed, seen.window).clusters.select("cluster", _rounded(pl.col("coverage_ratio")))


def _cost(seen: Seen) -> pl.DataFrame:
    priced = pl.col("gbp_per_hour").is_not_null()
    plain = priced & (pl.col("gpu_request_mean") == 0)
    vcpus = pl.col("vcpu_request_mean").filter(plain).sum()

    def total(name: str) -> pl.Expr:
        return pl.when(priced.any()).then(pl.col(name).filter(priced).sum())

    def a_vcpu(name: str) -> pl.Expr:
        return pl.when(vcpus > 0).then(pl.col(name).filter(plain).sum() / vcpus)

    rows = (
        seen.costs.filter(~pl.col("is_system"))
        .group_by("cluster")
        .agg(
            workloads=pl.len(),
            workloads_priced=priced.sum(),
            gbp_per_hour=total("gbp_per_hour"),
            full_gbp_per_hour=total("full_gbp_per_hour"),
            gbp_per_vcpu_hour=a_vcpu("gbp_per_hour"),
            full_gbp_per_vcpu_hour=a_vcpu("full_gbp_per_hour"),
        )
    )
    return rows.with_columns(pl.col(pl.Float64).round(6))


def _requests(seen: Seen) -> pl.DataFrame:
    known = pl.col("capacity_type") != ""
    vcpu = pl.col("vcpu_request_mean")
    told = vcpu.filter(known).sum()
    return seen.workloads.group_by("cluster").agg(
        *(_rounded(pl.col(f"{name}_request_mean").sum()).alias(f"{name}_request") for name in RESOURCES),
        pl.when(told > 0)
        .then((vcpu.filter(pl.col("capacity_type") == "spot").sum() / told).round(4))
        .alias("spot_ratio"),
        capacity_type_unknown_vcpu=vcpu.filter(~known).sum().round(4),
    )


def _pending(seen: Seen) -> pl.DataFrame:
    """Waiting replicas. A time at which nothing has a sample but the cluster was observed is one without waiting."""
    inside = seen.window.holds()
    times = seen.observed.filter(inside).group_by("cluster").agg(times=pl.col("timestamp").n_unique())
    at_once = (
        seen.samples.filter(inside).group_by("cluster", "timestamp").agg(pl.col("pending_replicas", "replicas").sum())
    )
    waiting, all_replicas = pl.col("pending_replicas"), pl.col("pending_replicas") + pl.col("replicas")
    rows = at_once.group_by("cluster").agg(
        pl.when(all_replicas.sum() > 0).then((waiting.sum() / all_replicas.sum()).round(6)).alias("pending_ratio"),
        (waiting > 0).sum().alias("waited"),
        pending_replicas_peak=waiting.max(),
    )
    joined = times.join(rows, on="cluster", how="left").with_columns(
        pending_hours_ratio=(pl.col("waited").fill_null(0) / pl.col("times")).clip(upper_bound=1).round(6)
    )
    return joined.drop("times", "waited")


def _allocatable(seen: Seen) -> pl.DataFrame:
    """What pods may request: of the nodes that were seen, else of nodes that are paid for in any case."""
    listed = _of_settings(seen).with_columns(allocatable_basis=pl.lit("settings"))
    if seen.nodes is None:
        return listed
    there = _of_nodes(seen.nodes).with_columns(allocatable_basis=pl.lit("seen"))
    return pl.concat([there, listed.join(there, on="cluster", how="anti")], how="vertical_relaxed")


def _of_nodes(nodes: dy.DataFrame[ObservedPool]) -> pl.DataFrame:
    unknown = pl.col("vcpus_per_node").is_null() | pl.col("memory_gib_per_node").is_null()
    return (
        nodes.filter(pl.col("nodes_mean") > 0)
        .group_by("cluster")
        .agg(
            *(
                (pl.col("nodes_mean") * pl.col(f"{word}_per_node").fill_null(0.0)).sum().round(4).alias(name)
                for word, name in zip(("vcpus", "memory_gib", "gpus"), _names(), strict=True)
            ),
            unknown=unknown.any(),
        )
        .filter(~pl.col("unknown"))
        .select("cluster", *_names())
    )


def _of_settings(seen: Seen) -> pl.DataFrame:
    one_type = (pl.col("instance_type").n_unique().over("cluster", "pool") == 1) & pl.col("nodes_max").is_not_null()
    paid_for = pl.col("capacity_type").is_in(_PAID_FOR)
    machines = seen.machines.unique(["provider", "region", "instance_type"], keep="first", maintain_order=True)
    rows = seen.pools.with_columns(whole=(one_type & paid_for).all().over("cluster")).filter("whole")
    sized = rows.join(machines, on=["provider", "region", "instance_type"], how="left")
    amounts = (allocatable_vcpus("vcpus"), allocatable_memory_gib("memory_gib"), pl.col("gpus"))
    return (
        sized.filter(pl.col("vcpus").is_not_null().all().over("cluster"))
        .group_by("cluster")
        .agg(
            (pl.col("nodes_max") * amount).sum().round(4).alias(name)
            for amount, name in zip(amounts, _names(), strict=True)
        )
    )


def _names() -> tuple[str, ...]:
    return tuple(f"{resource}_allocatable" for resource in RESOURCES)


def _forecasts(found: Forecasts) -> dict[str, ForecastQuality]:
    missing = dict(found.not_forecast.group_by("cluster").agg(pl.len()).iter_rows())
    rows = found.forecasts.group_by("cluster").agg(
        series=pl.len(),
        wape_ratio=pl.col("wape_ratio").median().round(4),
        coverage_p90_ratio=pl.col("coverage_p90_ratio").median().round(4),
        beat_both_naives=pl.col("beats_both_naives").sum(),
    )
    told = {row.pop("cluster"): row for row in rows.to_dicts()}
    nothing = {"series": 0, "beat_both_naives": 0}
    return {
        name: ForecastQuality(**told.get(name, nothing), not_forecast=missing.get(name, 0))
        for name in {*told, *missing}
    }


def _rounded(column: pl.Expr) -> pl.Expr:
    return column.round(6)
