"""The web-config file is read as exporter-toolkit's format, strictly."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from pathlib import Path

import bcrypt
import pytest
import trustme

from exporters.core.errors import SettingsError
from exporters.core.web.web_config import read_web_config, tls_context

HASH = bcrypt.hashpw(b"secret", bcrypt.gensalt(4)).decode()
Writer = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Writer:
    """Writes a web-config file and returns its path."""

    def to_file(text: str) -> Path:
        path = tmp_path / "web.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return to_file


def test_a_whole_file_is_read(write: Writer, tmp_path: Path) -> None:
    config = read_web_config(
        write(
            "tls_server_config:\n"
            "  cert_file: server.pem\n"
            "  key_file: /run/secrets/server.key\n"
            "  client_auth_type: RequireAndVerifyClientCert\n"
            "  client_ca_file: clients.pem\n"
            "  min_version: TLS13\n"
            "http_server_config:\n"
            "  headers:\n"
            "    Strict-Transport-Security: max-age=31536000\n"
            "    X-Frame-Options: deny\n"
            "basic_auth_users:\n"
            f"  alice: {HASH}\n"
        )
    )
    tls = config.tls_server_config
    assert tls is not None
    assert tls.cert_file == tmp_path / "server.pem"
    assert tls.key_file == Path("/run/secrets/server.key")
    assert tls.client_ca_file == tmp_path / "clients.pem"
    assert config.basic_auth_users == {"alice": HASH}
    assert config.http_server_config.headers.pairs() == {
        "Strict-Transport-Security": "max-age=31536000",
        "X-Frame-Options": "deny",
    }


def test_an_empty_file_means_plain_http_for_everybody(write: Writer) -> None:
    config = read_web_config(write(""))
    assert config.tls_server_config is None
    assert config.basic_auth_users == {}


def test_a_hash_is_never_part_of_a_printed_config(write: Writer) -> None:
    assert HASH not in repr(read_web_config(write(f"basic_auth_users: {{alice: {HASH}}}\n")))


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("tls_server_confg: {}\n", "line 1: 'tls_server_confg' is not a known section"),
        (
            "tls_server_config:\n  cert_file: a\n  key_file: b\n  cipher_suites: []\n",
            "line 4: tls_server_config.cipher_suites: this key is not known",
        ),
        ("tls_server_config:\n  cert_file: a\n", "line 1: tls_server_config.key_file: Field required"),
        ("basic_auth_users:\n  alice: secret\n", "line 2: basic_auth_users.alice: String should match pattern"),
        ("http_server_config:\n  headers:\n    X-Powered-By: x\n", "line 3: http_server_config.headers.X-Powered-By"),
        ("rate_limit:\n  burst: 5\n", "line 1: 'rate_limit' is not a known section"),
        (
            "tls_server_config:\n  cert_file: a\n  key_file: b\n  client_auth_type: RequireAndVerifyClientCert\n",
            "belong together",
        ),
        ("tls_server_config:\n  cert_file: a\n  key_file: b\n  client_ca_file: c\n", "belong together"),
        (
            "tls_server_config:\n  cert_file: a\n  key_file: b\n  client_auth_type: RequestClientCert\n",
            "line 4: tls_server_config.client_auth_type",
        ),
        ("tls_server_config:\n  cert_file: a\n  key_file: b\n  min_version: TLS10\n", "min_version"),
        ("- a list\n", "must be a mapping"),
    ],
)
def test_a_mistake_is_reported_with_its_line_and_key(write: Writer, text: str, place: str) -> None:
    with pytest.raises(SettingsError) as refused:
        read_web_config(write(text))
    assert place in str(refused.value)
    assert "web.yaml" in str(refused.value)


def test_a_wrong_hash_is_not_repeated_in_the_error(write: Writer) -> None:
    with pytest.raises(SettingsError) as refused:
        read_web_config(write("basic_auth_users:\n  alice: hunter2\n"))
    assert "hunter2" not in str(refused.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"nowhere\.yaml"):
        read_web_config(tmp_path / "nowhere.yaml")


def test_certificates_are_loaded_with_the_versions_asked_for(write: Writer, tmp_path: Path) -> None:
    _certificate(tmp_path, "server")
    config = read_web_config(
        write("tls_server_config: {cert_file: server.pem, key_file: server.key, max_version: TLS12}\n")
    )
    assert config.tls_server_config is not None
    context = tls_context(config.tls_server_config)
    assert context.minimum_version is context.maximum_version is ssl.TLSVersion.TLSv1_2
    assert context.verify_mode is ssl.CERT_NONE


def test_a_missing_certificate_is_named(write: Writer) -> None:
    config = read_web_config(write("tls_server_config: {cert_file: server.pem, key_file: server.key}\n"))
    assert config.tls_server_config is not None
    with pytest.raises(SettingsError, match=r"tls_server_config\.cert_file: .*server\.pem"):
        tls_context(config.tls_server_config)


def test_a_key_of_another_certificate_is_refused(write: Writer, tmp_path: Path) -> None:
    _certificate(tmp_path, "server")
    _certificate(tmp_path, "other")
    config = read_web_config(write("tls_server_config: {cert_file: server.pem, key_file: other.key}\n"))
    assert config.tls_server_config is not None
    with pytest.raises(SettingsError, match="certificate and key match"):
        tls_context(config.tls_server_config)


def test_a_client_ca_that_is_no_certificate_is_refused(write: Writer, tmp_path: Path) -> None:
    _certificate(tmp_path, "server")
    (tmp_path / "ca.pem").write_text("nonsense", encoding="utf-8")
    config = read_web_config(
        write(
            "tls_server_config: {cert_file: server.pem, key_file: server.key, client_ca_file: ca.pem,"
            " client_auth_type: RequireAndVerifyClientCert}\n"
        )
    )
    assert config.tls_server_config is not None
    with pytest.raises(SettingsError, match=r"tls_server_config\.client_ca_file"):
        tls_context(config.tls_server_config)


def _certificate(folder: Path, name: str) -> None:
    issued = trustme.CA().issue_cert("127.0.0.1")
    issued.cert_chain_pems[0].write_to_path(folder / f"{name}.pem")
    issued.private_key_pem.write_to_path(folder / f"{name}.key")
