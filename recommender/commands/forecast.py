"""`tuppence forecast`: demand in the next hour, how it was foretold, and how well the same did before."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from datetime import date, datetime

import polars as pl

from exporters.core.output import ListFormat, print_table
from recommender.forecast.forecast import Forecasts
from recommender.forecast.frames import SERIES_KEY

_SHOWN = (*SERIES_KEY, "demand", "p50", "p90", "model", "coverage_p90_ratio", "wape_ratio", "verdict")


def write_forecasts(found: Forecasts, form: ListFormat) -> None:
    """This will write forecasts to stdout: tables for people, everything as JSON, the forecasts as CSV."""
    if form is ListFormat.JSON:
        parts = {
            "forecasts": found.forecasts,
            "accuracy": found.accuracy,
            "recent": found.recent,
            "not_forecast": found.not_forecast,
        }
        sys.stdout.write(frames_as_json(parts))
    elif form is ListFormat.CSV:
        sys.stdout.write(found.forecasts.write_csv())
    else:
        _write_tables(found)


def frames_as_json(frames: Mapping[str, pl.DataFrame]) -> str:
    """This will return an object of lists of rows; times in ISO 8601."""
    rows = {name: frame.to_dicts() for name, frame in frames.items()}
    return json.dumps(rows, default=_as_text, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def rounded(frame: pl.DataFrame) -> pl.DataFrame:
    """This will round amounts for a reader: three decimals."""
    return frame.with_columns(pl.col(pl.Float64).round(3))


def _as_text(value: object) -> str:
    return value.isoformat() if isinstance(value, date) else str(value)


def _write_tables(found: Forecasts) -> None:
    if found.forecasts.height:
        until = found.forecasts["visible_until"].max()
        assert isinstance(until, datetime)
        title = f"Demand in the next hour, by what was seen until {until:%Y-%m-%d %H:%M} UTC"
        print_table(rounded(found.forecasts.select(_SHOWN)), title=title)
    else:
        sys.stdout.write("No series can be forecast.\n")
    if found.not_forecast.height:
        sys.stdout.write("\n")
        print_table(found.not_forecast, title="Not forecast")
