"""The HTTP edge: one client for every endpoint that has no SDK, with retries, deadlines and plain errors.

Retries are for what another try can mend: a throttle, a 5xx, a cut connection. `Retry-After` is obeyed up to
the deadline.
Plain HTTP is refused except to loopback, so that a proxy setting cannot send credentials in the clear.
"""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import stamina

from exporters.core.errors import SettingsError, TerminalSourceError, TransientSourceError

RETRYABLE_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504})
TOO_LONG_TO_WAIT_SECONDS = 300.0
DOWNLOAD_BLOCK_BYTES = 1 << 20
_OF_THE_PACKING = frozenset({"content-encoding", "content-length", "transfer-encoding"})


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how long one request is tried.

    Args:
        attempts: tries in all.
        timeout_seconds: the time in which all tries must fit.
        wait_initial_seconds: the first pause; later ones double, with jitter.
        wait_max_seconds: the longest pause of our own choosing.
    """

    attempts: int = 6
    timeout_seconds: float = 300.0
    wait_initial_seconds: float = 0.5
    wait_max_seconds: float = 60.0


class _ThrottledError(TransientSourceError):
    """The other side named the time to wait."""

    def __init__(self, url: str, seconds: float) -> None:
        super().__init__("the server is throttling", where=url, next_step="It will be tried again at the next refresh.")
        self.seconds = seconds


def is_loopback(host: str) -> bool:
    """This will tell whether a host name is this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def checked_endpoint(url: str, *, setting: str) -> str:
    """This will return the URL without a trailing slash if it is HTTPS, or HTTP to loopback.

    Raises:
        SettingsError: another scheme, or plain HTTP to another machine.
    """
    parts = urlsplit(url)
    if parts.scheme == "https" and parts.hostname:
        return url.rstrip("/")
    if parts.scheme == "http" and parts.hostname and is_loopback(parts.hostname):
        return url.rstrip("/")
    raise SettingsError(
        f"{url!r} is not an https:// URL, and plain http:// is allowed only to this machine",
        where=setting,
        next_step="Use the https:// address of the endpoint.",
    )


def client(
    *, timeout_seconds: float = 60.0, headers: Mapping[str, str] | None = None, verify: str | bool = True
) -> httpx2.Client:
    """This will return a client that follows no redirects and names Tuppence as its user agent.

    Args:
        timeout_seconds: of one connection attempt or one read.
        headers: sent with every request.
        verify: False is never passed by Tuppence; a path names a CA bundle.
    """
    import ssl  # noqa: PLC0415 - only when a CA file is named

    context: ssl.SSLContext | bool = True
    if isinstance(verify, str):
        context = ssl.create_default_context(cafile=verify)
    return httpx2.Client(
        timeout=timeout_seconds,
        headers={"user-agent": "tuppence", **(headers or {})},
        verify=context,
        follow_redirects=False,
    )


def retry_after_seconds(headers: Mapping[str, str]) -> float | None:
    """This will return the seconds a Retry-After header asks for (a number or an HTTP date), or None."""
    value = headers.get("retry-after")
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    # The zone -0000 (RFC 5322: UTC, place unknown) comes back without an offset.
    aware = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    return max(0.0, (aware - datetime.now(UTC)).total_seconds())


def get(
    session: httpx2.Client,
    url: str,
    *,
    policy: RetryPolicy | None = None,
    params: Mapping[str, str] | None = None,
) -> httpx2.Response:
    """This will GET a URL, trying again what can be mended, and return a 200 answer.

    Raises:
        TransientSourceError: the tries or the time ran out.
        TerminalSourceError: an answer that another try cannot mend (4xx, redirect).
    """
    chosen = policy or RetryPolicy()
    end = time.monotonic() + chosen.timeout_seconds
    for attempt in _tries(chosen):
        with attempt, _as_source_errors(url):
            return _checked(_read(session, url, params, end=end), url)
    raise AssertionError("stamina raises when the attempts are used up")


