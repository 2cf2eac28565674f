"""The linear and integer solver, set up so that equal inputs give equal answers: one thread, one seed, no clock."""

from __future__ import annotations

import highspy


def quiet_solver() -> highspy.Highs:
    """This will return a HiGHS instance that prints nothing and uses one thread."""
    solver = highspy.Highs()  # type: ignore[no-untyped-call]
    options: dict[str, bool | int] = {"output_flag": False, "threads": 1, "random_seed": 0}
    for name, value in options.items():
        solver.setOptionValue(name, value)
    return solver
