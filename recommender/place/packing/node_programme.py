"""One node packed by HiGHS: for nodes that hold so many pods that partial packings cannot be listed."""

from __future__ import annotations

import highspy
import numpy as np
import numpy.typing as npt

from recommender.place.packing.highs import quiet_solver
from recommender.place.packing.items import Ints

_SLACK = 1e-7
"""HiGHS proves its bound up to its tolerances; the bound is raised by more than these."""


def packed_by_integer_programme(
    needs: Ints, values: npt.NDArray[np.float64], most: Ints, gives: Ints, *, nodes: int
) -> tuple[Ints, float]:
    """This will return the most valuable contents found, and what no contents can exceed.

    Args:
        needs: items × 3.
        values: of one pod of each item.
        most: pods of each item; 0 where not wanted.
        gives: what the node holds (3).
        nodes: of branch and bound.
    """
    solver = quiet_solver()
    for option, setting in (("mip_rel_gap", 0.0), ("mip_abs_gap", _SLACK), ("mip_max_nodes", nodes)):
        solver.setOptionValue(option, setting)
    rows = np.arange(3, dtype=np.int32)
    for _ in rows:
        solver.addRow(-highspy.kHighsInf, 1.0, 0, np.array([], dtype=np.int32), np.array([]))
    wanted = np.flatnonzero(most > 0)
    for item in wanted.tolist():
        solver.addCol(-float(values[item]), 0.0, float(most[item]), 3, rows, needs[item] / np.maximum(gives, 1))
    every = np.arange(wanted.size, dtype=np.int32)
    solver.changeColsIntegrality(wanted.size, every, np.array([highspy.HighsVarType.kInteger] * wanted.size))
    solver.run()
    info = solver.getInfo()
    bound = -info.mip_dual_bound + _SLACK * (1 + abs(info.mip_dual_bound))
    contents = np.zeros_like(most)
    if info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible:
        contents[wanted] = np.rint(np.array(solver.getSolution().col_value)).astype(np.int64)
    if (contents @ needs > gives).any():
        contents = np.zeros_like(most)
    return contents, float(bound)
