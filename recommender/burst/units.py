"""What runs and waits in a cluster now, as units that are placed all or none: a gang, or a single replica.

A workload with state moves whole, because its state moves once. System pods are no unit: they are taken off the nodes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import polars as pl

from recommender.forecast.demand import DEFAULT_ARCHITECTURE, with_waiting
from recommender.forecast.frames import UNKNOWN_CLASS
from recommender.frames import WORKLOAD_KEY, UsageSample

Key = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class Unit:
    """Replicas of one workload that go together.

    Args:
        workload: cluster, namespace, workload_kind, workload.
        number: of the unit within its workload.
        replicas: how many.
        vcpus: of one replica.
        memory_gib: of one replica.
        gpus: of one replica.
        gpu_class: model asked for, the resource class of its GPUs; empty without GPUs.
        gpu_models: models that serve; empty: any.
        architecture: processors it runs on.
        is_waiting: it has no node now.
        is_critical: of criticality high.
        is_tolerant: its policy tolerates interruption.
    """

    workload: Key
    number: int
    replicas: int
    vcpus: float
    memory_gib: float
    gpus: float
    gpu_class: str = ""
    gpu_models: frozenset[str] = frozenset()
    architecture: str = DEFAULT_ARCHITECTURE
    is_waiting: bool = False
    is_critical: bool = False
    is_tolerant: bool = False

    @property
    def id(self) -> str:
        """This will return a word for the unit that sorts like its workload."""
        return "/".join((*self.workload, f"{self.number:06d}"))

    def amounts(self) -> dict[tuple[str, str], float]:
        """This will return what it requests, all replicas together, by resource and resource class."""
        found = {
            ("vcpu", self.architecture): self.replicas * self.vcpus,
            ("memory_gib", self.architecture): self.replicas * self.memory_gib,
        }
        return found | ({("gpu", self.gpu_class): self.replicas * self.gpus} if self.gpus > 0 else {})


def current(samples: pl.DataFrame, observed: pl.DataFrame, cluster: str) -> pl.DataFrame:
    """This will return what ran and waited in a cluster at its last observed moment.

    Args:
        samples: UsageSample.
        observed: ClusterSample.
        cluster: its name.

    Returns:
        with_waiting's columns at that moment; empty if the cluster was never observed.
    """
    own = observed.filter(pl.col("cluster") == cluster)
    if own.is_empty():
        return with_waiting(UsageSample.create_empty())
    last = own["timestamp"].max()
    return with_waiting(samples.filter(pl.col("cluster") == cluster)).filter(pl.col("timestamp") == last)


def units(now: pl.DataFrame, workloads: pl.DataFrame, accepted_models: dict[str, tuple[str, ...]]) -> list[Unit]:
    """This will split what runs and waits now into units, waiting ones last within each workload.

    Replicas that request nothing need no room; of those that wait and never ran it is not known what they request.

    Args:
        now: from current.
        workloads: Workload; one that is not in it has no attributes, and each of its replicas is a unit.
        accepted_models: GPU models that a residency class accepts besides the one asked for.
    """
    columns = ["gang_size", "state_gib", "criticality", "interruption_tolerance", "residency_class"]
    columns += ["architecture", "is_system"]
    facts = now.join(workloads.select(*WORKLOAD_KEY, *columns), on=WORKLOAD_KEY, how="left")
    asks_nothing = pl.sum_horizontal("replica_vcpu", "replica_memory_gib", "replica_gpu").fill_null(0.0) == 0
    known = facts.filter(~pl.col("is_system").fill_null(value=False), ~asks_nothing)
    found: list[Unit] = []
    for row in known.sort(WORKLOAD_KEY).iter_rows(named=True):
        running, waiting = math.ceil(row["replicas"] - 1e-9), math.ceil(row["pending_replicas"] - 1e-9)
        whole = bool(row["state_gib"])
        size = running + waiting if whole else int(row["gang_size"] or 1)
        models = {row["gpu_model"], *accepted_models.get(row["residency_class"] or "", ())}
        asks = row["replica_gpu"] > 0 and row["gpu_model"] != ""
        for number, start in enumerate(range(0, running + waiting, max(size, 1))):
            end = min(start + size, running + waiting)
            found.append(
                Unit(
                    workload=(row["cluster"], row["namespace"], row["workload_kind"], row["workload"]),
                    number=number,
                    replicas=end - start,
                    vcpus=row["replica_vcpu"],
                    memory_gib=row["replica_memory_gib"],
                    gpus=row["replica_gpu"],
                    gpu_class=(row["gpu_model"] or UNKNOWN_CLASS) if row["replica_gpu"] > 0 else "",
                    gpu_models=frozenset(models) if asks else frozenset(),
                    architecture=row["architecture"] or DEFAULT_ARCHITECTURE,
                    is_waiting=end > running,
                    is_critical=row["criticality"] == "high",
                    is_tolerant=row["interruption_tolerance"] == "spot",
                )
            )
    return found


def overhead(now: pl.DataFrame, workloads: pl.DataFrame) -> tuple[float, float]:
    """This will return what the system pods of a cluster request in all: vCPUs and GiB."""
    system = now.join(workloads.filter("is_system").select(WORKLOAD_KEY), on=WORKLOAD_KEY, how="semi")
    return float(system["vcpu"].sum()), float(system["memory_gib"].sum())
