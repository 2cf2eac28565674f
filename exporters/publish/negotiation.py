"""Which format and encoding a scraper gets: what its Accept and Accept-Encoding headers ask for (RFC 9110, 12.5)."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

TEXT = CONTENT_TYPE_PLAIN_0_0_4
OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"

_OPENMETRICS_VERSIONS = {"", "0.0.1", "1.0.0"}
"""Versions that a client may name and still read 1.0.0; Prometheus has asked for 0.0.1 and 1.0.0 so far."""


def accepts_openmetrics(header: str) -> bool:
    """This will tell whether an Accept header prefers OpenMetrics to the text format."""
    openmetrics = text = 0.0
    for name, parameters, weight in _items(header):
        if name == "application/openmetrics-text" and parameters.get("version", "") in _OPENMETRICS_VERSIONS:
            openmetrics = max(openmetrics, weight)
        elif name in {"text/plain", "text/*"}:
            text = max(text, weight)
    return openmetrics > 0 and openmetrics >= text


def accepts_gzip(header: str) -> bool:
    """This will tell whether an Accept-Encoding header allows gzip."""
    weights = {name: weight for name, _, weight in _items(header)}
    return weights.get("gzip", weights.get("*", 0.0)) > 0


def _items(header: str) -> Iterator[tuple[str, dict[str, str], float]]:
    """Name, parameters and weight of each item; a malformed weight counts as 0, so that the item is passed over."""
    for item in header.lower().split(","):
        name, *rest = (part.strip() for part in item.split(";"))
        parameters = {key.strip(): value.strip(' "') for key, _, value in (part.partition("=") for part in rest)}
        try:
            weight = float(parameters.get("q", "1"))
        except ValueError:
            weight = 0.0
        yield name, parameters, weight
