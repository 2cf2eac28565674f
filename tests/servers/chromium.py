"""Debian's Chromium, headless, for tests that must see a page as a reader does.

Where it is missing a test is skipped with the reason; with ``CI=true`` it fails instead, so that a build never passes
because nothing was looked at.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, sync_playwright

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@contextmanager
def running_chromium() -> Iterator[Browser]:
    """This will run Chromium until the block ends, or skip the test (fail it with CI=true)."""
    if not CHROMIUM.exists():
        reason = "chromium is not installed (Debian package: chromium)"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


def complaints(page: Page) -> list[str]:
    """This will return a list that fills with what the page's console and loader complain of from now on."""
    found: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            found.append(message.text)

    page.on("console", note)
    page.on("pageerror", lambda error: found.append(str(error)))
    page.on("requestfailed", lambda request: found.append(f"failed: {request.url}"))
    return found


def overflow_px(page: Page) -> int:
    """This will return by how many pixels the page is wider than its window."""
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))
