"""When a cluster is short: in k of n evaluations, by demand or its bound, and by when nodes must be asked for."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import polars as pl

from recommender.burst.frames import CapacityFrame
from recommender.burst.trigger import triggers
from recommender.forecast.forecast import Forecasts
from recommender.forecast.frames import Accuracy, Demand, ForecastFrame, NotForecast, RecentBound
from recommender.settings import BurstSettings
from tests.builders import NOON

KEY = {"cluster": "onprem-lon", "resource": "gpu", "resource_class": "H100"}
CAPACITY = CapacityFrame.validate(pl.DataFrame([KEY | {"admissible": 20.0, "nominal": 24.0}]))
SETTINGS = BurstSettings(node_start_seconds=180, image_pull_seconds=120, model_load_seconds=300)


def forecasts(bounds: list[float], demand: float = 10.0) -> Forecasts:
    """Bounds of the last evaluations, a quarter of an hour apart; the last one is the forecast."""
    recent = [
        KEY | {"visible_until": NOON - timedelta(minutes=15 * back), "demand": demand, "p90": bound}
        for back, bound in enumerate(reversed(bounds))
    ]
    now = KEY | {
        "at": NOON,
        "visible_until": NOON,
        "horizon_seconds": 3600,
        "demand": demand,
        "p50": demand,
        "p90": bounds[-1],
        "model": "persistence",
        "model_p50": "persistence",
        "origins": 100,
        "beats_both_naives": False,
        "coverage_p90_ratio": 0.9,
        "wape_ratio": 0.1,
        "verdict": "",
    }
    return Forecasts(
        ForecastFrame.validate(pl.DataFrame([now], schema=ForecastFrame.create_empty().schema)),
        Accuracy.create_empty(),
        RecentBound.validate(pl.DataFrame(recent, schema=RecentBound.create_empty().schema)),
        NotForecast.create_empty(),
    )


def judged(found: Forecasts, demand: list[float] | None = None) -> dict[str, Any]:
    rows = [
        KEY | {"timestamp": NOON - timedelta(hours=back + 1), "demand": value}
        for back, value in enumerate(reversed(demand or [10.0]))
    ]
    known = Demand.validate(pl.DataFrame(rows, schema=Demand.create_empty().schema))
    return triggers(CAPACITY, known, found, SETTINGS, at=NOON).row(0, named=True)


def test_three_of_five_evaluations_beyond_what_fits_are_a_burst() -> None:
    assert judged(forecasts([30, 10, 30, 10, 30]))["is_needed"]


def test_two_of_five_are_not() -> None:
    row = judged(forecasts([10, 10, 30, 10, 30]))
    assert not row["is_needed"]
    assert row["exceeded"] == 2


def test_an_older_evaluation_does_not_count() -> None:
    assert not judged(forecasts([30, 30, 30, 10, 10, 10, 10, 30]))["is_needed"]


def test_a_shortage_that_is_over_is_no_burst() -> None:
    row = judged(forecasts([30, 30, 30, 30, 15]))
    assert (row["exceeded"], row["short"], row["is_needed"]) == (4, 0, False)


def test_exactly_what_fits_is_not_beyond_it() -> None:
    assert judged(forecasts([20] * 5))["exceeded"] == 0


def test_nodes_are_asked_for_so_early_that_they_are_ready_when_demand_passes_what_fits() -> None:
    # From 10 now to 30 in an hour, 20 is passed after half an hour; a node needs 180 + 120 + 300 s.
    row = judged(forecasts([30] * 5))
    assert row["short_at"] == NOON + timedelta(minutes=30)
    assert row["latest_start"] == NOON + timedelta(minutes=20)


def test_demand_that_is_beyond_it_already_is_short_now() -> None:
    row = judged(forecasts([30] * 5, demand=25))
    assert row["short_at"] == NOON
    assert row["latest_start"] == NOON - timedelta(minutes=10)


def test_demand_counts_where_the_bound_is_lower() -> None:
    assert judged(forecasts([15] * 5, demand=22))["short"] == 2


def test_without_a_forecast_demand_alone_decides_and_says_so() -> None:
    reason = KEY | {"reason": "too-short", "why": "", "next_step": ""}
    none = Forecasts(
        ForecastFrame.create_empty(),
        Accuracy.create_empty(),
        RecentBound.create_empty(),
        NotForecast.validate(pl.DataFrame([reason])),
    )
    row = judged(none, [10, 25, 25, 25])
    assert row["is_needed"]
    assert row["p90"] is None
    assert "no forecast (too-short)" in row["why"]


def test_a_class_without_demand_has_no_row() -> None:
    none = Demand.create_empty()
    found = Forecasts(
        ForecastFrame.create_empty(),
        Accuracy.create_empty(),
        RecentBound.create_empty(),
        NotForecast.create_empty(),
    )
    assert triggers(CAPACITY, none, found, SETTINGS, at=NOON).is_empty()
