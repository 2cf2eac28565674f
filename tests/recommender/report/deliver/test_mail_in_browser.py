"""The mail's page as a mail program shows it: no wider than its window, whatever the names, and with its pictures."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from playwright.sync_api import Browser

from recommender.report.deliver.contract import Parcel
from recommender.report.deliver.mail import message
from tests.recommender.report.charts.test_charts import _every_chart
from tests.recommender.report.example import example
from tests.servers.chromium import overflow_px, running_chromium


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running_chromium() as running:
        yield running


@pytest.fixture(scope="module")
def shown() -> str:
    """The HTML part with its pictures put in."""
    parcel = Parcel(example(), "", charts=tuple(_every_chart()), link="https://tuppence.example/report")
    mail = message(parcel, sender="tuppence@example.org", to=("a@example.org",), at=datetime(2026, 11, 30, tzinfo=UTC))
    pictures = {
        part["Content-ID"].strip("<>"): base64.b64encode(part.get_content()).decode()
        for part in mail.walk()
        if part.get_content_type() == "image/png"
    }
    page: str = next(part for part in mail.walk() if part.get_content_type() == "text/html").get_content()
    return re.sub(r"cid:([^\"]+)", lambda found: f"data:image/png;base64,{pictures[found[1]]}", page)


@pytest.mark.parametrize("width", [360, 600])
def test_it_fits_a_telephone_and_a_mail_programs_pane(browser: Browser, shown: str, width: int) -> None:
    page = browser.new_page(viewport={"width": width, "height": 800})
    page.set_content(shown)
    assert overflow_px(page) == 0
    widths = page.evaluate("[...document.images].map(one => [one.naturalWidth, one.width])")
    assert len(widths) == 4
    assert all(natural > 0 and 0 < drawn <= width for natural, drawn in widths)
