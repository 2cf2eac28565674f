"""When a cluster is short: demand now, or its P90 of the next hour, beyond what the nodes admit in k of n evaluations.

A forecast may start a burst and never ends one. Without a forecast the demand that was seen decides alone, and the
reason says so.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import dataframely as dy
import polars as pl

from recommender.burst.frames import CapacityFrame, Trigger
from recommender.forecast.forecast import Forecasts
from recommender.forecast.frames import SERIES_KEY, Demand
from recommender.settings import BurstSettings

_ROUNDING = 1e-6


def triggers(
    capacity: dy.DataFrame[CapacityFrame],
    demand: dy.DataFrame[Demand],
    forecasts: Forecasts,
    settings: BurstSettings,
    *,
    at: datetime,
) -> dy.DataFrame[Trigger]:
    """This will judge every resource class of the owned clusters.

    Args:
        capacity: what the nodes admit.
        demand: its last n moments stand in where there is no forecast.
        forecasts: of the next hour.
        settings: k, n, and how long a node takes to be ready.
        at: the evaluation time (UTC).
    """
    seen = _evaluations(demand, forecasts, settings.evaluations)
    wanted = capacity.join(seen, on=SERIES_KEY, how="inner").join(
        forecasts.forecasts.select(*SERIES_KEY, "visible_until", "horizon_seconds", "p90"), on=SERIES_KEY, how="left"
    )
    reasons = wanted.join(forecasts.not_forecast.select(*SERIES_KEY, "reason"), on=SERIES_KEY, how="left")
    rows = [_row(row, settings, at) for row in reasons.sort(SERIES_KEY).iter_rows(named=True)]
    return Trigger.validate(pl.DataFrame(rows, schema=Trigger.create_empty().schema))


def _evaluations(demand: pl.DataFrame, forecasts: Forecasts, number: int) -> pl.DataFrame:
    """The last n evaluations of each series: what was demanded, and the greatest of that and P90."""
    foretold = forecasts.recent.select(*SERIES_KEY, "visible_until", "demand", "p90")
    seen = (
        demand.join(foretold, on=SERIES_KEY, how="anti")
        .rename({"timestamp": "visible_until"})
        .with_columns(p90=pl.lit(None, pl.Float64))
        .select(foretold.columns)
    )
    return (
        pl.concat([foretold, seen])
        .sort(*SERIES_KEY, "visible_until")
        .group_by(SERIES_KEY, maintain_order=True)
        .agg(
            greatest=pl.max_horizontal("demand", "p90").tail(number),
            demand=pl.col("demand").last(),
            last_seen=pl.col("visible_until").last(),
        )
    )


def _row(row: dict[str, Any], settings: BurstSettings, at: datetime) -> dict[str, Any]:
    admissible = row["admissible"]
    exceeded = sum(value > admissible + _ROUNDING for value in row["greatest"])
    greatest = max(row["demand"], row["p90"] or 0.0)
    short = max(0.0, greatest - admissible)
    needed = exceeded >= settings.needed and short > _ROUNDING
    short_at = _short_at(row, admissible, at) if short > _ROUNDING else None
    lead = timedelta(seconds=settings.node_start_seconds + settings.image_pull_seconds + settings.model_load_seconds)
    return {
        **{name: row[name] for name in (*SERIES_KEY, "demand", "p90", "admissible")},
        "short": short,
        "exceeded": exceeded,
        "evaluations": len(row["greatest"]),
        "is_needed": needed,
        "short_at": short_at,
        "latest_start": None if short_at is None else short_at - lead,
        "why": _why(row, exceeded, settings),
    }


def _short_at(row: dict[str, Any], admissible: float, at: datetime) -> datetime:
    """When the straight way from demand now to P90 at the horizon's end passes what is admissible; now if it has."""
    if row["demand"] > admissible + _ROUNDING or row["p90"] is None:
        return at
    share = (admissible - row["demand"]) / (row["p90"] - row["demand"])
    passes: datetime = row["visible_until"] + timedelta(seconds=share * row["horizon_seconds"])
    return max(at, passes)


def _why(row: dict[str, Any], exceeded: int, settings: BurstSettings) -> str:
    what = f"{row['demand']:.4g} demanded, {row['admissible']:.4g} admissible"
    often = f"beyond it in {exceeded} of the last {len(row['greatest'])} evaluations ({settings.needed} needed)"
    if row["p90"] is not None:
        return f"{what}, P90 of the next hour {row['p90']:.4g}; {often}"
    return f"{what}; {often}; by demand alone, because there is no forecast ({row['reason'] or 'no series'})"
