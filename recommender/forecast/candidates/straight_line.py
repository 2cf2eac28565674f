"""The straight line through the last hour, run on, as predict_linear and the Dynamic Scoring Framework do.

A named baseline, never chosen: over an hour it loses to no forecast at all on most series.
"""

from __future__ import annotations

import numpy as np

from recommender.forecast.grid import Floats, Grid

HISTORY_SECONDS = 3_600
LEAST_POINTS = 3


def foretell(grid: Grid) -> Floats:
    """This will run the least-squares line through the last hour on; unknown steps end it."""
    points = max(grid.steps(HISTORY_SECONDS), LEAST_POINTS)
    found = np.full(len(grid.values), np.nan)
    if len(grid.values) < points:
        return found
    windows = np.lib.stride_tricks.sliding_window_view(grid.values, points)
    time = np.arange(points) - (points - 1) / 2
    slope = windows @ time / (time @ time)
    found[points - 1 :] = windows.mean(axis=1) + slope * (grid.horizon + (points - 1) / 2)
    return found
