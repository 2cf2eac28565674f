"""Which place each workload is given, where places with a limit are wanted by several.

A greedy choice in a fixed order: places with a limit go to whoever gains most by them per share of what they have free,
over the best place without a limit that the workload could have instead. No limit is ever exceeded. The gap to the
lower bound that the plan states says how far this is from the best.
"""

from __future__ import annotations

import dataframely as dy
import polars as pl

from recommender.frames import Assignment, Gain, Use

_TOLERANCE = 1e-9
_Pair = tuple[int, int]


def choose(gains: dy.DataFrame[Gain], uses: dy.DataFrame[Use]) -> dy.DataFrame[Assignment]:
    """This will give each workload at most one place.

    Args:
        gains: the pairs that are allowed and worth it. A workload that must move takes its best place even at a
            loss, and comes first.
        uses: what each pair takes of each limit; pairs that take nothing are not in it.

    Returns:
        The workloads that move, in the order of w. The same input in any order gives the same answer.
    """
    taken = uses.join(gains.select("w", "p"), on=["w", "p"], how="semi")
    limited = taken.select("w", "p").unique()
    fallback = _best(gains.join(limited, on=["w", "p"], how="anti"))
    ordered = _in_order(gains, taken, fallback)
    free = dict(taken.group_by("limit").agg(pl.col("free").first()).iter_rows())
    needs = _needs(taken)
    given: dict[int, int] = {}
    for w, p in ordered.select("w", "p").iter_rows():
        wanted = needs[w, p]
        if w not in given and all(amount <= free[limit] + _TOLERANCE for limit, amount in wanted):
            given[w] = p
            for limit, amount in wanted:
                free[limit] -= amount
    for w, p in fallback.select("w", "p").iter_rows():
        given.setdefault(w, p)
    return Assignment.validate(
        pl.DataFrame(sorted(given.items()), schema=Assignment.create_empty().schema, orient="row")
    )


def _best(gains: pl.DataFrame) -> pl.DataFrame:
    return gains.sort("w", "gain_gbp_per_hour", "p", descending=[False, True, False]).unique(
        "w", keep="first", maintain_order=True
    )


def _in_order(gains: pl.DataFrame, taken: pl.DataFrame, fallback: pl.DataFrame) -> pl.DataFrame:
    """Limited pairs that beat the fallback: those that must move first, then by gain per share of what is free."""
    share = (pl.col("amount") / pl.col("free")).max().alias("share")
    otherwise = pl.when(pl.col("must_move")).then(float("-inf")).otherwise(0.0)
    return (
        gains.join(taken.group_by("w", "p").agg(share), on=["w", "p"], how="inner")
        .join(fallback.select("w", other_gain="gain_gbp_per_hour"), on="w", how="left")
        .with_columns(over=pl.col("gain_gbp_per_hour") - pl.coalesce("other_gain", otherwise))
        .filter(pl.col("over") > 0)
        .with_columns(
            no_other=pl.col("must_move") & pl.col("other_gain").is_null(),
            order=pl.when("must_move").then("gain_gbp_per_hour").otherwise(pl.col("over") / pl.col("share")),
        )
        .sort("must_move", "no_other", "order", "w", "p", descending=[True, True, True, False, False])
    )


def _needs(taken: pl.DataFrame) -> dict[_Pair, list[tuple[str, float]]]:
    needs: dict[_Pair, list[tuple[str, float]]] = {}
    for w, p, limit, amount in taken.select("w", "p", "limit", "amount").sort("w", "p", "limit").iter_rows():
        needs.setdefault((w, p), []).append((limit, amount))
    return needs
