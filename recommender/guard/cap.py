"""The most moves a week that the policy allows, counting those already made."""

from __future__ import annotations

from datetime import datetime, timedelta

import dataframely as dy
import polars as pl

from recommender.frames import Move


def moves_left(moves: dy.DataFrame[Move], *, at: datetime, max_moves_per_week: int) -> int:
    """This will return how many moves the seven days up to now leave."""
    recent = moves.filter(pl.col("moved_at") > at - timedelta(days=7)).height
    return max(0, max_moves_per_week - recent)


def within_cap(chosen: pl.DataFrame, *, left: int) -> pl.DataFrame:
    """This will mark the moves that the cap lets through, those that disturb least for what they save first.

    Args:
        chosen: w, must_move, saving_gbp_per_hour, disruption; a move owed to a rule is not held back and takes no room.
        left: from moves_left.

    Returns:
        The rows with `within_cap`.
    """
    disturbs = pl.col("disruption") / pl.col("saving_gbp_per_hour")
    order = pl.struct(pl.col("must_move"), disturbs, -pl.col("saving_gbp_per_hour"), pl.col("w")).rank("ordinal")
    return chosen.with_columns(within_cap=pl.col("must_move") | (order <= left))
