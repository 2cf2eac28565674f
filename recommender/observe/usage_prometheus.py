"""Usage from Prometheus: the hourly records of dashboards/rules/recording.yaml become the samples a file would hold.

A fixed number of queries whatever the number of workloads: one counts the series of every record, then each record is
read once. A sample's timestamp is the start of the hour that it is a mean of. An hour that a cluster was not observed
in is missing from `observed`, never a zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

import polars as pl

from exporters.core.errors import IntegrityError
from recommender.frames import ClusterSample, StatedAttribute, UsageSample
from recommender.observe.coverage import Window
from recommender.observe.prometheus import Prometheus, Query, Steps
from recommender.observe.usage import ATTRIBUTE_NAMES, PRIORITY_CLASS, Usage, canonical_gpu_model
from recommender.settings import PrometheusSettings

HOUR = timedelta(hours=1)
NEWEST_OF_HOUR = "59m59s999ms"
"""Just under an hour, because a range that is closed at both ends (Prometheus 2) would read the hour before again."""

WORKLOAD = ("namespace", "workload_kind", "workload")
PLACE = ("pool", "instance_type", "capacity_type")
COVERAGE = "tuppence:cluster_coverage_ratio:1h"
AMOUNTS: Mapping[str, str] = {
    "replicas": "tuppence:workload_replicas:mean1h",
    "vcpu_request": "tuppence:workload_vcpu_request:mean1h",
    "memory_gib_request": "tuppence:workload_memory_gib_request:mean1h",
    "gpu_request": "tuppence:workload_gpu_request:mean1h",
    "pending_replicas": "tuppence:workload_pending_replicas:mean1h",
}
PEAKS: Mapping[str, str] = {
    "replicas_peak": "tuppence:workload_replicas:max1h",
    "vcpu_request_peak": "tuppence:workload_vcpu_request:max1h",
    "memory_gib_request_peak": "tuppence:workload_memory_gib_request:max1h",
    "gpu_request_peak": "tuppence:workload_gpu_request:max1h",
}
USAGES: Mapping[str, str] = {
    "vcpu_usage": "tuppence:workload_vcpu_usage:mean1h",
    "memory_gib_usage": "tuppence:workload_memory_gib_usage:mean1h",
    "gpu_usage_ratio": "tuppence:workload_gpu_usage_ratio:mean1h",
}
WORKLOAD_LABELS = "tuppence:workload_attributes:info"
NAMESPACE_LABELS = "tuppence:namespace_attributes:info"
PRIORITY = "tuppence:workload_priority:info"
LOCAL_VOLUME = "tuppence:workload_local_volume:info"

LABELLED = {f"label_tuppence_{name}": name for name in ATTRIBUTE_NAMES if name not in ("flows", PRIORITY_CLASS)}
"""kube-state-metrics writes the label tuppence/owner as label_tuppence_owner. A flow fits into no label."""

AMOUNT_RECORDS: Mapping[str, str] = {**AMOUNTS, **PEAKS, **USAGES}
RECORDS = (COVERAGE, *AMOUNT_RECORDS.values(), WORKLOAD_LABELS, NAMESPACE_LABELS, PRIORITY, LOCAL_VOLUME)


def read_usage(settings: PrometheusSettings, window: Window) -> Usage:
    """This will read a window of usage, hour by hour.

    Args:
        settings: the server, and the name of its cluster label.
        window: from start to before end; its steps are hours from its start.

    Raises:
        SettingsError: a query is over the points budget, or the server is named in a way that cannot be used.
        SourceError: the server did not answer.
        IntegrityError: the records are not there, carry no cluster label, or an answer is partial.
    """
    with Prometheus(settings) as server:
        reader = _Reader(server, settings, window)
        reader.count()
        observed = reader.read(COVERAGE, ())
        _check_there(observed, settings, window)
        return Usage(
            samples=UsageSample.validate(_samples(reader)),
            stated=StatedAttribute.validate(_stated(reader)),
            observed=ClusterSample.validate(
                observed.select("cluster", "timestamp", pl.col("value").alias("coverage_ratio"))
            ),
        )


class _Reader:
    """Reads whole records over the window, each within the points budget."""

    def __init__(self, server: Prometheus, settings: PrometheusSettings, window: Window) -> None:
        self._server = server
        self._cluster = settings.cluster_label
        self._window = window
        self._series: dict[str, int] = {}

    def count(self) -> None:
        """This will count the series of every record in one cheap query."""
        hours = round(self._window.seconds / HOUR.total_seconds())
        names = "|".join(RECORDS)
        query = Query(
            "series of each record", f'count by (__name__) (last_over_time({{__name__=~"{names}"}}[{hours}h]))'
        )
        counted = self._server.instant(query, at=self._window.end, labels=("__name__",))
        self._series = {str(name): int(number) for name, number in counted.iter_rows()}

    def read(self, record: str, labels: tuple[str, ...]) -> pl.DataFrame:
        """This will return a record: cluster, the labels, timestamp (the start of the hour), value.

        Further labels, such as those of replicas of one Prometheus, are maximised away.
        """
        by = ", ".join((self._cluster, *labels))
        expression = f"max by ({by}) (last_over_time({record}[{NEWEST_OF_HOUR}]))"
        steps = Steps(start=self._window.start + HOUR, end=self._window.end, step=HOUR)
        frame = self._server.range(
            Query(record, expression), steps, labels=(self._cluster, *labels), series=self._series.get(record, 0)
        )
        return frame.rename({self._cluster: "cluster"}).with_columns(pl.col("timestamp") - HOUR)


def _check_there(observed: pl.DataFrame, settings: PrometheusSettings, window: Window) -> None:
    if observed.is_empty():
        raise IntegrityError(
            f"there is no series {COVERAGE} from {window.start:%Y-%m-%d %H:%M} to {window.end:%Y-%m-%d %H:%M} UTC",
            where=settings.url,
            next_step="Load dashboards/rules/recording.yaml into Prometheus; its first hour is there after an hour.",
        )
    if "" in observed["cluster"]:
        raise IntegrityError(
            f"records carry no label {settings.cluster_label!r}, so it is not known which cluster they are of",
            where=settings.url,
            next_step="Set it by relabelling at the scrape (external_labels are not seen by local queries), or name "
            "the right label in usage.prometheus.cluster_label.",
        )


def _samples(reader: _Reader) -> pl.DataFrame:
    parts = []
    for column, record in AMOUNT_RECORDS.items():
        place = () if column == "pending_replicas" else PLACE
        model = ("gpu_model",) if column.startswith("gpu_") else ()
        parts.append(reader.read(record, (*WORKLOAD, *place, *model)).rename({"value": column}))
    key = UsageSample.primary_key()
    together = pl.concat(parts, how="diagonal").with_columns(pl.col(*PLACE, "gpu_model").fill_null(""))
    return (
        together.with_columns(canonical_gpu_model("gpu_model"))
        .group_by(key)
        .agg(
            *(pl.col(name).sum() for name in AMOUNTS),
            *(
                pl.when(pl.col(name).count() > 0).then(pl.col(name).sum()).alias(name)
                for name in (*PEAKS, *USAGES)
                if name != "gpu_usage_ratio"
            ),
            pl.col("gpu_usage_ratio").mean().clip(upper_bound=1),
            pl.col("gpu_model").filter(pl.col("gpu_model") != "").sort().first().fill_null(""),
        )
        .select(UsageSample.column_names())
    )


def _stated(reader: _Reader) -> pl.DataFrame:
    """What labels say, the latest of each; a label of the workload stands over what its volumes say."""
    of_workload = reader.read(WORKLOAD_LABELS, (*WORKLOAD, *LABELLED)).drop("value").rename(LABELLED)
    of_namespace = (
        reader.read(NAMESPACE_LABELS, ("namespace", *LABELLED))
        .drop("value")
        .rename(LABELLED)
        .with_columns(pl.lit("").alias(name) for name in ("workload_kind", "workload"))
    )
    priority = reader.read(PRIORITY, (*WORKLOAD, PRIORITY_CLASS)).drop("value")
    local = reader.read(LOCAL_VOLUME, WORKLOAD).drop("value").with_columns(local_volume=pl.lit("true"))
    key = StatedAttribute.primary_key()
    index = ["cluster", *WORKLOAD, "timestamp"]
    long = [
        frame.unpivot(index=index, variable_name="attribute", value_name="value").with_columns(rank=pl.lit(rank))
        for rank, frame in enumerate((of_workload, of_namespace, priority, local))
    ]
    return (
        pl.concat(long, how="diagonal")
        .filter(pl.col("value") != "")
        .sort(*key, "rank", "timestamp", "value", descending=[False] * (len(key) + 1) + [True, False])
        .unique(key, keep="first", maintain_order=True)
        .select(StatedAttribute.column_names())
    )
