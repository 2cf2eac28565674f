"""The status page, read without JavaScript."""

from __future__ import annotations

import re
from datetime import timedelta
from html.parser import HTMLParser

import polars as pl
import pytest

from exporters.core.clock import FixedClock
from exporters.core.errors import TransientSourceError
from exporters.core.frames import Reject
from exporters.core.words import Origin
from exporters.publish.health import Health
from exporters.publish.pages import duration_text, security_headers, status_page, stylesheet
from exporters.publish.published import PublishedPrices
from tests.builders import NOON, offer, offers
from tests.exporters.publish.sample import manifest, prices

THREE_O_CLOCK = NOON + timedelta(hours=3)


class Cells(HTMLParser):
    """The texts of the table's rows."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag == "tr":
            self.rows.append([])
        elif tag in {"td", "th"}:
            self.rows[-1].append("")

    def handle_data(self, data: str) -> None:
        if self.rows and self.rows[-1]:
            self.rows[-1][-1] = f"{self.rows[-1][-1]} {data.strip()}".strip()

    def of(self, source: str) -> list[str]:
        """The cells of one source, its name left out."""
        return next(row[1:] for row in self.rows if row[0] == source)


@pytest.fixture
def health() -> Health:
    """An exporter that has just started at noon."""
    return Health(FixedClock(NOON))


def test_a_source_is_shown_with_origin_age_offers_and_what_was_left_out(health: Health) -> None:
    snapshot = manifest("aws", rows={"egress": 2}, skipped=(("me-south-1", "the account has not opted in"),))
    rejects = Reject.validate(
        pl.DataFrame({"reason": ["zero"], "region": [""], "rows": [1234], "example": ["SKU"]}), cast=True
    )
    health.refresh_succeeded("aws", manifest=snapshot, rejects=rejects, duration_seconds=4.0)
    PublishedPrices(health).publish(
        prices(offers=offers(offer(), offer(capacity_type="spot", note="illustrative")), used=(snapshot,))
    )
    page = status_page(health, {"aws": NOON + timedelta(hours=6)}, now=THREE_O_CLOCK)
    assert Cells(page).of("aws") == [
        "✓ served",
        "live",
        "3 h",
        "1 and 1 illustrative",
        "2",
        "1,234 zero 1 not asked for me-south-1: the account has not opted in",
        "30 November 2026, 12:00 GMT",
        "30 November 2026, 18:00 GMT",
    ]


def test_a_failed_source_shows_why_and_that_its_last_good_prices_stay(health: Health) -> None:
    PublishedPrices(health).publish(prices())
    error = TransientSourceError("the server answered 503", where="sources.aws", next_step="Wait.")
    health.refresh_failed("aws", error=error, duration_seconds=1.0)
    state, origin, *_ = Cells(status_page(health, {}, now=THREE_O_CLOCK)).of("aws")
    assert state == "! refresh failed, last good prices served sources.aws: the server answered 503. Wait."
    assert origin == "cached"


def test_a_source_that_is_turned_off_is_not_shown_as_if_it_were_on(health: Health) -> None:
    """Its last snapshot stands on the shelf for everyone who reads it, until it is too old."""
    PublishedPrices(health).publish(prices(used=(manifest("aws", max_age_hours=48),)))
    state, *_ = Cells(status_page(health, {"gcp": NOON}, now=THREE_O_CLOCK)).of("aws")
    assert state == "! not refreshed here, served until 48 h old"


def test_packaged_prices_of_a_cloud_that_is_off_are_simply_served(health: Health) -> None:
    PublishedPrices(health).publish(prices(used=(manifest("aws", max_age_hours=None, origin=Origin.PACKAGED),)))
    state, origin, *_ = Cells(status_page(health, {}, now=THREE_O_CLOCK)).of("aws")
    assert (state, origin) == ("✓ served", "packaged")


def test_a_source_that_never_succeeded_has_no_prices(health: Health) -> None:
    health.refresh_failed("gcp", error=TransientSourceError("x", where="y", next_step="z."), duration_seconds=1.0)
    state, origin, age, *_ = Cells(status_page(health, {}, now=THREE_O_CLOCK)).of("gcp")
    assert (state, origin, age) == ("✗ no prices y: x. z.", "–", "–")


def test_prices_that_grew_too_old_are_shown_as_not_served(health: Health) -> None:
    published = PublishedPrices(health)
    published.publish(prices(used=(manifest("aws", max_age_hours=1.0, rows={"egress": 2}),)))
    published.expire(THREE_O_CLOCK)
    state, _, age, offer_count, egress_count, *_ = Cells(status_page(health, {}, now=THREE_O_CLOCK)).of("aws")
    assert (state, age, offer_count, egress_count) == ("✗ too old, not served", "3 h", "0", "0")


def test_before_anything_has_happened_the_page_says_so(health: Health) -> None:
    page = status_page(health, {}, now=NOON)
    assert "No prices are served yet" in page
    assert "No source has been asked yet" in page


def test_waiting_prices_and_a_failed_reload_are_announced(health: Health) -> None:
    published = PublishedPrices(health, max_series=42)
    published.publish(prices())
    published.publish(prices(offers=offers(prices().offers, offer(instance_type="c5.large"))))
    health.reload_failed()
    page = status_page(health, {}, now=NOON)
    assert "42 of at most 42 price series are served." in page
    assert "Newer prices wait" in page
    assert "The settings on disk are wrong" in page


def test_what_a_source_says_is_never_markup(health: Health) -> None:
    hostile = TransientSourceError("<script>alert(1)</script>", where='"><img>', next_step="&amp;")
    health.refresh_failed("aws", error=hostile, duration_seconds=1.0)
    page = status_page(health, {}, now=NOON)
    assert "<script" not in page
    assert "<img" not in page


def test_the_page_needs_nothing_that_its_policy_forbids(health: Health) -> None:
    page = status_page(health, {}, now=NOON)
    assert "default-src 'none'" in security_headers()["content-security-policy"]
    assert re.findall(r"\b(?:src|style|on\w+)=", page) == []
    assert re.findall(r'<link[^>]*href="([^"]+)"', page) == ["/tuppence.css"]
    assert b"url(" not in stylesheet()


@pytest.mark.parametrize(
    ("span", "text"),
    [
        (timedelta(seconds=59), "0 min"),
        (timedelta(minutes=119), "119 min"),
        (timedelta(minutes=120), "2 h"),
        (timedelta(hours=47, minutes=59), "47 h"),
        (timedelta(days=2), "2 days"),
        (timedelta(minutes=-5), "in the future"),
    ],
)
def test_ages_are_told_in_their_largest_sensible_unit(span: timedelta, text: str) -> None:
    assert duration_text(span) == text
