"""Local volumes: a workload bound to a node's own disks does not move."""

from __future__ import annotations

import polars as pl

from recommender.place.rule import Rule

RULE = Rule(
    id="local_volume",
    says="A workload bound to a node's local volumes does not move.",
    refuses=pl.col("local_volume"),
    why=pl.lit("it is bound to a node's local volumes"),
)
