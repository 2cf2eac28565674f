"""Quota: machines for the workload at its peak fit into what the cluster's quota has left."""

from __future__ import annotations

import polars as pl

from recommender.place.rule import Rule

_SHORT = (
    (pl.col("needs_quota_vcpus") > pl.col("quota_vcpus")).fill_null(value=False)
    | (pl.col("needs_quota_gpus") > pl.col("quota_gpus")).fill_null(value=False)
    | (pl.col("nodes_needed") > pl.col("quota_nodes")).fill_null(value=False)
)

RULE = Rule(
    id="quota",
    says="Machines for the workload at its peak fit into what the cluster's quota has left.",
    # Moving between pools of one cluster takes both for a while, so the workload's own use is not set off.
    refuses=_SHORT,
    why=pl.format(
        "at peak it needs {} more nodes than the quota of {} lets it have",
        pl.col("nodes_needed").round(1),
        "to_cluster",
    ),
)
