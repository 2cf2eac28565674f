"""The median of the same time on the last seven days, shifted by how far today is off that median."""

from __future__ import annotations

import warnings

import numpy as np

from recommender.forecast.grid import Floats, Grid, trailing_mean

DAYS = 7
LEVEL_SECONDS = 3_600


def with_level_of_last_hour(grid: Grid) -> Floats:
    """This will shift by the mean distance of the last hour."""
    off = grid.values - same_time_median(grid, ahead=0)
    return same_time_median(grid, ahead=grid.horizon) + trailing_mean(off, grid.steps(LEVEL_SECONDS))


def with_level_now(grid: Grid) -> Floats:
    """This will shift by the distance of the last step."""
    return same_time_median(grid, ahead=grid.horizon) + grid.values - same_time_median(grid, ahead=0)


def same_time_median(grid: Grid, *, ahead: int) -> Floats:
    """This will return the median of up to seven days at the local time of the step `ahead` steps from each."""
    days = np.stack([grid.same_time(day, ahead=ahead) for day in range(1, DAYS + 1)])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="All-NaN slice encountered", category=RuntimeWarning)
        return np.asarray(np.nanmedian(days, axis=0), dtype=np.float64)
