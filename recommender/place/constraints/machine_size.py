"""Machine size: the largest replica fits on one node beside what Kubernetes keeps for itself."""

from __future__ import annotations

import polars as pl

from recommender.place.rule import Rule

RULE = Rule(
    id="machine_size",
    says="The largest replica fits on what one node leaves for pods.",
    refuses=(pl.col("replicas_per_node") < 1).fill_null(value=False),
    why=pl.format(
        "a replica needs {} vCPU, {} GiB and {} GPU, more than a {} leaves for pods",
        pl.col("replica_vcpus").round(2),
        pl.col("replica_memory_gib").round(2),
        pl.col("replica_gpus").round(2),
        "to_instance_type",
    ),
)
