"""Additive Holt-Winters of a daily season without a trend, because a trend of minutes run on for an hour overshoots.

Smoothing of the level 0.3 and of the season 0.1 (recommender research, back-test of 16 series: fixed beforehand). The
season is of the local day; an unknown step changes nothing. The first day known sets the season.
"""

from __future__ import annotations

import math

import numpy as np

from recommender.forecast.grid import DAY_SECONDS, Floats, Grid

LEVEL_SMOOTHING = 0.3
SEASON_SMOOTHING = 0.1


def foretell(grid: Grid) -> Floats:
    """This will foretell level + season of the step aimed at."""
    day = DAY_SECONDS // grid.step_seconds
    values = grid.values.tolist()
    found = np.full(len(values), np.nan)
    if len(values) <= day:
        return found
    now = grid.slot(0).tolist()
    then = grid.slot(grid.horizon).tolist()
    level, season = _start(values[:day], now[:day])
    if math.isnan(level):
        return found
    for step in range(day, len(values)):
        value, slot = values[step], now[step]
        if not math.isnan(value):
            level = LEVEL_SMOOTHING * (value - season[slot]) + (1 - LEVEL_SMOOTHING) * level
            season[slot] = SEASON_SMOOTHING * (value - level) + (1 - SEASON_SMOOTHING) * season[slot]
            found[step] = level + season[then[step]]
    return found


def _start(values: list[float], slots: list[int]) -> tuple[float, list[float]]:
    known = [value for value in values if not math.isnan(value)]
    level = sum(known) / len(known) if known else math.nan
    season = [0.0] * len(values)
    for value, slot in zip(values, slots, strict=True):
        season[slot] = 0.0 if math.isnan(value) else value - level
    return level, season
