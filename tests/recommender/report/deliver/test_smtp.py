"""Mail over a real SMTP server with TLS: what arrives, whom it refuses, and a server that hangs at each point."""

from __future__ import annotations

import asyncio
import email
import ssl
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from email.message import EmailMessage
from email.policy import SMTP as SMTP_POLICY
from pathlib import Path
from typing import Any

import pytest
import trustme
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session

from exporters.core.errors import SettingsError
from recommender.deliver_settings import SmtpChannel
from recommender.report.deliver.contract import DeliveryError, DeliveryUnsureError, Parcel
from recommender.report.deliver.registry import send
from tests.recommender.report.charts.test_charts import _every_chart
from tests.recommender.report.example import HOSTILE, example
from tests.servers.prometheus import free_port


@dataclass
class Postbox:
    """The server's side: what came, whom it refuses, how long it needs."""

    mails: list[Envelope] = field(default_factory=list)
    refuses: str = ""
    answer: str = "250 taken"
    wait_seconds: float = 0.0

    async def handle_RCPT(self, _s: SMTP, _x: Session, envelope: Envelope, address: str, _o: list[str]) -> str:  # noqa: N802
        if address == self.refuses:
            return "550 no such user"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, _server: SMTP, _session: Session, envelope: Envelope) -> str:  # noqa: N802
        await asyncio.sleep(self.wait_seconds)
        if self.answer.startswith("250"):
            self.mails.append(envelope)
        return self.answer


@pytest.fixture
def postbox(tmp_path: Path) -> Iterator[tuple[Postbox, dict[str, Any]]]:
    """This will run a server that insists on STARTTLS; yields it, and the settings of a channel to it."""
    authority, box = trustme.CA(), Postbox()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    controller = Controller(box, hostname="127.0.0.1", port=free_port(), tls_context=context, require_starttls=True)
    controller.start()
    yield (
        box,
        {
            "type": "smtp",
            "name": "mail",
            "host": "localhost",
            "port": controller.port,
            "ca_file": tmp_path / "ca.pem",
            "sender": "Tuppence <tuppence@example.org>",
            "to": ["finops@example.org", "Ann <ann@example.org>"],
            "timeout_seconds": 5,
        },
    )
    controller.stop()


def channel(common: dict[str, Any], **changes: Any) -> SmtpChannel:
    return SmtpChannel.model_validate(common | changes)


def received(box: Postbox) -> EmailMessage:
    content = box.mails[0].content
    assert isinstance(content, bytes)
    found = email.message_from_bytes(content, policy=SMTP_POLICY)
    assert isinstance(found, EmailMessage)
    return found


def test_a_mail_has_text_html_pictures_and_the_rows(postbox: tuple[Postbox, dict[str, Any]]) -> None:
    box, common = postbox
    report = example()
    parcel = Parcel(report, "", charts=tuple(_every_chart()), link="https://tuppence.example/report/2026-W48")
    assert send(parcel, channel(common)) == "accepted for 2 addresses"
    mail = received(box)
    assert box.mails[0].rcpt_tos == ["finops@example.org", "ann@example.org"]
    assert mail["Subject"] == "Tuppence: Week of 23 November 2026"
    assert [part.get_content_type() for part in mail.walk()] == [
        "multipart/mixed",
        "multipart/alternative",
        "text/plain",
        "multipart/related",
        "text/html",
        *["image/png"] * 4,
        "text/csv",
    ]
    html = next(part for part in mail.walk() if part.get_content_type() == "text/html").get_content()
    ids = {part["Content-ID"].strip("<>") for part in mail.walk() if part.get_content_type() == "image/png"}
    assert all(f'src="cid:{one}"' in html for one in ids)
    assert report.top[0].saving in html
    assert "<style" not in html
    assert 'style="' in html


