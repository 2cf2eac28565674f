"""A dashboard as one SVG: each panel drawn by altair from its frames, and put where Grafana's grid has it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from typing import Any, Final

import altair as alt
import polars as pl
import vl_convert

from tools.dashboard_table import Cell, matrix_of, shown, table_of

UNIT_WIDTH, UNIT_HEIGHT, GAP = 50, 34, 8
TITLE = 24
INK, FAINT, PAPER, GROUND = "#1f2430", "#8a8f99", "#ffffff", "#f1f3f6"
FONT: Final = "Inter, Helvetica, Arial, sans-serif"
COLOURS: Final = {"green": "#2f8f4e", "orange": "#c96a00", "red": "#c4162a", "blue": "#0072b2", "yellow": "#9a7d00"}
COLOURS_OF_LINES: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#555555", "#000000")
MOST_LINES = 8
DAY = 86_400
NARROW = 60
"""Columns of fewer points have small figures and slanted heads."""

Placed = tuple[Mapping[str, Any], Sequence["Frame"]]


@dataclass(frozen=True, slots=True)
class Frame:
    """What Prometheus answered to one query.

    Args:
        ref_id: of the query.
        legend: how a series is named.
        series: labels, and (seconds since 1970, value) of each sample.
    """

    ref_id: str
    legend: str
    series: list[tuple[dict[str, str], list[tuple[float, float]]]]

    def name(self, labels: Mapping[str, str]) -> str:
        """The name of a series by the legend."""
        return re.sub(r"\{\{(\w+)\}\}", lambda match: labels.get(match[1], ""), self.legend).strip() or "(no name)"


def picture(title: str, panels: Sequence[Placed]) -> str:
    """This will draw a dashboard as SVG."""
    height = max(one["gridPos"]["y"] + one["gridPos"]["h"] for one, _ in panels) * UNIT_HEIGHT + 48
    width = 24 * UNIT_WIDTH
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="{FONT}" role="img">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{width}" height="{height}" fill="{GROUND}"/>',
        f'<text x="12" y="30" font-size="20" font-weight="600" fill="{INK}">{escape(title)}</text>',
    ]
    parts += [_placed(number, panel, frames) for number, (panel, frames) in enumerate(panels)]
    return "\n".join([*parts, "</svg>\n"])


def _placed(number: int, panel: Mapping[str, Any], frames: Sequence[Frame]) -> str:
    at = panel["gridPos"]
    x, y = at["x"] * UNIT_WIDTH + GAP / 2, at["y"] * UNIT_HEIGHT + 44
    width, height = at["w"] * UNIT_WIDTH - GAP, at["h"] * UNIT_HEIGHT - GAP
    title = escape(panel["title"])
    if panel["type"] == "row":
        return f'<text x="{x + 4}" y="{y + 22}" font-size="15" font-weight="600" fill="{INK}">{title}</text>'
    frame = (
        f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="3" fill="{PAPER}" stroke="#d8dbe0"/>'
        f'<text x="{x + 10}" y="{y + 18}" font-size="13" font-weight="600" fill="{INK}">{title}</text>'
    )
    inside = _inside(panel, frames, int(width - 20), int(height - TITLE - 8))
    inside = re.sub(r'\b(id="|url\(#|href="#)', rf"\g<1>p{number}-", inside)
    return f'{frame}<svg x="{x + 10}" y="{y + TITLE}" width="{width - 20}" height="{height - TITLE - 4}">{inside}</svg>'


def _inside(panel: Mapping[str, Any], frames: Sequence[Frame], width: int, height: int) -> str:
    if panel["type"] == "text":
        return _text(panel["options"]["content"], width)
    if not any(frame.series for frame in frames):
        none = escape(panel["fieldConfig"]["defaults"].get("noValue", "no data"))
        return f'<text x="50%" y="50%" text-anchor="middle" font-size="16" fill="{FAINT}">{none}</text>'
    if panel["type"] == "stat":
        return _numbers(panel, frames[0], width, height)
    chart = {"bargauge": _bars, "timeseries": _lines, "table": _table}[panel["type"]](panel, frames, width, height)
    chart = chart.properties(width=width, height=height, autosize={"type": "fit", "contains": "padding"}, padding=2)
    chart = chart.configure(font=FONT, background=PAPER, view=alt.ViewConfig(stroke=None))
    drawn = vl_convert.vegalite_to_svg(chart.to_json(indent=None))
    lean = re.sub(r' (?:aria-[a-z]+|role|aria-hidden|pointer-events)="[^"]*"', "", drawn[drawn.index("<svg") :])
    return re.sub(r' (?:d|transform)="[^"]*"', lambda match: re.sub(r"(\d\.\d)\d+", r"\1", match[0]), lean)


def _text(content: str, width: int) -> str:
    words = re.sub(r"[*`]|\[([^\]]*)\]\([^)]*\)", lambda match: match[1] or "", content).split()
    lines, most = [""], width // 7
    for word in words:
        if len(lines[-1]) + len(word) > most:
            lines.append("")
        lines[-1] += f"{word} "
    return "".join(
        f'<text x="0" y="{18 + 18 * place}" font-size="13" fill="{INK}">{escape(line)}</text>'
        for place, line in enumerate(lines)
    )


def _numbers(panel: Mapping[str, Any], frame: Frame, width: int, height: int) -> str:
    """Figures of a stat panel, in the colour of their threshold, side by side in as many rows as needed."""
    shown_series = sorted(frame.series, key=lambda one: frame.name(one[0]))[:9]
    columns = min(len(shown_series), max(1, width // 150))
    rows = -(-len(shown_series) // columns)
    named = panel["options"]["textMode"] == "value_and_name"
    parts = []
    for place, (labels, samples) in enumerate(shown_series):
        x = (place % columns + 0.5) * width / columns
        y = (place // columns + 0.5) * height / rows
        value = samples[-1][1]
        defaults = panel["fieldConfig"]["defaults"]
        size = min(30, height // rows - 14)
        colour = _colour(value, defaults["thresholds"]["steps"])
        parts.append(
            f'<text x="{x:.0f}" y="{y + size / 3:.0f}" text-anchor="middle" font-size="{size}" font-weight="600" '
            f'fill="{colour}">{escape(shown(value, defaults))}</text>'
        )
        if named:
            parts.append(
                f'<text x="{x:.0f}" y="{y + size / 3 + 16:.0f}" text-anchor="middle" font-size="11" '
                f'fill="{FAINT}">{escape(frame.name(labels))}</text>'
            )
    return "".join(parts)


def _colour(value: float, steps: Sequence[Mapping[str, Any]]) -> str:
    reached = [step["color"] for step in steps if step.get("value") is None or value >= step["value"]]
    return COLOURS.get(reached[-1], INK)


def _bars(panel: Mapping[str, Any], frames: Sequence[Frame], _width: int, height: int) -> alt.Chart:
    defaults = panel["fieldConfig"]["defaults"]
    [frame] = frames
    rows = [
        {
            "name": frame.name(labels),
            "value": samples[-1][1],
            "shown": shown(samples[-1][1], defaults),
            "colour": _colour(samples[-1][1], defaults["thresholds"]["steps"]),
        }
        for labels, samples in frame.series[: max(1, height // 18)]
    ]
    base = alt.Chart(pl.DataFrame(rows)).encode(y=alt.Y("name:N", sort=None, title=None, axis=_axis(labelLimit=230)))
    most = max(row["value"] for row in rows) * 1.25 or 1
    bars = base.mark_bar().encode(
        x=alt.X("value:Q", axis=None, scale=alt.Scale(domain=[0, most])), color=alt.Color("colour:N", scale=None)
    )
    words = base.mark_text(align="left", dx=4, color=INK, fontSize=11).encode(x="value:Q", text="shown:N")
    return alt.layer(bars, words)


def _lines(panel: Mapping[str, Any], frames: Sequence[Frame], _width: int, _height: int) -> alt.Chart:
    defaults = panel["fieldConfig"]["defaults"]
    named = [(frame.name(labels), samples) for frame in frames for labels, samples in frame.series][:MOST_LINES]
    rows = [
        {"name": name, "at": datetime.fromtimestamp(at, UTC), "value": value}
        for name, samples in named
        for at, value in samples
    ]
    ending = {"currencyGBP": "£", "percentunit": "%"}.get(defaults["unit"], "")
    form = {"£": "format(datum.value, ',.4~f')", "%": "format(datum.value, '.0~%')"}.get(ending)
    said = f"'£' + {form}" if ending == "£" else form or alt.Undefined
    if defaults["unit"] == "s" and max(row["value"] for row in rows) > DAY:
        said = f"format(datum.value / {DAY}, '.0f') + ' days'"
    axis = _axis(labelExpr=said, tickCount=5)
    return (
        alt.Chart(pl.DataFrame(rows))
        .mark_line(interpolate="step-after", strokeWidth=1.5)
        .encode(
            x=alt.X("at:T", title=None, axis=_axis(format="%H:%M:%S", tickCount=4)),
            y=alt.Y("value:Q", title=None, axis=axis, scale=alt.Scale(zero=True)),
            color=alt.Color(
                "name:N",
                title=None,
                sort=None,
                scale=alt.Scale(range=list(COLOURS_OF_LINES)),
                legend=alt.Legend(labelLimit=260, symbolType="stroke", labelFontSize=10),
            ),
        )
    )


def _table(panel: Mapping[str, Any], frames: Sequence[Frame], width: int, height: int) -> alt.Chart:
    cells = matrix_of(panel, frames) if _is_matrix(panel) else table_of(panel, frames)
    most = max(1, height // 20 - 1)
    kept = [cell for cell in cells if cell.row < most]
    frame = pl.DataFrame([_drawn(cell) for cell in kept])
    heads = list(dict.fromkeys(cell.head for cell in cells))
    limit = width // len(heads)
    slanted = -40 if limit < NARROW else 0
    axis = _axis(orient="top", labelAngle=slanted, labelLimit=max(limit, 90) if slanted else limit)
    base = alt.Chart(frame).encode(
        x=alt.X("head:N", sort=heads, title=None, axis=axis),
        y=alt.Y("row:O", axis=None, scale=alt.Scale(domain=list(range(most)))),
    )
    boxes = base.mark_rect(stroke=PAPER, strokeWidth=2).encode(color=alt.Color("fill:N", scale=None))
    size = 7 if slanted else 11
    words = base.mark_text(fontSize=size, limit=limit).encode(text="text:N", color=alt.value(INK))
    return alt.layer(boxes, words)


def _drawn(cell: Cell) -> dict[str, Any]:
    return {"row": cell.row, "head": cell.head, "text": cell.text, "fill": cell.fill or PAPER}


def _is_matrix(panel: Mapping[str, Any]) -> bool:
    return any(one["id"] == "groupingToMatrix" for one in panel.get("transformations", []))


def _axis(**given: object) -> alt.Axis:
    return alt.Axis(grid=False, domain=False, ticks=False, labelColor=INK, labelFontSize=11, **given)
