"""The recommender's HTTP address space: pages, report, API, metrics, health and reload."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from fastapi import FastAPI, Request
from fastapi.responses import PlainTextResponse, Response
from prometheus_client.exposition import choose_encoder

from exporters.core.clock import Clock
from exporters.core.errors import SettingsError, TuppenceError
from recommender.report.view import Report
from recommender.serve.access import Access
from recommender.serve.advice_pages import advice_pages
from recommender.serve.answers import NOT_YET, served_now
from recommender.serve.api import api
from recommender.serve.burst_page import burst_page
from recommender.serve.deciding import Desk
from recommender.serve.decisions_api import decisions_api
from recommender.serve.dsf import Scorer, scorer_routes
from recommender.serve.fleet_page import fleet_page
from recommender.serve.last_plan import LastPlan
from recommender.serve.layout import html, report_headers, static_routes
from recommender.serve.metrics import registry
from recommender.serve.pages import health_of
from recommender.serve.price_pages import price_pages
from recommender.serve.price_shelf import PriceShelf
from recommender.serve.problem import add_handlers
from recommender.serve.report_pages import MakeReport, report_pages
from recommender.settings import RecommenderSettings, RecommenderWebSettings
from recommender.week.calendar import Week

VERSION = "1"
"""Of the API, as its paths have it."""


def _no_run() -> datetime | None:
    return None


def _no_scorer() -> Scorer | None:
    return None


def _no_report(week: Week) -> Report:
    raise SettingsError(
        "no report can be made here", where=week.id, next_step="Run tuppence serve, or tuppence report --week."
    )


@dataclass(frozen=True, slots=True)
class Recommender:
    """What the pages show and do.

    Args:
        last: the last plan and how the evaluations go.
        clock: for ages on the status page.
        reload: reads the settings again and notes the outcome; raises TuppenceError when they are wrong.
        next_run: when the next evaluation is due.
        scorer: the settings of the Dynamic Scoring Framework's scorer that are in use; None: it is not served.
        settings: those in use; None: there is no ledger to decide in, and no store to show prices of.
        host: the address that is listened on.
        report_of_week: makes a week's report.
    """

    last: LastPlan
    clock: Clock
    reload: Callable[[], None]
    next_run: Callable[[], datetime | None] = _no_run
    scorer: Callable[[], Scorer | None] = _no_scorer
    settings: Callable[[], RecommenderSettings] | None = None
    host: str = "127.0.0.1"
    report_of_week: MakeReport = _no_report


def create_app(recommender: Recommender) -> FastAPI:
    """This will return the application, ready to be served.

    Raises:
        SettingsError: the key that forms are signed with cannot be read.
    """
    app = FastAPI(
        title="Tuppence recommender",
        version=VERSION,
        summary="Which workload should run where, what that saves in pounds, and what was decided about it.",
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/v1/openapi.json",
    )
    settings = recommender.settings
    desk = Desk(None if settings is None else lambda: settings().ledger, recommender.clock)
    web: Callable[[], RecommenderWebSettings] = (
        RecommenderWebSettings if settings is None else lambda: settings().recommender_web
    )
    access = Access(web, host=recommender.host, now=recommender.clock.now)
    _add_pages(app, recommender, access)
    _add_metrics(app, recommender)
    _add_probes(app, recommender)
    app.include_router(static_routes())
    app.include_router(advice_pages(recommender.last, desk, access, recommender.clock))
    app.include_router(burst_page(recommender.last, access))
    if settings is not None:
        app.include_router(price_pages(PriceShelf(settings, recommender.clock), access, recommender.clock))
        app.include_router(fleet_page(recommender.last, access, settings))
        reports = report_pages(recommender.report_of_week, lambda: settings().ledger, access, recommender.clock)
        app.include_router(reports)
    app.include_router(api(recommender.last, desk))
    app.include_router(decisions_api(recommender.last, desk, access))
    app.include_router(scorer_routes(recommender.scorer, recommender.clock))
    add_handlers(app)
    return app


def _add_pages(app: FastAPI, recommender: Recommender, access: Access) -> None:
    @app.api_route("/", methods=["GET", "HEAD"], include_in_schema=False)
    def _status(request: Request) -> Response:
        state = recommender.last.state
        health = health_of(state, recommender.next_run(), now=recommender.clock.now())
        report = state.served.report if state.served else None
        who = access.visitor(request).shown_name
        return html("status.html", here="/", who=who, health=health, report=report)

    @app.api_route("/report", methods=["GET", "HEAD"], include_in_schema=False)
    def _report() -> Response:
        return Response(served_now(recommender.last).page, media_type="text/html", headers=report_headers())


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
