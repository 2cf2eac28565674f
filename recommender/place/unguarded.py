"""What the rules and the room alone allow: the least that any plan can cost, whatever guards and people hold back.

The same question as that of the plan, with the same constraints and limits, but without guards, decisions, the cap on
moves and what moving costs once: those are policy, and what they withhold is told apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import dataframely as dy
import polars as pl

from recommender.frames import Gain, LimitPrice
from recommender.place.capacity import read_by_uses, uses
from recommender.place.choose import Chosen, choose


@dataclass(frozen=True, slots=True)
class Unguarded:
    """The best that the rules and the room allow, as gains against where everything runs now, £/h.

    Args:
        gain_gbp_per_hour: of the best assignment known, the plan's own included.
        bound_gbp_per_hour: what no assignment can gain more than.
        prices: of scarce limits.
    """

    gain_gbp_per_hour: float
    bound_gbp_per_hour: float
    prices: dy.DataFrame[LimitPrice]


def unguarded(pairs: pl.DataFrame, moving: pl.DataFrame) -> Unguarded:
    """This will solve the question without guards.

    Args:
        pairs: judged pairs.
        moving: the pairs that the plan moves. A breach that the plan leaves may be left here too, so that the bound
            holds for the plan.
    """
    legal = pairs.select("w", "p", "current_gbp_per_hour", "gbp_per_hour", "refused", *read_by_uses()).filter(
        pl.col("refused").list.len() == 0
    )
    resolved = moving.filter("must_move").select("w", resolved=True)
    gains = (
        legal.join(resolved, on="w", how="left", maintain_order="left")
        .select(
            "w",
            "p",
            gain_gbp_per_hour=pl.col("current_gbp_per_hour") - pl.col("gbp_per_hour"),
            must_move=pl.col("resolved").fill_null(value=False),
        )
        .pipe(Gain.validate)
    )
    taken = uses(legal)
    del legal  # Millions of rows that the choice does not read.
    chosen = choose(gains, taken)
    if not resolved.join(chosen.assignment, on="w", how="anti").is_empty():
        chosen = choose(Gain.validate(gains.with_columns(must_move=pl.lit(value=False))), taken)
    planned = float((moving["current_gbp_per_hour"] - moving["gbp_per_hour"]).sum())
    best = max(planned, _gain(chosen, gains))
    return Unguarded(best, max(best, chosen.gain_bound_gbp_per_hour), chosen.prices)


def _gain(chosen: Chosen, gains: pl.DataFrame) -> float:
    return float(chosen.assignment.join(gains, on=["w", "p"], how="left")["gain_gbp_per_hour"].sum())
