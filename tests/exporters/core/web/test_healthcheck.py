"""The health check of the image: it tells a service that is ready from one that is not, over HTTP and HTTPS."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import bcrypt
import pytest
import trustme

from exporters.core.web.healthcheck import is_ready
from exporters.core.web.serving import serving
from tests.servers.prometheus import free_port

ROOT = Path(__file__).parents[4]


@contextmanager
def answering(status: int, web_config: Path | None = None) -> Iterator[int]:
    """A service that answers a request for readiness with a status, and any other with 404."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            code = status if scope["path"] == "/-/ready" else 404
            await send({"type": "http.response.start", "status": code, "headers": []})
            await send({"type": "http.response.body", "body": b""})

    with serving(app, web_config=web_config) as address:
        yield address.port


@pytest.mark.parametrize(("status", "ready"), [(200, True), (503, False), (404, False), (302, False)])
def test_only_a_service_that_says_so_is_ready(status: int, *, ready: bool) -> None:
    with answering(status) as port:
        assert is_ready(port) is ready


def test_nothing_on_the_port_is_not_ready() -> None:
    assert not is_ready(free_port())


@pytest.mark.parametrize(("status", "ready"), [(200, True), (503, False)])
def test_a_certificate_for_another_name_does_not_hide_the_answer(tmp_path: Path, status: int, *, ready: bool) -> None:
    issued = trustme.CA().issue_cert("tuppence.example.org")
    issued.private_key_pem.write_to_path(tmp_path / "key.pem")
    issued.cert_chain_pems[0].write_to_path(tmp_path / "cert.pem")
    (tmp_path / "web.yaml").write_text("tls_server_config: {cert_file: cert.pem, key_file: key.pem}\n")
    with answering(status, tmp_path / "web.yaml") as port:
        assert is_ready(port) is ready


def test_a_service_that_asks_for_a_password_answers(tmp_path: Path) -> None:
    hashed = bcrypt.hashpw(b"secret", bcrypt.gensalt(4)).decode()
    (tmp_path / "web.yaml").write_text(f"basic_auth_users: {{prometheus: {hashed}}}\n")
    with answering(200, tmp_path / "web.yaml") as port:
        assert is_ready(port)


def command(*ports: str) -> subprocess.CompletedProcess[str]:
    arguments = [sys.executable, "-m", "exporters.core.web.healthcheck", *ports]
    return subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, check=False)


def test_the_command_is_content_when_one_of_its_ports_is_ready() -> None:
    closed = str(free_port())
    with answering(200) as port:
        assert command(closed, str(port)).returncode == 0
    done = command(closed)
    assert done.returncode == 1
    assert done.stderr == f"not ready: {closed}\n"


def test_the_command_without_a_port_says_how_it_is_used() -> None:
    assert command().returncode == 1
    assert "usage:" in command("https://example.org").stderr


def test_it_loads_nothing_but_the_standard_library() -> None:
    code = (
        "import sys; before = set(sys.modules); import exporters.core.web.healthcheck;"
        "print([name for name in set(sys.modules) - before"
        " if name.split('.')[0] not in sys.stdlib_module_names and not name.startswith('exporters')])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
