"""Mail as a channel: one message to all its addresses or to none.

Everything up to the message itself can be tried again; once it was handed over and no answer came, nobody knows.
"""

from __future__ import annotations

import smtplib
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parseaddr

from exporters.core.errors import SettingsError
from exporters.core.http import is_loopback
from exporters.core.secrets import read_secret
from recommender.deliver_settings import SmtpChannel
from recommender.report.deliver.contract import DeliveryError, DeliveryUnsureError, Outline, Parcel
from recommender.report.deliver.mail import message

_OK = 250
_TAKEN = {250, 251}


def send(parcel: Parcel, channel: SmtpChannel) -> str:
    """This will send one message.

    Raises:
        SettingsError: nobody's address is set for the scope, a secret cannot be read, or the connection would be in
            the clear.
        DeliveryError: the server surely did not take it.
        DeliveryUnsureError: the server had it and did not answer.
    """
    to = _addresses(parcel, channel)
    mail = message(parcel, sender=channel.sender, to=to, at=datetime.now(UTC))
    with _connected(channel) as server:
        _address(server, channel, to)
        _hand_over(server, channel, mail.as_bytes())
    return f"accepted for {len(to)} {'address' if len(to) == 1 else 'addresses'}"


def outline(parcel: Parcel, channel: SmtpChannel) -> Outline:
    """This will say what `send` would send.

    Raises:
        SettingsError: nobody's address is set for the scope.
    """
    to = _addresses(parcel, channel)
    mail = message(parcel, sender=channel.sender, to=to, at=datetime.now(UTC))
    return Outline(", ".join(to), len(mail.as_bytes()))


def _addresses(parcel: Parcel, channel: SmtpChannel) -> tuple[str, ...]:
    to = channel.owner_addresses.get(parcel.scope, ()) if parcel.scope else channel.to
    if not to:
        raise SettingsError(
            f"no address is set for {parcel.scope or 'the report of all'}",
            where=f"deliver.channels, {channel.name}",
            next_step="Add it to owner_addresses, or to 'to'.",
        )
    return to


@contextmanager
def _connected(channel: SmtpChannel) -> Iterator[smtplib.SMTP]:
    context = ssl.create_default_context(cafile=str(channel.ca_file) if channel.ca_file else None)
    if channel.security == "none" and not is_loopback(channel.host):
        raise SettingsError(
            "mail in the clear is allowed only to this machine",
            where=f"deliver.channels, {channel.name}, security",
            next_step="Use starttls or tls.",
        )
    with _failing(channel, "the server could not be used"):
        server = (
            smtplib.SMTP_SSL(channel.host, channel.port, timeout=channel.timeout_seconds, context=context)
            if channel.security == "tls"
            else smtplib.SMTP(channel.host, channel.port, timeout=channel.timeout_seconds)
        )
    try:
        with _failing(channel, "the server could not be used"):
            if channel.security == "starttls":
                server.starttls(context=context)
            if channel.username is not None and channel.password_file is not None:
                setting = f"deliver.channels, {channel.name}, password_file"
                server.login(channel.username, read_secret(channel.password_file, setting=setting))
            server.ehlo_or_helo_if_needed()
        yield server
    finally:
        server.close()


def _address(server: smtplib.SMTP, channel: SmtpChannel, to: tuple[str, ...]) -> None:
    with _failing(channel, "the server could not be used"):
        code, said = server.mail(parseaddr(channel.sender)[1])
        if code != _OK:
            raise _refused(channel, "the sender", code, said)
        for one in to:
            code, said = server.rcpt(parseaddr(one)[1])
            if code not in _TAKEN:
                raise _refused(channel, one, code, said)


def _hand_over(server: smtplib.SMTP, channel: SmtpChannel, mail: bytes) -> None:
    try:
        code, said = server.data(mail)
    except smtplib.SMTPDataError as error:
        raise _refused(channel, "the message", error.smtp_code, error.smtp_error) from error
    except (OSError, smtplib.SMTPException) as error:
        raise DeliveryUnsureError(
            f"the message was handed over, but no answer came ({type(error).__name__})",
            where=_where(channel),
            next_step="Look whether it arrived; if not: tuppence deliver --again.",
        ) from error
    if code != _OK:
        raise _refused(channel, "the message", code, said)


@contextmanager
def _failing(channel: SmtpChannel, what: str) -> Iterator[None]:
    try:
        yield
    except (OSError, smtplib.SMTPException) as error:
        said = " ".join(str(error).split())
        raise DeliveryError(
            f"{what} ({type(error).__name__}: {said})",
            where=_where(channel),
            next_step="Check host, port, security and credentials of the channel. It will be tried again.",
        ) from error


def _refused(channel: SmtpChannel, what: str, code: int, said: bytes | str) -> DeliveryError:
    text = said.decode(errors="replace") if isinstance(said, bytes) else said
    return DeliveryError(
        f"the server refused {what} ({code} {text}); nobody got it",
        where=_where(channel),
        next_step="Check the address and what the server lets this sender do. It will be tried again.",
    )


def _where(channel: SmtpChannel) -> str:
    return f"channel {channel.name} ({channel.host}:{channel.port})"
