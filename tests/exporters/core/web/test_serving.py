"""Serving on a port: plain, over TLS, with basic auth, until it is told to stop."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import bcrypt
import httpx2
import pytest
import trustme

from exporters.core.errors import SettingsError
from exporters.core.web.serving import Address, bind, serve, serving
from tests.servers.prometheus import wait_until

HASH = bcrypt.hashpw("pence £".encode(), bcrypt.gensalt(4)).decode()
OTHER_HASH = bcrypt.hashpw(b"other", bcrypt.gensalt(4)).decode()


async def hello(scope: Any, receive: Any, send: Any) -> None:
    """Says that a request has come, and answers it after the seconds that its path asks for."""
    if scope["type"] != "http":
        return
    sys.stdout.write("asked\n")
    sys.stdout.flush()
    await asyncio.sleep(float(scope["path"].removeprefix("/") or 0))
    headers = [(b"content-type", b"text/plain"), (b"x-frame-options", b"sameorigin")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"hello"})


@pytest.fixture
def authority() -> trustme.CA:
    """A certificate authority of the test's own."""
    return trustme.CA()


@pytest.fixture
def web_file(tmp_path: Path) -> Callable[[str], Path]:
    """Writes the web-config file as a deployment does: to the side, then renamed."""

    def write(text: str) -> Path:
        (tmp_path / "web.new").write_text(text, encoding="utf-8")
        return (tmp_path / "web.new").replace(tmp_path / "web.yaml")

    return write


def issue(authority: trustme.CA, folder: Path) -> None:
    """Lays a new server certificate and its key into a folder."""
    issued = authority.issue_cert("127.0.0.1")
    issued.private_key_pem.write_to_path(folder / "server.key")
    issued.cert_chain_pems[0].write_to_path(folder / "server.pem")


def trusting(authority: trustme.CA) -> ssl.SSLContext:
    """A client's context that trusts the authority."""
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context


def serial_number(address: Address, context: ssl.SSLContext) -> str:
    """The serial number of the certificate that a new connection is shown."""
    with (
        socket.create_connection((address.host, address.port), timeout=5) as raw,
        context.wrap_socket(raw, server_hostname=address.host) as secured,
    ):
        found = secured.getpeercert()
        assert found
        return str(found["serialNumber"])


TLS = "tls_server_config: {cert_file: server.pem, key_file: server.key}\n"


def test_port_0_is_any_free_one_and_the_address_tells_which() -> None:
    with serving(hello) as one, serving(hello) as other:
        assert one.port != other.port
        assert httpx2.get(one.url).text == "hello"
    with pytest.raises(httpx2.ConnectError):
        httpx2.get(one.url)


def test_a_port_in_use_is_reported_with_what_to_do() -> None:
    with serving(hello) as address, pytest.raises(SettingsError) as refused, serving(hello, port=address.port):
        pass
    assert f"127.0.0.1:{address.port}" in str(refused.value)
    assert "Choose another host or port" in str(refused.value)


def test_the_last_small_piece_of_a_body_does_not_wait_for_an_acknowledgement() -> None:
    """Without TCP_NODELAY it waits 40 ms, the delayed acknowledgement of the reader."""
    with bind("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        connection, _ = listener.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.mark.parametrize(
    ("host", "url"),
    [("0.0.0.0", "http://127.0.0.1:80"), ("::", "http://[::1]:80"), ("prices.example", "http://prices.example:80")],
)
def test_an_address_gives_a_url_that_can_be_opened(host: str, url: str) -> None:
    assert Address(scheme="http", host=host, port=80).url == url


def test_tls_is_served_with_the_certificate_of_the_file(
    authority: trustme.CA, tmp_path: Path, web_file: Callable[[str], Path]
) -> None:
    issue(authority, tmp_path)
    with serving(hello, web_config=web_file(TLS)) as address:
        assert address.scheme == "https"
        assert httpx2.get(address.url, verify=trusting(authority)).text == "hello"
        with pytest.raises(httpx2.ConnectError):
            httpx2.get(address.url)


def test_a_renewed_certificate_is_used_without_a_restart(
    authority: trustme.CA, tmp_path: Path, web_file: Callable[[str], Path]
) -> None:
    issue(authority, tmp_path)
    context = trusting(authority)
    with serving(hello, web_config=web_file(TLS)) as address:
        before = serial_number(address, context)
        issue(authority, tmp_path)
        wait_until(lambda: serial_number(address, context) != before, seconds=5, otherwise=lambda: "the old one stays")


def test_clients_without_a_certificate_are_turned_away_where_one_is_required(
    authority: trustme.CA, tmp_path: Path, web_file: Callable[[str], Path]
) -> None:
    issue(authority, tmp_path)
    authority.cert_pem.write_to_path(tmp_path / "clients.pem")
    text = TLS.replace("}", ", client_ca_file: clients.pem, client_auth_type: RequireAndVerifyClientCert}")
    with serving(hello, web_config=web_file(text)) as address:
        with pytest.raises(httpx2.TransportError):
            httpx2.get(address.url, verify=trusting(authority))
        known = trusting(authority)
        authority.issue_cert("prometheus@example.org").configure_cert(known)
        assert httpx2.get(address.url, verify=known).text == "hello"


@pytest.fixture
def guarded(web_file: Callable[[str], Path]) -> Iterator[Address]:
    """A server that knows one user and sets two headers."""
    headers = "http_server_config: {headers: {X-Frame-Options: deny, X-Content-Type-Options: nosniff}}\n"
    with serving(hello, web_config=web_file(f"{headers}basic_auth_users: {{alice: '{HASH}'}}\n")) as address:
        yield address


