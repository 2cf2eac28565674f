"""The web-config file in use: re-read within a second of a change, the last good one kept when the new one is wrong."""

from __future__ import annotations

import ssl
from pathlib import Path

import structlog

from exporters.core.errors import SettingsError
from exporters.core.web.web_config import TlsServerConfig, WebConfig, load_certificate, read_web_config, tls_context

_log = structlog.get_logger(__name__)

Fingerprint = tuple[tuple[int, int, int] | None, ...]


class LiveWebConfig:
    """A web-config file and its certificates.

    Args:
        path: of the file; None: plain HTTP for everybody.

    Raises:
        SettingsError: the file or a certificate is wrong at the start.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._config = WebConfig() if path is None else read_web_config(path)
        self._context = tls_context(self._config.tls_server_config) if self._config.tls_server_config else None
        self._seen = self._fingerprint()

    @property
    def config(self) -> WebConfig:
        """What holds now."""
        return self._config

    @property
    def context(self) -> ssl.SSLContext | None:
        """What connections are encrypted with; None: plain HTTP."""
        return self._context

    def refresh(self) -> bool:
        """This will re-read the file if it, or a certificate, has changed; to be called about every second.

        Users, headers and the server's certificate take effect at once. Turning TLS on or off, client certificates
        and TLS versions need a restart, and until then the file as a whole is not taken over.

        Returns:
            True where a change took effect.
        """
        if self._path is None or (now := self._fingerprint()) == self._seen:
            return False
        self._seen = now
        try:
            self._take_over(read_web_config(self._path))
        except SettingsError as error:
            _log.error("web_config_kept", error=str(error))
            return False
        _log.info("web_config_reloaded", path=str(self._path))
        return True

    def _take_over(self, new: WebConfig) -> None:
        if _handshake(new.tls_server_config) != _handshake(self._config.tls_server_config):
            raise SettingsError(
                "tls_server_config changed in more than its certificate",
                where=str(self._path),
                next_step="Restart to let the new file take effect; until then the old one holds.",
            )
        if self._context is not None and new.tls_server_config is not None:
            tls_context(new.tls_server_config)  # a pair that does not match must not reach the context in use
            load_certificate(self._context, new.tls_server_config)
        self._config = new
        self._seen = self._fingerprint()

    def _fingerprint(self) -> Fingerprint:
        tls = self._config.tls_server_config
        files = [self._path, *((tls.cert_file, tls.key_file) if tls else ())]
        return tuple(_stat(file) for file in files if file is not None)


def _handshake(tls: TlsServerConfig | None) -> dict[str, object] | None:
    return None if tls is None else tls.model_dump(exclude={"cert_file", "key_file"})


def _stat(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
