"""Webhooks over real HTTPS: success, errors by number and by words, a hanging server, and a URL that stays secret."""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import trustme

from exporters.core.errors import SettingsError
from recommender.deliver_settings import SlackChannel, TeamsChannel, WebhookChannel
from recommender.report.deliver.contract import DeliveryError, DeliveryUnsureError, Parcel
from recommender.report.deliver.registry import send
from tests.recommender.report.example import example

SECRET = "/services/T000/B000/very-secret"


class Hook:
    """What the server answers, and what it was sent."""

    def __init__(self) -> None:
        self.status, self.answer, self.wait = 200, "ok", 0.0
        self.posts: list[tuple[str, dict[str, str], bytes]] = []


@pytest.fixture
def hook(tmp_path: Path) -> Iterator[tuple[Hook, dict[str, Any]]]:
    """This will run a server behind TLS; yields it, and the settings of a channel to it."""
    state, authority = Hook(), trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            state.posts.append((self.path, {name.lower(): value for name, value in self.headers.items()}, body))
            time.sleep(state.wait)
            self.send_response(state.status)
            self.send_header("content-length", str(len(state.answer.encode())))
            self.end_headers()
            self.wfile.write(state.answer.encode())

        def log_message(self, *args: object) -> None:
            pass

    class Quiet(ThreadingHTTPServer):
        def handle_error(self, request: object, client_address: object) -> None:
            pass

    server = Quiet(("127.0.0.1", 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    url = tmp_path / "url"
    url.write_text(f"https://localhost:{server.server_address[1]}{SECRET}\n")
    yield state, {"name": "chat", "url_file": url, "ca_file": tmp_path / "ca.pem", "timeout_seconds": 5}
    server.shutdown()
    thread.join()
    server.server_close()


def parcel() -> Parcel:
    return Parcel(example(), "", link="https://tuppence.example/report/2026-W48")


def slack(common: dict[str, Any], **changes: Any) -> SlackChannel:
    return SlackChannel.model_validate({"type": "slack"} | common | changes)


def test_slack_gets_the_message_and_says_ok(hook: tuple[Hook, dict[str, Any]]) -> None:
    state, common = hook
    assert send(parcel(), slack(common)) == "ok"
    path, headers, body = state.posts[0]
    assert path == SECRET
    assert headers["content-type"] == "application/json"
    assert json.loads(body)["blocks"][0]["type"] == "header"


@pytest.mark.parametrize(("status", "answer"), [(200, "invalid_payload"), (404, "no_service"), (500, ""), (302, "")])
def test_any_other_answer_is_a_failure_that_does_not_tell_the_url(
    hook: tuple[Hook, dict[str, Any]], status: int, answer: str
) -> None:
    state, common = hook
    state.status, state.answer = status, answer
    with pytest.raises(DeliveryError) as caught:
        send(parcel(), slack(common))
    assert "very-secret" not in str(caught.value)
    assert "chat" in caught.value.where


def test_teams_accepts_with_an_empty_answer_and_an_error_inside_a_success_is_an_error(
    hook: tuple[Hook, dict[str, Any]],
) -> None:
    state, common = hook
    channel = TeamsChannel.model_validate({"type": "teams"} | common)
    state.status, state.answer = 202, ""
    assert send(parcel(), channel) == "accepted"
    state.status, state.answer = 200, "Webhook message delivery failed with error: 413"
    with pytest.raises(DeliveryError, match="says that it failed"):
        send(parcel(), channel)


def test_a_webhook_gets_the_document_a_key_and_its_token(hook: tuple[Hook, dict[str, Any]], tmp_path: Path) -> None:
    state, common = hook
    (tmp_path / "token").write_text("t0k\n")
    channel = WebhookChannel.model_validate({"type": "webhook", "token_file": tmp_path / "token"} | common)
    state.answer = '{"ok": true}'
    send(parcel(), channel)
    send(parcel(), channel)
    (_, headers, body), (_, second, _) = state.posts
    assert headers["authorization"] == "Bearer t0k"
    assert headers["idempotency-key"] == second["idempotency-key"] == "tuppence-2026-W48-all"
    assert json.loads(body)["dedup_key"] == "tuppence-2026-W48-all"
    assert json.loads(body)["report"]["week"] == "2026-W48"


@pytest.mark.parametrize("answer", ['{"ok": false}', '{"error": "quota"}', '{"success": false}'])
def test_a_webhook_that_answers_200_with_an_error_inside_did_not_take_it(
    hook: tuple[Hook, dict[str, Any]], answer: str
) -> None:
    state, common = hook
    state.answer = answer
    with pytest.raises(DeliveryError, match="says that it failed"):
        send(parcel(), WebhookChannel.model_validate({"type": "webhook"} | common))


def test_a_chat_that_hangs_is_unsure_and_a_webhook_with_a_key_may_try_again(hook: tuple[Hook, dict[str, Any]]) -> None:
    state, common = hook
    state.wait = 0.6
    with pytest.raises(DeliveryUnsureError, match="no answer came"):
        send(parcel(), slack(common, timeout_seconds=0.3))
    with pytest.raises(DeliveryError, match="no answer came"):
        send(parcel(), WebhookChannel.model_validate({"type": "webhook"} | common | {"timeout_seconds": 0.3}))


def test_a_server_that_is_not_there_surely_took_nothing(tmp_path: Path) -> None:
    (tmp_path / "url").write_text("http://127.0.0.1:9/x")
    with pytest.raises(DeliveryError, match="ConnectError"):
        send(parcel(), slack({"name": "chat", "url_file": tmp_path / "url"}))


def test_plain_http_to_another_machine_and_a_missing_secret_are_refused(tmp_path: Path) -> None:
    (tmp_path / "url").write_text("http://hooks.example/x")
    with pytest.raises(SettingsError, match="https"):
        send(parcel(), slack({"name": "chat", "url_file": tmp_path / "url"}))
    with pytest.raises(SettingsError, match="cannot be read"):
        send(parcel(), slack({"name": "chat", "url_file": tmp_path / "none"}))
