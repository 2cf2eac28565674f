"""What spot capacity costs beside its price: expected interruptions, and the work that is done again.

A node is taken away λ times an hour; a gang of n stops when any of its nodes goes: 1 − (1 − λ)ⁿ. An interruption
costs the policy's penalty (a greater one where the class's goal is reliability), and half a checkpoint interval plus
the restart at the price of what runs. Each replica is taken to stand on a node of its own, the worst case. λ is a prior
of the policy (recommender.settings.SpotRisk).
"""

from __future__ import annotations

import polars as pl

from exporters.core.units import HOURS_PER_MONTH
from recommender.settings import Policy


def interruption_terms(policy: Policy, *, compute: str) -> list[pl.Expr]:
    """This will return the two terms of spot and what they rest on.

    Args:
        policy: rates of interruption, the penalty, the minutes of a restart.
        compute: the column with the price of the workload's hour there.

    Returns:
        interruptions_per_hour (of the whole workload), interruption_gbp_per_hour, lost_work_gbp_per_hour; zero where
        the capacity type is not spot.
    """
    on_spot = pl.col("to_capacity_type") == "spot"
    of_gang = 1.0 - (1.0 - _per_node_hour(policy)).pow(pl.col("gang_size"))
    gangs = pl.col("replicas_mean") / pl.col("gang_size")
    events = pl.when(on_spot).then(of_gang * gangs).otherwise(0.0)
    lost_hours = (pl.col("checkpoint_minutes") / 2.0 + policy.weights.restart_minutes) / 60.0
    weights = policy.weights
    reliable = (pl.col("goal") == "reliability").fill_null(value=False)
    penalty = pl.when(reliable).then(weights.reliability_interruption_gbp).otherwise(weights.interruption_gbp)
    one_gang = pl.when(gangs > 0).then(pl.col(compute) / gangs).otherwise(0.0)
    return [
        events.alias("interruptions_per_hour"),
        (events * penalty).alias("interruption_gbp_per_hour"),
        pl.when(on_spot).then(events * lost_hours * one_gang).otherwise(0.0).alias("lost_work_gbp_per_hour"),
    ]


def _per_node_hour(policy: Policy) -> pl.Expr:
    spot = policy.spot
    named = pl.col("to_provider").replace_strict(
        list(spot.interruptions_per_month),
        list(spot.interruptions_per_month.values()),
        default=spot.default_interruptions_per_month,
        return_dtype=pl.Float64,
    )
    return (named / HOURS_PER_MONTH).clip(0.0, 1.0)
