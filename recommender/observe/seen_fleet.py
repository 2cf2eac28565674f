"""The nodes that were seen beside the settings: where both speak, the settings stand; what only one knows is said."""

from __future__ import annotations

from collections.abc import Sequence

import dataframely as dy
import polars as pl

from recommender.frames import ClusterSample, NotEnoughData, ObservedPool
from recommender.observe.coverage import Reason, Window
from recommender.observe.fleet import pools
from recommender.settings import ClusterSettings


def with_settings(seen: dy.DataFrame[ObservedPool], clusters: Sequence[ClusterSettings]) -> dy.DataFrame[ObservedPool]:
    """This will give the nodes that were seen what the settings say of their cluster and pool.

    Nodes without a pool's label belong to the cluster's only pool; where it has several they stay without one. Groups
    that become one are added up.
    """
    if seen.is_empty():
        return seen
    told = pools(clusters)
    one_zone = [(cluster.name, cluster.zones[0]) for cluster in clusters if len(cluster.zones) == 1]
    zones = pl.DataFrame(one_zone, schema=["cluster", "_zone"], orient="row", schema_overrides=_TEXTS)
    only = told.group_by("cluster").agg(
        pl.when(pl.col("pool").n_unique() == 1).then(pl.col("pool").first()).first().alias("_only_pool"),
        pl.col("provider").first().alias("_provider"),
        pl.col("region").first().alias("_region"),
    )
    kinds = told.select("cluster", "pool", _capacity_type="capacity_type").unique()
    named = (
        seen.join(only, on="cluster", how="left")
        .join(zones, on="cluster", how="left")
        .with_columns(pl.when(pl.col("pool") == "").then("_only_pool").otherwise("pool").fill_null("").alias("pool"))
        .join(kinds, on=["cluster", "pool"], how="left")
        .with_columns(
            *(pl.coalesce(f"_{name}", name).alias(name) for name in ("provider", "region", "zone", "capacity_type")),
            in_settings=pl.col("_capacity_type").is_not_null(),
        )
    )
    key = ObservedPool.primary_key()
    weight = pl.col("nodes_mean")
    per_node = [name for name in ObservedPool.column_names() if name.endswith("_per_node")]
    together = named.group_by(key).agg(
        pl.col("in_settings").first(),
        pl.col("nodes", "nodes_mean", "nodes_peak").sum(),
        *(
            pl.when(pl.col(name).is_not_null().any())
            .then((pl.col(name) * weight).sum() / weight.filter(pl.col(name).is_not_null()).sum())
            .alias(name)
            for name in per_node
        ),
        pl.col("last_seen").max(),
    )
    return ObservedPool.validate(together.select(ObservedPool.column_names()).sort(key))


def not_in_settings(
    observed: dy.DataFrame[ClusterSample],
    seen: dy.DataFrame[ObservedPool] | None,
    clusters: Sequence[ClusterSettings],
    window: Window,
) -> dy.DataFrame[NotEnoughData]:
    """This will name the clusters that only the source of usage knows."""
    known = {cluster.name for cluster in clusters}
    rows = []
    for name in sorted(set(observed.filter(window.holds())["cluster"]) - known):
        nodes = "" if seen is None else _nodes_in_words(seen.filter(pl.col("cluster") == name))
        rows.append(
            _finding(
                name,
                Reason.NOT_IN_SETTINGS,
                f"it was observed{nodes}, but the settings do not name it",
                "Describe it in the section clusters: its provider, region, jurisdiction and pools.",
            )
        )
    return _findings(rows)


def pools_not_seen(
    seen: dy.DataFrame[ObservedPool], clusters: Sequence[ClusterSettings], window: Window
) -> dy.DataFrame[NotEnoughData]:
    """This will name the pools of the settings that no node was seen of, in clusters whose nodes were seen.

    Args:
        seen: as with_settings returns it.
        clusters: the fleet.
        window: the time looked at.
    """
    there = set(seen.select("cluster", "pool").iter_rows())
    rows = [
        _finding(
            cluster.name,
            Reason.POOL_NOT_SEEN,
            f"no node of it was seen from {window.start:%Y-%m-%d %H:%M} to {window.end:%Y-%m-%d %H:%M} UTC"
            + (", and some nodes of the cluster name no pool" if (cluster.name, "") in there else ""),
            "Nothing to do if it starts from no nodes; otherwise check its name and the node label for the pool.",
            pool=pool.name,
        )
        for cluster in clusters
        if any(name == cluster.name for name, _ in there)
        for pool in cluster.pools
        if (cluster.name, pool.name) not in there
    ]
    return _findings(rows)


def pools_not_in_settings(
    seen: dy.DataFrame[ObservedPool], clusters: Sequence[ClusterSettings]
) -> dy.DataFrame[NotEnoughData]:
    """This will name the pools of the fleet's clusters that have nodes and that the settings do not describe.

    Args:
        seen: as with_settings returns it.
        clusters: the fleet.
    """
    known = [cluster.name for cluster in clusters]
    outside = (
        seen.filter(pl.col("cluster").is_in(known), ~pl.col("in_settings"), pl.col("nodes") > 0)
        .group_by("cluster", "pool")
        .agg(pl.col("nodes").sum())
        .sort("cluster", "pool")
    )
    rows = [
        _finding(
            cluster,
            Reason.POOL_NOT_IN_SETTINGS if pool else Reason.POOL_NOT_NAMED,
            f"{_many(nodes)} of it seen, but the settings do not describe it"
            if pool
            else f"{_many(nodes)} without the name of a pool seen, and the cluster has several",
            "Add the pool to the cluster's section in the settings; nothing is advised to go there until then."
            if pool
            else "Let kube-state-metrics export the node label that names the pool.",
            pool=pool or "(no pool)",
        )
        for cluster, pool, nodes in outside.iter_rows()
    ]
    return _findings(rows)


def _many(nodes: float) -> str:
    return "1 node" if nodes == 1 else f"{nodes:g} nodes"


_TEXTS = {"cluster": pl.String, "_zone": pl.String}


def _nodes_in_words(nodes: pl.DataFrame) -> str:
    if nodes.is_empty():
        return ""
    names = sorted({name for name in nodes["pool"] if name})
    return f" with {nodes['nodes'].sum():.0f} nodes" + (f" (pools {', '.join(names)})" if names else "")


def _finding(cluster: str, reason: Reason, why: str, next_step: str, *, pool: str = "") -> dict[str, str]:
    return {
        "cluster": cluster,
        "namespace": "",
        "workload_kind": "Pool" if pool else "",
        "workload": pool,
        "reason": reason.value,
        "why": why,
        "next_step": next_step,
    }


def _findings(rows: list[dict[str, str]]) -> dy.DataFrame[NotEnoughData]:
    return NotEnoughData.validate(pl.DataFrame(rows, schema=NotEnoughData.create_empty().schema))
