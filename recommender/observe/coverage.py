"""How much of the window each cluster was observed for: what tells idleness from missing data.

Everything is in UTC, so that a week is 168 hours also when the clocks change. A time at which a cluster was not
observed is unknown: it counts neither as usage nor as idleness.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

import dataframely as dy
import polars as pl

from recommender.frames import ClusterSample, NotEnoughData
from recommender.settings import ClusterSettings

LONGEST_STEP_SECONDS = 3_600
"""Samples stand at most an hour apart; sparser ones leave gaps."""


class Reason(StrEnum):
    """Why nothing can be advised of a workload or a cluster; place has further reasons, read from the workload."""

    CLUSTER_NOT_SEEN = "cluster-not-seen"
    NEVER_RAN = "never-ran"
    VANISHED = "vanished"
    NEW = "new"
    ATTRIBUTE_WRONG = "attribute-wrong"
    GPU_MODEL_UNKNOWN = "gpu-model-unknown"
    USAGE_WRONG = "usage-wrong"
    NOT_IN_SETTINGS = "not-in-settings"
    POOL_NOT_SEEN = "pool-not-seen"
    POOL_NOT_IN_SETTINGS = "pool-not-in-settings"
    POOL_NOT_NAMED = "pool-not-named"
    EGRESS_UNKNOWN = "egress-unknown"


@dataclass(frozen=True, slots=True)
class Window:
    """The time that usage is read over, from start to before end, in UTC."""

    start: datetime
    end: datetime

    @classmethod
    def ending(cls, end: datetime, *, hours: int) -> Window:
        """This will return the window of so many hours before a moment."""
        return cls(start=end - timedelta(hours=hours), end=end)

    @property
    def seconds(self) -> float:
        """The window's length, seconds."""
        return (self.end - self.start).total_seconds()

    def holds(self) -> pl.Expr:
        """This will return whether a row's timestamp lies in the window."""
        return pl.col("timestamp").is_between(self.start, self.end, closed="left")


@dataclass(frozen=True, slots=True)
class Coverage:
    """What was observed in the window.

    Args:
        step_seconds: time between two samples.
        steps: cluster, step, weight: the share of each step of the window in which a cluster was observed.
        clusters: cluster, coverage_ratio, observed_steps (Σ of weights), last_step.
    """

    step_seconds: int
    steps: pl.DataFrame
    clusters: pl.DataFrame


def step_of(window: Window, step_seconds: int) -> pl.Expr:
    """This will return the number of the step, from 0, that a timestamp falls into."""
    since_start = (pl.col("timestamp") - window.start).dt.total_microseconds()
    return (since_start // (step_seconds * 1_000_000)).cast(pl.Int64).alias("step")


def coverage_of(observed: dy.DataFrame[ClusterSample], window: Window) -> Coverage:
    """This will measure each cluster's coverage: observed steps of the window / all its steps."""
    inside = observed.filter(window.holds())
    seconds = _step_seconds(inside)
    steps = (
        inside.with_columns(step_of(window, seconds))
        .group_by("cluster", "step")
        .agg(pl.col("coverage_ratio").max().alias("weight"))
        .filter(pl.col("weight") > 0)
    )
    clusters = steps.group_by("cluster").agg(
        (pl.col("weight").sum() * seconds / window.seconds).clip(upper_bound=1).alias("coverage_ratio"),
        pl.col("weight").sum().alias("observed_steps"),
        pl.col("step").max().alias("last_step"),
    )
    return Coverage(step_seconds=seconds, steps=steps, clusters=clusters)


def clusters_not_seen(
    observed: dy.DataFrame[ClusterSample], clusters: Sequence[ClusterSettings], window: Window
) -> dy.DataFrame[NotEnoughData]:
    """This will name the clusters of the fleet that the window has no sample of."""
    inside = set(observed.filter(window.holds())["cluster"])
    last = dict(observed.group_by("cluster").agg(pl.col("timestamp").max()).iter_rows())
    rows = [
        {
            "cluster": cluster.name,
            "namespace": "",
            "workload_kind": "",
            "workload": "",
            "reason": Reason.CLUSTER_NOT_SEEN.value,
            "why": f"no sample from {window.start:%Y-%m-%d %H:%M} to {window.end:%Y-%m-%d %H:%M} UTC"
            + (f"; the last one is of {last[cluster.name]:%Y-%m-%d %H:%M}" if cluster.name in last else ""),
            "next_step": "Check the cluster's label and its scrape or export, or take it out of the section clusters.",
        }
        for cluster in clusters
        if cluster.name not in inside
    ]
    return NotEnoughData.validate(pl.DataFrame(rows, schema=NotEnoughData.create_empty().schema).sort("cluster"))


def _step_seconds(observed: pl.DataFrame) -> int:
    """The commonest time between two samples of a cluster, the shorter of two equally common ones, at most an hour."""
    gaps = (
        observed.sort("cluster", "timestamp")
        .select(pl.col("timestamp").diff().over("cluster").dt.total_seconds().alias("seconds"))
        .filter(pl.col("seconds") > 0)
        .group_by("seconds")
        .len()
        .sort("len", "seconds", descending=[True, False])
    )
    return min(LONGEST_STEP_SECONDS, int(gaps["seconds"][0])) if gaps.height else LONGEST_STEP_SECONDS
