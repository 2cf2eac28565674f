"""Debian's VictoriaMetrics (single node) for tests: on a free loopback port with its own folder, stopped by its pid.

Where it is missing a test is skipped with the reason; with ``CI=true`` it fails instead.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx2
import pytest

from tests.servers.prometheus import free_port, wait_until


@contextmanager
def running_victoria_metrics() -> Iterator[str]:
    """This will run VictoriaMetrics until the block ends, and give its address."""
    binary = shutil.which("victoria-metrics")
    if binary is None:
        reason = "victoria-metrics is not installed (Debian package: victoria-metrics)"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    with TemporaryDirectory(prefix="victoria-metrics-") as name:
        folder = Path(name)
        url = f"http://127.0.0.1:{(port := free_port())}"
        flags = [f"-storageDataPath={folder / 'data'}", f"-httpListenAddr=127.0.0.1:{port}", "-retentionPeriod=20y"]
        flags.append("-search.disableCache")  # what is imported later must be seen by the next query
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen([binary, *flags], stdout=log, stderr=log)
        try:
            wait_until(
                lambda: _answers(url),
                seconds=30,
                otherwise=lambda: (folder / "log").read_text(encoding="utf-8", errors="replace"),
            )
            yield url
        finally:
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def import_text(url: str, open_metrics: str) -> None:
    """This will import OpenMetrics text with timestamps, which the import API wants in milliseconds."""
    samples = [line.rsplit(" ", 1) for line in open_metrics.splitlines() if line and not line.startswith("#")]
    text = "".join(f"{sample} {round(float(at) * 1_000)}\n" for sample, at in samples)
    httpx2.post(f"{url}/api/v1/import/prometheus", content=text.encode(), timeout=30).raise_for_status()

    def whole() -> bool:
        httpx2.get(f"{url}/internal/force_flush", timeout=30).raise_for_status()
        return _held(url) == len(samples)

    wait_until(whole, seconds=30, otherwise=lambda: f"of {len(samples)} samples {_held(url)} are held")


def _held(url: str) -> int:
    """How many samples a query would see."""
    every = {"match[]": '{__name__!=""}', "start": "0"}
    lines = httpx2.get(f"{url}/api/v1/export", params=every, timeout=30).raise_for_status().text.splitlines()
    return sum(len(json.loads(line)["values"]) for line in lines)


def _answers(url: str) -> bool:
    try:
        return httpx2.get(f"{url}/health", timeout=2).status_code == 200
    except httpx2.TransportError:
        return False
