"""The watch as samples of metrics: pods that waited for another scheduler."""

from __future__ import annotations

from collections.abc import Iterator

import dataframely as dy
import polars as pl

from recommender.observe.pending_scheduler import PendingOnOtherScheduler

Sample = tuple[str, tuple[str, ...], float]


def watch_samples(pending: dy.DataFrame[PendingOnOtherScheduler] | None) -> Iterator[Sample]:
    """This will yield the samples of the metrics WATCH of the catalogue; None, which is not told, has none."""
    if pending is None:
        return
    rows = pending.group_by("cluster", "scheduler").agg(pl.col("pods").sum()).sort("cluster", "scheduler")
    for cluster, scheduler, pods in rows.iter_rows():
        yield "tuppence_pods_pending_on_other_scheduler", (cluster, scheduler), float(pods)
