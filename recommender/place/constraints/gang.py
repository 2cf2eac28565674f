"""Gang: all members run together, in one pool, on whole nodes that are there."""

from __future__ import annotations

import polars as pl

from recommender.place.rule import Rule

_NODES = (pl.col("gang_size") / pl.col("replicas_per_node")).ceil()

RULE = Rule(
    id="gang",
    says="All members of a gang find room at once on whole free nodes of one pool.",
    refuses=((pl.col("gang_size") > 1) & (pl.col("free_nodes") < _NODES)).fill_null(value=False),
    why=pl.format(
        "a gang of {} needs {} whole nodes at once, {} are free",
        "gang_size",
        _NODES.cast(pl.Int64, strict=False),
        pl.col("free_nodes").cast(pl.Int64),
    ),
)
