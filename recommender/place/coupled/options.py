"""From the frames of gains and uses to arrays: the options that shared limits couple, and what each falls back to.

A workload's places without a limit, and staying, come down to its fallback, the best of them. A place with a limit that
is no better than the fallback is never taken in a best plan, because a price of a limit is never negative; it is left
out without loss. So is a limit that all who want it fit into together, and a place that does not fit by itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

STAYS = -1
TOLERANCE = 1e-9
"""By which a limit may be passed, as a share of it: rounding of sums, no more."""


@dataclass(frozen=True, slots=True)
class Options:
    """Workloads 0 … n−1 that have a place with a limit worth having, and those places, in the order of (w, p).

    Args:
        w: the workloads' numbers in the frames, ascending.
        fallback: the gain of the best place without a limit, or of staying; −∞: it must move and has none.
        fallback_p: that place, STAYS for staying.
        of: for each option, its workload (an index into w).
        first: for each workload, its first option.
        p: for each option, its place.
        gain: for each option, its gain in units of `scale`.
        use_option, use_limit, use_share: what options take of limits, in shares of what is free.
        limits: names of the limits.
        free: what is free of each, in its own unit.
        scale: £/h of one unit of gain.
    """

    w: Ints
    fallback: Floats
    fallback_p: Ints
    of: Ints
    first: Ints
    p: Ints
    gain: Floats
    use_option: Ints
    use_limit: Ints
    use_share: Floats
    limits: tuple[str, ...]
    free: Floats
    scale: float

    def priced(self, prices: Floats) -> Floats:
        """This will return each option's gain less what its uses are worth at the prices of the limits."""
        worth = np.bincount(self.use_option, self.use_share * prices[self.use_limit], len(self.gain))
        return np.asarray(self.gain - worth, dtype=np.float64)

    def best(self, values: Floats) -> Floats:
        """This will return each workload's greatest value over its options."""
        if not len(self.first):
            return np.empty(0)
        return np.asarray(np.maximum.reduceat(values, self.first), dtype=np.float64)

    def taken(self, picked: Ints) -> Floats:
        """This will return the share of each limit that the options picked take together."""
        flags = np.zeros(len(self.gain), dtype=bool)
        flags[picked] = True
        used = flags[self.use_option]
        shares = np.bincount(self.use_limit[used], self.use_share[used], len(self.limits))
        return shares.astype(np.float64)

    def only(self, keep: Flags) -> tuple[Options, Ints]:
        """This will keep some options, and the workloads that have any of them; also the numbers of those kept."""
        kept = np.flatnonzero(keep)
        number = np.cumsum(keep) - 1
        holders, of = np.unique(self.of[kept], return_inverse=True)
        uses = keep[self.use_option]
        smaller = replace(
            self,
            w=self.w[holders],
            fallback=self.fallback[holders],
            fallback_p=self.fallback_p[holders],
            of=of.astype(np.int64),
            first=np.searchsorted(of, np.arange(len(holders))).astype(np.int64),
            p=self.p[kept],
            gain=self.gain[kept],
            use_option=number[self.use_option[uses]],
            use_limit=self.use_limit[uses],
            use_share=self.use_share[uses],
        )
        return smaller, kept


def fallbacks(gains: pl.DataFrame, uses: pl.DataFrame) -> pl.DataFrame:
    """This will return, for each workload, what it does without a place that has a limit.

    Returns:
        w, must_move, fallback_p (null: it stays), fallback (null: it must move and has no such place).
    """
    limited = uses.select("w", "p").unique()
    free_of_limits = (
        gains.join(limited, on=["w", "p"], how="anti")
        .sort("w", "gain_gbp_per_hour", "p", descending=[False, True, False])
        .unique("w", keep="first", maintain_order=True)
        .select("w", fallback_p="p", place="gain_gbp_per_hour")
    )
    everyone = gains.group_by("w").agg(pl.col("must_move").any()).sort("w")
    stays = ~pl.col("must_move") & (pl.col("place").fill_null(-1.0) <= 0)
    return everyone.join(free_of_limits, on="w", how="left", maintain_order="left").select(
        "w",
        "must_move",
        fallback_p=pl.when(~stays).then("fallback_p"),
        fallback=pl.when(stays).then(0.0).otherwise("place"),
    )


def options(gains: pl.DataFrame, uses: pl.DataFrame, otherwise: pl.DataFrame) -> Options:
    """This will keep the options that limits couple.

    Args:
        gains: Gain.
        uses: Use, of pairs that are in gains.
        otherwise: from fallbacks.
    """
    tight = uses.filter(pl.col("amount") > pl.col("free") * (1 + TOLERANCE)).select("w", "p").unique()
    worth = (
        uses.select("w", "p")
        .unique()
        .join(tight, on=["w", "p"], how="anti")
        .join(gains, on=["w", "p"], how="inner")
        .join(otherwise.select("w", "fallback_p", "fallback"), on="w", how="left")
        .filter((pl.col("gain_gbp_per_hour") > pl.col("fallback")).fill_null(value=True))
        .sort("w", "p")
        .with_row_index("option")
    )
    wanted = uses.join(worth.select("w", "p", "option"), on=["w", "p"], how="inner")
    wanted = wanted.with_columns(share=pl.col("amount") / pl.col("free"))
    most = wanted.group_by("limit", "w").agg(pl.col("share").max()).group_by("limit").agg(pl.col("share").sum())
    scarce = most.filter(pl.col("share") > 1.0).select("limit").sort("limit").with_row_index("number")
    free = scarce.join(uses.group_by("limit").agg(pl.col("free").first()), on="limit", maintain_order="left")
    entries = wanted.join(scarce, on="limit", how="inner").sort("option", "number")
    return _arrays(worth, entries, free)


def _arrays(worth: pl.DataFrame, entries: pl.DataFrame, free: pl.DataFrame) -> Options:
    w, first, of = np.unique(worth["w"].to_numpy(), return_index=True, return_inverse=True)
    gain = worth["gain_gbp_per_hour"].to_numpy().astype(np.float64)
    fallback = worth["fallback"].fill_null(float("-inf")).to_numpy().astype(np.float64)[first]
    held = worth["fallback_p"].cast(pl.Int64).fill_null(STAYS).to_numpy()[first]
    scale = float(np.abs(gain).max(initial=0.0)) or 1.0
    return Options(
        w=w.astype(np.int64),
        fallback=fallback / scale,
        fallback_p=held,
        of=of.astype(np.int64),
        first=first.astype(np.int64),
        p=worth["p"].to_numpy().astype(np.int64),
        gain=gain / scale,
        use_option=entries["option"].to_numpy().astype(np.int64),
        use_limit=entries["number"].to_numpy().astype(np.int64),
        use_share=entries["share"].to_numpy().astype(np.float64),
        limits=tuple(free["limit"]),
        free=free["free"].to_numpy().astype(np.float64),
        scale=scale,
    )
