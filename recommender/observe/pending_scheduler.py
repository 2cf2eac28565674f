"""The watch: pods that wait for a scheduler which is not the default one, from Prometheus.

A pod whose schedulerName names nobody waits for ever, and no event of the default scheduler says so. One query,
whatever the number of pods: the record of dashboards/rules/watch.yaml, of which the least over the last minutes counts,
so that what is scheduled in time is never told.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

import dataframely as dy
import polars as pl

from exporters.core.errors import IntegrityError
from recommender.observe.prometheus import Prometheus, Query
from recommender.observe.workload_kinds import spelt_as_kubernetes
from recommender.settings import PrometheusSettings

RECORD = "tuppence:workload_pods_pending_on_other_scheduler:count"
_LABELS = ("namespace", "workload_kind", "workload", "scheduler")


class PendingOnOtherScheduler(dy.Schema):
    """Pods of one workload that wait for one scheduler."""

    cluster = dy.String(primary_key=True)
    namespace = dy.String(primary_key=True)
    workload_kind = dy.String(primary_key=True)
    workload = dy.String(primary_key=True)
    scheduler = dy.String(primary_key=True, description="spec.schedulerName, never default-scheduler")
    pods = dy.UInt32(min=1, description="the fewest that waited at any time of these minutes")
    minutes = dy.UInt32(min=1)


def read_pending(
    settings: PrometheusSettings, *, at: datetime, minutes: int, settled: Collection[str] = ()
) -> dy.DataFrame[PendingOnOtherScheduler]:
    """This will read which pods have waited for another scheduler for so many minutes.

    Args:
        settings: the server, and the name of its cluster label.
        at: the moment (UTC).
        minutes: how long they have waited at least.
        settled: schedulers whose pods are left to them.

    Raises:
        SettingsError: the server is named in a way that cannot be used.
        SourceError: the server did not answer.
        IntegrityError: the answer is partial, or a series has no cluster.
    """
    labels = (settings.cluster_label, *_LABELS)
    with Prometheus(settings) as server:
        rows = server.instant(_query(minutes, labels), at=at, labels=labels)
    named = rows.rename({settings.cluster_label: "cluster"})
    if "" in named["cluster"]:
        raise IntegrityError(
            f"{RECORD} carries no label {settings.cluster_label!r}, so it is not known which cluster it is of",
            where=settings.url,
            next_step="Set it by relabelling at the scrape, or name the right label in usage.prometheus.cluster_label.",
        )
    key = PendingOnOtherScheduler.primary_key()
    found = (
        named.filter((pl.col("value") >= 1) & ~pl.col("scheduler").is_in(list(settled)))
        .with_columns(spelt_as_kubernetes())
        .group_by(key)
        .agg(pods=pl.col("value").sum().cast(pl.UInt32))
        .with_columns(minutes=pl.lit(minutes, dtype=pl.UInt32))
    )
    return PendingOnOtherScheduler.validate(found.select(PendingOnOtherScheduler.column_names()).sort(key))


def _query(minutes: int, labels: tuple[str, ...]) -> Query:
    """There now and there before; a series that has only begun has no least of that many minutes."""
    by = ", ".join(labels)
    there = f"max by ({by}) ({RECORD} offset {minutes}m)"
    least = f"max by ({by}) (min_over_time({RECORD}[{minutes}m]))"
    return Query(RECORD, f"{least} and max by ({by}) ({RECORD}) and {there}")
