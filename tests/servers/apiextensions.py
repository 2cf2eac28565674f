"""The real API server of custom resources with its etcd, built from source, with Open Cluster Management's definitions.

It is what checks schemas, keeps the status apart and applies server-side in every Kubernetes cluster. The sources come
through the Go module proxy, pinned in go.sum. Without Go, or where they cannot be had or built in time, a test is
skipped with the reason.
"""

from __future__ import annotations

import shutil
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx2
import pytest
import yaml

from tests.fakes.api_server import write_kubeconfig
from tests.servers.prometheus import wait_until

SOURCES = Path(__file__).parent / "apiextensions"
BUILT_WITHIN_SECONDS = 600.0
READY_WITHIN_SECONDS = 60.0
DEFINITIONS = "cluster/v1alpha1/0000_05_clusters.open-cluster-management.io_addonplacementscores.crd.yaml"


@dataclass(frozen=True, slots=True)
class ApiServer:
    """A running one.

    Args:
        url: its address.
        kubeconfig: credentials; it lets everybody do everything.
        build_seconds: what building took.
    """

    url: str
    kubeconfig: Path
    build_seconds: float


@contextmanager
def running_apiextensions() -> Iterator[ApiServer]:
    """This will build the server, run it with the definition of AddOnPlacementScore, and stop it by its pid."""
    go = shutil.which("go")
    if go is None:
        pytest.skip("Go is not installed (Debian package: golang-go), so the API server cannot be built")
    with TemporaryDirectory(prefix="apiextensions-") as name:
        folder = Path(name)
        program = folder / "apiextensions"
        seconds = _build(go, program)
        with (folder / "out").open("wb") as out, (folder / "log").open("wb") as log:
            process = subprocess.Popen([program, folder], stdout=out, stderr=log)
        try:
            url = wait_until(
                lambda: _ready(folder, process),
                seconds=READY_WITHIN_SECONDS,
                otherwise=lambda: (
                    f"the API server did not start: {(folder / 'log').read_text(errors='replace')[-2000:]}"
                ),
            )
            authority = folder / "certificates" / "apiserver.crt"
            kubeconfig = folder / "client"
            write_kubeconfig(kubeconfig, url, {"certificate-authority": str(authority)}, {"token": "anybody"})
            _define(url, authority, _definition(go))
            yield ApiServer(url, kubeconfig, seconds)
        finally:
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _build(go: str, program: Path) -> float:
    started = time.monotonic()
    try:
        subprocess.run(
            [go, "build", "-o", program, "."],
            cwd=SOURCES,
            check=True,
            capture_output=True,
            text=True,
            timeout=BUILT_WITHIN_SECONDS,
        )
    except subprocess.CalledProcessError as error:
        pytest.skip(f"the API server could not be built: {error.stderr[-500:]}")
    except subprocess.TimeoutExpired:
        pytest.skip(f"the API server was not built within {BUILT_WITHIN_SECONDS:.0f} s")
    return time.monotonic() - started


def _definition(go: str) -> dict[str, Any]:
    where = subprocess.run(
        [go, "list", "-m", "-f", "{{.Dir}}", "open-cluster-management.io/api"],
        cwd=SOURCES,
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    ).stdout.strip()
    found: dict[str, Any] = yaml.safe_load((Path(where) / DEFINITIONS).read_text(encoding="utf-8"))
    return found


def _ready(folder: Path, process: subprocess.Popen[bytes]) -> str | None:
    assert process.poll() is None, (folder / "log").read_text(errors="replace")[-2000:]
    url = (folder / "out").read_text().strip()
    if not url:
        return None
    try:
        healthy = httpx2.get(f"{url}/healthz", verify=_trusting(folder / "certificates" / "apiserver.crt"))
    except httpx2.TransportError:
        return None
    return url if healthy.status_code == httpx2.codes.OK else None


def _trusting(authority: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=authority)


def _define(url: str, authority: Path, definition: dict[str, Any]) -> None:
    name = definition["metadata"]["name"]
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    with httpx2.Client(base_url=url, verify=_trusting(authority)) as client:
        client.post(path, json=definition).raise_for_status()

        def established() -> bool:
            conditions = client.get(f"{path}/{name}").json().get("status", {}).get("conditions") or []
            return any(one["type"] == "Established" and one["status"] == "True" for one in conditions)

        def stored() -> bool:
            spec = definition["spec"]
            version = next(one["name"] for one in spec["versions"] if one["served"])
            listed = client.get(f"/apis/{spec['group']}/{version}/{spec['names']['plural']}")
            return listed.status_code == httpx2.codes.OK

        wait_until(established, seconds=30, otherwise=lambda: "the definition was not established")
        wait_until(stored, seconds=30, otherwise=lambda: "the server has no storage for its objects")
