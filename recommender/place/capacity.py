"""Free capacity of pools with a limit, and of clusters with a quota.

What runs now is counted at its peak, system pods included; a workload whose pool is not known counts against every
pool of its cluster. What a mover leaves free is not given out again in the same plan, so that the plan holds in
whatever order it is carried out. A pool with several machine types is taken at its smallest.
"""

from __future__ import annotations

import dataframely as dy
import polars as pl

from recommender.frames import Quota, Use
from recommender.place.shared_quotas import SharedQuotas, no_shared_quotas

RESOURCES = ("vcpus", "memory_gib", "gpus")
_PEAKS = {"vcpus": "vcpu_request_peak", "memory_gib": "memory_gib_request_peak", "gpus": "gpu_request_peak"}
_GIVES = {"vcpus": "to_allocatable_vcpus", "memory_gib": "to_allocatable_memory_gib", "gpus": "to_gpus"}
_USE = ("w", "p", "limit", "amount", "free")
_QUOTAS = ("vcpus", "gpus", "nodes")
_SCOPES = {
    "pool": ("to_cluster", "to_pool"),
    "cluster": ("to_cluster",),
    "region": ("to_provider", "to_region"),
    "namespace": ("to_cluster", "namespace"),
}


def free_in_pools(fleet: pl.DataFrame, running: pl.DataFrame) -> pl.DataFrame:
    """This will return what each limited pool has left, never below zero.

    Args:
        fleet: from place.candidates.places.
        running: all workloads with where they are (from_cluster, from_pool, peaks, nodes_needed), system pods too.

    Returns:
        to_cluster, to_pool, free_vcpus, free_memory_gib, free_gpus and free_nodes (whole ones); a limited pool
        without a priced machine has none.
    """
    limited = (
        fleet.filter(pl.col("to_nodes_limited"))
        .group_by("to_cluster", "to_pool", maintain_order=True)
        .agg(
            pl.col("to_nodes_max").max().cast(pl.Float64).alias("nodes"),
            *(pl.col(gives).min().fill_null(0.0).alias(name) for name, gives in _GIVES.items()),
        )
    )
    used = _used(limited.select("to_cluster", "to_pool"), running)
    return (
        limited.join(used, on=["to_cluster", "to_pool"], how="left", maintain_order="left")
        .with_columns(
            (pl.col("nodes") * pl.col(name) - pl.col(f"used_{name}").fill_null(0.0))
            .clip(lower_bound=0.0)
            .alias(f"free_{name}")
            for name in RESOURCES
        )
        .with_columns(free_nodes=_whole_free_nodes())
        .select("to_cluster", "to_pool", *(f"free_{name}" for name in RESOURCES), "free_nodes")
    )


def free_in_quotas(quotas: dy.DataFrame[Quota], running: pl.DataFrame) -> pl.DataFrame:
    """This will return what each cluster's quota has left, in machines' vCPUs and GPUs and in nodes; null: no limit.

    Returns:
        to_cluster, quota_vcpus, quota_gpus, quota_nodes.
    """
    nodes = pl.col("nodes_needed").fill_null(0.0)
    used = running.group_by("from_cluster", maintain_order=True).agg(
        used_nodes=nodes.sum(),
        used_vcpus=(nodes * pl.col("from_vcpus")).fill_null(pl.col("vcpu_request_peak")).sum(),
        used_gpus=(nodes * pl.col("from_gpus")).fill_null(pl.col("gpu_request_peak")).sum(),
    )
    return (
        quotas.rename({"cluster": "to_cluster"})
        .join(used, left_on="to_cluster", right_on="from_cluster", how="left", maintain_order="left")
        .select(
            "to_cluster",
            *(
                (pl.col(name) - pl.col(f"used_{name}").fill_null(0.0)).clip(lower_bound=0.0).alias(f"quota_{name}")
                for name in _QUOTAS
            ),
        )
    )


def with_capacity(
    pairs: pl.DataFrame,
    in_pools: pl.DataFrame,
    in_quotas: pl.DataFrame,
    observed: set[str],
    shared: SharedQuotas | None = None,
) -> pl.DataFrame:
    """This will put free capacity beside each pair, and what it would take of it.

    Args:
        pairs: from place.candidates, with nodes_needed.
        in_pools: from free_in_pools.
        in_quotas: from free_in_quotas.
        observed: clusters that were observed well enough for their use to be known.
        shared: what regions' and namespaces' quotas have left; None: there are none.
    """
    wide = no_shared_quotas() if shared is None else shared
    limited = [*(f"quota_{name}" for name in _QUOTAS), *wide.columns]
    return (
        pairs.join(in_pools, on=["to_cluster", "to_pool"], how="left", maintain_order="left")
        .join(in_quotas, on="to_cluster", how="left", maintain_order="left")
        .join(wide.regions, on=["to_provider", "to_region"], how="left", maintain_order="left")
        .join(wide.namespaces, on=["to_cluster", "namespace"], how="left", maintain_order="left")
        .with_columns(
            needs_quota_vcpus=pl.col("nodes_needed") * pl.col("to_vcpus"),
            needs_quota_gpus=pl.col("nodes_needed") * pl.col("to_gpus"),
            to_observed=pl.col("to_cluster").is_in(sorted(observed)),
            to_has_quota=pl.any_horizontal(pl.col(name).is_not_null() for name in limited),
        )
    )


