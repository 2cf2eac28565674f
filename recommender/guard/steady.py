"""Steadiness: a move is advised only if it saves enough, pays back soon, disturbs little for it, and not again so soon.

Thresholds are the policy's (`steady`). The balance test is Karpenter's balanced consolidation (saving share over
disruption share at least one half) laid over the moves out of one pool, whose workloads are alike: a move earns at
least half of the saving that its share of the disruption would. Disruption is replicas × criticality (low 1, medium 2,
high 4). Recent moves come from the ledger as a frame.
"""

from __future__ import annotations

from datetime import datetime

import dataframely as dy
import polars as pl

from exporters.core.units import HOURS_PER_MONTH
from recommender.frames import WORKLOAD_KEY, Move
from recommender.place.rule import Rule
from recommender.settings import Steady

MIN_BALANCE_RATIO = 0.5
_DISRUPTION = {"low": 1.0, "medium": 2.0, "high": 4.0}
_SAVING_A_MONTH = pl.col("saving_gbp_per_hour") * HOURS_PER_MONTH


def with_saving(costs: pl.DataFrame) -> pl.DataFrame:
    """This will add what the guards look at.

    Args:
        costs: pairs with current_gbp_per_hour, gbp_per_hour, one_off_gbp.

    Returns:
        The rows with `saving_gbp_per_hour` (negative: dearer), `saving_ratio` of the current cost, `payback_hours`
        (null: never).
    """
    saving = pl.col("current_gbp_per_hour") - pl.col("gbp_per_hour")
    return costs.with_columns(saving_gbp_per_hour=saving).with_columns(
        saving_ratio=pl.when(pl.col("current_gbp_per_hour") > 0)
        .then(saving / pl.col("current_gbp_per_hour"))
        .otherwise(0.0),
        payback_hours=pl.when(saving > 0).then(pl.col("one_off_gbp") / saving),
    )


def with_history(costs: pl.DataFrame, moves: dy.DataFrame[Move], *, at: datetime) -> pl.DataFrame:
    """This will add when each workload last moved and where from: `last_moved_at`, `hours_since_move`.

    `hours_since_left` is since it last left the place of the pair, however many moves ago; null: it never did.

    Args:
        costs: pairs with the workload's key under from_cluster, namespace, workload_kind, workload.
        moves: moves of the past.
        at: the time of the evaluation.
    """
    last = (
        moves.sort(*WORKLOAD_KEY, "moved_at")
        .unique(WORKLOAD_KEY, keep="last", maintain_order=True)
        .select(WORKLOAD_KEY, last_moved_at="moved_at")
        .rename({"cluster": "from_cluster"})
    )
    left = (
        moves.rename({"cluster": "at", "from_cluster": "to_cluster", "from_pool": "to_pool"})
        .group_by("at", *WORKLOAD_KEY[1:], "to_cluster", "to_pool")
        .agg(left_at=pl.col("moved_at").max())
        .rename({"at": "from_cluster"})
    )
    key = ["from_cluster", *WORKLOAD_KEY[1:]]
    return (
        costs.join(last, on=key, how="left", maintain_order="left")
        .join(left, on=[*key, "to_cluster", "to_pool"], how="left", maintain_order="left")
        .with_columns(
            hours_since_move=(pl.lit(at) - pl.col("last_moved_at")).dt.total_seconds() / 3600.0,
            hours_since_left=(pl.lit(at) - pl.col("left_at")).dt.total_seconds() / 3600.0,
            minutes_seen=(pl.lit(at) - pl.col("first_seen")).dt.total_seconds() / 60.0,
        )
        .drop("left_at")
    )


def worth_rules(steady: Steady) -> tuple[Rule, ...]:
    """This will return the guards of money and of time, most telling first; all but the balance test."""
    return (*_money_rules(steady), *_time_rules(steady))


