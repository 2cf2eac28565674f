"""The web-config file: TLS, basic auth and response headers in the format of Prometheus' exporter-toolkit.

Understood is the part of the format listed here (exporter-toolkit, docs/web-configuration.md); any other key is an
error, because a security setting that is silently left out is worse than none. File names are relative to the file.
"""

from __future__ import annotations

import ssl
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from exporters.core.config_file import Section, read_document, validate
from exporters.core.errors import SettingsError

BcryptHash = Annotated[str, StringConstraints(pattern=r"^\$2[aby]\$(0[4-9]|[12]\d|3[01])\$[./A-Za-z0-9]{53}$")]


class ClientAuth(StrEnum):
    """What is asked of clients; Go's words, of which these two are safe to offer."""

    NONE = "NoClientCert"
    REQUIRE_AND_VERIFY = "RequireAndVerifyClientCert"


class TlsServerConfig(Section):
    """How connections are encrypted."""

    cert_file: Path = Field(description="Certificate chain of the server, PEM.")
    key_file: Path = Field(description="Private key of the server, PEM.")
    client_auth_type: ClientAuth = Field(default=ClientAuth.NONE, description="Whether clients need a certificate.")
    client_ca_file: Path | None = Field(default=None, description="CA certificates that clients' must come from, PEM.")
    min_version: Literal["TLS12", "TLS13"] = Field(default="TLS12", description="The oldest accepted version.")
    max_version: Literal["TLS12", "TLS13"] = Field(default="TLS13", description="The newest accepted version.")

    @model_validator(mode="after")
    def _client_ca_where_clients_are_verified(self) -> Self:
        if (self.client_auth_type is ClientAuth.REQUIRE_AND_VERIFY) != (self.client_ca_file is not None):
            raise ValueError("client_ca_file and client_auth_type: RequireAndVerifyClientCert belong together")
        return self


class ResponseHeaders(Section):
    """Headers that are set on every answer."""

    content_security_policy: str = Field(default="", alias="Content-Security-Policy")
    x_frame_options: Literal["", "deny", "sameorigin"] = Field(default="", alias="X-Frame-Options")
    x_content_type_options: Literal["", "nosniff"] = Field(default="", alias="X-Content-Type-Options")
    x_xss_protection: str = Field(default="", alias="X-XSS-Protection")
    strict_transport_security: str = Field(default="", alias="Strict-Transport-Security")

    def pairs(self) -> dict[str, str]:
        """This will return the headers that are set."""
        return {name: value for name, value in self.model_dump(by_alias=True).items() if value}


class HttpServerConfig(Section):
    """How answers look."""

    headers: ResponseHeaders = Field(default_factory=ResponseHeaders, description="Headers set on every answer.")


class WebConfig(Section):
    """The whole file; an empty one means plain HTTP for everybody."""

    tls_server_config: TlsServerConfig | None = Field(default=None, description="TLS; left out: plain HTTP.")
    http_server_config: HttpServerConfig = Field(default_factory=HttpServerConfig, description="Response headers.")
    basic_auth_users: dict[str, BcryptHash] = Field(
        default_factory=dict, description="Names and bcrypt hashes of passwords; empty: no authentication.", repr=False
    )


def read_web_config(path: Path) -> WebConfig:
    """This will read a web-config file.

    Raises:
        SettingsError: it cannot be read, a key is unknown, or a value is wrong; with file, line and key.
    """
    checked = validate(read_document(path), WebConfig, known=frozenset(WebConfig.model_fields))
    tls = checked.tls_server_config
    if tls is None:
        return checked
    places = {
        name: path.parent / file for name in ("cert_file", "key_file", "client_ca_file") if (file := getattr(tls, name))
    }
    return checked.model_copy(update={"tls_server_config": tls.model_copy(update=places)})


def tls_context(tls: TlsServerConfig) -> ssl.SSLContext:
    """This will load the certificates.

    Raises:
        SettingsError: a file is missing, or is not what it should be.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = _VERSIONS[tls.min_version]
    context.maximum_version = _VERSIONS[tls.max_version]
    load_certificate(context, tls)
    if tls.client_ca_file is not None:
        try:
            context.load_verify_locations(cafile=tls.client_ca_file)
        except (OSError, ssl.SSLError) as error:
            raise _cannot_load(f"{tls.client_ca_file} cannot be loaded ({error})", "client_ca_file") from error
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def load_certificate(context: ssl.SSLContext, tls: TlsServerConfig) -> None:
    """This will load the server's certificate into a context; new connections use it at once.

    Raises:
        SettingsError: a file is missing, is not PEM, or certificate and key do not belong together.
    """
    try:
        context.load_cert_chain(tls.cert_file, tls.key_file)
    except (OSError, ssl.SSLError) as error:
        raise _cannot_load(f"{tls.cert_file} and {tls.key_file} cannot be loaded ({error})", "cert_file") from error


_VERSIONS = {"TLS12": ssl.TLSVersion.TLSv1_2, "TLS13": ssl.TLSVersion.TLSv1_3}


def _cannot_load(what: str, key: str) -> SettingsError:
    return SettingsError(
        what,
        where=f"tls_server_config.{key}",
        next_step="Check paths (relative to the web-config file) and permissions, and that certificate and key match.",
    )