def limits() -> tuple[tuple[str, str, str, str], ...]:
    """This will name every limit a pair can meet: its scope, its word, free column, needed column."""
    pools = tuple(("pool", name, f"free_{name}", _PEAKS[name]) for name in RESOURCES)
    namespaces = tuple(("namespace", name, f"namespace_{name}", _PEAKS[name]) for name in RESOURCES)
    return (
        *pools,
        ("cluster", "vcpus", "quota_vcpus", "needs_quota_vcpus"),
        ("cluster", "gpus", "quota_gpus", "needs_quota_gpus"),
        ("cluster", "nodes", "quota_nodes", "nodes_needed"),
        ("region", "vcpus", "region_vcpus", "needs_quota_vcpus"),
        ("region", "gpus", "region_gpus", "needs_quota_gpus"),
        *namespaces,
    )


def limit_name(scope: str, word: str) -> pl.Expr:
    """This will name a limit of a pair's place, as Use does: its scope, where it is, what of it."""
    return pl.concat_str(pl.lit(f"{scope} "), pl.concat_str(_SCOPES[scope], separator="/"), pl.lit(f" {word}"))


def read_by_uses() -> list[str]:
    """This will name the columns of pairs that `uses` reads, beside w and p."""
    return sorted(
        {name for columns in _SCOPES.values() for name in columns}
        | {name for _, _, free, need in limits() for name in (free, need)}
    )


def uses(pairs: pl.DataFrame) -> dy.DataFrame[Use]:
    """This will list what each pair takes of each limit."""
    parts = []
    for scope, word, free, need in limits():
        # Few columns before few rows: a filter copies every column that it is given.
        narrow = pairs.select("w", "p", *_SCOPES[scope], amount=need, free=free)
        taken = narrow.filter(pl.col("free").is_not_null() & (pl.col("amount") > 0))
        parts.append(taken.select("w", "p", "amount", "free", limit=limit_name(scope, word)).select(*_USE))
    return Use.validate(pl.concat(parts).sort("w", "p", "limit"))


def limit_facts(pairs: pl.DataFrame) -> pl.DataFrame:
    """This will say of each limit that pairs can meet where it is and what of.

    Returns:
        limit, scope, resource, and the columns that name its place (null where the scope does not have them).
    """
    names = sorted({name for columns in _SCOPES.values() for name in columns})
    parts = []
    for scope, word, free, _ in limits():
        known = [pl.col(name) if name in _SCOPES[scope] else pl.lit(None, pl.String).alias(name) for name in names]
        there = pairs.select(*_SCOPES[scope], free).filter(pl.col(free).is_not_null()).unique(_SCOPES[scope])
        facts = there.select(limit_name(scope, word).alias("limit"), *known, scope=pl.lit(scope), resource=pl.lit(word))
        parts.append(facts)
    return pl.concat(parts).sort("limit")


def _used(limited: pl.DataFrame, running: pl.DataFrame) -> pl.DataFrame:
    columns = ["from_cluster", "from_pool", *_PEAKS.values()]
    known = running.filter(pl.col("from_pool") != "").select(columns)
    unknown = (
        running.filter(pl.col("from_pool") == "")
        .select(columns)
        .join(limited, left_on="from_cluster", right_on="to_cluster", how="inner")
        .with_columns(from_pool="to_pool")
        .select(columns)
    )
    return (
        pl.concat([known, unknown])
        .sort(columns)
        .group_by(to_cluster="from_cluster", to_pool="from_pool", maintain_order=True)
        .agg(pl.col(peak).sum().alias(f"used_{name}") for name, peak in _PEAKS.items())
    )


def _whole_free_nodes() -> pl.Expr:
    shares = [
        pl.when(pl.col(name) > 0).then(pl.col(f"used_{name}").fill_null(0.0) / pl.col(name)) for name in RESOURCES
    ]
    return (pl.col("nodes") - pl.max_horizontal(shares).fill_null(0.0)).floor().clip(lower_bound=0.0)
