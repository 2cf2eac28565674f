"""The exact answer where the question is small: the integer programme over the options that can still matter.

At given prices an option, or a fallback, that is worse for its workload than the best by more than the distance between
bound and plan is in no better plan (reduced-cost fixing), so what is left is often small, however large the question.
HiGHS searches it with one thread and a count of nodes, so that the same question gives the same answer.
"""

from __future__ import annotations

from dataclasses import dataclass

import highspy
import numpy as np

from recommender.place.coupled.dual import Dual
from recommender.place.coupled.options import STAYS, TOLERANCE, Flags, Floats, Ints, Options
from recommender.place.coupled.rounded import gained
from recommender.place.packing.highs import quiet_solver

MOST_BINARIES = 600
SMALL = 300
"""Up to so many binaries the search goes on to the best; above, until one in ten thousand."""
_ROUNDING = 1e-9
_NEAR = 1e-4
_MOST_NODES = {True: 500, False: 30}


@dataclass(frozen=True, slots=True)
class Improved:
    """An assignment at least as good as the one given, and a bound at least as low."""

    picked: Ints
    bound: float


def improved(options: Options, picked: Ints, dual: Dual) -> Improved:
    """This will search the options that a better assignment may hold, unless they are too many.

    Args:
        options: the question.
        picked: an assignment.
        dual: prices and a bound.
    """
    value = gained(options, picked)
    gap = dual.bound - value
    if gap <= _ROUNDING * max(1.0, abs(value)):
        return Improved(picked, dual.bound)
    values = options.priced(dual.prices)
    best = np.maximum(options.best(values), options.fallback)
    behind = best[options.of] - values
    falls_back = best - options.fallback <= gap + _ROUNDING
    can_be = behind <= gap + _ROUNDING
    possible = np.bincount(options.of[can_be], minlength=len(options.w)) + falls_back
    can_be &= possible[options.of] > 1
    if not 0 < int(can_be.sum()) <= MOST_BINARIES:
        return Improved(picked, dual.bound)
    small = int(can_be.sum()) <= SMALL
    found, most = _search(options, picked, (can_be, falls_back), near=0.0 if small else _NEAR * abs(value))
    if found is None or gained(options, found) <= value:
        found = picked
    return Improved(found, max(min(dual.bound, most), gained(options, found)))


def _search(options: Options, picked: Ints, possible: tuple[Flags, Flags], *, near: float) -> tuple[Ints | None, float]:
    """The best assignment found, workloads without a choice where they are; and what none of these can exceed.

    Args:
        options: the question.
        picked: an assignment.
        possible: which options, and which workloads' fallbacks, may be chosen.
        near: how close to the best the search may end.
    """
    can_be, falls_back = possible
    core, kept = options.only(can_be)
    in_core = np.isin(options.w, core.w)
    found = np.where(in_core, STAYS, picked)
    room = np.maximum(1.0 - options.taken(found[found != STAYS]), 0.0)
    solver = _programme(core, room, needs=~falls_back[in_core])
    solver.setOptionValue("mip_abs_gap", max(near, _ROUNDING))
    solver.setOptionValue("mip_max_nodes", _MOST_NODES[near == 0])
    solver.run()
    info = solver.getInfo()
    most = _finite_sum(np.where(found == STAYS, options.fallback, options.gain[found])) - info.mip_dual_bound
    if info.primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
        return None, most + _ROUNDING
    chosen = kept[np.array(solver.getSolution().col_value) > 0.5]
    found[options.of[chosen]] = chosen
    keeps = (options.taken(found[found != STAYS]) <= 1.0 + TOLERANCE).all()
    placed = (found[~np.isfinite(options.fallback)] != STAYS).all()
    return (found if keeps and placed else None), most + _ROUNDING


def _programme(core: Options, room: Floats, *, needs: Flags) -> highspy.Highs:
    """One binary an option; one row a workload (exactly one where it needs one), one row a limit."""
    solver = quiet_solver()
    solver.setOptionValue("mip_rel_gap", 0.0)
    for name in ("mip_feasibility_tolerance", "primal_feasibility_tolerance"):
        solver.setOptionValue(name, _ROUNDING)
    count = len(core.gain)
    every = np.arange(count, dtype=np.int32)
    over = core.gain - np.where(np.isfinite(core.fallback), core.fallback, 0.0)[core.of]
    solver.addVars(count, np.zeros(count), np.ones(count))
    solver.changeColsCost(count, every, -over)
    solver.changeColsIntegrality(count, every, np.array([highspy.HighsVarType.kInteger] * count))
    for own, must in zip(np.split(every, core.first[1:]), needs.tolist(), strict=True):
        solver.addRow(1.0 if must else 0.0, 1.0, len(own), own, np.ones(len(own)))
    for limit in np.unique(core.use_limit).tolist():
        rows = core.use_limit == limit
        used = core.use_option[rows].astype(np.int32)
        solver.addRow(-highspy.kHighsInf, float(room[limit]), len(used), used, core.use_share[rows])
    return solver


def _finite_sum(values: Floats) -> float:
    return float(values[np.isfinite(values)].sum())
