"""Basic auth and response headers around an ASGI application, as the web-config file in use asks."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import secrets

import bcrypt
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from exporters.core.web.live_config import LiveWebConfig

_REMEMBERED = 256
"""Verdicts kept, so that a scrape does not wait for bcrypt and strangers cannot fill the memory."""

_UNAUTHORIZED = b"Unauthorized\n"


class Guard:
    """Lets authenticated requests through and sets the headers of answers; the whole address space is guarded alike."""

    def __init__(self, app: ASGIApp, live: LiveWebConfig) -> None:
        self._app = app
        self._live = live
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

        if config.basic_auth_users and not await self._passwords.holds(scope, config.basic_auth_users):
            await _refuse(send_with_headers)
            return
        await self._app(scope, receive, send_with_headers)


class PasswordCheck:
    """Compares passwords with bcrypt hashes, one at a time, and remembers the verdicts."""

    def __init__(self) -> None:
        self._verdicts: dict[bytes, bool] = {}
        self._key = secrets.token_bytes(32)
        self._one_at_a_time = asyncio.Lock()

    async def holds(self, scope: Scope, users: dict[str, str]) -> bool:
        """This will tell whether a request names a user and the password of that user."""
        given = _credentials(scope)
        if given is None:
            return False
        name, password = given
        # An unknown name is compared as well, so that it takes as long as a wrong password.
        hashed = users.get(name) or next(iter(users.values()))
        async with self._one_at_a_time:
            return await self._matches(password, hashed.encode()) and name in users

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
    value = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
    scheme, _, encoded = value.partition(b" ")
    if scheme.lower() != b"basic":
        return None
    try:
        name, colon, password = base64.b64decode(encoded.strip(), validate=True).partition(b":")
        return (name.decode(), password) if colon else None
    except (binascii.Error, UnicodeDecodeError):
        return None


async def _refuse(send: Send) -> None:
    headers = [
        (b"www-authenticate", b'Basic realm="Tuppence", charset="UTF-8"'),
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(_UNAUTHORIZED)).encode()),
    ]
    await send({"type": "http.response.start", "status": 401, "headers": headers})
    await send({"type": "http.response.body", "body": _UNAUTHORIZED})
