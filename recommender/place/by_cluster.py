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
_WORKLOADS_A_SLICE = 20_000


def by_cluster(here: pl.DataFrame, pairs: pl.DataFrame) -> dy.DataFrame[ClusterCost]:
    """This will reduce all places to the cheapest allowed one of each workload, cluster and capacity type.

    Args:
        here: workloads where they are, with their cost, `breaks` and `reason`.
        pairs: the candidates with `refused`, the ids of the constraints that refuse each.
    """
    key = ["from_cluster", *WORKLOAD_KEY[1:]]
    known = here.filter(pl.col("reason").is_null() & ~pl.col("is_system")).sort(key)
    elsewhere = pairs.select(
        "w",
        *(f"to_{name}" for name in _PLACE),
        "gbp_per_hour",
        rules="refused",
        is_current=pl.lit(value=False),
    )
    # A slice at a time, in the order of the key: millions of rows are never sorted and checked together.
    parts = known.iter_slices(_WORKLOADS_A_SLICE) if known.height else [known]
    return ClusterCost.cast(pl.concat(_reduced(part, key, elsewhere) for part in parts))


def _reduced(known: pl.DataFrame, key: list[str], elsewhere: pl.DataFrame) -> dy.DataFrame[ClusterCost]:
    rows = pl.concat([_staying(known), elsewhere.join(known.select("w"), on="w", how="semi")])
    named = (
        _cheapest(rows).join(known.select("w", *key), on="w", how="inner").sort(*key, "to_cluster", "to_capacity_type")
    )
    return ClusterCost.validate(named.rename({"from_cluster": "cluster"}).select(ClusterCost.column_names()))


def _staying(known: pl.DataFrame) -> pl.DataFrame:
    return known.select(
        "w",
        *(pl.col(f"from_{name}").alias(f"to_{name}") for name in _PLACE),
        "gbp_per_hour",
        rules="breaks",
        is_current=pl.lit(value=True),
    )


def _cheapest(rows: pl.DataFrame) -> pl.DataFrame:
    law = pl.col("rules").list.set_difference(list(ROOM_RULES))
    judged = rows.with_columns(
        allowed=(law.list.len() == 0) & pl.col("gbp_per_hour").is_not_null(),
        has_room=pl.col("rules").list.len() == 0,
    )
    group = ["w", "to_cluster", "to_capacity_type"]
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
    )
