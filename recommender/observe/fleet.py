"""The fleet's settings become pools: one row a cluster, pool and machine type, with where it is and how far it goes.

Beside them stand the nodes that were seen; where both speak, the settings stand, and what only one of them knows is
said. Whether a machine type exists and what it costs is for place to find out; what is not known stays empty.
"""

from __future__ import annotations

from collections.abc import Sequence

import dataframely as dy
import polars as pl

from exporters.core.geography import regions
from recommender.frames import (
    ClusterSample,
    NamespaceQuota,
    NotEnoughData,
    ObservedPool,
    Pool,
    Quota,
    RegionQuota,
)
from recommender.observe.coverage import Reason, Window
from recommender.settings import ClusterSettings, RegionQuotaSettings


def pools(clusters: Sequence[ClusterSettings]) -> dy.DataFrame[Pool]:
    """This will return every pool and machine type of the fleet.

    The jurisdiction is the cluster's own setting, else that of its region (core.geography), else empty: unknown. A
    cluster in exactly one zone has that zone, any other the whole region.
    """
    rows = [
        {
            "cluster": cluster.name,
            "pool": pool.name,
            "instance_type": instance_type,
            "provider": cluster.provider,
            "region": cluster.region,
            "zone": cluster.zones[0] if len(cluster.zones) == 1 else "",
            "jurisdiction": cluster.jurisdiction,
            "tier": cluster.tier,
            "capacity_type": pool.capacity_type,
            "nodes_min": pool.nodes_min,
            "nodes_max": pool.nodes_max,
        }
        for cluster in clusters
        for pool in cluster.pools
        for instance_type in dict.fromkeys(pool.instance_types)
    ]
    known = regions().select("provider", "region", pl.col("jurisdiction").alias("_of_region"))
    frame = (
        pl.DataFrame(rows, schema=Pool.create_empty().schema)
        .join(known, on=["provider", "region"], how="left", maintain_order="left")
        .with_columns(
            jurisdiction=pl.when(pl.col("jurisdiction") == "")
            .then(pl.col("_of_region").fill_null(""))
            .otherwise("jurisdiction")
        )
    )
    return Pool.validate(frame.select(Pool.column_names()))


def quotas(clusters: Sequence[ClusterSettings]) -> dy.DataFrame[Quota]:
    """This will return the limits of the clusters that have any."""
    rows = [
        {"cluster": cluster.name, **cluster.quotas.model_dump()}
        for cluster in clusters
        if cluster.quotas.model_dump(exclude_none=True)
    ]
    return Quota.validate(pl.DataFrame(rows, schema=Quota.create_empty().schema))


def region_quotas(limits: Sequence[RegionQuotaSettings]) -> dy.DataFrame[RegionQuota]:
    """This will return the limits of regions."""
    rows = [limit.model_dump() for limit in limits]
    return RegionQuota.validate(pl.DataFrame(rows, schema=RegionQuota.create_empty().schema))


def namespace_quotas(clusters: Sequence[ClusterSettings]) -> dy.DataFrame[NamespaceQuota]:
    """This will return the ResourceQuotas of namespaces in clusters."""
    rows = [{"cluster": cluster.name, **one.model_dump()} for cluster in clusters for one in cluster.namespace_quotas]
    return NamespaceQuota.validate(pl.DataFrame(rows, schema=NamespaceQuota.create_empty().schema))


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
