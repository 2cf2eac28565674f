"""The candidates, one row each; a new one is a row here and, where its kind is new, a file beside this one.

Each is a function of a grid alone: entry i of what it returns is made from steps up to i and foretells step
i + horizon; NaN where it has nothing to say. None is tuned to any data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from recommender.forecast.candidates import calendar_regression, holt_winters, seasonal_median, simple, straight_line
from recommender.forecast.grid import Floats, Grid

PERSISTENCE = "persistence"
SEASONAL_NAIVE = "seasonal-naive-24h"
SEASONAL_NAIVE_WEEK = "seasonal-naive-168h"


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way to foretell.

    Args:
        name: the word in plans, metrics and documents.
        foretell: the function of the grid and of what the candidates before it foretell.
        is_naive: persistence or a seasonal naive; what the others have to beat.
        is_baseline_only: shown for comparison, never chosen.
    """

    name: str
    foretell: Callable[[Grid, Mapping[str, Floats]], Floats]
    is_naive: bool = False
    is_baseline_only: bool = False


def _alone(foretell: Callable[[Grid], Floats]) -> Callable[[Grid, Mapping[str, Floats]], Floats]:
    return lambda grid, _: foretell(grid)


def _mean_of(*names: str) -> Callable[[Grid, Mapping[str, Floats]], Floats]:
    return lambda _, found: np.asarray(np.mean([found[name] for name in names], axis=0), dtype=np.float64)


CANDIDATES: tuple[Candidate, ...] = (
    Candidate(PERSISTENCE, _alone(simple.persistence), is_naive=True),
    Candidate(SEASONAL_NAIVE, _alone(simple.seasonal_naive_day), is_naive=True),
    Candidate(SEASONAL_NAIVE_WEEK, _alone(simple.seasonal_naive_week), is_naive=True),
    Candidate("seasonal-median-level-1h", _alone(seasonal_median.with_level_of_last_hour)),
    Candidate("seasonal-median-level-now", _alone(seasonal_median.with_level_now)),
    Candidate("holt-winters", _alone(holt_winters.foretell)),
    Candidate("calendar-regression", _alone(calendar_regression.foretell)),
    Candidate("straight-line", _alone(straight_line.foretell), is_baseline_only=True),
    Candidate("combination", _mean_of("holt-winters", "calendar-regression", PERSISTENCE)),
)
"""Every candidate; where two do equally well the earlier one is chosen. The combination is of three that err apart."""


def foretold(grid: Grid) -> Floats:
    """This will return what every candidate foretells: one row a candidate, one column a step."""
    found: dict[str, Floats] = {}
    for one in CANDIDATES:
        found[one.name] = one.foretell(grid, found)
    return np.stack(list(found.values()))
