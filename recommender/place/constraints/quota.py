"""Quota: what the workload needs at its peak fits into what the quotas that hold there have left."""

from __future__ import annotations

import polars as pl

from recommender.place.rule import Rule


def _over(need: str, left: str) -> pl.Expr:
    return (pl.col(need) > pl.col(left)).fill_null(value=False)


_CLUSTER = (
    _over("needs_quota_vcpus", "quota_vcpus")
    | _over("needs_quota_gpus", "quota_gpus")
    | _over("nodes_needed", "quota_nodes")
)
_REGION = _over("needs_quota_vcpus", "region_vcpus") | _over("needs_quota_gpus", "region_gpus")
_NAMESPACE = (
    _over("vcpu_request_peak", "namespace_vcpus")
    | _over("memory_gib_request_peak", "namespace_memory_gib")
    | _over("gpu_request_peak", "namespace_gpus")
)

RULE = Rule(
    id="quota",
    says=(
        "What it needs at its peak fits into what the quotas of the cluster, of the region and of its namespace there "
        "have left."
    ),
    # Moving between pools of one cluster takes both for a while, so the workload's own use is not set off.
    refuses=_CLUSTER | _REGION | _NAMESPACE,
    why=pl.when(_CLUSTER)
    .then(
        pl.format(
            "at peak it needs {} more nodes than the quota of {} lets it have",
            pl.col("nodes_needed").round(1),
            "to_cluster",
        )
    )
    .when(_REGION)
    .then(
        pl.format(
            "at peak it needs nodes of {} vCPU, more than the quota of {} in {} has left",
            pl.col("needs_quota_vcpus").round(1),
            "to_provider",
            "to_region",
        )
    )
    .otherwise(
        pl.format("at peak it requests more than the quota of namespace {} in {} has left", "namespace", "to_cluster")
    ),
)
