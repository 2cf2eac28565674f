"""Basic auth, bearer tokens and response headers around an ASGI application, as the web-config file in use asks.

Who was let in stands in the request's state under `caller`, for applications that let some do more than others.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import secrets
from collections.abc import Callable
from dataclasses import dataclass

import bcrypt
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from exporters.core.web.live_config import LiveWebConfig

_REMEMBERED = 256
"""Verdicts kept, so that a scrape does not wait for bcrypt and strangers cannot fill the memory."""

_UNAUTHORIZED = b"Unauthorized\n"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who a request comes from, as it has proven.

    Args:
        name: of the user, or of the token.
        role: what a token is for; empty: a user, of whom the application knows it.
    """

    name: str
    role: str = ""


BearerCheck = Callable[[str], Caller | None]
"""Tells whose a bearer token is; None: nobody's."""


class Guard:
    """Lets authenticated requests through and sets the headers of answers; the whole address space is guarded alike.

    Args:
        app: the application.
        live: the web-config file in use.
        bearer: tokens that count like a user's password; None: there are none. A token that is not known here may be
            the application's own: without users to ask for, it is let through unnamed.
    """

    def __init__(self, app: ASGIApp, live: LiveWebConfig, bearer: BearerCheck | None = None) -> None:
        self._app = app
        self._live = live
        self._bearer = bearer
        self._passwords = PasswordCheck()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """This will answer 401, or let the application answer."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        config = self._live.config
        extra = [
            (name.lower().encode(), value.encode()) for name, value in config.http_server_config.headers.pairs().items()
        ]

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start" and extra:
                replaced = {name for name, _ in extra}
                kept = [pair for pair in message.get("headers", []) if pair[0].lower() not in replaced]
                message = {**message, "headers": [*kept, *extra]}
            await send(message)

        caller = await self._caller(scope, config.basic_auth_users)
        if config.basic_auth_users and caller is None:
            await _refuse(send_with_headers)
            return
        state = {**scope.get("state", {}), "caller": caller}
        await self._app({**scope, "state": state}, receive, send_with_headers)

    async def _caller(self, scope: Scope, users: dict[str, str]) -> Caller | None:
        token = _token(scope)
        if token is not None:
            return None if self._bearer is None else self._bearer(token)
        name = await self._passwords.user(scope, users) if users else None
        return None if name is None else Caller(name)


class PasswordCheck:
    """Compares passwords with bcrypt hashes, one at a time, and remembers the verdicts."""

    def __init__(self) -> None:
        self._verdicts: dict[bytes, bool] = {}
        self._key = secrets.token_bytes(32)
        self._one_at_a_time = asyncio.Lock()

    async def user(self, scope: Scope, users: dict[str, str]) -> str | None:
        """This will return the user that a request names with the right password; None: it does not."""
        given = _credentials(scope)
        if given is None:
            return None
        name, password = given
        # An unknown name is compared as well, so that it takes as long as a wrong password.
        hashed = users.get(name) or next(iter(users.values()))
        async with self._one_at_a_time:
            return name if await self._matches(password, hashed.encode()) and name in users else None

    async def _matches(self, password: bytes, hashed: bytes) -> bool:
        place = hashlib.blake2b(hashed + b"\0" + password, key=self._key).digest()
        if place not in self._verdicts:
            if len(self._verdicts) >= _REMEMBERED:
                self._verdicts.clear()
            self._verdicts[place] = await asyncio.to_thread(_bcrypt_matches, password, hashed)
        return self._verdicts[place]


def _bcrypt_matches(password: bytes, hashed: bytes) -> bool:
    try:
        return bcrypt.checkpw(password, hashed)
    except ValueError:  # longer than the 72 bytes that bcrypt takes
        return False


def _credentials(scope: Scope) -> tuple[str, bytes] | None:
    """Name and password of an Authorization header (RFC 7617); None: there is none, or it is malformed."""
    scheme, encoded = _authorization(scope)
    if scheme != b"basic":
        return None
    try:
        name, colon, password = base64.b64decode(encoded, validate=True).partition(b":")
        return (name.decode(), password) if colon else None
    except (binascii.Error, UnicodeDecodeError):
        return None


def _token(scope: Scope) -> str | None:
    """The token of an Authorization header (RFC 6750); None: it is of another scheme."""
    scheme, token = _authorization(scope)
    return token.decode("latin-1") if scheme == b"bearer" else None


def _authorization(scope: Scope) -> tuple[bytes, bytes]:
    value = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
    scheme, _, rest = value.partition(b" ")
    return scheme.lower(), rest.strip()


async def _refuse(send: Send) -> None:
    headers = [
        (b"www-authenticate", b'Basic realm="Tuppence", charset="UTF-8"'),
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(_UNAUTHORIZED)).encode()),
    ]
    await send({"type": "http.response.start", "status": 401, "headers": headers})
    await send({"type": "http.response.body", "body": _UNAUTHORIZED})
