"""The chart of proof: what each verified move was to save a month, and what it did save, with the interval."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import dataframely as dy
import polars as pl

from exporters.core.money import pence, pounds
from recommender.report.charts.drawing import COLOURS, INK, WIDTH, Chart
from recommender.report.charts.frames import SavingPoint

MOST_MOVES = 12
"""Bars that a page holds; the greatest predictions are drawn, all stand in the table."""


def savings_chart(points: dy.DataFrame[SavingPoint]) -> Chart | None:
    """This will chart predicted against realised savings.

    Returns:
        The chart; None: nothing was verified yet.
    """
    if points.is_empty():
        return None
    ranked = points.sort("predicted_gbp_per_month", "recommendation_id", descending=[True, False])
    predicted, realised = (_sum(ranked, name) for name in ("predicted_gbp_per_month", "realised_gbp_per_month"))
    share = f", {realised / predicted:.0%} of what was predicted" if predicted > 0 else ""
    moves = "1 verified move saves" if ranked.height == 1 else f"{ranked.height} verified moves save"
    return Chart(
        name="savings",
        title="Savings: predicted and realised",
        text=f"{moves} {pounds(realised)} a month{share} ({pounds(predicted)}).",
        spec=lambda: _spec(ranked.head(MOST_MOVES)),
        head=("move", "predicted a month", "realised a month", "range"),
        rows=tuple(
            (
                one["title"],
                pounds(one["predicted_gbp_per_month"]),
                pounds(one["realised_gbp_per_month"]),
                f"{pounds(one['low_gbp_per_month'])} to {pounds(one['high_gbp_per_month'])}",
            )
            for one in ranked.to_dicts()
        ),
    )


def _sum(rows: pl.DataFrame, name: str) -> Decimal:
    return sum((pence(value) for value in rows[name]), Decimal(0))


def _spec(rows: pl.DataFrame) -> dict[str, Any]:
    import altair as alt  # noqa: PLC0415 - only who draws pays for it

    cut = rows.with_columns(
        move=pl.when(pl.col("title").str.len_chars() > 38)
        .then(pl.col("title").str.slice(0, 37) + "…")
        .otherwise("title")
        + " ("
        + pl.col("recommendation_id").str.slice(0, 4)
        + ")"
    )
    base = alt.Chart(cut, width=WIDTH - 180, height=34 * cut.height).encode(
        y=alt.Y("move:N", title=None, sort=cut["move"].to_list(), axis=alt.Axis(labelLimit=280))
    )
    colours = alt.Scale(domain=["predicted", "realised"], range=[COLOURS[4], COLOURS[0]])
    colour = alt.Color("series:N", title=None, scale=colours)

    def named(text: str) -> alt.Chart:
        return base.transform_calculate(series=f"'{text}'").encode(color=colour)

    def along(column: str) -> alt.X:
        return alt.X(f"{column}:Q", title="£ a month", axis=alt.Axis(format="$,.0f"))

    predicted = named("predicted").mark_bar(height=18).encode(x=along("predicted_gbp_per_month"))
    realised = named("realised").mark_bar(height=8).encode(x=along("realised_gbp_per_month"))
    interval = base.mark_rule(color=INK, strokeWidth=1.5).encode(
        x=along("low_gbp_per_month"), x2="high_gbp_per_month:Q"
    )
    return dict(alt.layer(predicted, realised, interval).to_dict())
