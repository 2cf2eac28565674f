"""Charts: each can be read as text, its figures are all in a table, and it is drawn without a browser."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any
from xml.etree import ElementTree

import dataframely as dy
import polars as pl
import pytest

from recommender.report.charts.demand import demand_chart
from recommender.report.charts.drawing import Chart, png, svg
from recommender.report.charts.frames import Change, DemandPoint, SavingPoint
from recommender.report.charts.price_history import price_history
from recommender.report.charts.savings import savings_chart
from recommender.report.charts.waterfall import waterfall
from recommender.week.frames import PricePoint

MONDAY = date(2026, 11, 23)


def _prices(*rows: tuple[date, str, str, float], unit: str = "vCPU") -> dy.DataFrame[PricePoint]:
    return PricePoint.validate(
        pl.DataFrame(
            [dict(zip(("day", "provider", "region", "gbp_per_hour"), one, strict=True), unit=unit) for one in rows]
        )
    )


def _changes(*rows: tuple[str, float, bool]) -> dy.DataFrame[Change]:
    return Change.cast(
        pl.DataFrame([{"order": n, "reason": r, "gbp": g, "is_total": t} for n, (r, g, t) in enumerate(rows)])
    )


def _saving(**changes: Any) -> dict[str, Any]:
    return {
        "title": "Move render",
        "recommendation_id": "aa11",
        "predicted_gbp_per_month": 100.0,
        "realised_gbp_per_month": 80.0,
        "low_gbp_per_month": 60.0,
        "high_gbp_per_month": 95.0,
    } | changes


def _demand(*hours: tuple[float | None, float | None], capacity: float | None = 100.0) -> dy.DataFrame[DemandPoint]:
    start = datetime(2026, 11, 23, tzinfo=UTC)
    rows = [
        {"at": start + timedelta(hours=n), "demand": d, "p50": p, "p90": None if p is None else p * 1.1}
        for n, (d, p) in enumerate(hours)
    ]
    return DemandPoint.cast(pl.DataFrame(rows).with_columns(capacity=pl.lit(capacity, pl.Float64)))


def test_a_price_chart_names_the_cheapest_and_the_dearest_region_and_how_the_cheapest_changed() -> None:
    chart = price_history(
        _prices(
            (MONDAY, "aws", "eu-west-2", 0.04),
            (MONDAY, "gcp", "europe-west2", 0.02),
            (MONDAY + timedelta(days=7), "aws", "eu-west-2", 0.03),
            (MONDAY + timedelta(days=7), "gcp", "europe-west2", 0.025),
        ),
        unit="vCPU",
    )
    assert chart is not None
    assert chart.text == (
        "The cheapest vCPU-hour is £0.0250 in gcp europe-west2, the dearest of 2 regions £0.0300 in aws eu-west-2; "
        "there it is up 25.0% since 23 November 2026."
    )
    assert chart.rows == (
        ("gcp europe-west2", "£0.0250", "30 November 2026"),
        ("aws eu-west-2", "£0.0300", "30 November 2026"),
    )


def test_one_day_of_prices_is_said_to_be_one_day_and_drawn_as_bars() -> None:
    chart = price_history(_prices((MONDAY, "gcp", "europe-west2", 0.7), unit="NVIDIA L4"), unit="NVIDIA L4")
    assert chart is not None
    assert chart.text == (
        "The cheapest NVIDIA L4 GPU-hour is £0.7000 in gcp europe-west2. There is one day of prices so far."
    )
    assert {layer["mark"]["type"] for layer in chart.spec()["layer"]} == {"bar", "text"}


def test_a_unit_without_a_price_has_no_chart() -> None:
    assert price_history(PricePoint.create_empty(), unit="vCPU") is None


def test_every_region_stands_in_the_table_though_only_the_cheapest_are_drawn() -> None:
    rows = [(MONDAY + timedelta(days=d), "aws", f"r-{n}", 0.01 * (n + 1)) for n in range(9) for d in range(2)]
    chart = price_history(_prices(*rows), unit="vCPU")
    assert chart is not None
    assert len(chart.rows) == 9
    drawn = next(iter(chart.spec()["datasets"].values()))
    assert {one["place"] for one in drawn} == {f"aws r-{n}" for n in range(5)}


def test_a_demand_chart_says_the_peak_and_how_often_it_was_beyond_capacity() -> None:
    chart = demand_chart(
        _demand((50.0, 55.0), (120.0, 90.0), (80.0, 100.0), (None, 95.0)), name="lon", what="onprem-lon", unit="vCPU"
    )
    assert chart is not None
    assert chart.text == (
        "Demand of onprem-lon peaked at 120 vCPU on 23 November at 01:00 UTC; the owned nodes admit 100 vCPU, and "
        "demand was above it in 33% of the time."
    )
    assert chart.rows == (("23 November 2026", "120", "110", "100"),)


def test_a_cluster_without_owned_nodes_has_no_line_of_capacity() -> None:
    chart = demand_chart(_demand((50.0, 55.0), capacity=None), name="eks", what="eks", unit="vCPU")
    assert chart is not None
    assert chart.text.endswith("none of its capacity is owned.")
    assert len(chart.spec()["layer"]) == 2


def test_demand_that_was_never_seen_has_no_chart() -> None:
    assert demand_chart(_demand((None, None)), name="x", what="x", unit="vCPU") is None


def test_the_savings_chart_adds_up_to_the_penny_and_says_the_share() -> None:
    second = _saving(recommendation_id="bb22", predicted_gbp_per_month=50.1, realised_gbp_per_month=-5.05)
    chart = savings_chart(SavingPoint.validate(pl.DataFrame([_saving(), second])))
    assert chart is not None
    assert chart.text == "2 verified moves save £74.95 a month, 50% of what was predicted (£150.10)."
    assert chart.rows[1] == ("Move render", "£50.10", "-£5.05", "£60.00 to £95.00")


def test_nothing_verified_is_no_chart() -> None:
    assert savings_chart(SavingPoint.create_empty()) is None


def test_a_waterfall_names_the_greatest_reason_first() -> None:
    chart = waterfall(
        _changes(("last", 100.0, True), ("price", -10.0, False), ("usage", 30.5, False), ("this", 120.5, True)),
        name="why",
        title="Why",
    )
    assert chart is not None
    assert chart.text == "From £100.00 to £120.50: usage +£30.50, price -£10.00."
    bars = next(iter(chart.spec()["datasets"].values()))
    assert [(one["start"], one["end"]) for one in bars] == [(0, 100.0), (100.0, 90.0), (90.0, 120.5), (0, 120.5)]


def test_reasons_that_do_not_add_up_are_refused() -> None:
    with pytest.raises(ValueError, match="do not make"):
        waterfall(_changes(("last", 100.0, True), ("price", 1.0, False), ("this", 120.0, True)), name="w", title="W")


def _every_chart(title: str = "Move render") -> list[Chart]:
    days = ((MONDAY, "aws", title, 0.04), (MONDAY + timedelta(days=1), "aws", title, 0.03))
    made = [
        price_history(_prices(*days), unit="vCPU"),
        demand_chart(_demand((50.0, 55.0), (120.0, 90.0)), name="lon", what=title, unit="vCPU"),
        savings_chart(SavingPoint.validate(pl.DataFrame([_saving(title=title)]))),
        waterfall(_changes((title, 100.0, True), ("price", 1.0, False), ("this", 101.0, True)), name="w", title=title),
    ]  # fmt: skip
    return [one for one in made if one is not None]


def test_every_chart_is_drawn_as_one_accessible_svg_and_as_png() -> None:
    for chart in _every_chart():
        root = ElementTree.fromstring(svg(chart))
        assert root.tag.endswith("svg")
        assert root.get("aria-labelledby") == f"{chart.name}-text"
        assert png(chart, scale=1)[:8] == b"\x89PNG\r\n\x1a\n"


def test_a_hostile_name_stays_text_in_the_picture() -> None:
    for chart in _every_chart("</text><script>alert(1)</script>'"):
        root = ElementTree.fromstring(svg(chart))
        assert not [one for one in root.iter() if one.tag.endswith("script")]
