"""The arrow emit → quotas: what the plan asks of each cluster, by capacity type, at peak and with every gang whole.

A quota says how much may be admitted, so it is taken from what was requested at peak, never from what was used. A gang
is admitted whole or not at all: a quota below the largest one would let it wait for ever.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

from recommender.emit.contract import Subject
from recommender.emit.order import allowed_costs, live
from recommender.emit.subject import Key
from recommender.frames import WORKLOAD_KEY
from recommender.place.constraints import residency


@dataclass(frozen=True, slots=True)
class Needs:
    """vCPUs, GiB and GPUs that are requested together."""

    vcpus: float
    memory_gib: float
    gpus: float

    def __add__(self, other: Needs) -> Needs:
        """This will add two needs, resource by resource."""
        return Needs(self.vcpus + other.vcpus, self.memory_gib + other.memory_gib, self.gpus + other.gpus)

    def at_least(self, other: Needs) -> Needs:
        """This will return the greater of two needs, resource by resource."""
        return Needs(max(self.vcpus, other.vcpus), max(self.memory_gib, other.memory_gib), max(self.gpus, other.gpus))


NOTHING = Needs(0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Planned:
    """A workload where the plan has it, with its peak and its gang's request (nothing where it is no gang)."""

    key: Key
    namespace: str
    cluster: str
    capacity_type: str
    peak: Needs
    gang: Needs
    gang_size: int
    replicas_peak: float


def planned(subject: Subject) -> tuple[Planned, ...]:
    """This will return every workload where the plan has it, as far as its advice is live and the place allowed.

    Workloads whose advice is not live stay where they are.
    """
    ids = {one.id for one in live(subject)}
    there = {
        (one.cluster, one.namespace, one.workload_kind, one.workload): (one.to_cluster, one.capacity_type)
        for one in subject.plan.placements
        if one.recommendation_id is None or one.recommendation_id in ids
    }
    fields = [*WORKLOAD_KEY, "to_cluster", "to_capacity_type"]
    allowed = set(allowed_costs(subject).select(fields).rows())
    found = []
    for row in subject.workloads.filter(~pl.col("is_system")).sort(WORKLOAD_KEY).iter_rows(named=True):
        key = (row["cluster"], row["namespace"], row["workload_kind"], row["workload"])
        cluster, capacity_type = there.get(key, (row["cluster"], row["capacity_type"]))
        if (*key, cluster, capacity_type) in allowed:
            found.append(
                Planned(
                    key=key,
                    namespace=row["namespace"],
                    cluster=cluster,
                    capacity_type=capacity_type,
                    peak=Needs(row["vcpu_request_peak"], row["memory_gib_request_peak"], row["gpu_request_peak"]),
                    gang=_gang(row["gang_size"], row["replicas_peak"], row),
                    gang_size=row["gang_size"],
                    replicas_peak=row["replicas_peak"],
                )
            )
    return tuple(found)


def quota_of(rows: Iterable[Planned]) -> Needs:
    """This will return the quota that workloads need together: the sum of their peaks, and no less than any gang."""
    total, largest = NOTHING, NOTHING
    for row in rows:
        total = total + row.peak
        largest = largest.at_least(row.gang)
    return total.at_least(largest)


def lawful_namespaces(subject: Subject, cluster: str) -> frozenset[str]:
    """This will return the namespaces of which every workload may be in the cluster by its residency.

    A queue lets whole namespaces in; a workload of which nothing is known keeps its namespace out, unless it is
    in this cluster already.
    """
    mine = subject.workloads.filter(~pl.col("is_system"))
    there = subject.costs.filter(pl.col("to_cluster") == cluster)
    refused = pl.col("rules").list.contains(residency.RULE.id)
    legal = there.group_by(WORKLOAD_KEY).agg(legal=(~refused).any())
    judged = mine.join(legal, on=WORKLOAD_KEY, how="left").with_columns(
        legal=pl.coalesce("legal", pl.col("cluster") == cluster)
    )
    return frozenset(judged.group_by("namespace").agg(pl.col("legal").all()).filter("legal")["namespace"])


def _gang(size: int, replicas: float, row: dict[str, float]) -> Needs:
    if size <= 1 or replicas <= 0:
        return NOTHING
    share = size / replicas
    return Needs(
        row["vcpu_request_peak"] * share, row["memory_gib_request_peak"] * share, row["gpu_request_peak"] * share
    )
