"""What was foretold of each hour, beside what came: the forecasts of the past as they were made, an hour before.

Every forecast rests on what was known when it was made: the back-test chooses its candidate and its bound from errors
that had come due by then (rolling origin; Tashman 2000, "Out-of-sample tests of forecasting accuracy"). Pure.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import dataframely as dy
import numpy as np
import polars as pl

from recommender.forecast.backtest import backtest
from recommender.forecast.forecast import grid_of, series_of
from recommender.forecast.frames import Demand
from recommender.forecast.grid import Grid
from recommender.settings import ForecastSettings


class Foretold(dy.Schema):
    """Demand of a series at one step, and what had been foretold of it."""

    cluster = dy.String(primary_key=True)
    resource = dy.String(primary_key=True)
    resource_class = dy.String(primary_key=True)
    at = dy.Datetime(time_unit="us", time_zone="UTC", primary_key=True, description="start of the step")
    step_seconds = dy.UInt32(min=1)
    demand = dy.Float64(nullable=True, min=0, description="null: not observed")
    p50 = dy.Float64(nullable=True, min=0, description="null: nothing was foretold of it")
    p90 = dy.Float64(nullable=True, min=0, description="bound of the horizon that ends with the step; never under p50")


def foretold(
    demand: dy.DataFrame[Demand], settings: ForecastSettings, *, at: datetime, since: datetime
) -> dy.DataFrame[Foretold]:
    """This will return the steps between two moments of every series that can be forecast.

    Args:
        demand: the history.
        settings: see forecast.forecast.
        at: the end (UTC); later samples are not looked at.
        since: the first moment wanted (UTC).
    """
    rows: list[dict[str, Any]] = []
    for key, samples in series_of(demand):
        grid = grid_of(samples, settings, at)
        if isinstance(grid, Grid):
            rows += [{**key, **row} for row in _steps(grid, settings.backtest_days) if since <= row["at"] < at]
    return Foretold.validate(pl.DataFrame(rows, schema=Foretold.create_empty().schema))


def _steps(grid: Grid, backtest_days: float) -> list[dict[str, Any]]:
    found = backtest(grid, backtest_days=backtest_days)
    count = len(grid.values) + grid.horizon
    p50, p90 = np.full(count, np.nan), np.full(count, np.nan)
    ends = found.origins + grid.horizon
    p50[ends], p90[ends] = found.end.picked(), found.p90
    known = ~np.isnan(p50) & ~np.isnan(p90)
    p50, p90 = np.where(known, np.maximum(0.0, p50), np.nan), np.where(known, np.maximum(0.0, p90), np.nan)
    return [
        {
            "at": datetime.fromtimestamp(grid.start_seconds + step * grid.step_seconds, tz=UTC),
            "step_seconds": grid.step_seconds,
            "demand": _known(grid.values[step]),
            "p50": _known(p50[step]),
            "p90": _known(max(p50[step], p90[step])),
        }
        for step in range(len(grid.values))
    ]


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
