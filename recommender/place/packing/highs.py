"""The linear and integer solver, set up so that equal inputs give equal answers: one thread, one seed, no clock."""

from __future__ import annotations

import highspy


class _QuietHighs(highspy.Highs):
    """HiGHS that prints nothing: its banner would stand in the middle of a plan on standard output."""

    def enableCallbacks(self) -> None:  # noqa: N802, the name is HiGHS's; its constructor calls this first
        self.setOptionValue("output_flag", False)  # noqa: FBT003, HiGHS takes it so
        super().enableCallbacks()  # type: ignore[no-untyped-call]


def quiet_solver() -> highspy.Highs:
    """This will return a HiGHS instance that prints nothing and uses one thread."""
    solver = _QuietHighs()  # type: ignore[no-untyped-call]
    options: dict[str, bool | int] = {"output_flag": False, "threads": 1, "random_seed": 0}
    for name, value in options.items():
        solver.setOptionValue(name, value)
    return solver
