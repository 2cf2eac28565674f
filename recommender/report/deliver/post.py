"""One POST to a webhook: what its answer means, and what the end of a connection means.

The URL of a webhook is a secret: no message and no log holds more of it than its host.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import httpx2

from exporters.core.errors import SettingsError
from exporters.core.http import checked_endpoint, client
from exporters.core.secrets import read_secret
from recommender.deliver_settings import HookChannel
from recommender.report.deliver.contract import DeliveryError, DeliveryUnsureError

_SHOWN = 200
_NEVER_TAKEN = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.WriteError, httpx2.WriteTimeout)
"""Failures before the whole message had left."""


def post(body: str, channel: HookChannel, *, token_file: Path | None = None, key: str = "") -> str:
    """This will post JSON once and return the answer's text; whether it means success is the caller's to say.

    Args:
        body: JSON.
        channel: whose URL.
        token_file: file with a bearer token; None: none is sent.
        key: sent as Idempotency-Key, so that the other side can tell that it has it already; empty: none is.

    Raises:
        SettingsError: a secret cannot be read, or the URL is not https.
        DeliveryError: it surely was not taken.
        DeliveryUnsureError: the answer did not come.
    """
    url = _url(channel)
    where = f"channel {channel.name} ({host(channel)})"
    headers = {"content-type": "application/json", **({"idempotency-key": key} if key else {})}
    if token_file is not None:
        headers["authorization"] = f"Bearer {read_secret(token_file, setting=_setting(channel, 'token_file'))}"
    verify: str | bool = str(channel.ca_file) if channel.ca_file else True
    try:
        with client(timeout_seconds=channel.timeout_seconds, verify=verify) as session:
            answer = session.post(url, content=body.encode(), headers=headers)
    except _NEVER_TAKEN as error:
        raise DeliveryError(
            f"the connection failed ({type(error).__name__})",
            where=where,
            next_step="Check the network, the proxy and that the webhook still exists. It will be tried again.",
        ) from error
    except httpx2.RequestError as error:
        raise DeliveryUnsureError(
            f"the report was sent, but no answer came ({type(error).__name__})",
            where=where,
            next_step="Look whether it arrived; if not: tuppence deliver --again.",
        ) from error
    if not answer.is_success:
        raise DeliveryError(
            f"the answer is {answer.status_code} {answer.text[:_SHOWN]!r}",
            where=where,
            next_step="Check that the webhook still exists and what it accepts. It will be tried again.",
        )
    return answer.text


def host(channel: HookChannel) -> str:
    """This will return where a webhook leads, which is no secret.

    Raises:
        SettingsError: see post.
    """
    return urlsplit(_url(channel)).hostname or ""


def _url(channel: HookChannel) -> str:
    setting = _setting(channel, "url_file")
    url = read_secret(channel.url_file, setting=setting)
    try:
        return checked_endpoint(url, setting=setting)
    except SettingsError as error:
        # Its own words hold the URL.
        raise SettingsError(
            "this is not an https:// URL, and plain http:// is allowed only to this machine",
            where=f"{setting} ({channel.url_file})",
            next_step="Write the webhook's https:// URL into the file, and nothing else.",
        ) from error


def refused(text: str, channel: HookChannel) -> DeliveryError:
    """This will return the error of an answer that is a success by its number and none by its words."""
    return DeliveryError(
        f"the answer says that it failed: {text[:_SHOWN]!r}",
        where=f"channel {channel.name}",
        next_step="Check what the webhook accepts. It will be tried again.",
    )


def _setting(channel: HookChannel, name: str) -> str:
    return f"deliver.channels, {channel.name}, {name}"
