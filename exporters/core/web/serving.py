"""Running an ASGI application on a port: until a signal comes, or in the background for a while."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import uvicorn
from starlette.types import ASGIApp

from exporters.core.errors import SettingsError
from exporters.core.web.auth import BearerCheck, Guard
from exporters.core.web.live_config import LiveWebConfig

GRACE_SECONDS = 10
"""How long open requests may take to end after a stop."""

KEEP_ALIVE_SECONDS = 75
"""Longer than Prometheus' default scrape interval of a minute, so that it keeps its connection."""

_TICKS_PER_SECOND = 10


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server listens."""

    scheme: str
    host: str
    port: int

    @property
    def url(self) -> str:
        """The address without a trailing slash; a server on every address is reached through loopback."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104 - compared, not bound
        return f"{self.scheme}://{f'[{host}]' if ':' in host else host}:{self.port}"


def serve(
    app: ASGIApp,
    *,
    host: str,
    port: int,
    web_config: Path | None,
    ready: Callable[[Address], None],
    bearer: BearerCheck | None = None,
) -> None:
    """This will serve until SIGINT or SIGTERM, let open requests end, and return.

    Args:
        app: the application.
        host: address to listen on.
        port: port to listen on; 0: any free one.
        web_config: the web-config file; None: plain HTTP for everybody.
        ready: told the address once the port is bound.
        bearer: tokens that count like a user's password; see Guard.

    Raises:
        SettingsError: the address cannot be used, or the web-config file is wrong.
    """
    server, listener, address = _prepare(app, host, port, web_config, bearer)
    with listener:
        ready(address)
        server.run(sockets=[listener])


@contextmanager
def serving(
    app: ASGIApp,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    web_config: Path | None = None,
    bearer: BearerCheck | None = None,
) -> Iterator[Address]:
    """This will serve in a thread while the block runs; see serve."""
    server, listener, address = _prepare(app, host, port, web_config, bearer)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, name=f"serving-{address.port}")
    thread.start()
    try:
        while not server.started and thread.is_alive():
            time.sleep(0.005)
        yield address
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


class _Server(uvicorn.Server):
    """Re-reads the web-config file each second, and returns after a signal instead of raising it again."""

    def __init__(self, config: uvicorn.Config, live: LiveWebConfig) -> None:
        super().__init__(config)
        self._live = live

    async def on_tick(self, counter: int) -> bool:
        if counter % _TICKS_PER_SECOND == 0:
            self._live.refresh()
        return await super().on_tick(counter)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        del sig, frame
        self.force_exit = self.should_exit
        self.should_exit = True


def _prepare(
    app: ASGIApp, host: str, port: int, web_config: Path | None, bearer: BearerCheck | None
) -> tuple[_Server, socket.socket, Address]:
    live = LiveWebConfig(web_config)
    listener = bind(host, port)
    config = uvicorn.Config(
        Guard(app, live, bearer),
        loop="asyncio",
        http="h11",
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=GRACE_SECONDS,
        ssl_context_factory=(lambda _config, _default: context) if (context := live.context) else None,
    )
    scheme = "http" if live.context is None else "https"
    return _Server(config, live), listener, Address(scheme=scheme, host=host, port=listener.getsockname()[1])


def bind(host: str, port: int) -> socket.socket:
    """This will open a listening socket whose connections send at once.

    Raises:
        SettingsError: the address cannot be used.
    """
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listener = socket.create_server((host, port), family=family, backlog=128)
    except OSError as error:
        raise SettingsError(
            f"the port cannot be opened ({error.strerror or error})",
            where=f"{host}:{port}",
            next_step="Choose another host or port (0: any free one), or stop what listens there.",
        ) from error
    # Connections inherit it. asyncio sets it only on sockets that name TCP as their protocol, which these do not;
    # without it the last small piece of a body waits 40 ms for the reader's delayed acknowledgement.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener
