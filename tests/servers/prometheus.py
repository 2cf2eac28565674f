"""Debian's Prometheus and promtool for tests: a server on a free loopback port with its own folder, stopped by its pid.

Where the programs are missing a test is skipped with the reason; with ``CI=true`` it fails instead, so that a build
never passes because nothing was looked at.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import httpx2
import pytest
import yaml

READY_WITHIN_SECONDS = 30.0

Seen = TypeVar("Seen")


@dataclass(frozen=True, slots=True)
class PrometheusServer:
    """A running Prometheus.

    Args:
        url: its address without a trailing slash.
        folder: where its configuration and data lie; rules may be put here before a reload.
        pid: of the process.
    """

    url: str
    folder: Path
    pid: int

    def query(self, expression: str, *, at: float | None = None) -> list[dict[str, Any]]:
        """This will return the result vector of an instant query."""
        params = {"query": expression} | ({} if at is None else {"time": str(at)})
        answer = httpx2.get(f"{self.url}/api/v1/query", params=params, timeout=10)
        answer.raise_for_status()
        result: list[dict[str, Any]] = answer.json()["data"]["result"]
        return result

    def values(self, expression: str, *label_names: str) -> dict[tuple[str, ...], float]:
        """This will return a query's values by the named labels; a missing label is the empty string."""
        rows = self.query(expression)
        return {tuple(row["metric"].get(name, "") for name in label_names): float(row["value"][1]) for row in rows}

    def targets(self) -> list[dict[str, Any]]:
        """This will return the active targets with their health and last error."""
        answer = httpx2.get(f"{self.url}/api/v1/targets", timeout=10)
        active: list[dict[str, Any]] = answer.json()["data"]["activeTargets"]
        return active

    def wait_for(self, expression: str, *, seconds: float = 20.0) -> list[dict[str, Any]]:
        """This will query until something comes back.

        Raises:
            AssertionError: nothing came in time; the targets' last errors are in the message.
        """
        return wait_until(
            lambda: self.query(expression),
            seconds=seconds,
            otherwise=lambda: f"{expression}: no result; {[target['lastError'] for target in self.targets()]}",
        )


def program(name: str) -> str:
    """This will return the path of a program, or skip the test (fail it with CI=true)."""
    if (path := shutil.which(name)) is not None:
        return path
    reason = f"{name} is not installed (Debian package: prometheus)"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def free_port() -> int:
    """This will return a loopback port that nobody uses now."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def wait_until(look: Callable[[], Seen], *, seconds: float, otherwise: Callable[[], str]) -> Seen:
    """This will look until something true is seen, and return it.

    Raises:
        AssertionError: nothing true was seen in time.
    """
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if seen := look():
            return seen
        time.sleep(0.05)
    raise AssertionError(otherwise())


@contextmanager
def running_prometheus(
    config: Mapping[str, Any],
    *,
    files: Mapping[str, str] | None = None,
    flags: tuple[str, ...] = (),
    fill: Callable[[Path], None] | None = None,
    client: httpx2.Client | None = None,
) -> Iterator[PrometheusServer]:
    """This will run Prometheus with a configuration until the block ends.

    Args:
        config: the content of prometheus.yml; file names in it are relative to the server's folder.
        files: further files to lay into the folder first, such as rule files.
        flags: further command-line flags.
        fill: lays blocks into the data folder before the server starts.
        client: asks over TLS, with credentials, whether the server is ready; None: plain HTTP.
    """
    binary = program("prometheus")
    with TemporaryDirectory(prefix="prometheus-") as name:
        folder = Path(name)
        for file_name, text in (files or {}).items():
            (folder / file_name).write_text(text, encoding="utf-8")
        (folder / "prometheus.yml").write_text(yaml.safe_dump(dict(config)), encoding="utf-8")
        if fill is not None:
            fill(folder / "data")
        port = free_port()
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                [
                    binary,
                    f"--config.file={folder / 'prometheus.yml'}",
                    f"--storage.tsdb.path={folder / 'data'}",
                    f"--web.listen-address=127.0.0.1:{port}",
                    "--web.enable-lifecycle",
                    "--log.level=warn",
                    *flags,
                ],
                cwd=folder,
                stdout=log,
                stderr=log,
            )
        try:
            scheme = "http" if client is None else "https"
            server = PrometheusServer(url=f"{scheme}://127.0.0.1:{port}", folder=folder, pid=process.pid)
            _wait_ready(server, process, client)
            yield server
        finally:
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait_ready(server: PrometheusServer, process: subprocess.Popen[bytes], client: httpx2.Client | None) -> None:
    ask = httpx2.get if client is None else client.get

    def log() -> str:
        return (server.folder / "log").read_text(encoding="utf-8", errors="replace")

    def ready() -> bool:
        assert process.poll() is None, f"Prometheus ended: {log()}"
        try:
            return ask(f"{server.url}/-/ready", timeout=2).status_code == 200
        except httpx2.TransportError:
            return False

    wait_until(ready, seconds=READY_WITHIN_SECONDS, otherwise=lambda: f"Prometheus did not become ready: {log()}")


def promtool(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """This will run promtool and return what it said."""
    return subprocess.run([program("promtool"), *arguments], input=stdin, capture_output=True, timeout=60, check=False)
