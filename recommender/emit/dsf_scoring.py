"""What a scorer of the Dynamic Scoring Framework answers: posted series of shares used → the headroom of the next hour.

The same forecast as everywhere: each series is laid on a grid, its P90 of the next hour is foretold, and the scarcest
one decides. One result with one dimension and a finite integer, or none at all: when a posted series cannot be
foretold, what is free of the others is not the cluster's headroom.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Final

import dataframely as dy
import polars as pl
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from recommender.emit.headroom import points_free
from recommender.forecast.forecast import forecast
from recommender.forecast.frames import Demand
from recommender.forecast.grid import Reason
from recommender.settings import ForecastSettings

HOUR_SECONDS: Final = 3_600
MOST_SERIES: Final = 32
"""More than any cluster has kinds of resources; each is forecast by itself."""


def _number(value: object) -> float:
    """A sample's value: text as Prometheus writes it, NaN and Inf with it."""
    if not isinstance(value, str):
        raise ValueError("a sample's value is text")  # noqa: TRY004 - pydantic takes no other for a wrong value
    return float(value)


Value = Annotated[float, BeforeValidator(_number)]
Sample = tuple[Annotated[float, Field(ge=0, le=32_503_680_000, allow_inf_nan=False)], Value]


class Series(BaseModel):
    """One series, as Prometheus answers a range query."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    metric: Mapping[str, Any] = Field(default_factory=dict)
    values: tuple[Sample, ...] = ()


class Posted(BaseModel):
    """What an agent posts; null where it did not ask or nothing was found."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    data: Annotated[tuple[Series, ...], Field(max_length=MOST_SERIES)] | None = None


def results_of(posted: Posted, settings: ForecastSettings, *, at: datetime) -> list[dict[str, Any]]:
    """This will score what was posted.

    Args:
        posted: shares of resources that are used, a series each, 1 = all there is.
        settings: of the forecast; the horizon is an hour whatever they say.
        at: now (UTC).

    Returns:
        One result, or none where the next hour of any series is not known.
    """
    series = [one for one in posted.data or () if one.values]
    if not series or len(series) < len(posted.data or ()):
        return []
    hour = settings.model_copy(update={"horizon_seconds": HOUR_SECONDS})
    found = forecast(_demand(series), hour, at=at)
    expected = dict(found.forecasts.select("resource", "p90").iter_rows())
    expected |= dict.fromkeys(found.not_forecast.filter(pl.col("reason") == Reason.ALL_ZERO.value)["resource"], 0.0)
    if len(expected) < len(series) or not all(map(math.isfinite, expected.values())):
        return []
    scarcest = max(sorted(expected), key=lambda place: expected[place])
    name = series[int(scarcest)].metric.get("resource", "")
    score = points_free(expected[scarcest])
    return [{"metric": {"meta": name if isinstance(name, str) else ""}, "score": score}]


def _demand(series: Sequence[Series]) -> dy.DataFrame[Demand]:
    """The series as demand: the place in the request stands for the resource."""
    rows = [
        (str(place), datetime.fromtimestamp(moment, tz=UTC), value)
        for place, one in enumerate(series)
        for moment, value in dict(one.values).items()
    ]
    columns = ("resource", "timestamp", "demand")
    kinds = {name: Demand.create_empty().schema[name] for name in columns}
    frame = pl.DataFrame(rows, schema=kinds, orient="row")
    return Demand.validate(
        frame.with_columns(cluster=pl.lit(""), resource_class=pl.lit("")).select(Demand.column_names())
    )
