"""The solver's answer as rows: replicas by place with their share of the nodes, the nodes, and what waits."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import polars as pl

from recommender.burst.node_price import Row, price_of
from recommender.burst.overflow import Leaving, Question, Surcharge
from recommender.burst.units import Key, Unit
from recommender.frames import WORKLOAD_KEY

Rows = list[dict[str, Any]]


def overflow_rows(question: Question, leaving: Leaving, workloads: pl.DataFrame) -> Rows:
    """This will return rows of Overflow.

    A pod's share of its node is its greatest share of what the node has, scaled so that a node's shares are its price.
    """
    runtimes = {tuple(key): minutes for *key, minutes in _minimum_runtimes(workloads)}
    hours = question.settings.expected_hours
    sums: dict[tuple[Key, str], _Sum] = defaultdict(_Sum)
    for (offer, _), pods in _nodes_away(leaving).items():
        row = leaving.away[offer]
        price = price_of(row) or 0.0
        shares = {pod: _share(leaving.units[pod], row) for pod in pods}
        for pod, share in shares.items():
            unit = leaving.units[pod]
            beside = leaving.surcharges.get(unit.id, {}).get(offer)
            sums[unit.workload, offer].add(unit, price * share / sum(shares.values()), beside, hours)
    return [
        {
            **dict(zip(WORKLOAD_KEY, key, strict=True)),
            **_place(leaving.away[offer]),
            **total.row(),
            "minimum_runtime_minutes": max(question.settings.min_runtime_minutes, runtimes.get(key, 0.0)),
        }
        for (key, offer), total in sorted(sums.items(), key=lambda entry: entry[0])
    ]


@dataclass(slots=True)
class _Sum:
    """Replicas of one workload at one place, added up."""

    replicas: int = 0
    waiting: int = 0
    nodes: float = 0.0
    other: float = 0.0
    once: float = 0.0
    largest: Unit | None = None

    def add(self, unit: Unit, nodes_gbp_per_hour: float, beside: Surcharge | None, expected_hours: float) -> None:
        self.replicas += 1
        self.waiting += unit.is_waiting
        self.nodes += nodes_gbp_per_hour
        if beside is not None:
            self.other += beside.gbp_per_hour(expected_hours)
            self.once += beside.once_gbp
        if self.largest is None or unit.replicas > self.largest.replicas:
            self.largest = unit

    def row(self) -> dict[str, Any]:
        assert self.largest is not None, "a sum is of at least one replica"
        return {
            "replicas": self.replicas,
            "waiting_replicas": self.waiting,
            "gang_size": self.largest.replicas,
            "replica_vcpus": self.largest.vcpus,
            "replica_memory_gib": self.largest.memory_gib,
            "replica_gpus": self.largest.gpus,
            "gpu_model": self.largest.gpu_class,
            "nodes_gbp_per_hour": self.nodes,
            "other_gbp_per_hour": self.other,
            "one_off_gbp": self.once,
        }


def node_rows(question: Question, leaving: Leaving) -> Rows:
    """This will return rows of BurstNodes."""
    counts: dict[str, int] = defaultdict(int)
    for offer, _ in _nodes_away(leaving):
        counts[offer] += 1
    return [
        {
            "cluster": question.cluster,
            **_place(leaving.away[offer]),
            "nodes": number,
            "gbp_per_hour": number * (price_of(leaving.away[offer]) or 0.0),
        }
        for offer, number in sorted(counts.items())
    ]


def waiting_rows(question: Question, reasons: dict[str, str]) -> Rows:
    """This will return rows of Waiting, with the rules that keep a workload from every place away.

    Args:
        question: the cluster.
        reasons: why a unit has no place, by its id; units that are only expected are not spoken of.
    """
    waiting: dict[Key, list[tuple[Unit, str]]] = defaultdict(list)
    for one in question.mix:
        if one.id in reasons:
            waiting[one.workload].append((one, reasons[one.id]))
    return [
        {
            **dict(zip(WORKLOAD_KEY, key, strict=True)),
            "replicas": sum(one.replicas for one, _ in units),
            "reason": min(reason for _, reason in units),
            "rules": _rules(question, key),
        }
        for key, units in sorted(waiting.items())
    ]


def _rules(question: Question, key: Key) -> str:
    """The rules that between them refuse every place away; empty where some place is allowed."""
    own = question.places.pairs.filter(
        pl.col("from_cluster") == key[0],
        *(pl.col(name) == value for name, value in zip(WORKLOAD_KEY[1:], key[1:], strict=True)),
        pl.col("to_cluster") != question.cluster,
    )["refused"]
    if own.is_empty() or (own.list.len() == 0).any():
        return ""
    return ", ".join(sorted(set(own.list.first().to_list())))


def _minimum_runtimes(workloads: pl.DataFrame) -> list[tuple[Any, ...]]:
    return workloads.select(*WORKLOAD_KEY, "minimum_runtime_minutes").rows()


def _nodes_away(leaving: Leaving) -> dict[tuple[str, int], list[str]]:
    found: dict[tuple[str, int], list[str]] = defaultdict(list)
    for pod, offer, number in leaving.packing.assignment:
        if offer in leaving.away:
            found[offer, number].append(pod)
    return found


def _share(unit: Unit, row: Row) -> float:
    needs = ((unit.vcpus, "to_vcpus"), (unit.memory_gib, "to_memory_gib"), (unit.gpus, "to_gpus"))
    return float(max(need / row[give] for need, give in needs if row[give] > 0))


def _place(row: Row) -> dict[str, Any]:
    return {name: row[name] for name in ("to_cluster", "to_pool", "to_instance_type", "to_capacity_type")}
