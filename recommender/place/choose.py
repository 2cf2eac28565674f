"""Which place each workload is given, where places with a limit are wanted by several.

The best assignment that keeps every limit, with a bound that no assignment can exceed and the price of each limit: what
one more unit of it would be worth. A workload that must move takes its best place even at a loss, and one that has no
place without a limit comes before everybody else.
"""

from __future__ import annotations

from dataclasses import dataclass

import dataframely as dy
import numpy as np
import polars as pl

from recommender.frames import Assignment, Gain, LimitPrice, Use
from recommender.place.coupled.options import STAYS, Options, fallbacks, options
from recommender.place.coupled.solve import Solved, solve


@dataclass(frozen=True, slots=True)
class Chosen:
    """Who goes where.

    Args:
        assignment: the workloads that move, in the order of w.
        gain_bound_gbp_per_hour: what no assignment that keeps the limits can gain more than, among those that leave
            the same workloads without a place that must move.
        prices: of the limits that are scarce.
    """

    assignment: dy.DataFrame[Assignment]
    gain_bound_gbp_per_hour: float
    prices: dy.DataFrame[LimitPrice]


def choose(gains: dy.DataFrame[Gain], uses: dy.DataFrame[Use]) -> Chosen:
    """This will give each workload at most one place.

    Args:
        gains: the pairs that are allowed and worth it. A workload that must move takes its best place even at a
            loss, and comes first.
        uses: what each pair takes of each limit; pairs that take nothing are not in it.

    Returns:
        The choice; the same input in any order gives the same.
    """
    taken = uses.join(gains.select("w", "p"), on=["w", "p"], how="semi")
    otherwise = fallbacks(gains, taken)
    coupled = options(gains, taken, otherwise)
    solved = solve(coupled)
    alone = otherwise.join(pl.DataFrame({"w": coupled.w}).cast({"w": pl.UInt32}), on="w", how="anti")
    by_itself = alone.select(pl.col("w"), p="fallback_p").drop_nulls("p")
    assignment = pl.concat([by_itself, _given(coupled, solved)]).sort("w")
    return Chosen(
        assignment=Assignment.validate(assignment),
        gain_bound_gbp_per_hour=float(alone["fallback"].fill_null(0.0).sum()) + solved.bound,
        prices=_prices(coupled, solved),
    )


def _given(coupled: Options, solved: Solved) -> pl.DataFrame:
    picked = solved.picked
    place = np.where(picked == STAYS, coupled.fallback_p, coupled.p[picked] if len(coupled.p) else STAYS)
    moves = place != STAYS
    return pl.DataFrame({"w": coupled.w[moves], "p": place[moves]}).cast({"w": pl.UInt32, "p": pl.UInt32})


def _prices(coupled: Options, solved: Solved) -> dy.DataFrame[LimitPrice]:
    prices = solved.prices / np.where(coupled.free > 0, coupled.free, 1.0)
    rows = pl.DataFrame({"limit": list(coupled.limits), "gbp_per_unit_hour": prices, "free": coupled.free})
    return LimitPrice.validate(rows.filter(pl.col("gbp_per_unit_hour") > 0).cast(LimitPrice.create_empty().schema))
