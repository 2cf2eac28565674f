"""The overview in words: how the evaluations go. Its page is status.html, with the figures of the last good plan."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from recommender.report import words
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
