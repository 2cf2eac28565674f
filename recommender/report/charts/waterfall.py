"""The chart of reasons: how a cost came from last week's to this week's, by price, usage and exchange rate."""

from __future__ import annotations

from typing import Any

import dataframely as dy
import polars as pl

from exporters.core.money import pounds
from recommender.report.charts.drawing import COLOURS, INK, Chart
from recommender.report.charts.frames import Change

_WIDTH, _HEIGHT = 460, 150
"""Smaller than the others: it stands on the first page."""


def waterfall(changes: dy.DataFrame[Change], *, name: str, title: str) -> Chart | None:
    """This will chart the steps from one total to another.

    Args:
        changes: the first total, the changes, the last total.
        name: a word for file names.
        title: the heading.

    Returns:
        The chart; None: there are no two totals to go between.

    Raises:
        ValueError: the changes do not add up from the first total to the last, within a penny a step.
    """
    rows = changes.sort("order")
    if rows["is_total"].sum() < 2:
        return None
    steps = rows.filter(~pl.col("is_total"))
    first, last = rows["gbp"][0], rows["gbp"][-1]
    if abs(first + steps["gbp"].sum() - last) > 0.01 * max(1, steps.height):
        raise ValueError(f"{first} and the changes {steps['gbp'].to_list()} do not make {last}")
    return Chart(
        name=name,
        title=title,
        text=_text(steps, first, last),
        spec=lambda: _spec(rows),
        head=("reason", "£"),
        rows=tuple((one["reason"], _label(one)) for one in rows.to_dicts()),
    )


def signed(gbp: float) -> str:
    """This will write a change with its sign."""
    return f"{'+' if gbp > 0 else ''}{pounds(gbp)}"


def _label(one: dict[str, Any]) -> str:
    return pounds(one["gbp"]) if one["is_total"] else signed(one["gbp"])


def _text(steps: pl.DataFrame, first: float, last: float) -> str:
    said = f"From {pounds(first)} to {pounds(last)}"
    moved = steps.filter(pl.col("gbp").abs() >= 0.005).sort(pl.col("gbp").abs(), "order", descending=[True, False])
    reasons = [f"{one['reason']} {signed(one['gbp'])}" for one in moved.to_dicts()]
    return f"{said}: {', '.join(reasons)}." if reasons else f"{said}: nothing changed."


def _spec(rows: pl.DataFrame) -> dict[str, Any]:
    import altair as alt  # noqa: PLC0415 - only who draws pays for it

    step = pl.when("is_total").then(0.0).otherwise("gbp")
    start = pl.when("is_total").then(0.0).otherwise(rows["gbp"][0] + step.cum_sum() - step)
    kind = pl.when("is_total").then(pl.lit("total")).when(pl.col("gbp") > 0).then(pl.lit("dearer"))
    drawn = rows.with_columns(start=start).with_columns(
        end=pl.when("is_total").then("gbp").otherwise(pl.col("start") + pl.col("gbp")),
        kind=kind.otherwise(pl.lit("cheaper")),
        label=pl.Series([_label(one) for one in rows.to_dicts()]),
    )
    order = drawn["reason"].to_list()
    base = alt.Chart(drawn, width=_WIDTH, height=_HEIGHT).encode(
        x=alt.X("reason:N", title=None, sort=order, axis=alt.Axis(labelAngle=0, labelLimit=100))
    )
    kinds = alt.Scale(domain=["total", "dearer", "cheaper"], range=[INK, COLOURS[1], COLOURS[2]])
    bars = base.mark_bar(size=48).encode(
        y=alt.Y("start:Q", title="£ a week", axis=alt.Axis(format="$,.0f")),
        y2="end:Q",
        color=alt.Color("kind:N", title=None, scale=kinds),
    )
    top = alt.expr.max(alt.datum.start, alt.datum.end)
    labels = base.transform_calculate(top=top).mark_text(dy=-7, color=INK).encode(y="top:Q", text="label:N")
    return dict((bars + labels).to_dict())
