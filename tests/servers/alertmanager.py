"""Debian's Alertmanager for tests: on a free loopback port with its own folder, alone, stopped by its pid.

Where it is missing a test is skipped with the reason; with ``CI=true`` it fails instead (see prometheus.program).
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx2
import pytest
import yaml

from tests.servers.prometheus import free_port, wait_until

NAMES = ("prometheus-alertmanager", "alertmanager")
"""Debian's name of the program, then its own."""


@dataclass(frozen=True, slots=True)
class Alertmanager:
    """A running Alertmanager.

    Args:
        address: host and port.
    """

    address: str

    def alerts(self) -> list[dict[str, Any]]:
        """This will return the alerts that it has, silenced ones among them (API v2, GET /alerts)."""
        answer = httpx2.get(f"http://{self.address}/api/v2/alerts", timeout=10)
        answer.raise_for_status()
        found: list[dict[str, Any]] = answer.json()
        return found


@contextmanager
def running_alertmanager() -> Iterator[Alertmanager]:
    """This will run Alertmanager with one receiver that tells nobody, until the block ends."""
    binary = _binary()
    config = {"route": {"receiver": "nobody", "group_wait": "1s"}, "receivers": [{"name": "nobody"}]}
    with TemporaryDirectory(prefix="alertmanager-") as name:
        folder, address = Path(name), f"127.0.0.1:{free_port()}"
        (folder / "alertmanager.yml").write_text(yaml.safe_dump(config), encoding="utf-8")
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                [
                    binary,
                    f"--config.file={folder / 'alertmanager.yml'}",
                    f"--storage.path={folder / 'data'}",
                    f"--web.listen-address={address}",
                    "--cluster.listen-address=",
                ],
                cwd=folder,
                stdout=log,
                stderr=log,
            )
        try:
            _wait_ready(address, process, folder / "log")
            yield Alertmanager(address)
        finally:
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _binary() -> str:
    found = next((path for name in NAMES if (path := shutil.which(name)) is not None), None)
    if found is not None:
        return found
    reason = "Alertmanager is not installed (Debian package: prometheus-alertmanager)"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def _wait_ready(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    def ready() -> bool:
        assert process.poll() is None, f"Alertmanager ended: {log.read_text(encoding='utf-8', errors='replace')}"
        try:
            return httpx2.get(f"http://{address}/-/ready", timeout=2).status_code == 200
        except httpx2.TransportError:
            return False

    wait_until(ready, seconds=30, otherwise=lambda: f"Alertmanager did not become ready: {log.read_text('utf-8')}")