def _money_rules(steady: Steady) -> tuple[Rule, ...]:
    return (
        Rule(
            id="no_saving",
            says="It costs less than where the workload runs now.",
            refuses=pl.col("saving_gbp_per_hour") <= 0,
            why=pl.lit("it costs as much as where the workload runs, or more"),
        ),
        Rule(
            id="min_saving",
            says="It saves at least the policy's pounds a month.",
            refuses=steady.min_saving_gbp_per_month > _SAVING_A_MONTH,
            why=pl.format(
                "it saves £{} a month, the threshold is £{}",
                _SAVING_A_MONTH.round(2),
                pl.lit(steady.min_saving_gbp_per_month),
            ),
        ),
        Rule(
            id="min_saving_ratio",
            says="It saves at least the policy's share of the current cost.",
            refuses=pl.col("saving_ratio") < steady.min_saving_ratio,
            why=pl.format(
                "it saves {} % of the cost, the threshold is {} %",
                (pl.col("saving_ratio") * 100).round(1),
                pl.lit(round(steady.min_saving_ratio * 100, 1)),
            ),
        ),
        Rule(
            id="payback",
            says="What the move costs once comes back inside the payback horizon.",
            refuses=pl.col("payback_hours").fill_null(float("inf")) > steady.payback_hours,
            why=pl.format(
                "moving it costs £{} once, more than it saves in {} hours",
                pl.col("one_off_gbp").round(2),
                pl.lit(steady.payback_hours),
            ),
        ),
    )


def _time_rules(steady: Steady) -> tuple[Rule, ...]:
    hours_since = pl.col("hours_since_move")
    return (
        Rule(
            id="cool_down",
            says="The workload has not moved inside the cool-down.",
            refuses=(hours_since < steady.cool_down_hours).fill_null(value=False),
            why=pl.format("it moved {} hours ago, the cool-down is {}", hours_since.round(1), steady.cool_down_hours),
        ),
        Rule(
            id="minimum_runtime",
            says="The workload has run for its minimum runtime, since it was first seen and since it last moved.",
            refuses=(
                pl.min_horizontal("minutes_seen", hours_since * 60.0) < pl.col("minimum_runtime_minutes")
            ).fill_null(value=False),
            why=pl.format("its minimum runtime of {} minutes has not passed", pl.col("minimum_runtime_minutes")),
        ),
        Rule(
            id="undo",
            says="It does not go back to a place that it left inside the payback horizon.",
            refuses=(pl.col("hours_since_left") < steady.payback_hours).fill_null(value=False),
            why=pl.format("it would undo the move of {} hours ago", pl.col("hours_since_left").round(1)),
        ),
    )


BALANCE = Rule(
    id="balance",
    says="Its share of the saving out of its pool is at least half of its share of the disruption.",
    refuses=pl.col("balance_ratio") < MIN_BALANCE_RATIO,
    why=pl.format(
        "it brings {} of the saving that its share of the disruption out of the pool calls for, at least {} is wanted",
        pl.col("balance_ratio").round(2),
        pl.lit(MIN_BALANCE_RATIO),
    ),
)


def with_balance(costs: pl.DataFrame, *, possible: pl.Expr) -> pl.DataFrame:
    """This will add `disruption` and `balance_ratio`: share of the saving over share of the disruption.

    Args:
        costs: pairs with savings.
        possible: which pairs pass every other rule; the best of each workload makes up its pool's totals.

    Returns:
        The rows; a workload with no disruption, or alone in its pool, has the ratio 1.
    """
    weight = pl.col("criticality").replace_strict(_DISRUPTION, default=_DISRUPTION["high"], return_dtype=pl.Float64)
    rows = costs.with_columns(disruption=pl.col("replicas_mean") * weight)
    best = (
        rows.filter(possible)
        .group_by("w", maintain_order=True)
        .agg(
            pl.col("from_cluster", "from_pool", "disruption").first(),
            pl.col("saving_gbp_per_hour").max(),
        )
    )
    totals = best.group_by("from_cluster", "from_pool", maintain_order=True).agg(
        pool_saving=pl.col("saving_gbp_per_hour").sum(), pool_disruption=pl.col("disruption").sum()
    )
    ratio = (pl.col("saving_gbp_per_hour") / pl.col("pool_saving")) / (pl.col("disruption") / pl.col("pool_disruption"))
    whole = (pl.col("pool_saving") > 0) & (pl.col("disruption") > 0) & (pl.col("pool_disruption") > 0)
    return (
        rows.join(totals, on=["from_cluster", "from_pool"], how="left", maintain_order="left")
        .with_columns(balance_ratio=pl.when(whole).then(ratio).otherwise(1.0))
        .drop("pool_saving", "pool_disruption")
    )
