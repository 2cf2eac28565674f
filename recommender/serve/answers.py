"""How the API answers: what is served now, as JSON with a validator, or 304 where the reader has it already."""

from __future__ import annotations

import json
from typing import Any

from fastapi import Request, Response

from recommender.serve.last_plan import LastPlan, Served, etag_of
from recommender.serve.problem import ProblemError

NOT_YET = "There is no plan yet: the first evaluation has not succeeded."


def served_now(last: LastPlan) -> Served:
    """This will return what is served.

    Raises:
        ProblemError: 503, there is no plan yet.
    """
    state = last.state
    if state.served is None:
        raise ProblemError(
            503,
            f"{NOT_YET} {state.error}".strip(),
            where="the last evaluation",
            next_step="Wait for the next one, or mend what the status page names.",
        )
    return state.served


def as_json(document: dict[str, Any]) -> bytes:
    """This will write a document as JSON, its keys sorted."""
    return json.dumps(document, sort_keys=True, ensure_ascii=False).encode()


def answer(request: Request, body: bytes, *, etag: str = "") -> Response:
    """This will answer with a body, or with 304 (RFC 9110, "If-None-Match").

    Args:
        request: what is asked.
        body: JSON.
        etag: its validator; empty: made from it.
    """
    tag = etag or etag_of(body)
    headers = {"etag": tag, "cache-control": "no-cache", "x-content-type-options": "nosniff"}
    known = [one.strip().removeprefix("W/") for one in request.headers.get("if-none-match", "").split(",")]
    if tag in known or "*" in known:
        return Response(status_code=304, headers=headers)
    return Response(body, media_type="application/json", headers=headers)
