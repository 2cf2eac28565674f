"""The HTML report as a reader's browser shows it: quiet, no wider than a telephone, printable."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from recommender.report.html import render
from tests.recommender.report.example import example
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
    assert 1 <= pdf.count(b"/Type /Page\n") <= 8
    # What is printed is no wider than the paper between its margins: 186 mm at 96 pixels an inch.
    page.set_viewport_size({"width": 703, "height": 1000})
    page.emulate_media(media="print")
    assert overflow_px(page) == 0
