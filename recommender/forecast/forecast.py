"""Demand one hour ahead for every series: usage's demand in; forecasts, accuracy and what cannot be said out.

A pure function of demand, settings and the evaluation time. Whatever is too short, too patchy or not a number is named
with its reason and never guessed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import dataframely as dy
import numpy as np
import polars as pl

from recommender.forecast.accuracy import accuracy_rows, verdict
from recommender.forecast.backtest import Backtest, backtest
from recommender.forecast.candidates import CANDIDATES
from recommender.forecast.frames import SERIES_KEY, Accuracy, Demand, ForecastFrame, NotForecast, RecentBound
from recommender.forecast.grid import Grid, Reason, gridded, horizon_steps, step_for
from recommender.settings import ForecastSettings

RECENT_ORIGINS = 24
NEXT_STEPS = {
    Reason.ONE_POINT: "Wait for more samples, or read a longer history (forecast.history_days).",
    Reason.TOO_SHORT: "Wait for more samples, or read a longer history (forecast.history_days).",
    Reason.COVERAGE: "Check the cluster's scrape and the recording rules; gaps are never filled.",
    Reason.NOT_FINITE: "Mend the usage source; a value that is not a number cannot be forecast.",
    Reason.NEGATIVE: "Mend the usage source; requests are never negative.",
    Reason.ALL_ZERO: "Nothing to do; if the cluster does run something, its requests are not set.",
    Reason.GAP_AT_END: "Check that the cluster is still observed.",
}
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Forecasts:
    """What is known of the next hour.

    Args:
        forecasts: one row a series that can be forecast.
        accuracy: one row a series and candidate.
        recent: the bounds of the last evaluations.
        not_forecast: the other series, with reasons.
    """

    forecasts: dy.DataFrame[ForecastFrame]
    accuracy: dy.DataFrame[Accuracy]
    recent: dy.DataFrame[RecentBound]
    not_forecast: dy.DataFrame[NotForecast]


@dataclass(slots=True)
class _Rows:
    forecasts: list[Row] = field(default_factory=list)
    accuracy: list[Row] = field(default_factory=list)
    recent: list[Row] = field(default_factory=list)
    not_forecast: list[Row] = field(default_factory=list)


def forecast(demand: dy.DataFrame[Demand], settings: ForecastSettings, *, at: datetime) -> Forecasts:
    """This will forecast every series.

    Args:
        demand: requested and waiting, any number of series.
        settings: horizon, embargo, history, time zone.
        at: the evaluation time (UTC). Samples that end within the embargo before it, or later, are not looked at.
    """
    rows = _Rows()
    for key, samples in series_of(demand):
        grid = grid_of(samples, settings, at)
        if isinstance(grid, Grid):
            found = backtest(grid, backtest_days=settings.backtest_days)
            if np.isnan(found.p90[-1]) or np.isnan(found.end.picked()[-1]):
                grid = (Reason.TOO_SHORT, "no candidate has enough past errors to bound its next one")
            else:
                _add(rows, key, grid, found, at)
        if not isinstance(grid, Grid):
            reason, why = grid
            rows.not_forecast.append({**key, "reason": reason.value, "why": why, "next_step": NEXT_STEPS[reason]})
    return Forecasts(
        ForecastFrame.validate(_frame(rows.forecasts, ForecastFrame)),
        Accuracy.validate(_frame(rows.accuracy, Accuracy)),
        RecentBound.validate(_frame(rows.recent, RecentBound)),
        NotForecast.validate(_frame(rows.not_forecast, NotForecast)),
    )


def _frame(rows: list[Row], schema: type[dy.Schema]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=schema.create_empty().schema)


def series_of(demand: pl.DataFrame) -> Iterator[tuple[dict[str, str], pl.DataFrame]]:
    """This will yield each series of demand with its key, in order."""
    ordered = demand.sort(*SERIES_KEY, "timestamp")
    for key, samples in ordered.group_by(SERIES_KEY, maintain_order=True):
        yield dict(zip(SERIES_KEY, map(str, key), strict=True)), samples


def grid_of(samples: pl.DataFrame, settings: ForecastSettings, at: datetime) -> Grid | tuple[Reason, str]:
    """This will lay the visible history of a series on its grid, or say why not; see forecast."""
    seconds = (samples["timestamp"].dt.timestamp("us") // 1_000_000).to_numpy()
    step = step_for(_commonest_gap(samples))
    now = int(at.timestamp())
    until = (now - settings.embargo_seconds) // step * step
    recent = seconds >= until - settings.history_days * 86_400
    made = gridded(
        seconds[recent],
        samples["demand"].to_numpy()[recent],
        step_seconds=step,
        until=until,
        horizon=horizon_steps(step, horizon_seconds=settings.horizon_seconds, embargo_seconds=settings.embargo_seconds),
        time_zone=settings.time_zone,
    )
    return _enough(made, settings) if isinstance(made, Grid) else made


def _enough(grid: Grid, settings: ForecastSettings) -> Grid | tuple[Reason, str]:
    hours = len(grid.values) * grid.step_seconds / 3_600
    if hours < settings.min_history_hours:
        return Reason.TOO_SHORT, f"{hours:.0f} h of history, {settings.min_history_hours:.0f} are needed"
    if grid.coverage_ratio < settings.min_coverage_ratio:
        return Reason.COVERAGE, (
            f"not enough data: {grid.coverage_ratio:.0%} of the history was observed, "
            f"{settings.min_coverage_ratio:.0%} are needed"
        )
    if np.isnan(grid.values[-1]):
        known = np.flatnonzero(~np.isnan(grid.values))
        last = datetime.fromtimestamp(grid.start_seconds + int(known[-1] + 1) * grid.step_seconds, tz=UTC)
        return Reason.GAP_AT_END, f"nothing was observed since {last:%Y-%m-%d %H:%M} UTC"
    return grid


def _commonest_gap(samples: pl.DataFrame) -> float:
    gaps = samples["timestamp"].diff().drop_nulls().dt.total_seconds()
    return float(gaps.mode().sort()[0]) if len(gaps) else 3_600.0


def _add(rows: _Rows, key: dict[str, str], grid: Grid, found: Backtest, at: datetime) -> None:
    accuracy = accuracy_rows(found)
    rows.accuracy += [{**key, **row} for row in accuracy]
    model = accuracy[int(found.peak.chosen[-1])]
    model_p50 = accuracy[int(found.end.chosen[-1])]
    p50 = max(0.0, float(found.end.picked()[-1]))
    until = _moment(grid, int(found.origins[-1]))
    rows.forecasts.append(
        {
            **key,
            "at": at,
            "visible_until": until,
            "horizon_seconds": grid.horizon * grid.step_seconds,
            "demand": float(grid.values[-1]),
            "p50": p50,
            "p90": max(p50, float(found.p90[-1])),
            "model": model["model"],
            "model_p50": model_p50["model"],
            "origins": model["origins"],
            "coverage_p90_ratio": model["coverage_p90_ratio"],
            "wape_ratio": model_p50["wape_ratio"],
            **verdict(CANDIDATES, accuracy, model),
        }
    )
    for place in range(max(0, len(found.origins) - RECENT_ORIGINS), len(found.origins)):
        value, bound = grid.values[found.origins[place]], found.p90[place]
        if not np.isnan(value) and not np.isnan(bound):
            moment = _moment(grid, int(found.origins[place]))
            rows.recent.append({**key, "visible_until": moment, "demand": float(value), "p90": max(0.0, float(bound))})


def _moment(grid: Grid, step: int) -> datetime:
    """The end of a step."""
    return datetime.fromtimestamp(grid.start_seconds + (step + 1) * grid.step_seconds, tz=UTC)
