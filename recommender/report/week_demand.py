"""Demand of the week in words and charts: days beyond the owned nodes, and how good the forecasts were."""

from __future__ import annotations

import re
from typing import Any

import polars as pl

from exporters.core.units import SECONDS_PER_HOUR
from recommender.forecast.frames import SERIES_KEY
from recommender.report import words
from recommender.report.charts.demand import demand_chart
from recommender.report.charts.drawing import Chart
from recommender.report.charts.frames import DemandPoint
from recommender.report.view_week import BurstDay, DemandSection, ForecastLine
from recommender.week.facts import Demanded, WeekFacts

MOST_CHARTS = 4
MOST_LINES = 20
_UNITS = {"vcpu": "vCPU", "memory_gib": "GiB", "gpu": "GPUs"}
_WORDS = {"vcpu": "vCPU", "memory_gib": "memory", "gpu": "GPU"}
_ROUNDING = 1e-9
Row = dict[str, Any]


def demand_section(facts: WeekFacts) -> DemandSection:
    """This will say on which days demand was beyond the owned nodes, and how far forecasts can be believed."""
    known = facts.demanded
    if known is None:
        return DemandSection(sentence=words.shown(facts.no_demand))
    days = burst_days(known)
    owned = known.capacity["cluster"].unique().to_list()
    order = [~pl.col("cluster").is_in(owned), *SERIES_KEY]
    lines = known.forecasts.sort(order).head(MOST_LINES).to_dicts()
    return DemandSection(
        sentence=" ".join(filter(None, (_days_sentence(known, days), _accuracy_sentence(known)))),
        bursts=tuple(_burst_day(one) for one in days.head(MOST_LINES).to_dicts()),
        accuracy=tuple(_accuracy(one) for one in lines),
        not_forecast=tuple(
            words.shown(f"{_of(one)}: {one['why']}") for one in known.not_forecast.head(MOST_LINES).to_dicts()
        ),
    )


def burst_days(known: Demanded) -> pl.DataFrame:
    """This will return the days on which demand of a class was beyond what owned nodes admit.

    Returns:
        cluster, resource, resource_class, day (London's), hours, peak, admissible; the longest first.
    """
    beyond = known.steps.join(known.capacity, on=SERIES_KEY, how="inner").filter(
        pl.col("demand") > pl.col("admissible") + _ROUNDING
    )
    day = pl.col("at").dt.convert_time_zone("Europe/London").dt.date().alias("day")
    return (
        beyond.group_by(*SERIES_KEY, day)
        .agg(
            hours=pl.col("step_seconds").cast(pl.Float64).sum() / SECONDS_PER_HOUR,
            peak=pl.col("demand").max(),
            admissible=pl.col("admissible").first(),
        )
        .sort("day", "hours", *SERIES_KEY, descending=[False, True, False, False, False])
    )


def demand_charts(facts: WeekFacts) -> tuple[Chart, ...]:
    """This will draw the owned classes whose demand came nearest to what the nodes admit."""
    known = facts.demanded
    if known is None:
        return ()
    owned = known.steps.join(known.capacity.filter(pl.col("admissible") > 0), on=SERIES_KEY, how="inner")
    tight = owned.group_by(SERIES_KEY).agg(ratio=(pl.col("demand") / pl.col("admissible")).max())
    chosen = tight.drop_nulls().sort("ratio", *SERIES_KEY, descending=[True, False, False, False]).head(MOST_CHARTS)
    drawn = (_chart(owned, key) for key in chosen.select(SERIES_KEY).to_dicts())
    return tuple(one for one in drawn if one is not None)


def _chart(owned: pl.DataFrame, key: Row) -> Chart | None:
    rows = owned.filter(*(pl.col(name) == value for name, value in key.items()))
    points = rows.select("at", "demand", "p50", "p90", pl.col("admissible").alias("capacity"))
    name = re.sub(r"[^a-z0-9]+", "-", _of(key).lower())[:60].strip("-")
    return demand_chart(DemandPoint.cast(points), name=name, what=words.shown(_of(key)), unit=_UNITS[key["resource"]])


def _of(row: Row) -> str:
    return f"{row['cluster']}, {_WORDS[row['resource']]} {row['resource_class']}"


def _burst_day(one: Row) -> BurstDay:
    return BurstDay(
        day=f"{one['day']:%A, %-d %B %Y}",
        of=words.shown(_of(one)),
        hours=words.number_text(round(one["hours"], 1)),
        peak=words.number_text(round(one["peak"], 1)),
        capacity=words.number_text(round(one["admissible"], 1)),
    )


def _accuracy(one: Row) -> ForecastLine:
    return ForecastLine(
        of=words.shown(_of(one)),
        error=_percent(one["wape_ratio"]),
        covered=_percent(one["coverage_p90_ratio"]),
        model=one["model_p50"],
        verdict=words.shown(one["verdict"]),
    )


def _percent(ratio: float | None) -> str:
    return "not known" if ratio is None else words.percent(ratio)


def _days_sentence(known: Demanded, days: pl.DataFrame) -> str:
    if known.capacity.is_empty():
        return "No capacity is owned, or none is known."
    if days.is_empty():
        return "Demand was never beyond what the owned nodes admit."
    number = days["day"].n_unique()
    return f"Demand was beyond what the owned nodes admit on {words.count(number, 'day')} of the week."


def _accuracy_sentence(known: Demanded) -> str:
    told = known.forecasts.filter(pl.col("coverage_p90_ratio").is_not_null(), pl.col("origins") > 0)
    if told.is_empty():
        return ""
    held = (told["coverage_p90_ratio"] * told["origins"].cast(pl.Float64)).sum()
    covered = float(held) / int(told["origins"].sum())
    return (
        f"Of past hours {words.percent(covered)} stayed under the bound that was foretold for them an hour before; "
        "90% is what it is made for."
    )
