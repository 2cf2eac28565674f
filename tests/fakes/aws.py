"""A local AWS: GetProducts (JSON 1.1), EC2 and STS (query, XML), the bulk offer files; with programmable failures."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit
from xml.sax.saxutils import escape

from tests.fakes.aws_rows import Json, offer_file


@dataclass(frozen=True, slots=True)
class Failure:
    """One answer in place of the right one."""

    status: int = 400
    code: str = ""
    message: str = "as the test wants it"
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    cut_after: int | None = None
    """Close the connection after so many bytes of the right answer."""
    announce: bool = True
    """Whether a Content-Length is sent."""


class AwsServer:
    """Everything it serves is a plain attribute; `calls` keeps operation, region and arguments of each request."""

    def __init__(self) -> None:
        self.products: list[Json] = []
        self.transfers: list[Json] = []
        self.instance_types: dict[str, list[Json]] = {}
        self.spot: dict[str, list[list[Json]]] = {}
        self.page_size = 100
        self.filters_hold = True
        self.files: dict[str, bytes] = {}
        self.failures: dict[str, list[Failure | None]] = {}
        self.calls: list[tuple[str, str, Any]] = []
        self._lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # One segment an answer; else delayed acknowledgements cost 40 ms a call.
            wbufsize = -1

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
                outer._post(self, body)

            def do_GET(self) -> None:
                outer._get(self)

            def log_message(self, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
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

    def fail(self, operation: str, *failures: Failure | None, region: str = "") -> None:
        """The next calls of an operation (in a region) fail so, one each; None lets one pass."""
        self.failures[f"{operation}{region and '@'}{region}"] = list(failures)

    def publish(self, service: str, region: str, items: list[Json], **options: Any) -> None:
        """Puts a region's offer file, and its place in the index."""
        root = f"/offers/v1.0/aws/{service}"
        index_path = f"{root}/current/region_index.json"
        index = json.loads(self.files.get(index_path, b'{"regions": {}}'))
        index["regions"][region] = {"regionCode": region, "currentVersionUrl": f"{root}/20260720/{region}/index.json"}
        self.files[index_path] = json.dumps(index).encode()
        self.files[f"{root}/20260720/{region}/index.csv"] = offer_file(items, **options)

    def _failure(self, operation: str, region: str) -> Failure | None:
        with self._lock:
            for key in (f"{operation}@{region}", operation):
                if self.failures.get(key):
                    return self.failures[key].pop(0)
        return None

    def _post(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        scope = re.search(r"Credential=[^/]+/\d+/([^/]+)/", handler.headers.get("Authorization", ""))
        region = scope.group(1) if scope else ""
        target = handler.headers.get("X-Amz-Target", "")
        if target:
            operation, arguments = target.rpartition(".")[2], json.loads(body)
        else:
            form = {name: values[0] for name, values in parse_qs(body.decode()).items()}
            operation, arguments = form["Action"], form
        self.calls.append((operation, region, arguments))
        failure = self._failure(operation, region)
        answer, kind = self._answer(operation, region, arguments)
        if failure:
            _send_failure(handler, failure, answer, kind, as_json=bool(target), operation=operation)
        else:
            _send(handler, 200, answer, kind)

    def _answer(self, operation: str, region: str, arguments: Mapping[str, Any]) -> tuple[bytes, str]:
        if operation == "GetProducts":
            return json.dumps(self._get_products(arguments)).encode(), "application/x-amz-json-1.1"
        if operation == "DescribeInstanceTypes":
            types = self.instance_types.get(region, [])
            start = int(arguments.get("NextToken", "0"))
            size = min(int(arguments.get("MaxResults", "100")), self.page_size)
            token = str(start + size) if start + size < len(types) else ""
            inner = _xml({"instanceTypeSet": types[start : start + size], "nextToken": token})
        elif operation == "DescribeSpotPriceHistory":
            pages = self.spot.get(region) or [[]]
            number = int(arguments.get("NextToken", "0"))
            token = str(number + 1) if number + 1 < len(pages) else ""
            inner = _xml({"spotPriceHistorySet": pages[number], "nextToken": token})
        elif operation == "GetCallerIdentity":
            who = {"Arn": "arn:aws:iam::123456789012:user/prices", "UserId": "AID", "Account": "123456789012"}
            inner = f"<GetCallerIdentityResult>{_capital_xml(who)}</GetCallerIdentityResult>"
        elif operation == "AssumeRole":
            given = {
                "AccessKeyId": "ASSUMED",
                "SecretAccessKey": "s",
                "SessionToken": "t",
                "Expiration": "2099-01-01T00:00:00Z",
            }
            inner = f"<AssumeRoleResult><Credentials>{_capital_xml(given)}</Credentials></AssumeRoleResult>"
        else:
            raise AssertionError(operation)
        return f"<{operation}Response>{inner}</{operation}Response>".encode(), "text/xml"

    def _get_products(self, arguments: Mapping[str, Any]) -> Json:
        items = self.products if arguments["ServiceCode"] == "AmazonEC2" else self.transfers
        if self.filters_hold:
            wanted = {one["Field"]: one["Value"] for one in arguments.get("Filters", [])}
            items = [item for item in items if _matches(item["product"], wanted)]
        start = int(arguments.get("NextToken", "0"))
        size = min(arguments.get("MaxResults", 100), self.page_size)
        page = {"FormatVersion": "aws_v1", "PriceList": [json.dumps(item) for item in items[start : start + size]]}
        return page | ({"NextToken": str(start + size)} if start + size < len(items) else {})

    def _get(self, handler: BaseHTTPRequestHandler) -> None:
        path = urlsplit(handler.path).path
        self.calls.append(("GET", path, None))
        failure = self._failure("GET", path)
        body = self.files.get(path)
        if failure:
            _send_failure(handler, failure, body or b"", "text/plain", as_json=False, operation="GET")
        elif body is None:
            _send(handler, 404, b"<Error><Code>NoSuchKey</Code></Error>", "application/xml")
        else:
            _send(handler, 200, body, "text/plain")


def _matches(product: Json, wanted: Mapping[str, str]) -> bool:
    have = product["attributes"] | {"productFamily": product["productFamily"]}
    return all(have.get(name) == value for name, value in wanted.items())


def _send(
    handler: BaseHTTPRequestHandler, status: int, body: bytes, kind: str, headers: Mapping[str, str] = {}
) -> None:
    handler.send_response(status)
    for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **headers}.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(body)


