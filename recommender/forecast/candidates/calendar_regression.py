"""Linear regression on what is known now and at the same local times before.

Features: the last value, the mean of the last hour, the same time yesterday as aimed at and an hour either side, now
yesterday, the seasonal median as aimed at and now, and the same time a week before once a week is known. Fitted anew
every six hours by least squares with a small ridge on standardised features, over the last fourteen days that have
come due.
"""

from __future__ import annotations

import numpy as np

from recommender.forecast.candidates.seasonal_median import same_time_median
from recommender.forecast.grid import DAY_SECONDS, Floats, Grid, Ints

REFIT_SECONDS = 6 * 3_600
HISTORY_SECONDS = 14 * DAY_SECONDS
LEAST_ROWS = 24
RIDGE = 1e-3


def foretell(grid: Grid) -> Floats:
    """This will foretell by the last fit before each step."""
    features = _features(grid)
    aims = grid.ahead()
    length = len(grid.values)
    found = np.full(length, np.nan)
    every = grid.steps(REFIT_SECONDS)
    for start in range((length - 1) % every, length, every):
        due = np.arange(max(0, start - grid.horizon - grid.steps(HISTORY_SECONDS)), max(0, start - grid.horizon + 1))
        until = min(length, start + every)
        found[start:until] = _fitted(features, aims, due, np.arange(start, until))
    return found


def _features(grid: Grid) -> Floats:
    hour = grid.steps(3_600)
    ahead = grid.horizon
    return np.stack(
        [
            grid.values,
            grid.trailing_mean(3_600),
            grid.same_time(1, ahead=ahead - hour),
            grid.same_time(1, ahead=ahead),
            grid.same_time(1, ahead=ahead + hour),
            grid.same_time(1, ahead=0),
            same_time_median(grid, ahead=ahead),
            same_time_median(grid, ahead=0),
            grid.same_time(7, ahead=ahead),
        ],
        axis=1,
    )


def _fitted(features: Floats, aims: Floats, due: Ints, asked: Ints) -> Floats:
    """Fits on the rows that have come due and answers the rows asked; NaN without enough rows."""
    known = due[~np.isnan(features[due, :-1]).any(axis=1) & ~np.isnan(aims[due])]
    with_week = known[~np.isnan(features[known, -1])]
    if 2 * len(with_week) >= len(known):
        known, width = with_week, features.shape[1]
    else:
        width = features.shape[1] - 1
    if len(known) < LEAST_ROWS:
        return np.full(len(asked), np.nan)
    rows, targets = features[known, :width], aims[known]
    centre, spread = rows.mean(axis=0), rows.std(axis=0)
    spread[spread == 0] = 1.0
    scaled = (rows - centre) / spread
    ridge = RIDGE * len(known) * np.eye(width)
    weights = np.linalg.solve(scaled.T @ scaled + ridge, scaled.T @ (targets - targets.mean()))
    return np.asarray((features[asked, :width] - centre) / spread @ weights + targets.mean(), dtype=np.float64)