def test_the_right_password_is_let_through(guarded: Address) -> None:
    assert httpx2.get(guarded.url, auth=httpx2.BasicAuth("alice", "pence £")).text == "hello"


@pytest.mark.parametrize(
    "authorization",
    [
        None,
        "Basic",
        "Basic !!!",
        "Bearer abc",
        "Basic YWxpY2U=",  # alice, without a colon
        "Basic YWxpY2U6d3Jvbmc=",  # alice:wrong
        "Basic Ym9iOnBlbmNlIMKj",  # bob with alice's password
        "Basic YWxpY2U6" + "eHh4" * 40,  # longer than bcrypt takes
        "Basic /////w==",  # not UTF-8
    ],
)
def test_everything_else_is_a_401_that_asks_for_a_password(guarded: Address, authorization: str | None) -> None:
    headers = {} if authorization is None else {"authorization": authorization}
    answer = httpx2.get(guarded.url, headers=headers)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith('Basic realm="Tuppence"')
    assert "hello" not in answer.text


def test_headers_of_the_file_stand_on_every_answer_and_replace_the_applications(guarded: Address) -> None:
    for answer in (httpx2.get(guarded.url), httpx2.get(guarded.url, auth=httpx2.BasicAuth("alice", "pence £"))):
        assert answer.headers.get_list("x-frame-options") == ["deny"]
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_the_second_request_with_a_password_does_not_wait_for_bcrypt(web_file: Callable[[str], Path]) -> None:
    slow = bcrypt.hashpw(b"secret", bcrypt.gensalt(12)).decode()
    user = httpx2.BasicAuth("alice", "secret")
    with serving(hello, web_config=web_file(f"basic_auth_users: {{alice: '{slow}'}}\n")) as address:
        started = time.perf_counter()
        assert httpx2.get(address.url, auth=user).status_code == 200
        first = time.perf_counter() - started
        with httpx2.Client(auth=user) as session:
            session.get(address.url)
            started = time.perf_counter()
            for _ in range(5):
                assert session.get(address.url).status_code == 200
            assert time.perf_counter() - started < first


def test_a_changed_password_holds_within_a_second_and_a_broken_file_changes_nothing(
    web_file: Callable[[str], Path],
) -> None:
    def status(password: str) -> int:
        return httpx2.get(address.url, auth=httpx2.BasicAuth("alice", password)).status_code

    with serving(hello, web_config=web_file(f"basic_auth_users: {{alice: '{HASH}'}}\n")) as address:
        assert (status("pence £"), status("other")) == (200, 401)
        web_file(f"basic_auth_users: {{alice: '{OTHER_HASH}'}}\n")
        wait_until(lambda: status("other") == 200, seconds=5, otherwise=lambda: "the new password is not taken")
        assert status("pence £") == 401
        web_file("basic_auth_users: {}\nbroken: true\n")
        time.sleep(1.5)
        assert (status("other"), status("")) == (200, 401)


def test_turning_tls_on_needs_a_restart_and_until_then_the_old_file_holds(
    authority: trustme.CA, tmp_path: Path, web_file: Callable[[str], Path]
) -> None:
    issue(authority, tmp_path)
    with serving(hello, web_config=web_file(f"basic_auth_users: {{alice: '{HASH}'}}\n")) as address:
        web_file(TLS)
        time.sleep(1.5)
        assert httpx2.get(address.url).status_code == 401


def test_a_wrong_file_is_refused_at_the_start(web_file: Callable[[str], Path]) -> None:
    with (
        pytest.raises(SettingsError, match="tls_server_confg"),
        serving(hello, web_config=web_file("tls_server_confg: {}")),
    ):
        pass


def test_leaving_the_block_lets_an_open_request_end(capfd: pytest.CaptureFixture[str]) -> None:
    answers: list[str] = []
    with serving(hello) as address:
        request = threading.Thread(target=lambda: answers.append(httpx2.get(f"{address.url}/0.3").text))
        request.start()
        wait_until(lambda: "asked" in capfd.readouterr().out, seconds=20, otherwise=lambda: "no request came")
    request.join()
    assert answers == ["hello"]


PROGRAM = """
import asyncio
from exporters.core.web.serving import serve

async def app(scope, receive, send):
    if scope["type"] == "http":
        print("asked", flush=True)
        await asyncio.sleep(0.3)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"hello"})

serve(app, host="127.0.0.1", port=0, web_config=None, ready=lambda address: print(address.url, flush=True))
print("stopped in good order")
"""


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_an_open_request_end_and_the_program_go_on_to_its_end(stop: signal.Signals) -> None:
    process = subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True, env=os.environ)
    assert process.stdout is not None
    url = process.stdout.readline().strip()
    answers: list[str] = []
    request = threading.Thread(target=lambda: answers.append(httpx2.get(url, timeout=20).text))
    request.start()
    assert process.stdout.readline() == "asked\n"
    process.send_signal(stop)
    request.join()
    rest, _ = process.communicate(timeout=20)
    assert (answers, rest, process.returncode) == (["hello"], "stopped in good order\n", 0)


def test_serve_refuses_an_unknown_host() -> None:
    with pytest.raises(SettingsError, match="the port cannot be opened"):
        serve(hello, host="256.256.256.256", port=0, web_config=None, ready=print)
