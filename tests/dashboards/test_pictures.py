"""Pictures of the dashboards: every panel is on them, with figures as Prometheus gave them, under the right heads."""

from __future__ import annotations

from html import escape
from typing import Any

import pytest

pytest.importorskip("vl_convert", reason="the extra charts is not installed")

from tests.dashboards.reading import ROOT, committed
from tools.dashboard_picture import Frame, picture
from tools.dashboard_table import shown

PRICE = 0.0145236


def panel_named(board: str, title: str) -> dict[str, Any]:
    [found] = [one for one in committed()[board]["panels"] if one["title"] == title]
    return found


def frame(*series: tuple[dict[str, str], float], ref_id: str = "A", legend: str = "") -> Frame:
    return Frame(ref_id, legend, [(labels, [(0.0, float(value))]) for labels, value in series])


@pytest.mark.parametrize("name", committed())
def test_every_panel_is_on_the_picture_of_its_dashboard(name: str) -> None:
    drawn = (ROOT / "docs/images" / f"dashboard-{name[len('tuppence-') : -len('.json')]}.svg").read_text("utf-8")
    missing = [one["title"] for one in committed()[name]["panels"] if escape(one["title"]) not in drawn]
    assert missing == [], "python -m tools.draw_dashboards draws them anew"


def test_a_price_is_drawn_with_all_its_decimals() -> None:
    panel = panel_named("tuppence-prices.json", "Cheapest vCPU-hour by region and capacity type")
    found = frame(({"place": "aws eu-west-2", "capacity_type": "spot"}, PRICE))
    assert ">£0.01452<" in picture("Prices", [(panel, [found])])


def test_a_table_has_its_queries_side_by_side_under_the_heads_of_the_panel() -> None:
    panel = panel_named("tuppence-placement.json", "Clusters")
    place = {"cluster": "c1", "provider": "aws", "region": "eu-west-2", "jurisdiction": "GB"}
    named = {"cluster": "c1"}
    frames = [frame((place, 1)), *(frame((named, value), ref_id=ref) for ref, value in (("B", 3), ("C", 2), ("D", -1)))]
    drawn = picture("Placement", [(panel, frames)])
    heads = [drawn.index(f">{head}<") for head in ("Cluster", "Jurisdiction", "Current £/h", "Advised £/h", "Change")]
    assert heads == sorted(heads)
    assert all(f">{text}<" in drawn for text in ("c1", "GB", "£3.00", "£2.00", "-£1.00"))


def test_a_value_that_has_a_word_is_written_as_the_word() -> None:
    panel = panel_named("tuppence-burst.json", "Owned capacity by class")
    labels = {"cluster": "c1", "resource": "gpu", "resource_class": "L4"}
    drawn = picture("Burst", [(panel, [frame((labels, 8)), frame((labels, 1), ref_id="F")])])
    assert ">needed<" in drawn


def test_a_panel_without_data_says_why() -> None:
    panel = panel_named("tuppence-health.json", "Publication of scores")
    assert "no hub in the settings" in picture("Health", [(panel, [frame()])])


@pytest.mark.parametrize(
    ("value", "unit", "decimals", "text"),
    [
        (-5.4249, "currencyGBP", 2, "-£5.42"),
        (2524.13, "currencyGBP", 2, "£2,524.13"),
        (0.0055, "percentunit", 2, "0.55 %"),
        (172_800, "s", 1, "2.0 days"),
        (90, "s", None, "1.5 min"),
        (6_684.4, "gbytes", 0, "6,684 GiB"),
        (3, "short", None, "3"),
    ],
)
def test_values_are_written_in_the_unit_of_the_panel(value: float, unit: str, decimals: int | None, text: str) -> None:
    assert shown(value, {"unit": unit, "decimals": decimals}) == text
