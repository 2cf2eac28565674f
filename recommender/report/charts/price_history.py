"""The chart of prices over time: the cheapest on-demand hour of a vCPU or of a GPU model, by region."""

from __future__ import annotations

from typing import Any

import dataframely as dy
import polars as pl

from exporters.core.money import rate
from recommender.report.charts.drawing import COLOURS, DASHES, HEIGHT, WIDTH, Chart
from recommender.week.frames import PricePoint

MOST_REGIONS = 5
"""Lines that can be told apart; the cheapest regions of the last day are drawn, all stand in the table."""


def price_history(points: dy.DataFrame[PricePoint], *, unit: str) -> Chart | None:
    """This will chart one unit's cheapest price by region.

    Args:
        points: of any units.
        unit: vCPU, or a GPU's model.

    Returns:
        The chart; None: there is no price of that unit.
    """
    own = points.filter(pl.col("unit") == unit).with_columns(place=pl.col("provider") + " " + pl.col("region"))
    if own.is_empty():
        return None
    last = own.sort("place", "day").group_by("place", maintain_order=True).agg(pl.col("day", "gbp_per_hour").last())
    ranked = last.sort("gbp_per_hour", "place")
    shown = ranked.head(MOST_REGIONS)["place"].to_list()
    name = unit if unit == "vCPU" else f"{unit} GPU"
    drawn = own.filter(pl.col("place").is_in(shown)).sort("place", "day")
    is_history = bool(drawn.group_by("place").len()["len"].max() > 1)  # type: ignore[operator]
    return Chart(
        name=f"price-{unit.lower().replace(' ', '-')}",
        title=f"The cheapest {name}-hour, on demand",
        text=_text(ranked, own, name),
        spec=lambda: _line(drawn, shown, name) if is_history else _bars(drawn, shown, name),
        head=("region", f"£ per {name}-hour", "as of"),
        rows=tuple((one["place"], rate(one["gbp_per_hour"]), f"{one['day']:%-d %B %Y}") for one in ranked.to_dicts()),
    )


def _text(ranked: pl.DataFrame, own: pl.DataFrame, name: str) -> str:
    cheapest = ranked.row(0, named=True)
    said = f"The cheapest {name}-hour is {rate(cheapest['gbp_per_hour'])} in {cheapest['place']}"
    if ranked.height > 1:
        dearest = ranked.row(-1, named=True)
        said += f", the dearest of {ranked.height} regions {rate(dearest['gbp_per_hour'])} in {dearest['place']}"
    first = own.filter(pl.col("place") == cheapest["place"]).sort("day").row(0, named=True)
    if first["day"] == cheapest["day"]:
        return f"{said}. There is one day of prices so far."
    change = cheapest["gbp_per_hour"] / first["gbp_per_hour"] - 1 if first["gbp_per_hour"] else 0.0
    way = "unchanged" if abs(change) < 0.0005 else f"{'up' if change > 0 else 'down'} {abs(change):.1%}"
    return f"{said}; there it is {way} since {first['day']:%-d %B %Y}."


def _line(drawn: pl.DataFrame, shown: list[str], name: str) -> dict[str, Any]:
    import altair as alt  # noqa: PLC0415 - only who draws pays for it

    place = alt.Color("place:N", title=None, sort=shown, scale=alt.Scale(domain=shown, range=list(COLOURS)))
    dash = alt.StrokeDash("place:N", title=None, sort=shown, scale=alt.Scale(domain=shown, range=list(DASHES)))
    chart = (
        alt.Chart(drawn.select("day", "place", "gbp_per_hour"), width=WIDTH, height=HEIGHT)
        .mark_line(interpolate="step-after", strokeWidth=2, point={"size": 18})
        .encode(
            x=alt.X("day:T", title=None, axis=alt.Axis(format="%-d %b", labelOverlap=True)),
            y=alt.Y(
                "gbp_per_hour:Q", title=f"£ per {name}-hour", axis=alt.Axis(format="$.4~f"), scale=alt.Scale(zero=False)
            ),
            color=place,
            strokeDash=dash,
        )
    )
    return dict(chart.to_dict())


def _bars(drawn: pl.DataFrame, shown: list[str], name: str) -> dict[str, Any]:
    """One price a region: lengths from zero compare what lines cannot."""
    import altair as alt  # noqa: PLC0415 - only who draws pays for it

    base = alt.Chart(drawn.select("place", "gbp_per_hour"), width=WIDTH, height=28 * len(shown)).encode(
        y=alt.Y("place:N", title=None, sort=shown),
        x=alt.X("gbp_per_hour:Q", title=f"£ per {name}-hour", axis=alt.Axis(format="$.4~f", tickCount=6)),
    )
    figures = base.mark_text(align="left", dx=4).encode(text=alt.Text("gbp_per_hour:Q", format="$.4f"))
    return dict((base.mark_bar(color=COLOURS[0], height=14) + figures).to_dict())
