"""A query API that misbehaves as it is told, for what a healthy Prometheus never does."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qs, urlsplit


@dataclass(slots=True)
class Answer:
    """One answer of the fake."""

    body: str = json.dumps({"status": "success", "data": {"resultType": "vector", "result": []}})
    status: int = 200
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    after_seconds: float = 0.0
    cut_to: int | None = None


@dataclass(slots=True)
class FakePrometheus:
    """What the fake answers (the last answer again and again), and what it was asked."""

    url: str = ""
    answers: list[Answer] = field(default_factory=lambda: [Answer()])
    asked: list[dict[str, str]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)


def vector(value: str, **labels: str) -> str:
    """The body of an answer with one series."""
    result = [{"metric": labels, "value": [0, value]}]
    return json.dumps({"status": "success", "data": {"resultType": "vector", "result": result}})


@contextmanager
def fake_prometheus() -> Iterator[FakePrometheus]:
    """This will serve on a free loopback port until the block ends."""
    fake = FakePrometheus()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
            fake.asked.append(asked)
            fake.headers.append({name.lower(): value for name, value in self.headers.items()})
            answer = fake.answers.pop(0) if len(fake.answers) > 1 else fake.answers[0]
            time.sleep(answer.after_seconds)
            body = answer.body.encode()
            self.send_response(answer.status)
            self.send_header("content-type", answer.content_type)
            self.send_header("content-length", str(len(body)))
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.end_headers()
            try:
                self.wfile.write(body[: answer.cut_to])
            except OSError:
                self.close_connection = True  # the client gave up

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    fake.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield fake
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
