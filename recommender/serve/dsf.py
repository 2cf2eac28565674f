"""The scorer of the Dynamic Scoring Framework: GET /healthz, GET /dsf/<name>/config, POST /dsf/<name>/score.

The hub reads health and configuration every 30 s without a token; each cluster's agent posts its series with one. The
request does not say which cluster it is of, and need not: it carries that cluster's own shares. Nothing is served
until `emit.dsf.token_file` is set.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import structlog
from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import HTTPException
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from pydantic import ValidationError

from exporters.core.clock import Clock
from exporters.core.errors import SettingsError
from exporters.core.secrets import read_secret
from recommender.emit.dsf import config_document, score_name
from recommender.emit.dsf_scoring import Posted, results_of
from recommender.emit_settings import DsfSettings
from recommender.settings import ForecastSettings

_log = structlog.get_logger(__name__)
_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Scorer:
    """What the scorer goes by; read anew for each request, because settings and tokens change while it runs."""

    dsf: DsfSettings
    forecast: ForecastSettings


def scorer_routes(scorer: Callable[[], Scorer | None], clock: Clock) -> APIRouter:
    """This will return the routes of the scorer.

    Args:
        scorer: the settings in use; None: nothing is served.
        clock: for the hour that is foretold.
    """
    router = APIRouter(include_in_schema=False)

    def served(name: str | None = None) -> Scorer:
        found = scorer()
        if found is None or found.dsf.token_file is None:
            raise HTTPException(404, "The scorer is not served; set emit.dsf.token_file.")
        if name is not None and name != score_name(found.dsf):
            raise HTTPException(404, f"There is no scorer {name!r}; the settings name {score_name(found.dsf)!r}.")
        return found

    @router.api_route("/healthz", methods=["GET", "HEAD"])
    def _healthz() -> Response:
        served()
        return PlainTextResponse("ok\n")

    @router.get("/dsf/{name}/config")
    def _config(name: str) -> Response:
        return JSONResponse(config_document(served(name).dsf))

    @router.post("/dsf/{name}/score")
    async def _score(name: str, request: Request) -> Response:
        found = served(name)
        _authorise(request, found.dsf)
        body = await _body(request, limit=int(found.dsf.max_body_mib * _MIB))
        results = await run_in_threadpool(_results, body, found, clock)
        return JSONResponse({"results": results})

    return router


def _results(body: bytes, scorer: Scorer, clock: Clock) -> list[dict[str, Any]]:
    try:
        posted = Posted.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise HTTPException(400, f"The request is not that of an agent: {place}: {first['msg']}") from error
    found = results_of(posted, scorer.forecast, at=clock.now())
    if not found:
        _log.info("dsf_not_scored", series=len(posted.data or ()))
    return found


def _authorise(request: Request, dsf: DsfSettings) -> None:
    assert dsf.token_file is not None
    try:
        token = read_secret(dsf.token_file, setting="emit.dsf.token_file")
    except SettingsError as error:
        _log.error("dsf_token_unreadable", error=str(error))
        raise HTTPException(503, "The scorer's token cannot be read; see its log.") from error
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    right = hmac.compare_digest(given.strip().encode(), token.encode())
    if scheme.lower() != "bearer" or not right:
        raise HTTPException(401, "The bearer token is missing or wrong.", headers={"www-authenticate": "Bearer"})


async def _body(request: Request, *, limit: int) -> bytes:
    """The body, not one byte more than is allowed."""
    read = bytearray()
    async for block in request.stream():
        read += block
        if len(read) > limit:
            raise HTTPException(413, f"The request is longer than {limit:,} bytes; raise emit.dsf.step_seconds.")
    return bytes(read)
