"""The chart of demand: what was asked of a cluster, the band forecast an hour before, and what its nodes admit."""

from __future__ import annotations

from typing import Any

import dataframely as dy
import polars as pl

from recommender.report.charts.drawing import COLOURS, FAINT, HEIGHT, INK, WIDTH, Chart
from recommender.report.charts.frames import DemandPoint
from recommender.report.words import number_text


def demand_chart(points: dy.DataFrame[DemandPoint], *, name: str, what: str, unit: str) -> Chart | None:
    """This will chart one series.

    Args:
        points: hours in order.
        name: a word for file names.
        what: the cluster and class, as a heading names them.
        unit: vCPU, GiB or GPUs.

    Returns:
        The chart; None: nothing is known of it.
    """
    rows = points.sort("at")
    seen = rows.filter(pl.col("demand").is_not_null())
    if seen.is_empty():
        return None
    return Chart(
        name=f"demand-{name}",
        title=f"{what}: demand, forecast and capacity",
        text=_text(rows, seen, what, unit),
        spec=lambda: _spec(rows, unit),
        head=("day", f"peak demand, {unit}", f"peak forecast P90, {unit}", f"least capacity, {unit}"),
        rows=_days(rows),
    )


def _text(rows: pl.DataFrame, seen: pl.DataFrame, what: str, unit: str) -> str:
    peak = seen.sort("demand", "at", descending=[True, False]).row(0, named=True)
    said = f"Demand of {what} peaked at {_figure(peak['demand'])} {unit} on {peak['at']:%-d %B at %H:%M} UTC"
    capacity = rows["capacity"].drop_nulls()
    if capacity.is_empty():
        return f"{said}; none of its capacity is owned."
    short = seen.filter(pl.col("demand") > pl.col("capacity")).height
    ratio = short / seen.height
    over = f"above it in {ratio:.0%} of the time" if short else "never above it"
    return f"{said}; the owned nodes admit {_figure(capacity[-1])} {unit}, and demand was {over}."


def _days(rows: pl.DataFrame) -> tuple[tuple[str, ...], ...]:
    by_day = (
        rows.group_by(pl.col("at").dt.date().alias("day"), maintain_order=True)
        .agg(pl.col("demand").max(), pl.col("p90").max(), pl.col("capacity").min())
        .rows(named=True)
    )
    figures = ("demand", "p90", "capacity")
    return tuple((f"{one['day']:%-d %B %Y}", *(_figure(one[name]) for name in figures)) for one in by_day)


def _figure(value: float | None) -> str:
    return "" if value is None else number_text(round(value, 1))


def _spec(rows: pl.DataFrame, unit: str) -> dict[str, Any]:
    import altair as alt  # noqa: PLC0415 - only who draws pays for it

    x = alt.X("at:T", title=None, axis=alt.Axis(format="%-d %b %H:%M", labelOverlap=True))
    base = alt.Chart(rows.select("at", "demand", "p50", "p90", "capacity"), width=WIDTH, height=HEIGHT).encode(x=x)
    domain = ["demand", "forecast, P50 to P90", "owned capacity"]
    colour = alt.Color("series:N", title=None, scale=alt.Scale(domain=domain, range=[COLOURS[0], FAINT, INK]))

    def named(text: str) -> alt.Chart:
        return base.transform_calculate(series=f"'{text}'").encode(color=colour)

    def up(column: str) -> alt.Y:
        return alt.Y(f"{column}:Q", title=unit, axis=alt.Axis(format=",.6~r"))

    band = named(domain[1]).mark_area().encode(y=up("p50"), y2="p90:Q")
    demand = named(domain[0]).mark_line(strokeWidth=2).encode(y=up("demand"))
    capacity = named(domain[2]).mark_line(strokeDash=[6, 3], strokeWidth=1.5).encode(y=up("capacity"))
    layers = [band, demand] + ([] if rows["capacity"].drop_nulls().is_empty() else [capacity])
    return dict(alt.layer(*layers).to_dict())
