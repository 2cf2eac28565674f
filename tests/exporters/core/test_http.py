"""The HTTP edge against a real local server: what is tried again, what is not, and what the user is told."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from exporters.core import http
from exporters.core.errors import SettingsError, TerminalSourceError, TransientSourceError

QUICK = http.RetryPolicy(attempts=3, timeout_seconds=5, wait_initial_seconds=0.01, wait_max_seconds=0.02)


@contextmanager
def server(*answers: tuple[int, dict[str, str], bytes]) -> Iterator[tuple[str, list[str]]]:
    """A server that gives the answers in turn, the last one for ever; yields its URL and the paths it was asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, headers, body = answers[min(len(asked), len(answers) - 1)]
            asked.append(self.path)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            pass

    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{running.server_port}", asked
    finally:
        running.shutdown()
        running.server_close()
        thread.join()


def fetch(url: str, policy: http.RetryPolicy = QUICK) -> bytes:
    with http.client(timeout_seconds=2) as session:
        return http.get(session, url, policy=policy).content


def test_a_good_answer_is_returned() -> None:
    with server((200, {}, b"yes")) as (url, _):
        assert fetch(url) == b"yes"


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_what_may_pass_is_tried_again(status: int) -> None:
    with server((status, {}, b""), (200, {}, b"yes")) as (url, asked):
        assert fetch(url) == b"yes"
        assert len(asked) == 2


def test_retry_after_is_obeyed() -> None:
    with server((429, {"retry-after": "0"}, b""), (200, {}, b"yes")) as (url, asked):
        assert fetch(url) == b"yes"
        assert len(asked) == 2


def test_a_retry_after_of_an_hour_is_not_waited_for() -> None:
    with server((429, {"retry-after": "3600"}, b"")) as (url, asked):
        with pytest.raises(TransientSourceError, match="throttling"):
            fetch(url)
        assert len(asked) == 1


def test_a_throttle_without_end_gives_up_and_says_so() -> None:
    with server((429, {}, b"")) as (url, asked):
        with pytest.raises(TransientSourceError, match="429"):
            fetch(url)
        assert len(asked) == 3


def test_an_answer_that_drips_is_given_up_when_the_time_is_up() -> None:
    """Each byte comes long before the client's own limit for one piece; all of them would take 30 seconds."""

    class Dripping(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-length", "600")
            self.end_headers()
            with suppress(ConnectionError):  # the client does not wait
                for _ in range(600):
                    self.wfile.write(b"x")
                    time.sleep(0.05)

        def log_message(self, *args: object) -> None:
            pass

    running = ThreadingHTTPServer(("127.0.0.1", 0), Dripping)
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    started = time.monotonic()
    try:
        with pytest.raises(TransientSourceError, match="still coming in"):
            fetch(f"http://127.0.0.1:{running.server_port}", http.RetryPolicy(attempts=3, timeout_seconds=0.4))
        assert time.monotonic() - started < 5
    finally:
        running.shutdown()
        running.server_close()
        thread.join()


@pytest.mark.parametrize("status", [301, 400, 401, 403, 404])
def test_what_cannot_pass_is_not_tried_again(status: int) -> None:
    with server((status, {"location": "http://127.0.0.1:1/"}, b"no")) as (url, asked):
        with pytest.raises(TerminalSourceError, match=str(status)):
            fetch(url)
        assert len(asked) == 1


def test_a_refused_connection_is_named_without_the_query() -> None:
    with pytest.raises(TransientSourceError) as caught:
        fetch("http://127.0.0.1:9/prices?key=secret")
    assert "secret" not in str(caught.value)


def test_plain_http_is_only_for_this_machine() -> None:
    assert http.checked_endpoint("http://127.0.0.1:8080/", setting="x") == "http://127.0.0.1:8080"
    assert http.checked_endpoint("https://prices.example/", setting="x") == "https://prices.example"
    with pytest.raises(SettingsError, match="plain http"):
        http.checked_endpoint("http://prices.example", setting="sources.azure.retail_endpoint")
    with pytest.raises(SettingsError, match="not an https"):
        http.checked_endpoint("file:///etc/passwd", setting="x")


def test_a_body_that_does_not_unpack_is_a_broken_connection() -> None:
    with server((200, {"content-encoding": "gzip"}, b"<html>")) as (url, asked):
        with pytest.raises(TransientSourceError, match="DecodingError"):
            fetch(url)
        assert len(asked) == 3


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("7", 7.0),
        ("-3", 0.0),
        ("Mon, 01 Jan 2001 00:00:00 GMT", 0.0),
        ("Mon, 01 Jan 2001 00:00:00 -0000", 0.0),
    ],
)
def test_retry_after_is_a_number_or_a_date(value: str, seconds: float) -> None:
    assert http.retry_after_seconds({"retry-after": value}) == seconds


def test_nonsense_in_retry_after_is_no_answer() -> None:
    assert http.retry_after_seconds({"retry-after": "soon"}) is None
