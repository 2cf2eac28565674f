"""A week of usage from a seed: data/workloads.csv and the shapes become the rows of a usage file.

The same seed and the same end give the same rows. It is made to be looked at by somebody who knows such bills: a store
that idles at night, batch that runs when nobody looks, GPUs that are full at 14:00, an outage of the metrics, a
workload that went and one that came.
"""

from __future__ import annotations

import csv
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib.resources import files

import polars as pl

from recommender.demo.shapes import HOURS, SHAPES, Hour, waiting
from recommender.settings import ClusterSettings

GPU_MODELS = {
    "a100-8": "A100-80GB",
    "l4-4": "L4",
    "g6.2xlarge": "L4",
    "g2-standard-8": "L4",
    "g5.2xlarge": "A10G",
    "g4dn.2xlarge": "T4",
    "Standard_NC8as_T4_v3": "T4",
}
OUTAGE = ("gke-europe-west2", range(70, 84))
"""A cluster whose metrics are missing for fourteen hours: covered by 92 %, and no hour of it may count as idle."""
MEMORY_BUSY = 0.65
SMALLER_BEFORE = {"web": 0.85, "gpu-day": 0.75}
"""By shape: what ran in the weeks before, as a share of what runs in the last one."""

SCHEMA: dict[str, pl.DataType] = {
    "timestamp": pl.Datetime("us", "UTC"),
    **dict.fromkeys(
        ("cluster", "pool", "instance_type", "capacity_type", "namespace", "workload_kind", "workload"), pl.String()
    ),
    **dict.fromkeys(("replicas", "vcpu_request", "memory_gib_request", "gpu_request"), pl.Float64()),
    "gpu_model": pl.String(),
    **dict.fromkeys(("vcpu_usage", "memory_gib_usage", "gpu_usage_ratio", "pending_replicas"), pl.Float64()),
    "owner": pl.String(),
}


@dataclass(frozen=True, slots=True)
class DemoWorkload:
    """One row of data/workloads.csv; amounts are per replica, busy is usage ÷ request."""

    cluster: str
    pool: str
    instance_type: str
    namespace: str
    workload_kind: str
    workload: str
    replicas: int
    vcpus: float
    memory_gib: float
    gpus: float
    shape: str
    busy: float
    owner: str


def demo_workloads() -> tuple[DemoWorkload, ...]:
    """This will read the table of workloads."""
    text = files("recommender.demo.data").joinpath("workloads.csv").read_text(encoding="utf-8")
    numbers = {"replicas": int} | dict.fromkeys(("vcpus", "memory_gib", "gpus", "busy"), float)
    return tuple(
        DemoWorkload(**{name: numbers.get(name, str)(value) for name, value in row.items()})  # type: ignore[arg-type]
        for row in csv.DictReader(text.splitlines())
    )


def week_of_usage(clusters: Sequence[ClusterSettings], *, until: datetime, seed: int, weeks: int = 1) -> pl.DataFrame:
    """This will return the 168 hourly rows a workload before a moment, in the columns of a usage file.

    The last week is the same however many go before it; in those the shop and the training were smaller.

    Args:
        clusters: the fleet, which says how each pool is bought.
        until: the end, a full hour in UTC; the last row starts an hour before.
        seed: of the noise.
        weeks: how many.
    """
    bought = {(cluster.name, pool.name): pool.capacity_type for cluster in clusters for pool in cluster.pools}
    start = until - timedelta(hours=HOURS)
    rows = [
        {"timestamp": start + timedelta(hours=number), "capacity_type": bought.get((workload.cluster, workload.pool))}
        | row
        for week in range(weeks)
        for workload in demo_workloads()
        for number, row in _rows(workload, _hours(start, week), f"{seed}/{week}" if week else str(seed), week)
    ]
    return pl.DataFrame(rows, schema=SCHEMA).sort("timestamp", "cluster", "namespace", "workload_kind", "workload")


def _hours(start: datetime, week: int) -> list[Hour]:
    """The hours of a week; those before the last one have numbers below zero."""
    numbers = range(-HOURS * week, HOURS - HOURS * week)
    return [Hour.of(number, start + timedelta(hours=number)) for number in numbers]


def _rows(
    workload: DemoWorkload, hours: Sequence[Hour], seed: str, week: int
) -> Iterator[tuple[int, dict[str, object]]]:
    noise = random.Random(f"{seed}/{workload.cluster}/{workload.namespace}/{workload.workload}")
    for hour in hours:
        share = SHAPES[workload.shape](hour) * (SMALLER_BEFORE.get(workload.shape, 1.0) if week else 1.0)
        busy = min(1.0, max(0.02, workload.busy * noise.gauss(1, 0.08)))
        memory_busy = min(1.0, max(0.1, MEMORY_BUSY * noise.gauss(1, 0.03)))
        if share > 0 and not _out(workload.cluster, hour.number):
            yield hour.number, _row(workload, hour, share, busy, memory_busy)


def _row(workload: DemoWorkload, hour: Hour, share: float, busy: float, memory_busy: float) -> dict[str, object]:
    replicas = float(max(1, round(workload.replicas * share)))
    vcpus, memory_gib = replicas * workload.vcpus, replicas * workload.memory_gib
    return {
        "cluster": workload.cluster,
        "pool": workload.pool or None,
        "instance_type": workload.instance_type or None,
        "namespace": workload.namespace,
        "workload_kind": workload.workload_kind,
        "workload": workload.workload,
        "replicas": replicas,
        "vcpu_request": round(vcpus, 4),
        "memory_gib_request": round(memory_gib, 4),
        "gpu_request": replicas * workload.gpus,
        "gpu_model": GPU_MODELS[workload.instance_type] if workload.gpus else None,
        "vcpu_usage": round(vcpus * (0.1 if workload.gpus else busy), 4),
        "memory_gib_usage": round(memory_gib * memory_busy, 4),
        "gpu_usage_ratio": round(busy, 4) if workload.gpus else None,
        "pending_replicas": float(round(workload.replicas * waiting(workload.shape, hour))),
        "owner": workload.owner or None,
    }


def _out(cluster: str, number: int) -> bool:
    return cluster == OUTAGE[0] and number in OUTAGE[1]
