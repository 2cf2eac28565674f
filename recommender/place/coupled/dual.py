"""Prices of the limits, and the most that any assignment can gain: the Lagrangian dual.

At prices λ ≥ 0 every workload takes its best option by itself, and what it gains is at most

    L(λ) = Σ λ + Σ_w max(fallback_w, max over options of gain − Σ λ × share),

which no assignment that keeps the limits can exceed, whatever λ is (Geoffrion 1974). L is convex and piecewise linear;
it is minimised by cutting planes inside a box around the best prices so far (Marsten, Hogan and Blankenship 1975, the
boxstep method), each step a linear programme of one variable a limit. Steps are counted, time is not looked at.
"""

from __future__ import annotations

from dataclasses import dataclass

import highspy
import numpy as np

from recommender.place.coupled.options import Floats, Ints, Options
from recommender.place.packing.highs import quiet_solver

_MOST_STEPS = 300
_CLOSE = 1e-6
_GOOD = 0.3
_MANY_OPTIONS = 20_000
_KEPT = {True: 6, False: 40}
_PATIENCE = 2
_SHRINKS, _GROWS = 0.7, 2.0
_INFINITY = highspy.kHighsInf


@dataclass(frozen=True, slots=True)
class Dual:
    """Prices of the limits (units of gain for the whole of a limit), and L there, a bound on what can be gained.

    `tried` are prices that were looked at on the way, the latest last.
    """

    prices: Floats
    bound: float
    tried: tuple[Floats, ...]


def evaluate(options: Options, prices: Floats) -> tuple[float, Floats]:
    """This will return L at the prices and a subgradient."""
    values = options.priced(prices)
    best = options.best(values)
    takes = (values == best[options.of]) & (values > options.fallback[options.of])
    picked = np.flatnonzero(takes)
    picked = picked[_firsts(options.of[picked])]
    bound = float(prices.sum() + np.maximum(best, options.fallback).sum())
    return bound, 1.0 - options.taken(picked)


def solve_dual(options: Options, *, close: float = _CLOSE, most_steps: int = _MOST_STEPS) -> Dual:
    """This will lower the bound until it is within `close` of the least, or the steps are spent.

    Args:
        options: those of a problem in which every workload that must be placed can be.
        close: of the bound, relative.
        most_steps: most evaluations of L.
    """
    at = np.zeros(len(options.limits))
    value, slope = evaluate(options, at)
    if (slope >= 0).all():
        return Dual(at, value, (at,))
    planes = _Planes(len(at))
    planes.add(value, slope, at)
    box, misses = _first_box(options), 0
    tried = [at]
    for _ in range(most_steps - 1):
        aim, promised = planes.lowest(np.maximum(at - box, 0.0), at + box)
        inside = (np.abs(aim - at) < box * (1 - 1e-9)) | ((aim <= 0) & (at <= box))
        if value - promised <= close * max(abs(value), close):
            if inside.all():
                break
            box = box * 4.0
            continue
        there, slope = evaluate(options, aim)
        planes.add(there, slope, aim)
        tried.append(aim)
        if there < value:
            good = value - there >= _GOOD * (value - promised)
            at, value, misses = aim, there, 0
            box = np.where(good & ~inside, box * _GROWS, box)
            continue
        misses += 1
        if misses == _PATIENCE:
            box, misses = box * _SHRINKS, 0
    kept = _KEPT[len(options.gain) > _MANY_OPTIONS]
    return Dual(at, value, (*tried[-kept:], at))


class _Planes:
    """The planes under L found so far, as a linear programme in the prices and the least that L can be."""

    def __init__(self, limits: int) -> None:
        self._limits = limits
        self._solver = quiet_solver()
        self._columns = np.arange(limits, dtype=np.int32)
        for _ in range(limits):
            self._solver.addVar(0.0, _INFINITY)
        self._solver.addVar(-_INFINITY, _INFINITY)
        self._solver.changeColCost(limits, 1.0)

    def add(self, value: float, slope: Floats, at: Floats) -> None:
        """L ≥ value + slope × (λ − at), everywhere."""
        entries = np.append(-slope, 1.0)
        columns = np.arange(self._limits + 1, dtype=np.int32)
        self._solver.addRow(value - float(slope @ at), _INFINITY, len(columns), columns, entries)

    def lowest(self, low: Floats, high: Floats) -> tuple[Floats, float]:
        """The prices inside the box at which the planes are lowest, and how low they are there."""
        self._solver.changeColsBounds(self._limits, self._columns, low, high)
        self._solver.run()
        solution = np.array(self._solver.getSolution().col_value)
        return np.clip(solution[: self._limits], low, high), float(solution[self._limits])


def _first_box(options: Options) -> Floats:
    """For each limit, the gain over the fallback of what is just left out when it is filled by gain per share."""
    over = options.gain - np.where(np.isfinite(options.fallback), options.fallback, 0.0)[options.of]
    density = np.maximum(over[options.use_option], 0.0) / options.use_share
    rows = np.lexsort((-density, options.use_limit))
    limits = options.use_limit[rows]
    sums = np.append(0.0, np.cumsum(options.use_share[rows]))
    left_out = sums[1:] - sums[np.searchsorted(limits, limits)] > 1.0
    box = np.full(len(options.limits), 1e-6)
    np.maximum.at(box, limits[left_out], density[rows[left_out]])
    return box


def _firsts(values: Ints) -> Ints:
    return np.flatnonzero(np.diff(values, prepend=-1))
