"""What a real Prometheus holds when things went wrong: each is known for what it is, and nothing becomes a zero."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from exporters.core.errors import IntegrityError
from recommender.observe.coverage import Window
from recommender.observe.fleet import pools
from recommender.observe.usage_prometheus import read_usage
from recommender.observe.workloads import Observed, observe
from recommender.place.located import locate
from recommender.settings import ClusterSettings, Policy, PrometheusSettings
from tests.recommender.observe.recorded import holding, recorded
from tests.recommender.observe.usage_rows import MONDAY, WEEK, cluster, samples
from tests.servers.prometheus import PrometheusServer, running_prometheus

SPRING = datetime(2026, 3, 23, tzinfo=UTC)
"""Its Sunday has 23 hours in London: the clocks go forward at 01:00 UTC on 29 March 2026 (GOV.UK)."""
AUTUMN = datetime(2026, 10, 19, tzinfo=UTC)
"""Its Sunday has 25 hours in London: the clocks go back at 01:00 UTC on 25 October 2026."""
HOURS = range(168)
CLUSTERS = ("steady", "vanished", "gappy", "relabelled", "wrong", "bare")


def office_hours(start: datetime) -> list[int]:
    """Nine to five by London's clock, as hours of UTC: an hour earlier while it is summer."""
    change = {SPRING: 24 * 6 + 1, AUTUMN: 24 * 6 + 1}[start]
    summer = {SPRING: range(change, 168), AUTUMN: range(change)}[start]
    return [hour for hour in HOURS if 9 <= (hour + (hour in summer)) % 24 < 17]


@pytest.fixture(scope="module")
def server() -> Iterator[PrometheusServer]:
    def of(name: str, hours: object = HOURS, **values: object) -> list[dict[str, object]]:
        return samples(hours, cluster=name, **values)  # type: ignore[arg-type]

    rows = [
        *of("steady"),
        *of("vanished", range(72)),
        *of("gappy", [hour for hour in HOURS if not 40 <= hour < 60]),
        *of("relabelled", range(84)),
        *of("relabelled", range(84, 168), workload_kind="StatefulSet", pool="general-2", instance_type="m7i.large"),
        *of("wrong"),
        *of("wrong", workload="negative", vcpu_usage=1.0),
        *of("wrong", [50], workload="negative", vcpu_usage=-0.5),
        *of("wrong", workload="not-a-number"),
        *of("wrong", [60], workload="not-a-number", memory_gib_usage=math.nan),
        *of("bare", vcpu_request=0.0, memory_gib_request=0.0, vcpu_usage=0.5, memory_gib_usage=1.0),
        *(
            row
            for start in (SPRING, AUTUMN)
            for row in samples(HOURS, start=start, cluster="steady", workload="always")
        ),
        *(row for start in (SPRING, AUTUMN) for row in samples(office_hours(start), start=start, cluster="steady")),
    ]
    with holding(recorded(rows)) as running:
        yield running


@pytest.fixture(scope="module")
def week(server: PrometheusServer) -> Observed:
    return seen(server, WEEK)


def seen(server: PrometheusServer, window: Window) -> Observed:
    usage = read_usage(PrometheusSettings(url=server.url), window)
    return observe(usage, Policy(), clusters=[cluster(name) for name in CLUSTERS], window=window)


def one(found: Observed, cluster_name: str, workload: str = "web") -> dict[str, object]:
    named = (pl.col("cluster") == cluster_name) & (pl.col("workload") == workload)
    return found.workloads.filter(named).row(0, named=True)


def reasons(found: Observed, cluster_name: str) -> dict[str, str]:
    rows = found.not_enough_data.filter(pl.col("cluster") == cluster_name)
    return dict(rows.select("workload", "reason").iter_rows())


def located(found: Observed, clusters: list[ClusterSettings]) -> dict[str, str | None]:
    where = locate(found.workloads, pools(clusters), Policy(), min_coverage_ratio=0.8)
    return dict(where.select("cluster", "reason").iter_rows())


def test_a_cluster_that_vanished_is_covered_too_little_and_its_use_is_no_less(week: Observed):
    row = one(week, "vanished")
    assert row["coverage_ratio"] == pytest.approx(72 / 168)
    assert (row["vcpu_request_mean"], row["running_ratio"]) == (2.0, 1.0)
    assert located(week, [cluster("vanished")])["vanished"] == "coverage"


def test_a_cluster_that_vanished_before_the_window_is_named(server: PrometheusServer):
    found = seen(server, Window(start=MONDAY + timedelta(hours=100), end=MONDAY + timedelta(hours=168)))
    assert reasons(found, "vanished") == {"": "cluster-not-seen"}
    assert "vanished" not in set(found.workloads["cluster"])


def test_a_gap_counts_neither_as_use_nor_as_idleness(week: Observed):
    row = one(week, "gappy")
    assert row["coverage_ratio"] == pytest.approx(148 / 168)
    assert (row["replicas_mean"], row["vcpu_request_mean"], row["running_ratio"]) == (1.0, 2.0, 1.0)
    assert reasons(week, "gappy") == {}


def test_labels_that_change_in_the_middle_of_the_week_make_no_second_workload(week: Observed):
    assert week.workloads.filter(pl.col("cluster") == "relabelled").height == 1
    row = one(week, "relabelled")
    assert (row["workload_kind"], row["replicas_mean"], row["vcpu_request_mean"]) == ("StatefulSet", 1.0, 2.0)
    assert row["samples"] == 168


def test_what_cannot_be_keeps_one_workload_from_being_advised_and_no_other(week: Observed):
    assert reasons(week, "wrong") == {"negative": "usage-wrong", "not-a-number": "usage-wrong"}
    why = dict(week.not_enough_data.select("workload", "why").iter_rows())
    assert why["negative"] == "tuppence:workload_vcpu_usage:mean1h is -0.5"
    assert why["not-a-number"] == "tuppence:workload_memory_gib_usage:mean1h is NaN"
    assert one(week, "wrong", "negative")["vcpu_usage_p95"] == 1.0
    assert one(week, "wrong", "not-a-number")["memory_gib_usage_peak"] is None


def test_absent_requests_are_said_and_not_made_up_from_usage(week: Observed):
    row = one(week, "bare")
    assert (row["replicas_mean"], row["vcpu_request_mean"], row["memory_gib_request_mean"]) == (1.0, 0.0, 0.0)
    assert (row["vcpu_usage_p95"], row["memory_gib_usage_peak"]) == (0.5, 1.0)
    assert located(week, [cluster("bare")])["bare"] == "no-requests"


@pytest.mark.parametrize("start", [SPRING, AUTUMN])
def test_a_week_in_which_the_clocks_change_is_168_hours(server: PrometheusServer, start: datetime):
    found = seen(server, Window.ending(start + timedelta(days=7), hours=168))
    assert one(found, "steady", "always")["samples"] == 168
    assert one(found, "steady", "always")["coverage_ratio"] == 1.0
    web = one(found, "steady")
    # eight hours a day, whichever side of the change
    assert web["vcpu_request_mean"] == pytest.approx(2 * 56 / 168)
    assert web["running_ratio"] == pytest.approx(1 / 3)


def test_an_empty_prometheus_is_no_idle_fleet():
    with (
        running_prometheus({}) as empty,
        pytest.raises(IntegrityError, match=r"no series tuppence:cluster_coverage_ratio:1h .*Load dashboards/rules"),
    ):
        read_usage(PrometheusSettings(url=empty.url), WEEK)
