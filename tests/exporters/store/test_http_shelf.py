"""Reading another exporter's snapshots over HTTP: what is damaged or gone is passed over, what is no list is named."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from exporters.core.errors import StoreError
from exporters.store.read import last_snapshot
from exporters.store.shelf import open_readable, open_shelf
from exporters.store.write import write_snapshot
from tests.builders import NOON, offer, snapshot


@contextmanager
def answering(bodies: Mapping[str, bytes]) -> Iterator[str]:
    """A server that knows these paths and nothing else."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = bodies.get(self.path.partition("?")[0])
            self.send_response(404 if body is None else 200)
            self.send_header("Content-Length", str(len(body or b"")))
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/snapshots"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.mark.parametrize("body", [b"<html>Please sign in</html>", b"{}", b"[]"])
def test_an_answer_that_is_no_list_of_snapshots_is_named(body: bytes) -> None:
    with answering({"/snapshots/": body}) as url, pytest.raises(StoreError, match=r"prices\.url"):
        open_readable(url).keys("aws")


def test_a_file_that_was_cleared_away_meanwhile_leaves_the_snapshot_before_it(tmp_path: Path) -> None:
    shelf = open_shelf(str(tmp_path))
    good = write_snapshot(shelf, snapshot(offers=offer()))
    gone = "aws/20270101T000000.000000Z"
    listed = [*shelf.keys("aws"), f"{gone}/manifest.json"]
    bodies = {f"/snapshots/{key}": shelf.get(key) for key in shelf.keys("aws")}
    bodies["/snapshots/"] = ('{"keys": [' + ",".join(f'"{key}"' for key in listed) + "]}").encode()

    with answering(bodies) as url:
        read = last_snapshot(open_readable(url), "aws")

    assert read is not None
    assert (read.manifest.taken_at, read.manifest) == (NOON, good)
