"""The status page: where each source's prices come from, how old they are, what was left out and why.

Rendered on the server, readable without JavaScript; the content security policy allows nothing but our own style.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from importlib.metadata import version
from importlib.resources import files

from babel.numbers import format_decimal

from exporters.core.clock import LONDON
from exporters.core.web.templates import environment
from exporters.publish.health import Health, SourceHealth

_POLICY = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


@dataclass(frozen=True, slots=True)
class SourceRow:
    """One source as the page shows it; texts are ready to print, counts are not yet formatted."""

    name: str
    state: str
    state_class: str
    error: str
    origin: str
    taken_at: str
    age: str
    offers: int
    illustrative: int
    egress: int
    rejected: tuple[tuple[str, int], ...]
    skipped: tuple[tuple[str, str], ...]
    last_refresh: str
    next_refresh: str


def status_page(health: Health, next_refresh: Mapping[str, datetime], *, now: datetime) -> str:
    """This will return the page as HTML."""
    rows = [source_row(name, source, next_refresh.get(name), now=now) for name, source in health.sources.items()]
    return (
        environment("exporters.publish")
        .get_template("status.html")
        .render(rows=rows, exporter=health.exporter, version=version("tuppence"), number=_number)
    )


def security_headers() -> dict[str, str]:
    """This will return the headers that every HTML page is sent with."""
    return {
        "content-security-policy": _POLICY,
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cache-control": "no-store",
    }


@cache
def stylesheet() -> bytes:
    """This will return the page's style."""
    return files("exporters.publish").joinpath("templates", "status.css").read_bytes()


def source_row(name: str, source: SourceHealth, next_refresh: datetime | None, *, now: datetime) -> SourceRow:
    """This will put what is known of a source into words."""
    served = source.served
    state, state_class = _state(source, refreshed=next_refresh is not None)
    return SourceRow(
        name=name,
        state=state,
        state_class=state_class,
        error=source.error,
        origin=source.origin.value if source.origin else "–",
        taken_at=served.taken_at.isoformat() if served else "",
        age=duration_text(now - served.taken_at) if served else "",
        offers=source.offers,
        illustrative=source.illustrative,
        egress=served.rows.get("egress", 0) if served and not source.stale else 0,
        rejected=tuple(source.rejected.items()),
        skipped=served.skipped if served else (),
        last_refresh=_moment(source.finished_at),
        next_refresh=_moment(next_refresh),
    )


def duration_text(span: timedelta) -> str:
    """This will print how old something is in its largest sensible unit: ``3 min``, ``5 h``, ``2 days``."""
    minutes = int(span.total_seconds() // 60)
    if minutes < 0:
        return "in the future"
    if minutes < 120:
        return f"{minutes} min"
    return f"{minutes // 60} h" if minutes < 2 * 24 * 60 else f"{minutes // (24 * 60)} days"


def _state(source: SourceHealth, *, refreshed: bool) -> tuple[str, str]:
    if source.served is None:
        return ("✗ no prices", "bad") if source.succeeded is False else ("… waiting", "warn")
    if source.stale:
        return "✗ too old, not served", "bad"
    if source.succeeded is False:
        return "! refresh failed, last good prices served", "warn"
    if not refreshed and source.served.max_age_hours is not None:
        return f"! not refreshed here, served until {source.served.max_age_hours:g} h old", "warn"
    return "✓ served", "good"


def _moment(moment: datetime | None) -> str:
    return "–" if moment is None else f"{moment.astimezone(LONDON):%-d %B %Y, %H:%M %Z}"


def _number(count: int) -> str:
    return format_decimal(count, locale="en_GB")
