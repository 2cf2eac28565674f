"""Usage from Prometheus: the same workloads as from a file with the same data, and never a zero for what is missing."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from exporters.core.config_file import parse_document, validate
from exporters.core.errors import IntegrityError, SettingsError
from exporters.core.sections import ALL_SECTIONS
from recommender.demo.usage import week_of_usage
from recommender.observe import usage_file
from recommender.observe.coverage import Window
from recommender.observe.fleet_prometheus import FLEET_RECORDS
from recommender.observe.usage_prometheus import AMOUNTS, COVERAGE, PEAKS, RECORDS, USAGES, read_usage
from recommender.observe.workloads import observe
from recommender.settings import ClusterSettings, Policy, PrometheusSettings, RecommenderSettings
from tests.fakes.prometheus import Answer, fake_prometheus
from tests.recommender.observe.recorded import holding, recorded
from tests.recommender.observe.usage_rows import MONDAY, samples
from tests.servers.prometheus import PrometheusServer

END = datetime(2026, 11, 30, tzinfo=UTC)
WINDOW = Window.ending(END, hours=60)
TAKEN = ("render-farm", "nightly-models", "llm-finetune", "brokerage-web", "store-api", "fluentbit-gke", "crm-web")


@pytest.fixture(scope="module")
def fleet() -> tuple[ClusterSettings, ...]:
    text = files("recommender.demo.data").joinpath("tuppence.yaml").read_text(encoding="utf-8")
    document = parse_document(text[text.index("\nclusters:") :], source="demo", environment={})
    return validate(document, RecommenderSettings, known=ALL_SECTIONS).clusters


@pytest.fixture(scope="module")
def rows(fleet: tuple[ClusterSettings, ...]) -> pl.DataFrame:
    week = week_of_usage(fleet, until=END, seed=4).with_columns(
        priority_class=pl.when(pl.col("workload") == "fluentbit-gke").then(pl.lit("system-node-critical")),
        local_volume=pl.when(pl.col("workload") == "store-api").then(pl.lit(value=True)),
        vcpu_request_peak=pl.when(pl.col("workload") == "crm-web").then(pl.col("vcpu_request") + 2),
    )
    missing = (pl.col("cluster") == "gke-europe-west2") & (pl.col("timestamp").dt.day() == 28)
    return week.filter(pl.col("workload").is_in(TAKEN), ~missing)


@pytest.fixture(scope="module")
def server(rows: pl.DataFrame) -> Iterator[PrometheusServer]:
    with holding(recorded(rows.to_dicts())) as running:
        yield running


def test_prometheus_and_a_file_with_the_same_data_give_the_same_workloads(
    server: PrometheusServer, rows: pl.DataFrame, fleet: tuple[ClusterSettings, ...], tmp_path: Path
):
    rows.write_parquet(tmp_path / "usage.parquet")
    from_file = observe(usage_file.read_usage(tmp_path / "usage.parquet"), Policy(), clusters=fleet, window=WINDOW)
    from_prometheus = observe(
        read_usage(PrometheusSettings(url=server.url), WINDOW), Policy(), clusters=fleet, window=WINDOW
    )
    assert from_file.workloads.height >= 6
    assert from_file.workloads["is_system"].sum() == 1
    assert from_file.workloads["local_volume"].sum() == 1
    assert sorted(set(from_file.workloads["owner"])) == ["", "brokerage", "retail", "sales"]
    crm_web = from_file.workloads.filter(pl.col("workload") == "crm-web").row(0, named=True)
    assert crm_web["vcpu_request_peak"] == rows.filter(pl.col("workload") == "crm-web")["vcpu_request_peak"].max()
    of_gke = from_file.workloads.filter(pl.col("cluster") == "gke-europe-west2")
    assert of_gke["coverage_ratio"].unique().to_list() == [pytest.approx(36 / 60)]
    assert_frame_equal(from_prometheus.workloads, from_file.workloads)
    assert_frame_equal(from_prometheus.flows, from_file.flows)
    assert_frame_equal(from_prometheus.not_enough_data, from_file.not_enough_data)


def test_a_cluster_without_series_is_missing_and_never_a_zero(
    server: PrometheusServer, fleet: tuple[ClusterSettings, ...]
):
    read = read_usage(PrometheusSettings(url=server.url), WINDOW)
    result = observe(read, Policy(), clusters=fleet, window=WINDOW)
    assert result.not_enough_data.filter(pl.col("reason") == "cluster-not-seen")["cluster"].to_list() == [
        "eks-eu-west-1"
    ]
    assert "eks-eu-west-1" not in set(result.workloads["cluster"])


def test_the_cluster_label_is_a_setting_and_replicas_of_prometheus_count_once():
    sent = samples(range(4), replicas=2, vcpu_request=4)
    window = Window(start=MONDAY, end=MONDAY + timedelta(hours=4))
    texts = [recorded(sent, cluster_label="k8s_cluster", extra={"prometheus_replica": name}) for name in "ab"]
    with holding(_merged(*texts)) as running:
        read = read_usage(PrometheusSettings(url=running.url, cluster_label="k8s_cluster"), window)
        assert read.samples.select("cluster", "replicas", "vcpu_request").unique().rows() == [("c1", 2.0, 4.0)]
        assert read.samples["timestamp"].sort().to_list() == [row["timestamp"] for row in sent]
        with pytest.raises(IntegrityError, match="records carry no label 'cluster'"):
            read_usage(PrometheusSettings(url=running.url), window)


def _merged(first: str, second: str) -> str:
    """OpenMetrics wants a family's samples together."""
    families: dict[str, list[str]] = {}
    for line in (*first.splitlines(), *second.splitlines()):
        if line.startswith("# TYPE"):
            current = families.setdefault(line, [])
        elif line != "# EOF":
            current.append(line)
    return "\n".join([*(line for name, lines in families.items() for line in (name, *lines)), "# EOF", ""])