def download(
    session: httpx2.Client,
    url: str,
    target: Path,
    *,
    policy: RetryPolicy | None = None,
    still_wanted: Callable[[int, int | None], None] = lambda _done, _total: None,
) -> None:
    """This will stream a large body to a file, beginning again what can be mended; memory stays at one block.

    Args:
        session: the client.
        url: what to GET.
        target: where to write; replaced by each try.
        policy: how often and how long it is tried.
        still_wanted: told the bytes so far and in all (None: unknown) after each block; may raise to stop.

    Raises:
        TransientSourceError: the tries or the time ran out, or the body is shorter or longer than announced.
        TerminalSourceError: an answer that another try cannot mend (4xx, redirect).
    """
    for attempt in _tries(policy or RetryPolicy()):
        with attempt, _as_source_errors(url):
            _stream(session, url, target, still_wanted)


def _tries(policy: RetryPolicy) -> Iterable[stamina.Attempt]:
    return stamina.retry_context(
        on=_backoff_within(policy.timeout_seconds),
        attempts=policy.attempts,
        timeout=policy.timeout_seconds,
        wait_initial=policy.wait_initial_seconds,
        wait_max=policy.wait_max_seconds,
        wait_jitter=min(1.0, policy.wait_initial_seconds),
    )


def _read(session: httpx2.Client, url: str, params: Mapping[str, str] | None, *, end: float) -> httpx2.Response:
    """The whole answer, unpacked; the client's own limit holds for each piece only, and pieces may drip for ever."""
    body = bytearray()
    with session.stream("GET", url, params=params) as response:
        for block in response.iter_bytes():
            body += block
            if time.monotonic() > end:
                raise TransientSourceError(
                    f"the answer was still coming in when the time was up ({len(body):,} bytes)",
                    where=_without_query(url),
                    next_step="It will be tried again at the next refresh.",
                )
    headers = [(name, value) for name, value in response.headers.multi_items() if name.lower() not in _OF_THE_PACKING]
    return httpx2.Response(response.status_code, headers=headers, content=bytes(body), request=response.request)


def _stream(session: httpx2.Client, url: str, target: Path, still_wanted: Callable[[int, int | None], None]) -> None:
    # An encoded body would make its announced length mean something else.
    with session.stream("GET", url, headers={"accept-encoding": "identity"}) as response:
        if response.status_code != httpx2.codes.OK:
            response.read()
        _checked(response, url)
        length = response.headers.get("content-length")
        total = int(length) if length is not None and length.isdigit() else None
        done = 0
        with target.open("wb") as file:
            for block in response.iter_bytes(DOWNLOAD_BLOCK_BYTES):
                done += file.write(block)
                still_wanted(done, total)
    if total is not None and done != total:
        raise TransientSourceError(
            f"{done} bytes arrived of {total} announced",
            where=_without_query(url),
            next_step="It will be tried again at the next refresh.",
        )


def _backoff_within(timeout_seconds: float) -> Callable[[Exception], bool | float]:
    """Whether and how long to wait; a throttle that names more time than there is ends the tries at once."""
    longest = min(TOO_LONG_TO_WAIT_SECONDS, timeout_seconds)

    def backoff(error: Exception) -> bool | float:
        if isinstance(error, _ThrottledError):
            return error.seconds if error.seconds <= longest else False
        return isinstance(error, TransientSourceError)

    return backoff


@contextmanager
def _as_source_errors(url: str) -> Iterator[None]:
    try:
        yield
    except httpx2.RequestError as error:
        raise TransientSourceError(
            f"the connection failed ({type(error).__name__}: {error})",
            where=_without_query(url),
            next_step="Check the network, the proxy and the endpoint setting.",
        ) from error


def _checked(response: httpx2.Response, url: str) -> httpx2.Response:
    place = _without_query(url)
    if response.status_code == httpx2.codes.OK:
        return response
    if response.status_code in RETRYABLE_STATUS:
        seconds = retry_after_seconds(response.headers)
        if seconds is not None:
            raise _ThrottledError(place, seconds)
        raise TransientSourceError(
            f"the server answered {response.status_code}",
            where=place,
            next_step="It will be tried again at the next refresh.",
        )
    raise TerminalSourceError(
        f"the server answered {response.status_code}: {response.text[:200]!r}",
        where=place,
        next_step="Check the endpoint, the credentials and the permissions of this source.",
    )


def _without_query(url: str) -> str:
    return urlsplit(url)._replace(query="", fragment="").geturl()
