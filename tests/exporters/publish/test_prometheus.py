"""The real Prometheus scrapes the exporter over TLS with basic auth and returns its series."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import bcrypt
import pytest
import trustme

from exporters.core.clock import FixedClock
from exporters.core.web.serving import serving
from exporters.publish.health import Health
from exporters.publish.http import Exporter, create_app
from exporters.publish.published import PublishedPrices
from exporters.store.shelf import open_shelf
from tests.builders import NOON
from tests.exporters.publish.sample import HOSTILE, prices
from tests.servers.prometheus import PrometheusServer, running_prometheus

PASSWORD = "two pence £"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrometheusServer]:
    """A Prometheus that has scraped the sample at least once."""
    folder = tmp_path_factory.mktemp("tls")
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "ca.pem")
    health = Health(FixedClock(NOON))
    published = PublishedPrices(health)
    published.publish(prices())
    app = create_app(
        Exporter(
            published=published,
            health=health,
            shelf=open_shelf(str(folder / "shelf")),
            clock=FixedClock(NOON),
            reload=list,
        )
    )
    with (
        serving(app, web_config=_web_config(folder, authority)) as address,
        running_prometheus(_scrape_config(address.port, folder / "ca.pem")) as prometheus,
    ):
        prometheus.wait_for("tuppence_build_info")
        yield prometheus


def _web_config(folder: Path, authority: trustme.CA) -> Path:
    certificate = authority.issue_cert("127.0.0.1")
    certificate.cert_chain_pems[0].write_to_path(folder / "server.pem")
    certificate.private_key_pem.write_to_path(folder / "server.key")
    hashed = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()
    file = folder / "web.yaml"
    file.write_text(
        "tls_server_config: {cert_file: server.pem, key_file: server.key, min_version: TLS13}\n"
        f"basic_auth_users: {{prometheus: '{hashed}'}}\n",
        encoding="utf-8",
    )
    return file


def _scrape_config(port: int, ca_file: Path) -> dict[str, object]:
    def job(name: str, password: str) -> dict[str, object]:
        return {
            "job_name": name,
            "scheme": "https",
            "honor_labels": True,
            "tls_config": {"ca_file": str(ca_file)},
            "basic_auth": {"username": "prometheus", "password": password},
            "static_configs": [{"targets": [f"127.0.0.1:{port}"], "labels": {"region": "where the exporter runs"}}],
        }

    return {
        "global": {"scrape_interval": "500ms", "scrape_timeout": "400ms"},
        "scrape_configs": [job("tuppence", PASSWORD), job("stranger", "guessed")],
    }


def test_prices_come_back_through_the_query_api_with_their_labels(server: PrometheusServer) -> None:
    found = server.values(
        "tuppence_price_gbp_per_instance_hour", "provider", "region", "instance_type", "capacity_type", "zone"
    )
    assert found == {
        ("aws", "eu-west-2", "m5.large", "on-demand", ""): 0.08,
        ("aws", "eu-west-2", "m5.large", "spot", "eu-west-2a"): 0.04,
        ("aws", "eu-west-2", "m5.large", "spot", "eu-west-2b"): 0.03,
        ("aws", "eu-west-2", "g6f.large", "on-demand", ""): 0.16,
        ("aws", "eu-west-2", "trn1.2xlarge", "on-demand", ""): 1.0,
        ("azure", "uksouth", "Standard_D4s_v5", "on-demand", ""): 0.16,
        ("onprem", "london-dc1", HOSTILE, "owned", ""): 0.05,
    }


def test_the_exporters_region_label_wins_over_the_targets(server: PrometheusServer) -> None:
    assert set(server.values("tuppence_region_info", "region")) == {("eu-west-2",), ("uksouth",)}


def test_info_series_join_prices_many_to_one(server: PrometheusServer) -> None:
    found = server.values(
        "tuppence_price_gbp_per_vcpu_hour"
        " * on(provider, region, instance_type) group_left(vcpus) tuppence_instance_info",
        "instance_type",
        "zone",
        "vcpus",
    )
    assert found["m5.large", "eu-west-2a", "2"] == 0.015
    assert len(found) == 7


def test_a_stranger_is_refused(server: PrometheusServer) -> None:
    server.wait_for('up{job="stranger"} == 0')
    errors = {target["labels"]["job"]: target["lastError"] for target in server.targets()}
    assert "401" in errors["stranger"]
    assert errors["tuppence"] == ""
