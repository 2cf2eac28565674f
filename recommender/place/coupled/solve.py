"""Who gets which place: prices of the limits, an assignment at them, and the exact search where that is small."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from recommender.place.coupled.dual import Dual, solve_dual
from recommender.place.coupled.exact import improved
from recommender.place.coupled.options import STAYS, Floats, Ints, Options
from recommender.place.coupled.rounded import gained, rounded


@dataclass(frozen=True, slots=True)
class Solved:
    """An assignment that keeps every limit, what no assignment can exceed, and prices.

    Args:
        picked: for each workload its option, or STAYS for its fallback.
        left: workloads that must move and find no room; they stay where they are.
        bound: £/h, on the gain of assignments that leave the same workloads where they are.
        prices: £/h for the whole of what is free of each limit.
    """

    picked: Ints
    left: Ints
    bound: float
    prices: Floats


def solve(options: Options) -> Solved:
    """This will solve the question; a workload that must move and has no other place comes before all others.

    Equal options give an equal answer. Limits on the search are counts.
    """
    forced = ~np.isfinite(options.fallback)
    if not forced.any():
        return _solved(options, first=None, left=np.empty(0, dtype=np.int64))
    first, left = _forced(options, forced)
    open_options, kept = options.only(~np.isin(options.of, left))
    number = np.full(len(options.gain), STAYS, dtype=np.int64)
    number[kept] = np.arange(len(kept))
    smaller = _solved(open_options, first=number[first], left=left)
    picked = np.full(len(options.w), STAYS, dtype=np.int64)
    of_open = np.flatnonzero(np.isin(options.w, open_options.w))
    taken = smaller.picked != STAYS
    picked[of_open[taken]] = kept[smaller.picked[taken]]
    return replace(smaller, picked=picked)


def _forced(options: Options, forced: np.ndarray) -> tuple[Ints, Ints]:
    """Options for as many as can be placed of those that have no other place, and the workloads that cannot."""
    alone, kept = options.only(forced[options.of])
    reach = 1.0 + float(alone.gain.max(initial=0.0) - alone.gain.min(initial=0.0)) * len(alone.w)
    left_out = float(alone.gain.min(initial=0.0)) - reach
    at_any_price = replace(alone, fallback=np.full(len(alone.w), left_out))
    picked = _solved(at_any_price, first=None, left=np.empty(0, dtype=np.int64)).picked
    return kept[picked[picked != STAYS]], np.flatnonzero(forced)[picked == STAYS]


def _solved(options: Options, *, first: Ints | None, left: Ints) -> Solved:
    dual = solve_dual(options)
    picked = _best_rounded(options, dual, None)
    if picked is None:
        picked = _best_rounded(options, dual, first)
    assert picked is not None
    better = improved(options, picked, dual)
    return Solved(better.picked, left, better.bound * options.scale, dual.prices * options.scale)


def _best_rounded(options: Options, dual: Dual, first: Ints | None) -> Ints | None:
    """The best of the assignments read off the prices tried, the earliest of several as good."""
    found = [one for prices in dual.tried if (one := rounded(options, prices, first=first)) is not None]
    return max(found, key=lambda one: gained(options, one), default=None)
