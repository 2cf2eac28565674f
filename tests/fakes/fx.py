"""A local server that gives out exchange rate files and can fail like a real one."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self


@dataclass(frozen=True, slots=True)
class Answer:
    body: bytes
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    promised_length: int | None = None
    """Content-Length when it lies: the connection is cut before that many bytes."""
    delay_seconds: float = 0.0


class RateServer:
    """Serves queued answers, one a request; the last one stays. `requests` keeps the paths asked for."""

    def __init__(self, *answers: Answer | bytes) -> None:
        self.requests: list[str] = []
        self._closing = threading.Event()
        self._answers = [Answer(item) if isinstance(item, bytes) else item for item in answers]
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.requests.append(self.path)
                answer = outer._next()
                outer._closing.wait(answer.delay_seconds)
                self.send_response(answer.status)
                length = answer.promised_length or len(answer.body)
                for name, value in {"Content-Length": str(length), **answer.headers}.items():
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

    def _next(self) -> Answer:
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
