"""A chart is a specification with its text alternative; here it becomes SVG for pages and PNG for mail.

Vega-Lite by altair, drawn by vl-convert in this process: no browser, no network. Both come with the extra
``tuppence[charts]``; without it a report shows each chart's text alternative and figures instead, and says so.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any, Final

VEGA_LITE: Final = "6.4"
"""The version of Vega-Lite that altair 6 writes (altair.SCHEMA_VERSION)."""

WIDTH, HEIGHT = 640, 220

# Okabe and Ito's palette, which keeps apart for the colour-blind; the first two also in grey print.
COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000")
DASHES: Final = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [4, 4], [10, 4], [1, 3])
POUNDS: Final[dict[str, Any]] = {"decimal": ".", "thousands": ",", "grouping": [3], "currency": ["£", ""]}
"""How numbers are written: d3-format's words for British ones, so that a format of "$,.2f" says £1,234.56."""

INK, FAINT = "#1a1a1a", "#c4c4c4"


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart.

    Args:
        name: a word for file names and anchors.
        title: what it shows, as a heading.
        text: what a reader who cannot see it must know: one or two sentences with the figures that matter.
        spec: makes the Vega-Lite specification, data inside; needs the extra.
        head: the columns of its figures.
        rows: its figures as text, for a table.
    """

    name: str
    title: str
    text: str
    spec: Callable[[], dict[str, Any]]
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@cache
def can_draw() -> bool:
    """This will say whether charts can be drawn here."""
    return all(find_spec(name) is not None for name in ("altair", "vl_convert"))


def svg(chart: Chart) -> str:
    """This will draw a chart as an SVG element that names itself to a screen reader.

    Needs the extra `charts`; see can_draw.
    """
    import vl_convert  # noqa: PLC0415 - only who draws pays for it

    drawn = vl_convert.vegalite_to_svg(json.dumps(_whole(chart)), vl_version=VEGA_LITE, format_locale=POUNDS)
    return drawn.replace("<svg ", f'<svg role="img" aria-labelledby="{chart.name}-text" ', 1)


def png(chart: Chart, *, scale: float = 2.0) -> bytes:
    """This will draw a chart as a PNG, `scale` pixels a point.

    Needs the extra `charts`; see can_draw.
    """
    import vl_convert  # noqa: PLC0415 - only who draws pays for it

    return vl_convert.vegalite_to_png(
        json.dumps(_whole(chart)), vl_version=VEGA_LITE, scale=scale, format_locale=POUNDS
    )


def _whole(chart: Chart) -> dict[str, Any]:
    return {**chart.spec(), "background": "#ffffff", "config": _CONFIG}


_CONFIG: Final[dict[str, Any]] = {
    "font": "sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelColor": INK,
        "titleColor": INK,
        "labelFontSize": 11,
        "titleFontSize": 11,
        "titleFontWeight": "normal",
        "gridColor": "#e3e3e3",
        "domainColor": INK,
        "tickColor": INK,
    },
    "legend": {"orient": "top", "labelColor": INK, "titleColor": INK, "labelFontSize": 11, "symbolStrokeWidth": 2},
}
