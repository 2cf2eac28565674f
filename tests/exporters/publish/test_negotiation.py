"""What a scraper asks for is what it gets."""

from __future__ import annotations

import pytest

from exporters.publish.negotiation import accepts_gzip, accepts_openmetrics

PROMETHEUS_2_42 = (
    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
    "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
)
PROMETHEUS_3 = (
    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,"
    "application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,"
    "text/plain;version=0.0.4;q=0.2,*/*;q=0.1"
)


@pytest.mark.parametrize(
    "header",
    [PROMETHEUS_2_42, PROMETHEUS_3, "application/openmetrics-text", 'application/openmetrics-text; version="1.0.0"'],
)
def test_openmetrics_is_given_to_those_who_prefer_it(header: str) -> None:
    assert accepts_openmetrics(header)


@pytest.mark.parametrize(
    "header",
    [
        "",
        "*/*",
        "text/plain",
        "text/html,application/xhtml+xml,*/*;q=0.8",
        "application/openmetrics-text;q=0",
        "application/openmetrics-text;version=2.0.0",
        "application/openmetrics-text;q=0.1,text/plain;q=0.9",
        "application/openmetrics-text;q=plenty",
    ],
)
def test_everybody_else_gets_the_text_format(header: str) -> None:
    assert not accepts_openmetrics(header)


@pytest.mark.parametrize("header", ["gzip", "deflate, GZIP;q=0.5", "*", "br;q=1, *;q=0.1"])
def test_gzip_is_sent_to_those_who_accept_it(header: str) -> None:
    assert accepts_gzip(header)


@pytest.mark.parametrize("header", ["", "identity", "gzip;q=0", "gzip;q=0.000", "br", "gzip;q=0, *;q=1", "x-gzip"])
def test_gzip_is_not_sent_to_others(header: str) -> None:
    assert not accepts_gzip(header)
