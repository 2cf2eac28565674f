"""Usage of the own racks over three days: full, with pods that wait, or with room."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import polars as pl

from recommender.burst.burst import Observation
from recommender.burst.frames import ActiveBurst
from recommender.forecast.demand import demand
from recommender.forecast.forecast import forecast
from recommender.frames import ClusterSample, UsageSample
from recommender.settings import ForecastSettings
from tests.builders import NOON
from tests.recommender.burst.home import FITS, pods
from tests.recommender.observe.usage_rows import SAMPLE
from tests.recommender.world import workloads

HOURS = 72
SETTINGS = ForecastSettings(time_zone="UTC", embargo_seconds=0)
Rows = list[dict[str, Any]]


def samples(row: dict[str, Any], hours: list[int], **changes: Any) -> Rows:
    """This will return samples of a workload of one replica, so many hours before noon."""
    at = {
        "cluster": row["cluster"],
        "namespace": row["namespace"],
        "workload_kind": row["workload_kind"],
        "workload": row["workload"],
        "pool": row["pool"],
        "instance_type": row["instance_type"],
        "capacity_type": row["capacity_type"],
        "vcpu_request": row["vcpu_request_mean"],
        "memory_gib_request": row["memory_gib_request_mean"],
    }
    return [SAMPLE | at | {"timestamp": NOON - timedelta(hours=hour)} | changes for hour in hours]


def full_usage(extra: int, *, for_hours: int, hours: int = HOURS) -> tuple[Rows, Rows]:
    """This will return workloads and usage of a full cluster with so many pods more, that wait since some hours."""
    rows = pods(FITS + extra)
    used = [one for row in rows[:FITS] for one in samples(row, list(range(1, hours)))]
    late = {"pool": "", "instance_type": "", "capacity_type": ""}
    waits = {"replicas": 0.0, "vcpu_request": 0.0, "memory_gib_request": 0.0, "pending_replicas": 1.0}
    for row in rows[FITS:]:
        used += samples(row, [hours], **late)
        used += samples(row, list(range(1, for_hours + 1)), **waits, **late)
    return rows, used


def later(used: Rows, hours: float) -> Rows:
    """This will return the same usage so many hours later."""
    return [row | {"timestamp": row["timestamp"] + timedelta(hours=hours)} for row in used]


def observation(rows: Rows, used: Rows, active: pl.DataFrame | None = None, *, seen_at: datetime = NOON) -> Observation:
    """This will return what is known of use, with forecasts of it at a moment."""
    usage = UsageSample.validate(pl.DataFrame(used, schema=UsageSample.create_empty().schema))
    observed = ClusterSample.validate(usage.select("cluster", "timestamp", coverage_ratio=1.0).unique())
    known = workloads(*rows)
    wanted = demand(usage, observed, known)
    running = ActiveBurst.create_empty() if active is None else ActiveBurst.validate(active)
    return Observation(usage, observed, known, wanted, forecast(wanted, SETTINGS, at=seen_at), running)
