"""Candidates that only repeat: the last value, the same time yesterday, the same time a week ago."""

from __future__ import annotations

from recommender.forecast.grid import Floats, Grid


def persistence(grid: Grid) -> Floats:
    """This will repeat the last value."""
    return grid.values.copy()


def seasonal_naive_day(grid: Grid) -> Floats:
    """This will repeat the value of the same local time a day before."""
    return grid.same_time(1, ahead=grid.horizon)


def seasonal_naive_week(grid: Grid) -> Floats:
    """This will repeat the value of the same local time a week before."""
    return grid.same_time(7, ahead=grid.horizon)
