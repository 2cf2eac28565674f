"""The next hour as samples of metrics: demand, forecast, capacity, bursts needed, how good forecasts were."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from recommender.forecast.frames import SERIES_KEY
from recommender.outlook import Ahead

Sample = tuple[str, tuple[str, ...], float]


def samples_ahead(ahead: Ahead) -> Iterator[Sample]:
    """This will yield the samples of the metrics AHEAD of the catalogue."""
    for *key, demand, p50, p90 in ahead.forecasts.forecasts.select(*SERIES_KEY, "demand", "p50", "p90").iter_rows():
        yield "tuppence_demand", tuple(key), demand
        yield "tuppence_demand_forecast", (*key, "p50"), p50
        yield "tuppence_demand_forecast", (*key, "p90"), p90
    for *key, admissible in ahead.bursts.capacity.select(*SERIES_KEY, "admissible").iter_rows():
        yield "tuppence_capacity", tuple(key), admissible
    for *key, needed in ahead.bursts.triggers.select(*SERIES_KEY, "is_needed").iter_rows():
        yield "tuppence_burst_needed", tuple(key), float(needed)
    known = ahead.forecasts.accuracy.drop_nulls("wape_ratio")
    for model, wape in known.group_by("model").agg(pl.col("wape_ratio").median()).sort("model").iter_rows():
        yield "tuppence_forecast_wape_ratio", (model,), wape
