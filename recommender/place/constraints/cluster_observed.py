"""Observation: a place with a limit must have been seen, because silence is not idleness."""

from __future__ import annotations

import polars as pl

from recommender.place.rule import Rule

_LIMITED = pl.col("to_nodes_limited") | pl.col("to_has_quota")

RULE = Rule(
    id="cluster_observed",
    says="The cluster of a place with a limit was observed in the window, so that its free room is known.",
    refuses=_LIMITED & ~pl.col("to_observed"),
    why=pl.format("nothing was observed of {}, so what it has free is not known", "to_cluster"),
)
