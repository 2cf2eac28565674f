"""A local Cloud Billing Catalog and Compute Engine API, over HTTP/JSON and gRPC, that can fail like the real ones."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

import grpc
from google.cloud import billing_v1
from google.protobuf.json_format import ParseDict
from google.rpc import code_pb2, error_details_pb2, status_pb2
from grpc_status import rpc_status

GBP_PER_USD = Decimal("0.8")


@dataclass(frozen=True, slots=True)
class Failure:
    """An answer instead of a page.

    Args:
        status: HTTP status.
        body: what is sent.
        headers: extra headers.
        retry_seconds: the pause in google.rpc.RetryInfo.
        delay_seconds: how long the answer takes.
    """

    status: int = 429
    body: bytes = b'{"error": {"code": 429, "message": "Quota exceeded", "status": "RESOURCE_EXHAUSTED"}}'
    headers: dict[str, str] = field(default_factory=dict)
    retry_seconds: float | None = None
    delay_seconds: float = 0.0


def sku(
    sku_id: str,
    description: str,
    *prices: str | tuple[float, str],
    regions: Sequence[str] = ("europe-west2",),
    unit: str = "h",
    usage: str = "OnDemand",
    group: str = "CPU",
    family: str = "Compute",
    currency: str | None = None,
    gbp: bool = True,
) -> Callable[[str], dict[str, Any] | None]:
    """A SKU in API form, priced in the currency that is asked for (or always in `currency`); prices are USD texts.

    A price is a text for a tier from 0, or (start, text).
    """
    tiers = [(0.0, price) if isinstance(price, str) else price for price in prices]

    def in_currency(asked: str) -> dict[str, Any] | None:
        if asked == "GBP" and not gbp:
            return None
        rate = GBP_PER_USD if asked == "GBP" else Decimal(1)
        return {
            "name": f"services/6F81-5844-456A/skus/{sku_id}",
            "skuId": sku_id,
            "description": description,
            "category": {
                "serviceDisplayName": "Compute Engine",
                "resourceFamily": family,
                "resourceGroup": group,
                "usageType": usage,
            },
            "serviceRegions": list(regions),
            "pricingInfo": [
                {
                    "summary": "",
                    "effectiveTime": "2026-11-28T10:52:50.681Z",
                    "currencyConversionRate": float(rate),
                    "pricingExpression": {
                        "usageUnit": unit,
                        "displayQuantity": 1,
                        "tieredRates": [
                            {"startUsageAmount": start, "unitPrice": money(Decimal(text) * rate, currency or asked)}
                            for start, text in tiers
                        ],
                    },
                }
            ],
            "serviceProviderName": "Google",
            "aFieldOfTomorrow": {"ignored": True},
        }

    return in_currency


def money(amount: Decimal, currency: str) -> dict[str, Any]:
    """google.type.Money in JSON: units is a string, nanos a number, both of the same sign."""
    nanos = int((amount * 1_000_000_000).to_integral_value())
    units = abs(nanos) // 1_000_000_000 * (1 if nanos >= 0 else -1)
    return {"currencyCode": currency, "units": str(units), "nanos": nanos - units * 1_000_000_000}


class Pages:
    """The catalogue cut into pages, and the failures that stand before answers."""

    def __init__(self, skus: Sequence[Callable[[str], dict[str, Any] | None]]) -> None:
        self.skus = skus
        self.failures: dict[int, Failure] = {}
        """By number of the request, from 1."""
        self.fail_always: Failure | None = None
        self.drop_token_after_page: int | None = None
        self.drop_last_in: str | None = None
        """A currency whose listing lacks its second half."""
        self.asked: list[dict[str, str]] = []

    def next_failure(self, query: dict[str, str]) -> Failure | None:
        self.asked.append(query)
        return self.fail_always or self.failures.get(len(self.asked))

    def page(self, *, currency: str, size: int, token: str) -> dict[str, Any]:
        rows = [row for item in self.skus if (row := item(currency)) is not None]
        if self.drop_last_in == currency:
            rows = rows[: len(rows) // 2]
        start = int(token or 0)
        number = start // size + 1
        body: dict[str, Any] = {"skus": rows[start : start + size]}
        if start + size < len(rows) and number != self.drop_token_after_page:
            body["nextPageToken"] = str(start + size)
        return body


def with_retry_info(failure: Failure) -> Failure:
    """The failure with its pause in the JSON body."""
    info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{failure.retry_seconds}s"}
    error = {"code": failure.status, "message": "Quota exceeded", "status": "RESOURCE_EXHAUSTED", "details": [info]}
    return Failure(failure.status, json.dumps({"error": error}).encode())


class RestServer:
    """The two HTTP APIs on a free port of this machine."""

    def __init__(self, skus: Sequence[Callable[[str], dict[str, Any] | None]]) -> None:
        self.pages = Pages(skus)
        self.machine_pages: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                parts = urlsplit(self.path)
                query = {name: values[0] for name, values in parse_qs(parts.query).items()}
                outer.headers.append({name.lower(): value for name, value in self.headers.items()})
                failure = outer.pages.next_failure({"path": parts.path, **query})
                if failure is not None:
                    self._answer(failure if failure.retry_seconds is None else with_retry_info(failure))
                    return
                if parts.path.endswith("/aggregated/machineTypes"):
                    body = outer.machine_pages[int(query.get("pageToken", 0))]
                else:
                    body = outer.pages.page(
                        currency=query.get("currencyCode", "USD"),
                        size=int(query["pageSize"]),
                        token=query.get("pageToken", ""),
                    )
                self._answer(Failure(200, json.dumps(body).encode(), {"Content-Type": "application/json"}))

            def _answer(self, answer: Failure) -> None:
                time.sleep(answer.delay_seconds)
                with suppress(ConnectionError):  # the client did not wait
                    self._send(answer)

            def _send(self, answer: Failure) -> None:
                self.send_response(answer.status)
                for name, value in {"Content-Length": str(len(answer.body)), **answer.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(answer.body)

            def log_message(self, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def grpc_error(failure: Failure) -> status_pb2.Status:
    """The failure as google.rpc.Status."""
    codes = {
        401: code_pb2.UNAUTHENTICATED,
        429: code_pb2.RESOURCE_EXHAUSTED,
        503: code_pb2.UNAVAILABLE,
    }
    status = status_pb2.Status(code=codes[failure.status], message="refused")
    if failure.retry_seconds is not None:
        info = error_details_pb2.RetryInfo()
        info.retry_delay.FromNanoseconds(int(failure.retry_seconds * 1e9))
        status.details.add().Pack(info)
    return status


class GrpcServer:
    """The CloudCatalog service with Google's own messages on a free port of this machine."""

    def __init__(self, skus: Sequence[Callable[[str], dict[str, Any] | None]]) -> None:
        self.pages = Pages(skus)
        request, response = billing_v1.ListSkusRequest, billing_v1.ListSkusResponse
        handler = grpc.method_handlers_generic_handler(
            "google.cloud.billing.v1.CloudCatalog",
            {
                "ListSkus": grpc.unary_unary_rpc_method_handler(
                    self._list_skus,
                    request_deserializer=request.deserialize,
                    response_serializer=response.serialize,
                )
            },
        )
        self._server = grpc.server(ThreadPoolExecutor(max_workers=2))
        self._server.add_generic_rpc_handlers((handler,))
        self._port = self._server.add_insecure_port("127.0.0.1:0")

    def _list_skus(self, request: Any, context: grpc.ServicerContext) -> Any:
        failure = self.pages.next_failure({"currencyCode": request.currency_code, "pageToken": request.page_token})
        if failure is not None:
            context.abort_with_status(rpc_status.to_status(grpc_error(failure)))
        body = self.pages.page(currency=request.currency_code, size=request.page_size, token=request.page_token)
        message = billing_v1.ListSkusResponse()
        ParseDict(body, billing_v1.ListSkusResponse.pb(message), ignore_unknown_fields=True)
        return message

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.stop(grace=None).wait()
