"""The pages in a real Chromium: keyboard alone, a telephone's width, paper, a silent console, hostile names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.recommender.report.example import HOSTILE, example_plan
from tests.recommender.serve.conftest import Served
from tests.servers.chromium import complaints, overflow_px, running_chromium

WEB = next(one.id for one in example_plan().recommendations if one.target.workload == "web")
EVIL = next(one.id for one in example_plan().recommendations if one.target.workload == HOSTILE)
BURST = example_plan().capacity[0].id


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running_chromium() as running:
        yield running


def url(served: Served, path: str) -> str:
    return str(served.client.base_url).rstrip("/") + path


def tab_to(page: Page, selector: str) -> None:
    """Presses Tab until an element has the focus, as somebody without a mouse does."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
    raise AssertionError(f"{selector} cannot be reached with the Tab key")


PATHS = (
    "/",
    "/recommendations",
    f"/recommendations/{WEB}",
    f"/recommendations/{EVIL}",
    f"/recommendations/{BURST}",
    "/bursts",
    "/fleet",
    "/prices",
    "/prices?unit=gpu",
    "/prices?unit=egress",
    "/reports",
)


def test_every_page_fits_a_telephone_and_paper_and_the_console_stays_silent(stocked: Served, browser: Browser) -> None:
    page = browser.new_page()
    said, dialogs = complaints(page), []
    page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    menu = page.get_by_role("navigation", name="Pages", exact=True)
    for path in PATHS:
        page.set_viewport_size({"width": 360, "height": 740})
        page.emulate_media(media="screen")
        page.goto(url(stocked, path))
        assert (path, overflow_px(page), menu.is_visible()) == (path, 0, True)
        # Between its margins A4 is 186 mm wide, at 96 pixels an inch.
        page.set_viewport_size({"width": 703, "height": 1000})
        page.emulate_media(media="print")
        assert (path, overflow_px(page), menu.is_visible()) == (path, 0, False)
    assert (said, dialogs) == ([], [])
    page.close()


def test_advice_is_found_opened_and_dismissed_with_the_keyboard_alone(proposed: Served, browser: Browser) -> None:
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    said = complaints(page)
    page.goto(url(proposed, "/recommendations"))
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "To the content"
    tab_to(page, "#text")
    page.keyboard.type("shop/web")
    page.keyboard.press("Enter")
    page.wait_for_url("**text=shop*")
    assert page.get_by_role("row").count() == 2
    tab_to(page, "th.advice a")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/recommendations/{WEB}")
    tab_to(page, "input[name=decision]")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert page.get_by_role("radio", name="Dismiss").is_checked()
    page.keyboard.press("Tab")
    page.keyboard.type("licence is bound to the host")
    tab_to(page, "button[type=submit]")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert page.get_by_role("table", name="What happened").get_by_text("licence is bound to the host").is_visible()
    assert page.locator(".summary").get_by_text("dismissed").is_visible()
    with proposed.ledger.reading() as reader:
        assert [one.kind.value for one in reader.history(WEB)] == ["proposed", "dismissed"]
    assert said == []
    page.close()


def test_a_refused_decision_keeps_what_was_typed_and_says_why(proposed: Served, browser: Browser) -> None:
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto(url(proposed, f"/recommendations/{WEB}"))
    page.get_by_role("radio", name="Snooze").check()
    page.get_by_label("Reason").fill("after the audit")
    page.get_by_role("button", name="Write it down").click()
    assert page.get_by_role("alert").get_by_text("A snooze needs an end.").is_visible()
    assert page.get_by_label("Reason").input_value() == "after the audit"
    assert page.get_by_role("radio", name="Snooze").is_checked()
    page.locator("#until").fill("2027-01-04")
    page.get_by_role("button", name="Write it down").click()
    assert page.locator(".summary").get_by_text("snoozed").is_visible()


def test_the_recommendation_prints_as_a_document(proposed: Served, browser: Browser, tmp_path: Path) -> None:
    page = browser.new_page()
    page.goto(url(proposed, f"/recommendations/{WEB}"))
    pdf = page.pdf(format="A4", path=str(tmp_path / "one.pdf"))
    assert 1 <= pdf.count(b"/Type /Page\n") <= 4
    page.close()
