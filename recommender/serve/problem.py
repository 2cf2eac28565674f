"""What went wrong, for people as a page and for programs as JSON: what, where, and what to do next."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import HTTPException, RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException as StarletteHTTPException

from exporters.core.errors import StoreError, TuppenceError
from recommender.report import words
from recommender.serve.layout import html

RETRY_AFTER_SECONDS = 5


class Problem(BaseModel):
    """The body of every answer that is not what was asked for."""

    error: str = Field(description="What happened.")
    where: str = Field(description="The path, parameter, setting or file it happened at.")
    next_step: str = Field(description="What to do now; may be empty.")
    now: dict[str, Any] | None = Field(default=None, description="Of a conflict: where the recommendation stands.")


class ProblemError(HTTPException):
    """An answer that is not what was asked for.

    Args:
        status_code: of the answer.
        error: what happened.
        where: at what.
        next_step: what to do now.
        now: of a conflict: where the recommendation stands.
    """

    def __init__(
        self,
        status_code: int,
        error: str,
        *,
        where: str,
        next_step: str = "",
        now: dict[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.problem = Problem(error=error, where=where, next_step=next_step, now=now)
        super().__init__(status_code, error, headers=None if headers is None else dict(headers))


def problems(*codes: int) -> dict[int | str, dict[str, Any]]:
    """This will describe answers for the OpenAPI document."""
    return {code: {"model": Problem, "description": HTTPStatus(code).phrase} for code in codes}


def unavailable(error: TuppenceError) -> ProblemError:
    """This will say that something is not there for now; nothing was changed."""
    headers = {"retry-after": str(RETRY_AFTER_SECONDS)} if isinstance(error, StoreError) else None
    return ProblemError(503, error.what, where=error.where, next_step=error.next_step, headers=headers)


def add_handlers(app: FastAPI) -> None:
    """This will let every error of an application be answered in one form."""

    @app.exception_handler(StarletteHTTPException)
    async def _refuse(request: Request, error: StarletteHTTPException) -> Response:
        if isinstance(error, ProblemError):
            return answered(request, error.problem, error.status_code, error.headers)
        problem = Problem(error=str(error.detail), where=request.url.path, next_step="")
        return answered(request, problem, error.status_code, error.headers)

    @app.exception_handler(RequestValidationError)
    async def _misunderstand(request: Request, error: RequestValidationError) -> Response:
        found = [(".".join(str(part) for part in one["loc"][1:]), str(one["msg"])) for one in error.errors()]
        problem = Problem(
            error="; ".join(f"{name}: {what}" if name else what for name, what in found),
            where=", ".join(dict.fromkeys(name for name, _ in found if name)) or request.url.path,
            next_step="See /api/v1/openapi.json for what is understood.",
        )
        return answered(request, problem, 422, None)

    @app.exception_handler(TuppenceError)
    async def _explain(request: Request, error: TuppenceError) -> Response:
        refused = unavailable(error)
        return answered(request, refused.problem, refused.status_code, refused.headers)


def answered(
    request: Request, problem: Problem, status_code: int, headers: Mapping[str, str] | None = None
) -> Response:
    """This will answer a browser with a page and everybody else with JSON."""
    wants_page = "text/html" in request.headers.get("accept", "") and not request.url.path.startswith("/api/")
    if not wants_page:
        body = json.dumps(problem.model_dump(exclude_none=True, mode="json"), ensure_ascii=False)
        return Response(body, status_code, media_type="application/json", headers=dict(headers or {}))
    shown = problem.model_copy(
        update={name: words.shown(getattr(problem, name)) for name in ("error", "where", "next_step")}
    )
    page = html("problem.html", here="", status_code=status_code, problem=shown, title=HTTPStatus(status_code).phrase)
    page.headers.update(headers or {})
    return page
