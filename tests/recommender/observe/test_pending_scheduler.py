"""Pods that wait for another scheduler are read from a real Prometheus: only those that waited long enough."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from exporters.core.errors import IntegrityError, SourceError
from recommender.observe.pending_scheduler import RECORD, read_pending
from recommender.settings import PrometheusSettings
from tests.fakes.prometheus import Answer, fake_prometheus, vector
from tests.recommender.observe.recorded import holding
from tests.servers.prometheus import PrometheusServer

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
WEB = {"cluster": "c1", "namespace": "shop", "workload_kind": "Deployment", "workload": "web", "scheduler": "kai"}


def minutes(labels: Mapping[str, str], values: Mapping[int, float]) -> list[str]:
    """Samples so many minutes before now."""
    text = ",".join(f'{name}="{value}"' for name, value in labels.items())
    at = int(NOW.timestamp())
    return [f"{RECORD}{{{text}}} {values[ago]} {at - 60 * ago}" for ago in sorted(values, reverse=True)]


def dump() -> str:
    half_an_hour = range(30)
    lines = [
        *minutes(WEB, {ago: 3 if ago == 4 else 5 for ago in half_an_hour}),
        *minutes(WEB | {"workload": "young"}, dict.fromkeys(range(8), 2)),
        *minutes(WEB | {"workload": "placed"}, {ago: 4 for ago in half_an_hour if ago > 8}),
        *minutes(WEB | {"workload": "gang", "scheduler": "volcano"}, dict.fromkeys(half_an_hour, 8)),
        *minutes(WEB | {"workload": "twice", "replica": "a"}, dict.fromkeys(half_an_hour, 1)),
        *minutes(WEB | {"workload": "twice", "replica": "b"}, dict.fromkeys(half_an_hour, 1)),
    ]
    return "\n".join([f"# TYPE {RECORD} gauge", *lines, "# EOF", ""])


@pytest.fixture(scope="module")
def server() -> Iterator[PrometheusServer]:
    with holding(dump()) as running:
        yield running


def read(url: str, **changes: Any) -> list[dict[str, Any]]:
    asked: dict[str, Any] = {"at": NOW, "minutes": 10} | changes
    return read_pending(PrometheusSettings(url=url), **asked).to_dicts()


def test_the_fewest_that_waited_all_the_time_are_told_once_each(server: PrometheusServer) -> None:
    """web: five, and three for a minute; young began eight minutes ago; placed has been for nine."""
    rows = read(server.url)
    assert {(row["workload"], row["scheduler"]): row["pods"] for row in rows} == {
        ("gang", "volcano"): 8,
        ("twice", "kai"): 1,
        ("web", "kai"): 3,
    }
    assert {row["minutes"] for row in rows} == {10}


def test_a_shorter_time_tells_more(server: PrometheusServer) -> None:
    assert [row["workload"] for row in read(server.url, minutes=5)] == ["gang", "twice", "web", "young"]


def test_schedulers_that_are_settled_keep_their_pods(server: PrometheusServer) -> None:
    assert [row["workload"] for row in read(server.url, settled=("volcano",))] == ["twice", "web"]


def test_a_time_without_any_is_none(server: PrometheusServer) -> None:
    assert read(server.url, at=NOW - timedelta(hours=3)) == []


def test_a_series_without_a_cluster_is_refused() -> None:
    with fake_prometheus() as fake:
        fake.answers = [Answer(vector("2", **{name: value for name, value in WEB.items() if name != "cluster"}))]
        with pytest.raises(IntegrityError, match="carries no label 'cluster'"):
            read(fake.url)


def test_a_server_that_refuses_is_an_error_and_not_nothing() -> None:
    with fake_prometheus() as fake:
        fake.answers = [Answer('{"status":"error","errorType":"bad_data","error":"no"}', status=400)]
        with pytest.raises(SourceError, match=RECORD):
            read(fake.url)
