"""What every workload costs in every cluster, and whether the rules let it be there: what a score or a manifest reads.

    pairs judged by the constraints, workloads where they are → one row a workload, cluster and capacity type

A row is of the cheapest place that is allowed. Room is told apart from right: a cluster that is full today is allowed,
one that the policy forbids is not, whatever it costs. Nothing here is a price that was guessed.
"""

from __future__ import annotations

import dataframely as dy
import polars as pl

from recommender.frames import WORKLOAD_KEY, ClusterCost
from recommender.place.constraints import capacity, cluster_observed, quota

ROOM_RULES = (capacity.RULE.id, quota.RULE.id, cluster_observed.RULE.id)
"""Rules that say whether something fits now; every other says whether it may be there at all."""

_PLACE = ("cluster", "pool", "instance_type", "capacity_type")


def by_cluster(here: pl.DataFrame, pairs: pl.DataFrame) -> dy.DataFrame[ClusterCost]:
    """This will reduce all places to the cheapest allowed one of each workload, cluster and capacity type.

    Args:
        here: workloads where they are, with their cost, `breaks` and `reason`.
        pairs: the candidates with `refused`, the ids of the constraints that refuse each.
    """
    own = [pl.col("from_cluster").alias(name) if name == "cluster" else pl.col(name) for name in WORKLOAD_KEY]
    known = here.filter(pl.col("reason").is_null() & ~pl.col("is_system"))
    stay = known.select(
        *own,
        *(pl.col(f"from_{name}").alias(f"to_{name}") for name in _PLACE),
        "gbp_per_hour",
        rules="breaks",
        is_current=pl.lit(value=True),
    )
    elsewhere = pairs.select("w", *(f"to_{name}" for name in _PLACE), "gbp_per_hour", rules="refused")
    moved = elsewhere.join(known.select("w", *own), on="w", how="inner", maintain_order="left").select(
        *(name for name in stay.columns if name != "is_current"), is_current=pl.lit(value=False)
    )
    return ClusterCost.validate(_cheapest(pl.concat([stay, moved])))


def _cheapest(rows: pl.DataFrame) -> pl.DataFrame:
    law = pl.col("rules").list.set_difference(list(ROOM_RULES))
    judged = rows.with_columns(
        allowed=(law.list.len() == 0) & pl.col("gbp_per_hour").is_not_null(),
        has_room=pl.col("rules").list.len() == 0,
    )
    group = [*WORKLOAD_KEY, "to_cluster", "to_capacity_type"]
    return (
        judged.with_columns(gbp_per_hour=pl.when("allowed").then("gbp_per_hour"))
        .sort(
            *group,
            pl.col("allowed"),
            pl.col("gbp_per_hour"),
            pl.col("to_pool"),
            pl.col("to_instance_type"),
            descending=[*[False] * len(group), True, False, False, False],
            nulls_last=True,
        )
        .group_by(group, maintain_order=True)
        .first()
        .select(ClusterCost.column_names())
    )
