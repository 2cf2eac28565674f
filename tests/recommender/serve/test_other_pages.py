"""Prices, bursts, fleet and the archive of reports: what is asked for is shown, and what is not there is said."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest

from exporters.core.clock import FixedClock
from exporters.core.errors import IntegrityError
from recommender.report.view import Report
from recommender.serve.problem import ProblemError
from recommender.serve.report_pages import Archive
from recommender.week.calendar import Week
from tests.builders import NOON
from tests.recommender.report.example import example
from tests.recommender.serve.conftest import Served

MONEY = re.compile(r'<span class="money">([^<]*)</span>')
WEEK = Week.parse("2026-W48")


def shown(served: Served, path: str, **params: Any) -> str:
    answer = served.client.get(path, params=params)
    assert answer.status_code == 200, answer.text
    return unescape(answer.text)


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({}, ["£0.0100", "£0.0100", "£0.0200", "£0.0300"]),
        ({"provider": "aws"}, ["£0.0100", "£0.0300"]),
        ({"capacity_type": "owned"}, ["£0.0100"]),
        ({"region": "europe-west1"}, ["£0.0200"]),
        ({"unit": "gpu"}, ["£0.2100", "£0.4400", "£0.4800"]),
        ({"unit": "gpu", "model": "L4", "capacity_type": "on-demand"}, ["£0.4400", "£0.4800"]),
        ({"operating_system": "windows"}, []),
    ],
)
def test_prices_are_the_cheapest_of_each_place_and_way_to_buy(
    stocked: Served, params: dict[str, str], expected: list[str]
) -> None:
    assert MONEY.findall(shown(stocked, "/prices", **params)) == expected


def test_one_gpu_model_is_shown_by_region_and_way_to_buy(stocked: Served) -> None:
    page = shown(stocked, "/prices", unit="gpu", model="L4")
    assert "L4 by region, £ a GPU-hour" in page
    west2 = re.search(r'<th scope="row">gcp europe-west2</th>(.*?)</tr>', page, re.DOTALL)
    assert west2 is not None
    assert re.findall(r'class="number( best)?">(£[\d.]+)', west2[1]) == [("", "£0.4800"), (" best", "£0.2100")]


def test_egress_is_a_list_of_tiers(stocked: Served) -> None:
    page = shown(stocked, "/prices", unit="egress")
    assert "Tiers by region" in page
    assert "aws eu-west-2" in page


def test_a_misspelt_filter_of_prices_is_an_error(stocked: Served) -> None:
    assert stocked.client.get("/prices", params={"regoin": "x"}).status_code == 422


def test_without_a_store_the_page_says_what_to_do(served: Served) -> None:
    answer = served.client.get("/prices", headers={"accept": "text/html"})
    assert (answer.status_code, "tuppence" in answer.text) == (503, True)


def test_the_board_shows_what_is_short_and_what_leaves(stocked: Served) -> None:
    page = shown(stocked, "/bursts")
    assert "! burst" in page
    # Nine pods of 3 vCPUs that have no room.
    assert "<dd>27 vCPU</dd>" in page
    assert 'role="img" aria-label="Demand of the last' in page
    assert "What overflows, and where to" in page


def test_without_a_forecast_the_board_says_so(with_plan: Served) -> None:
    assert "The next hour could not be foretold" in shown(with_plan, "/bursts")


def test_the_fleet_shows_clusters_sources_and_gaps(stocked: Served) -> None:
    page = stocked.client.get("/fleet").text
    assert "<script" not in page
    assert "eks-lon" in page
    assert "How fresh the prices are" in page
    assert "Not enough data" in page


def test_the_archive_lists_weeks_since_the_first_advice_and_makes_their_reports(stocked: Served) -> None:
    page = shown(stocked, "/reports")
    # The first advice is of Monday 30 November 2026, made from the week before.
    assert re.findall(r'href="/reports/(2026-W\d+)"', page) == ["2026-W48"]
    report = stocked.client.get("/reports/2026-W48")
    assert (report.status_code, "Week of 23 November 2026" in report.text) == (200, True)
    assert stocked.client.get("/reports/2026-W49").status_code == 404
    assert stocked.client.get("/reports/%3Cscript%3E").status_code == 404


def test_a_report_is_made_once_and_kept_and_a_failed_one_is_tried_again() -> None:
    asked: list[str] = []

    def make(week: Week) -> Report:
        asked.append(week.id)
        if len(asked) == 1:
            raise IntegrityError("the usage ends before", where="usage", next_step="Wait.")
        return example()

    archive = Archive(make, FixedClock(NOON))
    with pytest.raises(IntegrityError):
        archive.page(WEEK)
    assert archive.page(WEEK) is archive.page(WEEK)
    assert asked == ["2026-W48", "2026-W48"]


def test_while_one_report_is_made_another_is_not_begun() -> None:
    refused: list[int] = []

    def make(week: Week) -> Report:
        with pytest.raises(ProblemError) as error:
            archive.page(Week.parse("2026-W47"))
        refused.append(error.value.status_code)
        return example()

    archive = Archive(make, FixedClock(NOON))
    archive.page(WEEK)
    assert refused == [503]
