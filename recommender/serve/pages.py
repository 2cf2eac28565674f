"""The status page: how the evaluations go, and the recommendations of the last good plan with links to the reasons."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cache
from importlib.metadata import version

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from recommender.report import words
from recommender.report.html import style_hash, stylesheet
from recommender.serve.last_plan import State


@dataclass(frozen=True, slots=True)
class Health:
    """How the evaluations go, in words."""

    text: str
    level: str
    plan: str
    next_run: str
    error: str
    settings_wrong: bool


def status_page(state: State, next_run: datetime | None, *, now: datetime) -> str:
    """This will return the page as HTML."""
    return _template().render(
        health=health_of(state, next_run, now=now),
        report=state.served.report if state.served else None,
        style=Markup(stylesheet()),  # noqa: S704 - our own style, as it is, so that its hash is the policy's
        version=version("tuppence"),
    )


def security_headers() -> dict[str, str]:
    """This will return the headers that every HTML page is sent with: nothing but the page's own style may load."""
    policy = (
        f"default-src 'none'; style-src {style_hash()}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return {
        "content-security-policy": policy,
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cache-control": "no-store",
    }


def health_of(state: State, next_run: datetime | None, *, now: datetime) -> Health:
    """This will put the state into words."""
    if state.succeeded is None:
        text, level = "… the first evaluation has not ended", "warn"
    elif state.succeeded:
        text, level = "✓ the last evaluation succeeded", "good"
    elif state.served is None:
        text, level = "✗ no evaluation has succeeded", "bad"
    else:
        text, level = "! the last evaluation failed; the plan before it is served", "bad"
    made = state.served.plan.generated_at if state.served else None
    return Health(
        text=text,
        level=level,
        plan=f"{words.moment(made)}, {words.age(now - made)} old" if made else "none yet",
        next_run=words.moment(next_run) if next_run else "not planned",
        error=words.shown(state.error),
        settings_wrong=not state.reload_successful,
    )


@cache
def _template() -> Template:
    environment = Environment(
        loader=ChoiceLoader([PackageLoader("recommender.serve"), PackageLoader("recommender.report")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("status.html")
