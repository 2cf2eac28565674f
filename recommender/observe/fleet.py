"""The fleet's settings become pools: one row a cluster, pool and machine type, with where it is and how far it goes.

Whether a machine type exists and what it costs is for place to find out; what is not known stays empty.
"""

from __future__ import annotations

from collections.abc import Sequence

import dataframely as dy
import polars as pl

from exporters.core.geography import regions
from recommender.frames import (
    NamespaceQuota,
    Pool,
    Quota,
    RegionQuota,
)
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
