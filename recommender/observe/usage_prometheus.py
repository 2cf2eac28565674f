"""Usage from Prometheus: the hourly records of dashboards/rules/recording.yaml become the samples a file would hold.

A fixed number of queries whatever the number of workloads: one counts the series of every record, then each record is
read once. A sample's timestamp is the start of the hour that it is a mean of. An hour that a cluster was not observed
in is missing from `observed`, never a zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import polars as pl

from exporters.core.errors import IntegrityError
from recommender.frames import WORKLOAD_KEY, ClusterSample, StatedAttribute, UsageSample
from recommender.observe.coverage import Window
from recommender.observe.egress_prometheus import EGRESS_RECORDS, read_egress
from recommender.observe.fleet_prometheus import FLEET_RECORDS, read_pools
from recommender.observe.prometheus import Prometheus, Stored
from recommender.observe.records import HOUR, Records, possible
from recommender.observe.usage import ATTRIBUTE_NAMES, PRIORITY_CLASS, Usage, canonical_gpu_model
from recommender.settings import PrometheusSettings

WORKLOAD = ("namespace", "workload_kind", "workload")
PLACE = ("pool", "instance_type", "capacity_type")
KEY = ("cluster", *WORKLOAD, *PLACE)
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
RECORDS = (
    COVERAGE,
    *AMOUNT_RECORDS.values(),
    *(WORKLOAD_LABELS, NAMESPACE_LABELS, PRIORITY, LOCAL_VOLUME),
    *FLEET_RECORDS,
    *EGRESS_RECORDS,
)


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
        records = Records(server, settings, window)
        records.count(RECORDS)
        covered = records.read(COVERAGE, ())
        _check_there(covered, settings, window)
        observed = ClusterSample.validate(
            covered.select("cluster", "timestamp", pl.col("value").clip(upper_bound=1).alias("coverage_ratio"))
        )
        samples, wrong = _samples(records)
        hours = observed.group_by("cluster").agg(pl.col("coverage_ratio").sum().alias("hours"))
        return Usage(
            samples=UsageSample.validate(samples),
            stated=StatedAttribute.validate(_stated(records)),
            observed=observed,
            wrong=wrong,
            pools=read_pools(records, observed),
            egress=read_egress(records, hours.filter(pl.col("hours") > 0)),
        )


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


def _samples(records: Records) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Every record beside the others, one row a workload, place and hour; and the workloads with impossible values.

    While they are put together a workload and place is a number, and with the hour one number: a week of 10,000
    workloads has millions of hours, and their names would fill the memory.
    """
    hourly = {
        column: records.stored(record, (*WORKLOAD, *_place(column), *_model(column)))
        for column, record in {**AMOUNTS, **USAGES}.items()
    }
    labels = pl.concat([one.labels for one in hourly.values()], how="diagonal")
    keys = labels.with_columns(pl.col(*PLACE).fill_null("")).select(KEY).unique().sort(KEY).with_row_index("key")
    slots = {column: _by_slot(one, keys, records) for column, one in hourly.items()}
    together = pl.concat([one.select("slot") for one in slots.values()]).unique().sort("slot")
    for column, one in slots.items():
        value = pl.col("value").mean() if column == "gpu_usage_ratio" else pl.col("value").sum()
        of_slot = one.filter(possible("value")).group_by("slot").agg(value.alias(column))
        together = together.join(of_slot, on="slot", how="left", maintain_order="left")
    for column, record in PEAKS.items():
        peaks = records.rolled_up("max_over_time", record, (*WORKLOAD, *PLACE, *_model(column)))
        together = _with_peak(together, column, peaks.join(keys, on=KEY), records)
    samples = (
        together.join(_models(slots.values()), on="slot", how="left", maintain_order="left")
        .with_columns(_key_of_slot(records), timestamp=records.window.start + (pl.col("slot") % records.hours) * HOUR)
        .join(keys, on="key", how="left", maintain_order="left")
        .with_columns(
            pl.col(*AMOUNTS).fill_null(0.0),
            pl.col("gpu_usage_ratio").clip(upper_bound=1),
            pl.col("gpu_model").fill_null(""),
        )
        .select(UsageSample.column_names())
    )
    return samples, _wrong(slots, keys, records)


