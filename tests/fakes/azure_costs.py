"""A local Cost Management over HTTPS, with a managed identity's token endpoint over HTTP.

It answers queries from a ledger of charges as the real API does where a reader can tell: groups, filters, pages by a
link that the same body must be posted to, 204 for nothing. It refuses what the real one refuses: another api-version,
no token, no ClientType, more than two groupings, a span over a month, an `and` of one.
"""

from __future__ import annotations

import json
import ssl
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from time import time
from typing import Any
from urllib.parse import parse_qs, urlsplit

import trustme

from exporters.fetch.azure import AzureSettings
from exporters.fetch.cost_contract import CostRequest
from tests.fakes.azure import IDENTITY_SECRET, TOKEN, Answer

Json = Any
VERSION = "2025-03-01"
COLUMNS = {
    "ServiceName": "service",
    "ResourceLocation": "location",
    "SubscriptionId": "subscription",
    "ChargeType": "charge_type",
}


@dataclass(frozen=True)
class Entry:
    """A charge; costs are the text of the JSON number that is sent."""

    day: date
    actual: str
    amortised: str
    service: str = "Virtual Machines"
    location: str = "UK South"
    subscription: str = ""
    charge_type: str = "Usage"
    tags: dict[str, str] = field(default_factory=dict)
    currency: str = "GBP"

    def value(self, grouping: Json) -> str:
        if grouping["type"] == "TagKey":
            return self.tags.get(grouping["name"], "")
        value: str = getattr(self, COLUMNS[grouping["name"]])
        return value


