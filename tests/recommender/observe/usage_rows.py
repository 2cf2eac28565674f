"""Small usage for tests: a cluster, its policy and samples by the hour."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl

from recommender.frames import ClusterSample, StatedAttribute, UsageSample
from recommender.observe.coverage import Window
from recommender.observe.usage import Usage
from recommender.settings import ClusterSettings

MONDAY = datetime(2026, 11, 23, tzinfo=UTC)
WEEK = Window.ending(MONDAY + timedelta(days=7), hours=168)

SAMPLE: dict[str, Any] = {
    "cluster": "c1",
    "namespace": "shop",
    "workload_kind": "Deployment",
    "workload": "web",
    "pool": "general",
    "instance_type": "m6i.large",
    "capacity_type": "on-demand",
    "replicas": 1.0,
    "vcpu_request": 2.0,
    "memory_gib_request": 8.0,
    "gpu_request": 0.0,
    "gpu_model": "",
    "vcpu_usage": None,
    "memory_gib_usage": None,
    "gpu_usage_ratio": None,
    "pending_replicas": 0.0,
    "replicas_peak": None,
    "vcpu_request_peak": None,
    "memory_gib_request_peak": None,
    "gpu_request_peak": None,
}


def cluster(name: str = "c1", **values: Any) -> ClusterSettings:
    pool = {"name": "general", "capacity_type": "on-demand", "instance_types": ("m6i.large",)}
    return ClusterSettings(**{"name": name, "provider": "aws", "region": "eu-west-2", "pools": (pool,)} | values)


def samples(hours: Iterable[int], *, start: datetime = MONDAY, **values: Any) -> list[dict[str, Any]]:
    """One sample in each of the hours after the start."""
    return [{"timestamp": start + timedelta(hours=hour)} | SAMPLE | values for hour in hours]


def usage(
    *groups: list[dict[str, Any]],
    stated: Iterable[tuple[str, ...]] = (),
    observed: dict[str, Iterable[int]] | None = None,
    start: datetime = MONDAY,
) -> Usage:
    """Usage of these samples; a cluster was observed whenever it has one, or at the given hours."""
    rows = [row for group in groups for row in group]
    moments = {(row["cluster"], row["timestamp"]) for row in rows}
    if observed is not None:
        moments = {(name, start + timedelta(hours=hour)) for name, hours in observed.items() for hour in hours}
    return Usage(
        samples=UsageSample.validate(
            pl.DataFrame(rows, schema=UsageSample.create_empty().schema).select(UsageSample.column_names())
        ),
        stated=StatedAttribute.validate(
            pl.DataFrame(list(stated), schema=StatedAttribute.create_empty().schema, orient="row")
        ),
        observed=ClusterSample.validate(
            pl.DataFrame(
                [(name, moment, 1.0) for name, moment in sorted(moments)],
                schema=ClusterSample.create_empty().schema,
                orient="row",
            )
        ),
    )