def test_without_the_records_the_rules_are_asked_for(server: PrometheusServer):
    before = Window.ending(END - timedelta(days=30), hours=24)
    with pytest.raises(IntegrityError, match=r"no series tuppence:cluster_coverage_ratio:1h .*Load dashboards/rules"):
        read_usage(PrometheusSettings(url=server.url), before)


def matrix(*series: Mapping[str, str]) -> Answer:
    result = [{"metric": dict(labels), "values": [[END.timestamp(), "1"]]} for labels in series]
    return Answer(json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}}))


def counted(**series: int) -> Answer:
    result = [{"metric": {"__name__": name}, "value": [0, str(number)]} for name, number in series.items()]
    return Answer(json.dumps({"status": "success", "data": {"resultType": "vector", "result": result}}))


@pytest.mark.parametrize("workloads", [1, 500])
def test_the_number_of_queries_does_not_grow_with_the_workloads(workloads: int):
    labels = [
        {"cluster": "c1", "namespace": "n", "workload_kind": "Job", "workload": f"w{n}"} for n in range(workloads)
    ]
    with fake_prometheus() as fake:
        amounts = [matrix(*labels)] * (len(AMOUNTS) + len(USAGES))
        of_labels_and_nodes = [matrix(*labels)] * (4 + len(FLEET_RECORDS))
        peaks = [counted()] * len(PEAKS)
        fake.answers = [counted(), matrix({"cluster": "c1"}), *amounts, *peaks, *of_labels_and_nodes, counted()]
        read = read_usage(PrometheusSettings(url=fake.url), WINDOW)
    assert read.samples.height == workloads
    assert len(fake.asked) == 1 + len(RECORDS)


def test_a_record_with_too_many_series_is_not_asked_for():
    with fake_prometheus() as fake:
        fake.answers = [
            counted(**{COVERAGE: 5, "tuppence:workload_replicas:mean1h": 100_000}),
            matrix({"cluster": "c1"}),
        ]
        with pytest.raises(SettingsError, match=r"would return 6000000 points, more than 5000000; it was not"):
            read_usage(PrometheusSettings(url=fake.url), WINDOW)
    assert len(fake.asked) == 2


def test_the_latest_of_two_labels_stands():
    def labelled(owner: str, hour: int) -> dict[str, Any]:
        return samples([hour])[0] | {"owner": owner}

    window = Window(start=MONDAY, end=MONDAY + timedelta(hours=4))
    with holding(recorded([labelled("old", 0), labelled("old", 1), labelled("new", 2), labelled("new", 3)])) as running:
        stated = read_usage(PrometheusSettings(url=running.url), window).stated
    assert stated.select("workload", "attribute", "value").rows() == [("web", "owner", "new")]


@pytest.mark.parametrize("value", ["NaN", "-1"])
def test_a_coverage_that_cannot_be_is_an_error_because_everything_rests_on_it(value: str):
    result = [{"metric": {"cluster": "c1"}, "values": [[END.timestamp(), value]]}]
    body = json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}})
    with fake_prometheus() as fake:
        fake.answers = [counted(), Answer(body)]
        with pytest.raises(IntegrityError, match=rf"record '{COVERAGE}' holds 1 values that cannot be, such as .*c1"):
            read_usage(PrometheusSettings(url=fake.url), WINDOW)
