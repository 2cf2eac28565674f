"""The HTML report as a reader's browser shows it: quiet, no wider than a telephone, printable."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from recommender.report.html import render, style_hash
from recommender.report.view_model import report_of
from tests.recommender.report.a_week import facts
from tests.recommender.report.example import WEEK, example
from tests.recommender.world import plan, workload
from tests.servers.chromium import complaints, overflow_px, running_chromium


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running_chromium() as running:
        yield running


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(render(example()), encoding="utf-8")
    return path.as_uri()


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_it_fits_the_window_and_the_console_stays_silent(browser: Browser, address: str, width: int) -> None:
    page = browser.new_page(viewport={"width": width, "height": 800})
    said = complaints(page)
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    page.goto(address)
    assert overflow_px(page) == 0
    assert said == []
    assert dialogs == []
    assert page.title() == "Tuppence: Week of 23 November 2026"


def test_it_reads_without_javascript(browser: Browser, address: str) -> None:
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto(address)
    assert page.get_by_role("heading", name="Do these first").is_visible()
    assert page.get_by_role("table", name="Do these first").get_by_text("£105.12").first.is_visible()


def test_it_prints_on_a4(browser: Browser, address: str, tmp_path: Path) -> None:
    page = browser.new_page()
    page.goto(address)
    pdf = page.pdf(format="A4", print_background=True, path=str(tmp_path / "report.pdf"))
    assert pdf.startswith(b"%PDF-")
    assert 1 <= pdf.count(b"/Type /Page\n") <= 12
    # What is printed is no wider than the paper between its margins: 186 mm at 96 pixels an inch.
    page.set_viewport_size({"width": 703, "height": 1000})
    page.emulate_media(media="print")
    assert overflow_px(page) == 0


def test_what_matters_fits_the_first_printed_page(browser: Browser, tmp_path: Path) -> None:
    tame = plan(
        *(workload(f"web-{number}", vcpu_request_mean=1.0, memory_gib_request_mean=4.0) for number in range(12))
    )
    path = tmp_path / "report.html"
    path.write_text(render(report_of(tame, WEEK, facts(tame))), encoding="utf-8")
    page = browser.new_page(viewport={"width": 703, "height": 1017})
    page.goto(path.as_uri())
    page.emulate_media(media="print")
    # 269 mm between the margins of A4 at 96 pixels an inch
    assert page.evaluate("document.querySelector('.page-one').getBoundingClientRect().bottom") <= 1017
    assert page.locator(".page-one svg.chart").count() == 1
    assert page.locator(".page-one tbody tr").count() >= 10


def test_a_page_with_the_strict_policy_of_the_service_shows_its_charts(browser: Browser, address: str) -> None:
    page = browser.new_page()
    said = complaints(page)
    policy = (
        f"<head><meta http-equiv='Content-Security-Policy' content=\"default-src 'none'; style-src {style_hash()}\">"
    )
    page.route(
        "**/*",
        lambda route: route.fulfill(content_type="text/html", body=render(example()).replace("<head>", policy, 1)),
    )
    page.goto("http://report.invalid/")
    assert said == []
    bar = page.locator("#chart-savings svg.chart path[fill='#0072b2']").first
    assert bar.is_visible()
    assert page.evaluate("getComputedStyle(document.querySelector('#chart-savings svg text')).fontSize") != "15px"
