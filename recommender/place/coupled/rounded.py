"""From prices of the limits to an assignment that keeps every limit.

Workloads take their best option at the prices, those first that would lose most by the next best; who finds no room
takes the best that has. Then room that is left is filled, best gain first, until nothing more can be gained so.
"""

from __future__ import annotations

import numpy as np

from recommender.place.coupled.options import STAYS, TOLERANCE, Floats, Ints, Options

_MOST_PASSES = 8


def rounded(options: Options, prices: Floats, *, first: Ints | None = None) -> Ints | None:
    """This will return the option of each workload, STAYS for its fallback.

    Args:
        options: the question.
        prices: of the limits.
        first: options that are given beforehand.

    Returns:
        None where a workload without a fallback found no room.
    """
    values = options.priced(prices)
    picked = np.full(len(options.w), STAYS, dtype=np.int64)
    free = np.ones(len(options.limits)) + TOLERANCE
    if first is not None:
        picked[options.of[first]] = first
        free -= options.taken(first)
    order, wish = _in_order(options, values, open_=picked == STAYS)
    bulk = _fits_together(options, wish[order], free)
    picked[order[:bulk]] = wish[order[:bulk]]
    free -= options.taken(wish[order[:bulk]])
    _one_by_one(options, values, picked, free, order[bulk:])
    if (picked[~np.isfinite(options.fallback)] == STAYS).any():
        return None
    _fill(options, picked, free)
    return picked


def gained(options: Options, picked: Ints) -> float:
    """This will return the gain of an assignment, in the options' unit."""
    return float(np.where(picked == STAYS, options.fallback, options.gain[picked]).sum())


def _in_order(options: Options, values: Floats, *, open_: np.ndarray) -> tuple[Ints, Ints]:
    """Workloads that want an option at the prices, greatest regret first; and the option each wants most."""
    at_best = np.flatnonzero(values == options.best(values)[options.of])
    wish = at_best[np.flatnonzero(np.diff(options.of[at_best], prepend=-1))]
    others = values.copy()
    others[wish] = -np.inf
    second = options.best(others)
    regret = values[wish] - np.maximum(second, options.fallback)
    needs_room = ~np.isfinite(options.fallback)
    order = np.lexsort((np.arange(len(wish)), -regret, ~needs_room))
    wants = (values[wish] >= options.fallback - TOLERANCE) & open_
    return order[wants[order]], wish


def _fits_together(options: Options, chosen: Ints, free: Floats) -> int:
    """How many of the options, from the first on, fit together into what is free."""
    rank = np.full(len(options.gain), len(chosen), dtype=np.int64)
    rank[chosen] = np.arange(len(chosen))
    rows = np.flatnonzero(rank[options.use_option] < len(chosen))
    rows = rows[np.lexsort((rank[options.use_option[rows]], options.use_limit[rows]))]
    limits = options.use_limit[rows]
    sums = np.append(0.0, np.cumsum(options.use_share[rows]))
    before = sums[np.searchsorted(limits, limits)]
    over = rows[sums[1:] - before > free[limits]]
    return int(rank[options.use_option[over]].min(initial=len(chosen)))


def _one_by_one(options: Options, values: Floats, picked: Ints, free: Floats, order: Ints) -> None:
    """Give each workload the best option at the prices that has room, if it beats the fallback there."""
    uses = _Uses(options)
    ends = np.append(options.first[1:], len(values))
    for one in order.tolist():
        own = np.arange(options.first[one], ends[one])
        for option in own[np.argsort(-values[own], kind="stable")].tolist():
            if values[option] < options.fallback[one] - TOLERANCE:
                break
            if uses.take(option, free):
                picked[one] = option
                break


def _fill(options: Options, picked: Ints, free: Floats) -> None:
    """Move workloads to options that gain more and have room, best first, as long as any does."""
    uses = _Uses(options)
    for _ in range(_MOST_PASSES):
        now = np.where(picked == STAYS, options.fallback, options.gain[picked])
        better = options.gain - now[options.of]
        short = np.bincount(options.use_option, options.use_share > free[options.use_limit], len(better))
        able = np.flatnonzero((better > TOLERANCE) & (short == 0))
        if not len(able):
            return
        moved: set[int] = set()
        for option in able[np.argsort(-better[able], kind="stable")].tolist():
            one = int(options.of[option])
            if one not in moved and uses.take(option, free):
                if picked[one] != STAYS:
                    uses.give_back(int(picked[one]), free)
                picked[one] = option
                moved.add(one)


class _Uses:
    """What each option takes, found by its number."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._first = np.searchsorted(options.use_option, np.arange(len(options.gain) + 1))

    def take(self, option: int, free: Floats) -> bool:
        """Take the option's room if it is there."""
        rows = slice(self._first[option], self._first[option + 1])
        limits, shares = self._options.use_limit[rows], self._options.use_share[rows]
        if (shares > free[limits]).any():
            return False
        free[limits] -= shares
        return True

    def give_back(self, option: int, free: Floats) -> None:
        """Give the option's room back."""
        rows = slice(self._first[option], self._first[option + 1])
        free[self._options.use_limit[rows]] += self._options.use_share[rows]
