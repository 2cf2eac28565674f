"""The solver keeps quiet: standard output is the plan's."""

from __future__ import annotations

import subprocess
import sys


def test_the_solver_writes_nothing_to_standard_output() -> None:
    programme = (
        "from recommender.place.packing.highs import quiet_solver\n"
        "solver = quiet_solver()\n"
        "solver.addVar(0.0, 1.0)\n"
        "solver.run()\n"
    )
    ran = subprocess.run([sys.executable, "-c", programme], capture_output=True, check=True)
    assert (ran.stdout, ran.stderr) == (b"", b"")
