"""Bounds from past errors: what is added to a forecast so that it is not exceeded in nine cases of ten.

Split conformal prediction on errors that have come due (Lei and others 2018, "Distribution-free predictive inference
for regression"). The errors are of the last week, so that every hour of it counts; demand that changes from week to
week makes the bound hold a little less often than promised, and the back-test says how often it did.
"""

from __future__ import annotations

import numpy as np

from recommender.forecast.grid import Floats

LEVEL = 0.9


def pinball(actual: Floats, bound: Floats, level: float = LEVEL) -> Floats:
    """This will return the pinball loss: level × shortfall, (1 − level) × excess."""
    over = actual - bound
    return np.where(over > 0, level * over, (level - 1) * over)


def bounded(forecasts: Floats, actuals: Floats, *, due: int, window: int, least: int) -> Floats:
    """This will add to each forecast the conformal quantile of the errors that had come due by its origin.

    The quantile of n errors is the ⌈0.9 × (n + 1)⌉-th smallest; past the largest there is nothing to go by, so that one
    stands.

    Args:
        forecasts: of one candidate, one an origin.
        actuals: what came; NaN where that is still to come.
        due: origins until a forecast has come due.
        window: how many of the latest errors count.
        least: errors below which there is no bound.

    Returns:
        One bound an origin; NaN where there is none.
    """
    padded = np.concatenate([np.full(window + due - 1, np.nan), actuals - forecasts])[: len(forecasts) + window - 1]
    ordered = np.sort(np.lib.stride_tricks.sliding_window_view(padded, window), axis=-1)
    number = (~np.isnan(ordered)).sum(axis=-1)
    rank = np.clip(np.ceil(LEVEL * (number + 1)).astype(np.int64), 1, np.maximum(number, 1)) - 1
    chosen = np.take_along_axis(ordered, rank[:, None], axis=-1)[:, 0]
    return forecasts + np.where(number >= least, chosen, np.nan)
