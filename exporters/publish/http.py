"""The exporter's HTTP address space: status page, metrics, health, reload, and the reading side of the shelf.

A scrape calls nobody: it sends bytes that were rendered before, and the health metrics behind them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from fastapi import FastAPI, Request
from fastapi.exceptions import HTTPException
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from prometheus_client.exposition import generate_latest as text_latest
from prometheus_client.openmetrics.exposition import generate_latest as openmetrics_latest
from starlette.types import Receive, Scope, Send

from exporters.core.clock import Clock
from exporters.core.errors import TuppenceError
from exporters.publish.exposition import NOTHING
from exporters.publish.health import Health
from exporters.publish.negotiation import OPENMETRICS, TEXT, accepts_gzip, accepts_openmetrics
from exporters.publish.pages import security_headers, status_page, stylesheet
from exporters.publish.published import PublishedPrices
from exporters.publish.snapshots import whole_snapshot_keys
from exporters.store.shelf import ReadableShelf

NOT_READY = "No prices yet: the first refresh has not ended.\n"


@dataclass(frozen=True, slots=True)
class Exporter:
    """What the pages show and do.

    Args:
        published: the bodies.
        health: of the sources and the exporter.
        shelf: where snapshots lie.
        clock: for ages on the status page.
        reload: reads the settings again and notes the outcome; raises TuppenceError when they are wrong.
        next_refresh: when each source is refreshed next.
        settings_text: the settings in use as YAML, secrets left out.
    """

    published: PublishedPrices
    health: Health
    shelf: ReadableShelf
    clock: Clock
    reload: Callable[[], None]
    next_refresh: Callable[[], Mapping[str, datetime]] = dict
    settings_text: Callable[[], str] = str


def create_app(exporter: Exporter) -> FastAPI:
    """This will return the application, ready to be served."""
    app = FastAPI(title="Tuppence exporter", docs_url=None, redoc_url=None, openapi_url=None)
    _add_pages(app, exporter)
    _add_probes(app, exporter)
    _add_snapshots(app, exporter)

    @app.exception_handler(TuppenceError)
    async def _explain(_request: Request, error: TuppenceError) -> Response:
        return JSONResponse({"error": str(error)}, status_code=500)

    return app


class BytesResponse(Response):
    """Sends rendered pieces as they are, without joining them."""

    def __init__(self, pieces: list[bytes], *, media_type: str, headers: Mapping[str, str]) -> None:
        super().__init__(media_type=media_type, headers=headers)
        self._pieces = pieces
        self.headers["content-length"] = str(sum(len(piece) for piece in pieces))
        self.headers["content-type"] = media_type

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """This will send piece by piece, waiting for a slow reader between them."""
        del receive
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        if scope["method"] != "HEAD":
            for piece in self._pieces:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


def _add_pages(app: FastAPI, exporter: Exporter) -> None:
    @app.api_route("/", methods=["GET", "HEAD"])
    def _status() -> Response:
        page = status_page(exporter.health, exporter.next_refresh(), now=exporter.clock.now())
        return Response(page, media_type="text/html", headers=security_headers())

    @app.get("/tuppence.css")
    def _style() -> Response:
        return Response(stylesheet(), media_type="text/css", headers={"cache-control": "max-age=3600"})

    @app.get("/config")
    def _config() -> Response:
        return PlainTextResponse(exporter.settings_text())

    async def _metrics(request: Request) -> Response:
        return metrics_response(exporter, request)

    app.add_route("/metrics", _metrics, methods=["GET", "HEAD"])


def metrics_response(exporter: Exporter, request: Request) -> Response:
    """This will answer a scrape in the format and encoding that it accepts; health metrics come last, with the EOF."""
    as_openmetrics = accepts_openmetrics(request.headers.get("accept", ""))
    encoder, media_type = (openmetrics_latest, OPENMETRICS) if as_openmetrics else (text_latest, TEXT)
    tail = encoder(exporter.health.registry)
    publication = exporter.published.current
    bodies = NOTHING if publication is None else publication.bodies
    body = bodies.openmetrics if as_openmetrics else bodies.text
    headers = {"vary": "accept, accept-encoding"}
    if accepts_gzip(request.headers.get("accept-encoding", "")):
        headers["content-encoding"] = "gzip"
        return BytesResponse(body.gzipped(tail), media_type=media_type, headers=headers)
    return BytesResponse(body.plain(tail), media_type=media_type, headers=headers)


def _add_probes(app: FastAPI, exporter: Exporter) -> None:
    @app.api_route("/-/healthy", methods=["GET", "HEAD"])
    def _healthy() -> Response:
        return PlainTextResponse("Healthy\n")

    @app.api_route("/-/ready", methods=["GET", "HEAD"])
    def _ready() -> Response:
        if exporter.published.current is None:
            return PlainTextResponse(NOT_READY, status_code=503)
        return PlainTextResponse("Ready\n")

    @app.api_route("/-/reload", methods=["POST", "PUT"])
    def _reload() -> Response:
        try:
            exporter.reload()
        except TuppenceError as error:
            return PlainTextResponse(f"{error}\n", status_code=500)
        return PlainTextResponse("Reloaded\n")


def _add_snapshots(app: FastAPI, exporter: Exporter) -> None:
    @app.get("/snapshots/")
    def _keys(prefix: str = "") -> Response:
        return JSONResponse({"keys": whole_snapshot_keys(exporter.shelf, prefix)})

    @app.get("/snapshots/{key:path}")
    def _content(key: str) -> Response:
        if key not in whole_snapshot_keys(exporter.shelf, key):
            raise HTTPException(404, "There is no such file of a whole snapshot; see /snapshots/.")
        return Response(exporter.shelf.get(key), media_type="application/octet-stream")