def _send_failure(
    handler: BaseHTTPRequestHandler, failure: Failure, right: bytes, kind: str, *, as_json: bool, operation: str
) -> None:
    if failure.cut_after is not None:
        handler.send_response(200)
        handler.send_header("Content-Type", kind)
        if failure.announce:
            handler.send_header("Content-Length", str(len(right)))
        handler.send_header("Connection", "close")
        handler.end_headers()
        handler.wfile.write(right[: failure.cut_after])
        handler.close_connection = True
        return
    if failure.body is not None:
        body = failure.body
    elif as_json:
        body = json.dumps({"__type": failure.code, "message": failure.message}).encode()
    else:
        error = f"<Error><Code>{failure.code}</Code><Message>{failure.message}</Message></Error>"
        of_sts = operation in {"GetCallerIdentity", "AssumeRole"}
        around = "<ErrorResponse>{}</ErrorResponse>" if of_sts else "<Response><Errors>{}</Errors></Response>"
        body = around.format(error).encode()
    _send(handler, failure.status, body, kind, failure.headers)


def _xml(value: Any) -> str:
    """EC2's XML: names begin small, list members are called item."""
    if isinstance(value, Mapping):
        return "".join(
            f"<{name[0].lower()}{name[1:]}>{_xml(one)}</{name[0].lower()}{name[1:]}>" for name, one in value.items()
        )
    if isinstance(value, list):
        return "".join(f"<item>{_xml(one)}</item>" for one in value)
    return escape(str(value))


def _capital_xml(value: Mapping[str, str]) -> str:
    return "".join(f"<{name}>{escape(one)}</{name}>" for name, one in value.items())
