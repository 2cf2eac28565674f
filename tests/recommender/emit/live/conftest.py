"""A hub with three managed clusters, and a client of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import stamina

from recommender.emit.live.hub import Hub
from recommender.emit_settings import EmitSettings, HubSettings
from tests.fakes.api_server import FakeHub, fake_hub

CLUSTERS = ("eks-lon", "gke-bel", "onprem-lon")


@pytest.fixture(autouse=True)
def _tries_follow_each_other_at_once() -> Iterator[None]:
    """Four tries, as outside of tests, without the pauses between them."""
    with stamina.set_testing(testing=True, attempts=4):
        yield


@pytest.fixture
def fake(tmp_path: Path) -> Iterator[FakeHub]:
    with fake_hub(tmp_path, *CLUSTERS) as running:
        yield running


@pytest.fixture
def settings(fake: FakeHub) -> EmitSettings:
    return EmitSettings(hub=HubSettings(kubeconfig=fake.kubeconfig, requests_per_second=1_000, timeout_seconds=5))


@pytest.fixture
def hub(settings: EmitSettings) -> Iterator[Hub]:
    with Hub(settings) as client:
        yield client
