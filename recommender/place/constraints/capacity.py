"""Capacity: requests at peak fit into what a limited pool has free after what it already runs."""

from __future__ import annotations

import polars as pl

from recommender.place.rule import Rule

_SHORT = (
    (pl.col("vcpu_request_peak") > pl.col("free_vcpus"))
    | (pl.col("memory_gib_request_peak") > pl.col("free_memory_gib"))
    | (pl.col("gpu_request_peak") > pl.col("free_gpus"))
)

RULE = Rule(
    id="capacity",
    says="Requests at peak fit into what the pool has free after what it already runs at peak.",
    refuses=_SHORT.fill_null(value=False),
    why=pl.format(
        "at peak it needs {} vCPU, {} GiB and {} GPU, the pool has {}, {} and {} free",
        pl.col("vcpu_request_peak").round(2),
        pl.col("memory_gib_request_peak").round(2),
        pl.col("gpu_request_peak").round(2),
        pl.col("free_vcpus").round(2),
        pl.col("free_memory_gib").round(2),
        pl.col("free_gpus").round(2),
    ),
)
