"""A chart as an element of a page: no style attribute, no script, no id that another chart has too.

Pages forbid inline styles by their content security policy; Vega draws with presentation attributes (SVG 2, 6.6), and
what it adds for screen readers inside the drawing is dropped, because the drawing as a whole has its text beside it.
"""

from __future__ import annotations

from xml.etree import ElementTree

from recommender.report.charts.drawing import Chart, svg

_SVG = "http://www.w3.org/2000/svg"
_DROPPED = {"class", "role", "aria-hidden", "aria-label", "aria-roledescription", "pointer-events", "style", "version"}

ElementTree.register_namespace("", _SVG)


def inline_svg(chart: Chart) -> str:
    """This will draw a chart for the middle of a page, as wide as its column.

    Its name for screen readers is the element with the id ``<name>-text``, which the page must have. Needs the extra
    `charts`; see drawing.can_draw.
    """
    root = ElementTree.fromstring(svg(chart))  # noqa: S314 - drawn by this process, not read from anywhere
    for element in root.iter():
        for name in _DROPPED & element.attrib.keys():
            del element.attrib[name]
        for name, value in element.attrib.items():
            if name == "id":
                element.set(name, f"{chart.name}-{value}")
            elif "url(#" in value:
                element.set(name, value.replace("url(#", f"url(#{chart.name}-"))
    for name in ("width", "height"):
        del root.attrib[name]
    root.attrib.update({"role": "img", "aria-labelledby": f"{chart.name}-text", "class": "chart"})
    return ElementTree.tostring(root, encoding="unicode")
