"""What all pages share: frame and navigation, one style sheet, a policy under which nothing else can load or run.

Pages are made on the server and need no script; there is none. Every text is escaped, and characters that turn text
around or hide are shown as such (report.words.shown).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.resources import files

from fastapi import APIRouter, Response
from jinja2 import Environment

from exporters.core.money import pounds, rate
from exporters.core.web.templates import environment
from recommender.report import words
from recommender.report.html import style_hash, stylesheet


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of the navigation."""

    path: str
    name: str


NAVIGATION = (
    Entry("/", "Overview"),
    Entry("/recommendations", "Recommendations"),
    Entry("/bursts", "Bursts"),
    Entry("/prices", "Prices"),
    Entry("/fleet", "Fleet"),
    Entry("/reports", "Reports"),
)


def html(template: str, *, here: str, status_code: int = 200, who: str = "", **values: object) -> Response:
    """This will answer with a page.

    Args:
        template: its file.
        here: the entry of the navigation that it belongs to.
        status_code: of the answer.
        who: the name of whoever is logged in; empty: nobody is.
        values: what the template shows.
    """
    frame = {"navigation": NAVIGATION, "style": style_path(), "version": version("tuppence")}
    page = _environment().get_template(template).render(here=here, who=words.shown(who), **frame, **values)
    return Response(page, status_code=status_code, media_type="text/html", headers=page_headers())


def page_headers() -> dict[str, str]:
    """This will return the headers of pages: styles from here, forms to here, and nothing else."""
    policy = (
        "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    )
    return {
        "content-security-policy": policy,
        "x-content-type-options": "nosniff",
        # Not no-referrer: browsers would then send "Origin: null" with forms (Fetch, "append a request Origin header").
        "referrer-policy": "same-origin",
        "cross-origin-opener-policy": "same-origin",
        "cache-control": "no-store",
    }


def report_headers() -> dict[str, str]:
    """This will return the headers of a report, which carries its style inside."""
    policy = (
        f"default-src 'none'; style-src {style_hash()}; img-src data:; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )
    return page_headers() | {"content-security-policy": policy}


def static_routes() -> APIRouter:
    """This will return the routes of icon and style sheet, whose name changes with it, so that it is kept."""
    router = APIRouter(include_in_schema=False)

    @router.api_route(style_path(), methods=["GET", "HEAD"])
    def _style() -> Response:
        headers = {"cache-control": "public, max-age=31536000, immutable", "x-content-type-options": "nosniff"}
        return Response(style(), media_type="text/css", headers=headers)

    @router.api_route("/static/icon.svg", methods=["GET", "HEAD"])
    def _icon() -> Response:
        headers = {"cache-control": "public, max-age=86400", "x-content-type-options": "nosniff"}
        return Response(_file("icon.svg"), media_type="image/svg+xml", headers=headers)

    return router


@cache
def style() -> str:
    """This will return the style sheet: the report's, and what only pages have."""
    return f"{stylesheet()}\n{_file('pages.css')}"


@cache
def _file(name: str) -> str:
    return files("recommender.serve").joinpath("templates", name).read_text(encoding="utf-8")


@cache
def style_path() -> str:
    """This will return the path of the style sheet."""
    return f"/static/pages-{hashlib.sha256(style().encode()).hexdigest()[:12]}.css"


@cache
def _environment() -> Environment:
    made = environment("recommender.serve", "recommender.report")
    made.filters |= {
        "shown": words.shown,
        "pounds": pounds,
        "rate": rate,
        "moment": words.moment,
        "number": words.number_text,
        "percent": words.percent,
    }
    return made
