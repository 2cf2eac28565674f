"""An API server that behaves like the real one where it matters to a writer of scores, and misbehaves as it is told.

`status` is a subresource: what a create says of it is dropped. Lists come in pages that can expire; tokens, rights and
namespaces are checked. HTTPS with a certificate of its own; the kubeconfig names a token file.
"""

from __future__ import annotations

import copy
import json
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import RLock, Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

import trustme
import yaml

from tests.fakes.api_objects import GROUP, KINDS, SCORES, Json, RefusedError, applied, check


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked."""

    method: str
    path: str
    query: dict[str, str] = field(default_factory=dict)

    @property
    def namespace(self) -> str:
        parts = self.path.split("/")
        return parts[parts.index("namespaces") + 1] if "namespaces" in parts else ""

    @property
    def changes(self) -> bool:
        return self.method != "GET" and "dryRun" not in self.query


@dataclass(frozen=True, slots=True)
class Fault:
    """An answer in place of the right one; `cut` ends the connection without any."""

    status: int = 500
    message: str = "it is broken"
    headers: dict[str, str] = field(default_factory=dict)
    content_type: str | None = "application/json"
    cut: bool = False


@dataclass(slots=True)
class FakeHub:
    """The server's content and manners.

    `fault` sees every request and may answer in its place; `now` is the server's clock.
    """

    folder: Path
    namespaces: set[str] = field(default_factory=set)
    forbidden: set[str] = field(default_factory=set)
    may_list_everywhere: bool = True
    installed: bool = True
    tokens: set[str] = field(default_factory=lambda: {"first"})
    page: int = 500
    expired_pages: int = 0
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    fault: Callable[[Request], Fault | None] = lambda _: None
    url: str = ""
    asked: list[Request] = field(default_factory=list)
    objects: dict[tuple[str, str, str], Json] = field(default_factory=dict)
    version: int = 0
    lock: RLock = field(default_factory=RLock)

    @property
    def kubeconfig(self) -> Path:
        return self.folder / "kubeconfig"

    @property
    def token_file(self) -> Path:
        return self.folder / "token"

    def changes(self) -> list[Request]:
        """What was asked that changed something, or was to."""
        return [one for one in self.asked if one.changes]

    def status(self, namespace: str, name: str = "finops") -> Json:
        found: Json = self.objects[SCORES, namespace, name].get("status", {})
        return found

    def values(self, name: str = "finops") -> dict[str, dict[str, int]]:
        """The scores of every object of a name, by namespace."""
        return {
            namespace: {score["name"]: score["value"] for score in one.get("status", {}).get("scores", [])}
            for (kind, namespace, named), one in sorted(self.objects.items())
            if kind == SCORES and named == name
        }

    def put(self, kind: str, name: str, namespace: str = "", **content: Any) -> None:
        """Some other controller's object."""
        version, word = KINDS[kind]
        metadata = {"name": name, **({"namespace": namespace} if namespace else {}), **content.pop("metadata", {})}
        self.objects[kind, namespace, name] = {"apiVersion": version, "kind": word, "metadata": metadata, **content}

    def apply(self, namespace: str, name: str, manager: str, status: Json, *, force: bool = False) -> Json:
        """Server-side apply of a status, as any manager."""
        with self.lock:
            one = self.objects.get((SCORES, namespace, name))
            if one is None:
                raise RefusedError(404, "NotFound", f'{SCORES}.{GROUP} "{name}" not found', name=name, kind=SCORES)
            check(status, name)
            changed = applied(copy.deepcopy(one), manager, status, force=force, at=self.now())
            if changed != one:
                self.version += 1
                changed["metadata"]["resourceVersion"] = str(self.version)
            return changed


def _answer(hub: FakeHub, request: Request, body: Json, token: str, content_type: str) -> tuple[int, Json]:
    if token not in hub.tokens:
        raise RefusedError(401, "Unauthorized", "Unauthorized")
    parts = request.path.strip("/").split("/")[3:]
    namespace = request.namespace
    rest = parts[2:] if namespace else parts
    kind, name, sub = (*rest, "", "")[:3]
    if kind not in KINDS or (kind == SCORES and not hub.installed):
        raise RefusedError(404, "NotFound", "the server could not find the requested resource")
    if namespace in hub.forbidden or (not namespace and kind == SCORES and not hub.may_list_everywhere):
        raise RefusedError(403, "Forbidden", f'{kind} is forbidden: User "x" cannot {request.method} in "{namespace}"')
    if request.method == "POST":
        return 201, _created(hub, request, kind, namespace, body)
    if request.method == "GET" and not name:
        return 200, _listed(hub, request, kind, namespace)
    key = (kind, namespace, name)
    if key not in hub.objects:
        raise RefusedError(404, "NotFound", f'{kind} "{name}" not found', name=name, kind=kind)
    if request.method == "DELETE":
        return 200, hub.objects.pop(key)
    if request.method == "GET":
        return 200, hub.objects[key]
    assert (sub, content_type) == ("status", "application/apply-patch+yaml"), "only a status is applied"
    force = request.query.get("force") == "true"
    changed = hub.apply(namespace, name, request.query["fieldManager"], body.get("status", {}), force=force)
    if "dryRun" not in request.query:
        hub.objects[key] = changed
    return 200, changed


