"""The recommender's HTTP address space: status page, report, API, metrics, health and reload."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from fastapi import FastAPI, Request
from fastapi.exceptions import HTTPException
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from prometheus_client.exposition import choose_encoder

from exporters.core.clock import Clock
from exporters.core.errors import TuppenceError
from recommender.serve.api import NOT_YET, api, served_now
from recommender.serve.dsf import Scorer, scorer_routes
from recommender.serve.last_plan import LastPlan
from recommender.serve.metrics import registry
from recommender.serve.pages import security_headers, status_page


def _no_run() -> datetime | None:
    return None


def _no_scorer() -> Scorer | None:
    return None


@dataclass(frozen=True, slots=True)
class Recommender:
    """What the pages show and do.

    Args:
        last: the last plan and how the evaluations go.
        clock: for ages on the status page.
        reload: reads the settings again and notes the outcome; raises TuppenceError when they are wrong.
        next_run: when the next evaluation is due.
        scorer: the settings of the Dynamic Scoring Framework's scorer that are in use; None: it is not served.
    """

    last: LastPlan
    clock: Clock
    reload: Callable[[], None]
    next_run: Callable[[], datetime | None] = _no_run
    scorer: Callable[[], Scorer | None] = _no_scorer


def create_app(recommender: Recommender) -> FastAPI:
    """This will return the application, ready to be served."""
    app = FastAPI(title="Tuppence recommender", docs_url=None, redoc_url=None, openapi_url="/api/v1/openapi.json")
    _add_pages(app, recommender)
    _add_metrics(app, recommender)
    _add_probes(app, recommender)
    app.include_router(api(recommender.last))
    app.include_router(scorer_routes(recommender.scorer, recommender.clock))

    @app.exception_handler(HTTPException)
    async def _refuse(_request: Request, error: HTTPException) -> Response:
        return JSONResponse({"error": error.detail}, status_code=error.status_code, headers=error.headers)

    return app


def _add_pages(app: FastAPI, recommender: Recommender) -> None:
    @app.api_route("/", methods=["GET", "HEAD"], include_in_schema=False)
    def _status() -> Response:
        page = status_page(recommender.last.state, recommender.next_run(), now=recommender.clock.now())
        return Response(page, media_type="text/html", headers=security_headers())

    @app.api_route("/report", methods=["GET", "HEAD"], include_in_schema=False)
    def _report() -> Response:
        return Response(served_now(recommender.last).page, media_type="text/html", headers=security_headers())


def _add_metrics(app: FastAPI, recommender: Recommender) -> None:
    collected = registry(recommender.last, recommender.clock)

    @app.api_route("/metrics", methods=["GET", "HEAD"], include_in_schema=False)
    def _metrics(request: Request) -> Response:
        encoder, media_type = choose_encoder(request.headers.get("accept", ""))
        # Set as a header, because a media type of text/… would get a second charset.
        return Response(encoder(collected), headers={"content-type": media_type, "vary": "accept"})


def _add_probes(app: FastAPI, recommender: Recommender) -> None:
    @app.api_route("/-/healthy", methods=["GET", "HEAD"], include_in_schema=False)
    def _healthy() -> Response:
        return PlainTextResponse("Healthy\n")

    @app.api_route("/-/ready", methods=["GET", "HEAD"], include_in_schema=False)
    def _ready() -> Response:
        ready = recommender.last.state.served is not None
        return PlainTextResponse("Ready\n" if ready else f"{NOT_YET}\n", status_code=200 if ready else 503)

    @app.api_route("/-/reload", methods=["POST", "PUT"], include_in_schema=False)
    def _reload() -> Response:
        try:
            recommender.reload()
        except TuppenceError as error:
            return PlainTextResponse(f"{error}\n", status_code=500)
        return PlainTextResponse("Reloaded\n")
