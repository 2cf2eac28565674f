"""Helm, and a strict decoder of manifests with the Go types of Kubernetes and of the Prometheus Operator, from source.

The sources come through the Go module proxy, pinned in go.sum. Without Go, or where they cannot be had or built in
time, a test is skipped with the reason.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import yaml

SOURCES = Path(__file__).parent / "chart_tools"
BUILT_WITHIN_SECONDS = 600.0
KUBERNETES = "1.33.0"
OPERATOR = "monitoring.coreos.com/v1/ServiceMonitor"


@dataclass(frozen=True, slots=True)
class ChartTools:
    """Both programs.

    Args:
        helm: path of Helm.
        strict: path of the decoder.
    """

    helm: Path
    strict: Path

    def lint(self, chart: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        """This will let Helm look for faults."""
        return _run([self.helm, "lint", "--strict", chart, *arguments])

    def template(
        self, chart: Path, *arguments: str, kinds: Sequence[str] = (OPERATOR,)
    ) -> subprocess.CompletedProcess[str]:
        """This will render a release called finops in the namespace tuppence, on a cluster that has the kinds."""
        has = [word for kind in kinds for word in ("--api-versions", kind)]
        place = ["--namespace", "tuppence", "--kube-version", KUBERNETES]
        return _run([self.helm, "template", "finops", chart, *place, *has, *arguments])

    def objects(self, chart: Path, *arguments: str, kinds: Sequence[str] = (OPERATOR,)) -> list[dict[str, Any]]:
        """This will render, decode everything strictly, and return the objects."""
        done = self.template(chart, *arguments, kinds=kinds)
        assert done.returncode == 0, done.stderr
        assert self.complaints(done.stdout) == ""
        return [one for one in yaml.safe_load_all(done.stdout) if one is not None]

    def complaints(self, manifests: str) -> str:
        """This will return what the decoder finds wrong; nothing: the empty text."""
        return _run([self.strict], stdin=manifests).stderr


def _run(command: Sequence[str | Path], *, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=60, check=False)


@contextmanager
def built_chart_tools() -> Iterator[ChartTools]:
    """This will build both, and remove them when the block ends."""
    go = shutil.which("go")
    if go is None:
        pytest.skip("Go is not installed (Debian package: golang-go), so Helm cannot be built")
    with TemporaryDirectory(prefix="chart-tools-") as name:
        tools = ChartTools(helm=Path(name) / "helm", strict=Path(name) / "strict")
        _build(go, tools.helm, "helm.sh/helm/v3/cmd/helm")
        _build(go, tools.strict, ".")
        yield tools


def _build(go: str, program: Path, package: str) -> None:
    try:
        subprocess.run(
            [go, "build", "-o", program, package],
            cwd=SOURCES,
            check=True,
            capture_output=True,
            text=True,
            timeout=BUILT_WITHIN_SECONDS,
        )
    except subprocess.CalledProcessError as error:
        pytest.skip(f"{package} could not be built: {error.stderr[-500:]}")
    except subprocess.TimeoutExpired:
        pytest.skip(f"{package} was not built within {BUILT_WITHIN_SECONDS:.0f} s")