def _created(hub: FakeHub, request: Request, kind: str, namespace: str, body: Json) -> Json:
    if namespace not in hub.namespaces:
        raise RefusedError(404, "NotFound", f'namespaces "{namespace}" not found', name=namespace, kind="namespaces")
    name = body["metadata"]["name"]
    if (kind, namespace, name) in hub.objects:
        raise RefusedError(409, "AlreadyExists", f'{kind} "{name}" already exists', name=name, kind=kind)
    hub.version += 1
    one = {key: value for key, value in body.items() if key != "status"}
    one["metadata"] = body["metadata"] | {"namespace": namespace, "resourceVersion": str(hub.version)}
    if "dryRun" not in request.query:
        hub.objects[kind, namespace, name] = one
    return one


def _listed(hub: FakeHub, request: Request, kind: str, namespace: str) -> Json:
    wanted = dict(pair.split("=", 1) for pair in request.query.get("labelSelector", "").split(",") if pair)
    found = [
        one
        for (of_kind, there, _), one in sorted(hub.objects.items())
        if of_kind == kind
        and namespace in {"", there}
        and wanted.items() <= (one["metadata"].get("labels") or {}).items()
    ]
    start = int(request.query.get("continue", "0"))
    if start and hub.expired_pages:
        hub.expired_pages -= 1
        raise RefusedError(410, "Expired", "The provided continue parameter is too old", name="x")
    end = start + min(hub.page, int(request.query.get("limit", hub.page)))
    more = {"continue": str(end)} if end < len(found) else {}
    version, word = KINDS[kind]
    meta = {"resourceVersion": str(hub.version), **more}
    return {"apiVersion": version, "kind": f"{word}List", "metadata": meta, "items": found[start:end]}


class _Handler(BaseHTTPRequestHandler):
    hub: FakeHub
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one piece: no answer waits for a delayed acknowledgement

    def do_GET(self) -> None:
        self.handle_request()

    def do_POST(self) -> None:
        self.handle_request()

    def do_PATCH(self) -> None:
        self.handle_request()

    def do_DELETE(self) -> None:
        self.handle_request()

    def handle_request(self) -> None:
        parts = urlsplit(self.path)
        request = Request(self.command, parts.path, {name: values[0] for name, values in parse_qs(parts.query).items()})
        length = int(self.headers.get("content-length") or 0)
        body = json.loads(self.rfile.read(length)) if length else {}
        with self.hub.lock:
            self.hub.asked.append(request)
            fault = self.hub.fault(request)
            if fault is not None:
                self.misbehave(fault)
                return
            token = self.headers.get("authorization", "").removeprefix("Bearer ")
            try:
                status, answer = _answer(self.hub, request, body, token, self.headers.get("content-type", ""))
            except RefusedError as error:
                status, answer = error.status, error.body
            self.reply(status, answer)

    def misbehave(self, fault: Fault) -> None:
        if fault.cut:
            self.close_connection = True
            self.connection.close()
            return
        body = {"kind": "Status", "message": fault.message, "code": fault.status}
        self.reply(fault.status, body, fault.headers, fault.content_type)

    def reply(
        self,
        status: int,
        body: Json,
        headers: dict[str, str] | None = None,
        content_type: str | None = "application/json",
    ) -> None:
        text = json.dumps(body).encode()
        named = {"content-length": str(len(text))} | (headers or {})
        self.send_response(status)
        for name, value in named.items() if content_type is None else ({"content-type": content_type} | named).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@cache
def _authority() -> tuple[trustme.CA, trustme.LeafCert]:
    """One for all: making keys takes longer than most tests."""
    authority = trustme.CA()
    return authority, authority.issue_cert("127.0.0.1")


@contextmanager
def fake_hub(folder: Path, *namespaces: str) -> Iterator[FakeHub]:
    """This will serve HTTPS on a free loopback port until the block ends, and write a kubeconfig into the folder."""
    hub = FakeHub(folder, namespaces=set(namespaces))
    authority, certificate = _authority()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"hub": hub}))
    server.daemon_threads = True
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    hub.url = f"https://127.0.0.1:{server.server_address[1]}"
    authority.cert_pem.write_to_path(folder / "ca.pem")
    hub.token_file.write_text("first", encoding="utf-8")
    write_kubeconfig(hub.kubeconfig, hub.url, {"certificate-authority": "ca.pem"}, {"tokenFile": str(hub.token_file)})
    thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def write_kubeconfig(path: Path, url: str, cluster: Json, user: Json) -> None:
    """This will write a kubeconfig with one context."""
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "hub", "cluster": {"server": url, **cluster}}],
        "users": [{"name": "tuppence", "user": user}],
        "contexts": [{"name": "hub", "context": {"cluster": "hub", "user": "tuppence"}}],
        "current-context": "hub",
    }
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
