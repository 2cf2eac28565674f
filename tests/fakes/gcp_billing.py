"""Local Google APIs of lists: billing accounts and their projects (REST and gRPC), commitments, budgets.

Lists are given as pages by path; page tokens are checked, and failures stand before answers.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import grpc
from google.cloud import billing_v1
from google.protobuf.json_format import ParseDict


@dataclass(slots=True)
class FakeLists:
    """What there is, and how it behaves.

    Args:
        pages: pages of each list by path; tokens are made here.
        failures: answers (status, body) before anything else.
        repeat_token: whether a page names itself as the next one.
        asked: path and query of every request.
    """

    pages: dict[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    failures: list[tuple[int, str]] = field(default_factory=list)
    repeat_token: bool = False
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    url: str = ""

    def answer(self, path: str, query: dict[str, str]) -> tuple[int, str]:
        self.asked.append((path, query))
        if self.failures:
            return self.failures.pop(0)
        if path not in self.pages:
            return 404, json.dumps({"error": {"code": 404, "message": f"no {path}", "status": "NOT_FOUND"}})
        return 200, json.dumps(self.page(path, query.get("pageToken", "")))

    def page(self, path: str, token: str) -> dict[str, Any]:
        number = int(token or 0)
        following = number if self.repeat_token and number else number + 1
        body = dict(self.pages[path][number])
        return body | ({"nextPageToken": str(following)} if following < len(self.pages[path]) else {})


@contextmanager
def fake_lists() -> Iterator[FakeLists]:
    """The HTTP APIs on a free port of this machine."""
    fake = FakeLists()

    class Handler(BaseHTTPRequestHandler):
        wbufsize = -1  # head and body in one packet, or the other side waits for the second

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            status, text = fake.answer(parts.path, query)
            body = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    fake.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield fake
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def fake_billing_grpc(lists: FakeLists) -> Iterator[str]:
    """The same accounts and projects as Google's own messages over gRPC; its URL."""

    def listed(path: str, token: str, response: Any) -> Any:
        message = response()
        ParseDict(lists.page(path, token), response.pb(message), ignore_unknown_fields=True)
        return message

    def accounts(request: Any, context: grpc.ServicerContext) -> Any:
        return listed("/v1/billingAccounts", request.page_token, billing_v1.ListBillingAccountsResponse)

    def projects(request: Any, context: grpc.ServicerContext) -> Any:
        path = f"/v1/{request.name}/projects"
        return listed(path, request.page_token, billing_v1.ListProjectBillingInfoResponse)

    kinds = {
        "ListBillingAccounts": (
            accounts,
            billing_v1.ListBillingAccountsRequest,
            billing_v1.ListBillingAccountsResponse,
        ),
        "ListProjectBillingInfo": (
            projects,
            billing_v1.ListProjectBillingInfoRequest,
            billing_v1.ListProjectBillingInfoResponse,
        ),
    }
    handlers = {
        name: grpc.unary_unary_rpc_method_handler(
            answer, request_deserializer=asked.deserialize, response_serializer=said.serialize
        )
        for name, (answer, asked, said) in kinds.items()
    }
    server = grpc.server(ThreadPoolExecutor(max_workers=2))
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler("google.cloud.billing.v1.CloudBilling", handlers),)
    )
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.stop(grace=None).wait()
