"""The charts of a week's report, in the order in which they stand."""

from __future__ import annotations

import polars as pl

from recommender.report import words
from recommender.report.charts.drawing import Chart
from recommender.report.charts.price_history import price_history
from recommender.report.week_demand import demand_charts
from recommender.report.week_ledger import saved_chart
from recommender.report.week_spend import spend_chart
from recommender.week.facts import WeekFacts
from recommender.week.frames import PricePoint
from recommender.week.price_points import VCPU

MOST_GPU_CHARTS = 4


def week_charts(facts: WeekFacts) -> tuple[Chart, ...]:
    """This will draw what is known: why spend changed, what was saved, demand, prices of a vCPU and of GPU models."""
    models = [unit for unit in sorted(facts.prices["unit"].unique()) if unit != VCPU][:MOST_GPU_CHARTS]
    named = pl.col("provider", "region").map_elements(words.shown, return_dtype=pl.String)
    prices = PricePoint.cast(facts.prices.with_columns(named))
    found = (
        spend_chart(facts),
        None if facts.past is None else saved_chart(facts.past),
        *demand_charts(facts),
        *(price_history(prices, unit=unit) for unit in (VCPU, *models)),
    )
    return tuple(one for one in found if one is not None)
