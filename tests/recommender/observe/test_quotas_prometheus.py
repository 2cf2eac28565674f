"""ResourceQuotas from a real Prometheus, beside those of the settings: the smaller holds, one query asks."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest

from recommender.observe.quotas_prometheus import QUOTA, namespace_quotas_at, read_namespace_quotas
from recommender.settings import RecommenderSettings
from tests.builders import NOON
from tests.recommender.observe.recorded import holding, recorded
from tests.servers.prometheus import PrometheusServer

GIB = 2.0**30


def quota(namespace: str, resource: str, value: float, cluster: str = "eks", hours_ago: int = 1) -> Any:
    hour: datetime = NOON - timedelta(hours=hours_ago)
    return (QUOTA, {"site": cluster, "namespace": namespace, "resource": resource}, hour, value)


@pytest.fixture(scope="module")
def server() -> Iterator[PrometheusServer]:
    """Quotas of two namespaces and two clusters; one quota was deleted five hours ago."""
    told = [
        quota("shop", "requests.cpu", 8.0),
        quota("shop", "cpu", 6.0),
        quota("shop", "requests.memory", 32 * GIB),
        quota("shop", "requests.nvidia.com/gpu", 0.0),
        quota("shop", "pods", 5.0),
        quota("batch", "memory", 4 * GIB),
        quota("shop", "requests.cpu", 1.0, cluster="not-ours"),
        quota("gone", "requests.cpu", 2.0, hours_ago=5),
    ]
    with holding(recorded([], more=told)) as running:
        yield running


def settings(server: PrometheusServer, *quotas: dict[str, Any]) -> RecommenderSettings:
    pool = {"name": "general", "capacity_type": "on-demand", "instance_types": ["m5.xlarge"]}
    cluster = {"name": "eks", "provider": "aws", "region": "eu-west-2", "pools": [pool], "namespace_quotas": quotas}
    prometheus = {"url": server.url, "cluster_label": "site"}
    return RecommenderSettings.model_validate({"usage": {"prometheus": prometheus}, "clusters": [cluster]})


def test_hard_limits_of_requests_are_read_in_vcpus_gib_and_gpus(server: PrometheusServer) -> None:
    prometheus = settings(server).usage.prometheus
    assert prometheus is not None
    assert read_namespace_quotas(prometheus, at=NOON).rows() == [
        ("eks", "batch", None, 4.0, None),
        ("eks", "shop", 6.0, 32.0, 0.0),
        ("not-ours", "shop", 1.0, None, None),
    ]


def test_where_the_settings_speak_too_the_smaller_limit_counts(server: PrometheusServer) -> None:
    told = settings(server, {"namespace": "shop", "vcpus": 4, "memory_gib": 64}, {"namespace": "web", "vcpus": 9})
    assert namespace_quotas_at(told, at=NOON).rows() == [
        ("eks", "batch", None, 4.0, None),
        ("eks", "shop", 4.0, 32.0, 0.0),
        ("eks", "web", 9.0, None, None),
    ]


def test_a_quota_that_was_deleted_limits_nothing(server: PrometheusServer) -> None:
    assert "gone" not in set(namespace_quotas_at(settings(server), at=NOON)["namespace"])


def test_without_prometheus_the_settings_alone_count(server: PrometheusServer) -> None:
    told = settings(server, {"namespace": "shop", "vcpus": 4})
    of_a_file = told.model_copy(update={"usage": told.usage.model_copy(update={"prometheus": None})})
    assert namespace_quotas_at(of_a_file, at=NOON).rows() == [("eks", "shop", 4.0, None, None)]
