"""ResourceQuotas of namespaces from Prometheus, beside those of the settings: one query, whatever their number.

Both are limits, so where both speak the smaller counts. Several quotas in a namespace hold together, and again the
smallest counts. kube-state-metrics does not tell a quota's scopes; a quota of some pods is read as one of all.
"""

from __future__ import annotations

from datetime import datetime

import dataframely as dy
import polars as pl

from recommender.frames import NamespaceQuota
from recommender.observe.fleet import namespace_quotas
from recommender.observe.prometheus import Prometheus, Query
from recommender.settings import PrometheusSettings, RecommenderSettings

QUOTA = "tuppence:namespace_quota:min1h"
_BYTES_PER_GIB = 2.0**30
_COLUMNS = {
    "cpu": "vcpus",
    "requests.cpu": "vcpus",
    "memory": "memory_gib",
    "requests.memory": "memory_gib",
    "requests.nvidia.com/gpu": "gpus",
}
"""Resources by their names in a ResourceQuota (Kubernetes, "Resource Quotas": cpu is the same as requests.cpu)."""
_KEY = ("cluster", "namespace")
_LIMITS = ("vcpus", "memory_gib", "gpus")


def namespace_quotas_at(settings: RecommenderSettings, *, at: datetime) -> dy.DataFrame[NamespaceQuota]:
    """This will return the quotas of the settings and, where Prometheus is the source of usage, those of the clusters.

    Args:
        settings: checked settings.
        at: the moment (UTC); quotas of the two hours before it count.

    Raises:
        SourceError: the server did not answer.
        IntegrityError: its answer is partial.
    """
    told = namespace_quotas(settings.clusters)
    if settings.usage.prometheus is None:
        return told
    seen = read_namespace_quotas(settings.usage.prometheus, at=at)
    known = pl.DataFrame({"cluster": [cluster.name for cluster in settings.clusters]}, schema={"cluster": pl.String})
    both = pl.concat([told, seen.join(known, on="cluster", how="semi")])
    smallest = both.group_by(_KEY).agg(pl.col(name).min() for name in _LIMITS).sort(_KEY)
    return NamespaceQuota.validate(smallest.select(NamespaceQuota.column_names()))


def read_namespace_quotas(settings: PrometheusSettings, *, at: datetime) -> dy.DataFrame[NamespaceQuota]:
    """This will read the hard limits that ResourceQuotas set on requests.

    Raises:
        SourceError, IntegrityError: see namespace_quotas_at.
    """
    labels = (settings.cluster_label, "namespace", "resource")
    query = Query(QUOTA, f"min by ({', '.join(labels)}) (last_over_time({QUOTA}[2h]))")
    with Prometheus(settings) as server:
        found = server.instant(query, at=at, labels=labels).rename({settings.cluster_label: "cluster"})
    limits = found.filter(pl.col("resource").is_in(list(_COLUMNS)) & (pl.col("value") >= 0)).with_columns(
        limit=pl.col("resource").replace_strict(_COLUMNS, default="", return_dtype=pl.String)
    )
    value = pl.when(pl.col("limit") == "memory_gib").then(pl.col("value") / _BYTES_PER_GIB).otherwise("value")
    rows = limits.group_by(_KEY).agg(value.filter(pl.col("limit") == name).min().alias(name) for name in _LIMITS)
    return NamespaceQuota.validate(rows.select(NamespaceQuota.column_names()).sort(_KEY))
