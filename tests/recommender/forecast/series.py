"""Small demand series for tests: a value for each step, laid on a grid or told as a frame."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import dataframely as dy
import numpy as np
import polars as pl

from recommender.forecast.frames import Demand
from recommender.forecast.grid import Grid, gridded

MONDAY = datetime(2026, 11, 2, tzinfo=UTC)
HOUR = 3_600


def grid(
    values: Sequence[float | None], *, start: datetime = MONDAY, step: int = HOUR, horizon: int = 1, zone: str = "UTC"
) -> Grid:
    """This will lay values on a grid; None is a step that was not observed."""
    first = int(start.timestamp())
    known = [(first + number * step, value) for number, value in enumerate(values) if value is not None]
    made = gridded(
        np.array([second for second, _ in known], dtype=np.int64),
        np.array([value for _, value in known], dtype=np.float64),
        step_seconds=step,
        until=first + len(values) * step,
        horizon=horizon,
        time_zone=zone,
    )
    assert isinstance(made, Grid), made
    return made


def demand(
    values: Sequence[float | None],
    *,
    cluster: str = "onprem-lon",
    resource: str = "gpu",
    resource_class: str = "H100",
    start: datetime = MONDAY,
    step: int = HOUR,
) -> dy.DataFrame[Demand]:
    """This will return a series as Demand; None is a moment that was not observed."""
    rows = [
        {
            "cluster": cluster,
            "resource": resource,
            "resource_class": resource_class,
            "timestamp": start + timedelta(seconds=number * step),
            "demand": value,
        }
        for number, value in enumerate(values)
        if value is not None
    ]
    return Demand.validate(pl.DataFrame(rows, schema=Demand.create_empty().schema))


def office_hours(days: int, *, low: float = 10.0, high: float = 40.0) -> list[float]:
    """This will return hourly values: high from 9 to 17, low else."""
    return [high if 9 <= hour < 17 else low for _ in range(days) for hour in range(24)]
