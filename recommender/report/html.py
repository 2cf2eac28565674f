"""The report as one HTML file that needs nothing else: style inside, no script, no image, no font to fetch."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.metadata import version
from importlib.resources import files

from markupsafe import Markup

from exporters.core.web.templates import environment
from recommender.report.charts.drawing import Chart, can_draw
from recommender.report.charts.inline import inline_svg
from recommender.report.view import MOST_ROWS, Report
from recommender.report.words import number_text


def render(report: Report) -> str:
    """This will return the report as HTML; every text in it is escaped."""
    # The style is the program's own; it stands in the page as it is, so that its hash is the policy's.
    style = Markup(stylesheet())  # noqa: S704
    return (
        environment("recommender.report")
        .get_template("report.html")
        .render(
            report=report,
            style=style,
            version=version("tuppence"),
            most=MOST_ROWS,
            drawn=can_draw(),
            draw=_drawn,
            number_text=number_text,
        )
    )


def _drawn(chart: Chart) -> Markup:
    """The chart as an element; without the extra `charts` nothing, for text and figures stand beside it."""
    # Drawn by this process from a specification of ours; names in it are text nodes that the drawing has escaped.
    return Markup(inline_svg(chart)) if can_draw() else Markup()  # noqa: S704


@cache
def stylesheet() -> str:
    """This will return the style that stands in the page."""
    return files("recommender.report").joinpath("templates", "report.css").read_text(encoding="utf-8")


@cache
def style_hash() -> str:
    """This will return the style's source expression for a content security policy (CSP Level 3, "hash-source")."""
    digest = hashlib.sha256(stylesheet().encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