@dataclass
class CostCall:
    """One request."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Json

    @property
    def operation(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def groups(self) -> list[str]:
        return [one["name"] for one in self.body["dataset"].get("grouping", [])]


class Number:
    """A JSON number with the digits that were given; json.dumps would round it."""

    def __init__(self, text: str) -> None:
        self.text = text


def dumps(value: Json) -> str:
    if isinstance(value, Number):
        return value.text
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(key)}:{dumps(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(dumps(one) for one in value) + "]"
    return json.dumps(value)


@dataclass
class FakeCosts:
    """The server's ledger and manners.

    `fault` sees every request and may answer in its place; `routes` answers paths that queries do not, and
    `open_routes` those that need no token.
    """

    folder: Path
    ledger: dict[str, list[Entry]] = field(default_factory=dict)
    page_rows: int = 1_000
    calls: list[CostCall] = field(default_factory=list)
    fault: Callable[[CostCall], Answer | None] = lambda _: None
    routes: dict[str, Callable[[CostCall], Answer]] = field(default_factory=dict)
    open_routes: dict[str, Callable[[CostCall], Answer]] = field(default_factory=dict)
    columns_renamed: dict[str, str] = field(default_factory=dict)
    next_host: str = ""
    blank_filters_hold: bool = True
    url: str = ""
    identity_url: str = ""

    @property
    def ca_file(self) -> str:
        return str(self.folder / "ca.pem")

    def environment(self) -> dict[str, str]:
        return {
            "IDENTITY_ENDPOINT": f"{self.identity_url}/identity",
            "IDENTITY_HEADER": IDENTITY_SECRET,
            "AZURE_TOKEN_CREDENTIALS": "ManagedIdentityCredential",
        }

    def queries(self) -> list[CostCall]:
        return [call for call in self.calls if call.operation == "query"]

    def answer(self, call: CostCall) -> Answer:
        if (given := self.fault(call)) is not None:
            return given
        for end, route in self.open_routes.items():
            if call.path.endswith(end):
                return route(call)
        if call.headers.get("authorization") != f"Bearer {TOKEN}":
            return refusal(401, "AuthenticationFailed")
        for end, route in self.routes.items():
            if call.path.endswith(end):
                return route(call)
        scope, _, operation = call.path.partition("/providers/Microsoft.CostManagement/")
        if operation != "query" or call.method != "POST":
            return refusal(404, "NotFound")
        if (wrong := _mistake(call)) is not None:
            return refusal(400, wrong)
        if scope not in self.ledger:
            return refusal(403, "AuthorizationFailed")
        return self._query(call, self.ledger[scope])

    def _query(self, call: CostCall, entries: list[Entry]) -> Answer:
        body = call.body
        first, last = (date.fromisoformat(body["timePeriod"][end][:10]) for end in ("from", "to"))
        within = [one for one in entries if first <= one.day <= last and self._passes(one, body["dataset"])]
        if not within:
            return Answer(204)
        groups = body["dataset"]["grouping"]
        sums: dict[tuple[str, ...], Decimal] = defaultdict(Decimal)
        for one in within:
            amount = one.actual if body["type"] == "ActualCost" else one.amortised
            key = (one.day.strftime("%Y%m%d"), *(one.value(group) for group in groups), one.currency)
            sums[key] += Decimal(amount)
        rows: list[list[Json]] = []
        for (day, *values, currency), amount in sorted(sums.items()):
            row: list[Json] = [Number(str(amount)), int(day)]
            for group, value in zip(groups, values, strict=True):
                row += [group["name"], value] if group["type"] == "TagKey" else [value]
            rows.append([*row, currency])
        names = ["Cost", "UsageDate"]
        for group in groups:
            names += ["TagKey", "TagValue"] if group["type"] == "TagKey" else [group["name"]]
        return Answer(body=dumps(self._page(call, [*names, "Currency"], rows)))

    def _page(self, call: CostCall, names: list[str], rows: list[list[Json]]) -> Json:
        start = int(call.query.get("$skiptoken", "0"))
        end = start + self.page_rows
        host = self.next_host or self.url
        more = f"{host}{call.path}?api-version={VERSION}&$skiptoken={end}" if end < len(rows) else None
        columns = [{"name": self.columns_renamed.get(name, name), "type": "String"} for name in names]
        return {"properties": {"nextLink": more, "columns": columns, "rows": rows[start:end]}}

    def _passes(self, entry: Entry, dataset: Json) -> bool:
        chosen = dataset.get("filter") or {}
        tests = [one["dimensions"] for one in chosen.get("and", [chosen])] if chosen else []
        for test in tests:
            if test["values"] == [""] and not self.blank_filters_hold:
                return False
            if entry.value({"type": "Dimension", "name": test["name"]}) not in test["values"]:
                return False
        return True


def refusal(status: int, code: str, headers: dict[str, str] | None = None) -> Answer:
    return Answer(status, {"error": {"code": code, "message": code}}, headers or {})


def _mistake(call: CostCall) -> str | None:
    """What the real API refuses a query for."""
    dataset, period = call.body["dataset"], call.body["timePeriod"]
    first, last = (date.fromisoformat(period[end][:10]) for end in ("from", "to"))
    wrong = {
        "InvalidApiVersion": call.query.get("api-version") != VERSION,
        "NoClientType": not call.headers.get("clienttype"),
        "NotJson": call.headers.get("content-type") != "application/json",
        "TooManyGroupings": len(dataset["grouping"]) > 2,
        "TooManyAggregations": len(dataset["aggregation"]) > 2,
        "SpanTooLong": last - first > timedelta(days=31),
        "NotCustom": call.body["timeframe"] != "Custom" or dataset["granularity"] != "Daily",
        "AndOfOne": len(dataset.get("filter", {}).get("and", [1, 2])) < 2,
    }
    return next((code for code, holds in wrong.items() if holds), None)


class _Handler(BaseHTTPRequestHandler):
    fake: FakeCosts
    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def do_GET(self) -> None:
        self.handle_request()

    def do_POST(self) -> None:
        self.handle_request()

    def handle_request(self) -> None:
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        call = CostCall(self.command, parts.path, query, headers, json.loads(raw) if raw else None)
        if parts.path == "/identity":
            given = _token(call)
        else:
            self.fake.calls.append(call)
            given = self.fake.answer(call)
        sent = b"" if given.status == 204 else given.sent()
        self.send_response(given.status)
        lengths = {} if given.status == 204 else {"content-length": str(len(sent))}
        for name, value in ({"content-type": "application/json"} | lengths | given.headers).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def _token(call: CostCall) -> Answer:
    if call.headers.get("x-identity-header") != IDENTITY_SECRET:
        return Answer(401, {"error": "unauthorized_client"})
    token = {"access_token": TOKEN, "expires_on": str(int(time()) + 3600), "token_type": "Bearer"}
    return Answer(body=token | {"resource": call.query["resource"]})


def cost_cloud(fake: FakeCosts, **changes: object) -> AzureSettings:
    """The section `sources.azure` that leads to the fake."""
    told = {"management_endpoint": fake.url, "ca_file": fake.ca_file, "throttle_wait_seconds": 0.01}
    return AzureSettings.model_validate(told | changes)


def cost_request(
    first_day: date,
    last_day: date,
    *,
    seconds: float = 20,
    tags: tuple[str, ...] = ("owner", "team"),
    now: datetime | None = None,
    scratch: Path = Path(),
) -> CostRequest:
    """A request with so many seconds to go."""
    moment = now or datetime.now(UTC)
    return CostRequest(
        now=moment,
        first_day=first_day,
        last_day=last_day,
        scratch=scratch,
        deadline=moment + timedelta(seconds=seconds),
        owner_tags=tags,
    )


@cache
def _authority() -> tuple[trustme.CA, trustme.LeafCert]:
    """One for all: making keys takes longer than most tests."""
    authority = trustme.CA()
    return authority, authority.issue_cert("127.0.0.1")


@contextmanager
def fake_costs(folder: Path) -> Iterator[FakeCosts]:
    """This will serve on free loopback ports until the block ends."""
    fake = FakeCosts(folder)
    authority, certificate = _authority()
    authority.cert_pem.write_to_path(fake.ca_file)
    handler = type("Handler", (_Handler,), {"fake": fake})
    tokens, costs = (ThreadingHTTPServer(("127.0.0.1", 0), handler) for _ in range(2))
    tokens.daemon_threads = costs.daemon_threads = True
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    costs.socket = context.wrap_socket(costs.socket, server_side=True)
    fake.identity_url, fake.url = f"http://127.0.0.1:{tokens.server_port}", f"https://127.0.0.1:{costs.server_port}"
    threads = [Thread(target=server.serve_forever, args=(0.02,), daemon=True) for server in (tokens, costs)]
    for thread in threads:
        thread.start()
    try:
        yield fake
    finally:
        for server, thread in zip((tokens, costs), threads, strict=True):
            server.shutdown()
            server.server_close()
            thread.join()