def _with_peak(together: pl.DataFrame, column: str, peaks: pl.DataFrame, records: Records) -> pl.DataFrame:
    """The peak of the window stands at the hour with the greatest mean, for only the greatest of all hours counts."""
    mean = column.removesuffix("_peak")
    busiest = (
        together.filter(pl.col(mean).is_not_null())
        .group_by(_key_of_slot(records))
        .agg(pl.col("slot").get(pl.col(mean).arg_max()))
    )
    of_key = peaks.filter(pl.col("value") >= 0).group_by("key").agg(pl.col("value").sum().alias(column))
    of_slot = of_key.join(busiest, on="key").drop("key")
    return together.join(of_slot, on="slot", how="left", maintain_order="left")


def _wrong(slots: Mapping[str, pl.DataFrame], keys: pl.DataFrame, records: Records) -> pl.DataFrame:
    """Workloads of which a record holds what cannot be: WORKLOAD_KEY and why."""
    parts = [
        one.filter(~possible("value"))
        .with_columns(_key_of_slot(records), why=pl.format(f"{AMOUNT_RECORDS[column]} is {{}}", "value"))
        .select("key", "why")
        for column, one in slots.items()
    ]
    named = pl.concat(parts).join(keys, on="key")
    return named.group_by(WORKLOAD_KEY).agg(pl.col("why").sort().first()).sort(WORKLOAD_KEY)


def _key_of_slot(records: Records) -> pl.Expr:
    return (pl.col("slot") // records.hours).cast(pl.UInt32).alias("key")


def _place(column: str) -> tuple[str, ...]:
    return () if column == "pending_replicas" else PLACE


def _model(column: str) -> tuple[str, ...]:
    return ("gpu_model",) if column.startswith("gpu_") else ()


def _by_slot(one: Stored, keys: pl.DataFrame, records: Records) -> pl.DataFrame:
    """Slot (number of the key × hours + hour), gpu_model where the record has it, and value; replicas count once."""
    named = one.labels.with_columns(pl.lit("").alias(name) for name in PLACE if name not in one.labels.columns)
    numbered = named.join(keys, on=KEY).drop("cluster", *WORKLOAD, *PLACE)
    hour = (pl.col("timestamp") - records.window.start).dt.total_hours()
    slot = (pl.col("key").cast(pl.Int64) * records.hours + hour).alias("slot")
    rows = one.points.join(numbered, on="series").with_columns(slot).drop("series", "key", "timestamp")
    if numbered.drop("series").is_duplicated().any():
        return rows.group_by(pl.exclude("value")).agg(pl.col("value").max())
    return rows


def _models(slots: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """The first GPU model of a slot that has any, spelt as the prices do."""
    told = [one.select("slot", canonical_gpu_model("gpu_model")) for one in slots if "gpu_model" in one.columns]
    return pl.concat(told).filter(pl.col("gpu_model") != "").group_by("slot").agg(pl.col("gpu_model").min())


def _stated(records: Records) -> pl.DataFrame:
    """What labels say, the latest of each; a label of the workload stands over what its volumes say."""
    of_workload = records.latest(WORKLOAD_LABELS, (*WORKLOAD, *LABELLED)).rename(LABELLED)
    of_namespace = (
        records.latest(NAMESPACE_LABELS, ("namespace", *LABELLED))
        .rename(LABELLED)
        .with_columns(pl.lit("").alias(name) for name in ("workload_kind", "workload"))
    )
    priority = records.latest(PRIORITY, (*WORKLOAD, PRIORITY_CLASS))
    local = records.latest(LOCAL_VOLUME, WORKLOAD).with_columns(local_volume=pl.lit("true"))
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
