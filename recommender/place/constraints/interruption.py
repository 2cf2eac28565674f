"""Interruption: spot only where the workload tolerates it, and never for high criticality."""

from __future__ import annotations

import polars as pl

from recommender.place.rule import Rule

_SPOT = pl.col("to_capacity_type") == "spot"
_CRITICAL = pl.col("criticality") == "high"
_TOLERATES = pl.col("interruption_tolerance") == "spot"

RULE = Rule(
    id="interruption",
    says="Spot capacity only where the policy says that the workload tolerates it; never for criticality high.",
    refuses=_SPOT & (_CRITICAL | ~_TOLERATES),
    why=pl.when(_CRITICAL)
    .then(pl.lit("spot is not for workloads of criticality high"))
    .otherwise(pl.lit("its policy does not tolerate interruption")),
    binds_current=True,
)