def test_rows_that_no_server_would_take_are_left_out_and_the_mail_says_so(
    postbox: tuple[Postbox, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    box, common = postbox
    monkeypatch.setattr("recommender.report.deliver.mail.MOST_ATTACHED_BYTES", 1_000)
    send(Parcel(example(), ""), channel(common))
    parts = {part.get_content_type(): part for part in received(box).walk()}
    assert "text/csv" not in parts
    assert "too many to be attached" in parts["text/html"].get_content()


def test_the_same_report_has_the_same_message_id(postbox: tuple[Postbox, dict[str, Any]]) -> None:
    box, common = postbox
    send(Parcel(example(), ""), channel(common))
    send(Parcel(example(), ""), channel(common))
    one, two = (email.message_from_bytes(bytes(mail.content or b""))["Message-ID"] for mail in box.mails)
    assert one == two
    assert one.endswith("@example.org>")


def test_an_owner_gets_it_at_their_address_and_one_without_is_named(postbox: tuple[Postbox, dict[str, Any]]) -> None:
    box, common = postbox
    own = channel(common, owners=["*"], owner_addresses={"studio": ["studio@example.org"]})
    send(Parcel(example(), "studio"), own)
    assert box.mails[0].rcpt_tos == ["studio@example.org"]
    with pytest.raises(SettingsError, match="no address is set for radiology"):
        send(Parcel(example(), "radiology"), own)


def test_a_hostile_name_is_text_in_the_mail_and_no_header(postbox: tuple[Postbox, dict[str, Any]]) -> None:
    box, common = postbox
    report = replace(example(), top=(replace(example().top[0], title=HOSTILE),))
    own = channel(common, owners=["*"], owner_addresses={"x\nBcc: evil@example.org": ["a@example.org"]})
    send(Parcel(report, "x\nBcc: evil@example.org"), own)
    mail = received(box)
    assert mail["Bcc"] is None
    html = next(part for part in mail.walk() if part.get_content_type() == "text/html").get_content()
    assert "<script>" not in html


def test_one_refused_address_and_nobody_gets_it(postbox: tuple[Postbox, dict[str, Any]]) -> None:
    box, common = postbox
    box.refuses = "ann@example.org"
    with pytest.raises(DeliveryError, match=r"refused Ann <ann@example.org> \(550 .*nobody got it"):
        send(Parcel(example(), ""), channel(common))
    assert box.mails == []


def test_a_refused_message_is_a_failure(postbox: tuple[Postbox, dict[str, Any]]) -> None:
    box, common = postbox
    box.answer = "552 too large"
    with pytest.raises(DeliveryError, match="refused the message"):
        send(Parcel(example(), ""), channel(common))


def test_a_server_that_hangs_with_the_message_in_hand_is_unsure(postbox: tuple[Postbox, dict[str, Any]]) -> None:
    box, common = postbox
    box.wait_seconds = 0.6
    with pytest.raises(DeliveryUnsureError, match="no answer came"):
        send(Parcel(example(), ""), channel(common, timeout_seconds=0.3))


def test_a_server_that_hangs_before_it_greets_surely_took_nothing() -> None:
    import socket  # noqa: PLC0415 - only here

    with socket.create_server(("127.0.0.1", 0)) as silent:
        common = {"type": "smtp", "name": "mail", "host": "127.0.0.1", "port": silent.getsockname()[1]}
        mail = channel(common, sender="a@b.c", to=["d@e.f"], timeout_seconds=0.3, security="none")
        with pytest.raises(DeliveryError, match="timed out"):
            send(Parcel(example(), ""), mail)


def test_a_certificate_of_somebody_else_ends_it_before_a_word_is_said(postbox: tuple[Postbox, dict[str, Any]]) -> None:
    box, common = postbox
    with pytest.raises(DeliveryError, match="CERTIFICATE_VERIFY_FAILED"):
        send(Parcel(example(), ""), channel(common, ca_file=None))
    assert box.mails == []


def test_mail_in_the_clear_leaves_this_machine_never() -> None:
    common = {"type": "smtp", "name": "mail", "host": "mail.example", "sender": "a@b.c", "to": ["d@e.f"]}
    with pytest.raises(SettingsError, match="in the clear"):
        send(Parcel(example(), ""), channel(common, security="none"))
