"""The arrow emit → Kueue: what is admitted before what, from the criticality that policy gives workloads."""

from __future__ import annotations

import polars as pl

from recommender.emit.contract import Document, Emitted, Subject
from recommender.emit.order import expiry
from recommender.emit.provenance import metadata

_LABEL = "kueue.x-k8s.io/priority-class"


def priorities(subject: Subject) -> Emitted:
    """This will write a WorkloadPriorityClass for each criticality that occurs; none where there is no workload."""
    counted = subject.workloads.filter(~pl.col("is_system")).group_by("criticality").len()
    numbers = {str(name): int(count) for name, count in counted.rows()}
    stated = subject.settings.kueue.priorities
    levels = (("low", stated.low), ("medium", stated.medium), ("high", stated.high))
    ordered = [(level, value) for level, value in levels if level in numbers]
    if not ordered:
        return Emitted()
    until = expiry(subject)
    objects = tuple(
        {
            "apiVersion": subject.settings.kueue.api_version,
            "kind": "WorkloadPriorityClass",
            "metadata": metadata(subject, f"tuppence-{level}", expires_at=until),
            "value": value,
            "description": f"Workloads whose criticality is {level} in the policy",
        }
        for level, value in ordered
    )
    told = ", ".join(f"tuppence-{level} for {numbers[level]}" for level, _ in ordered)
    return Emitted(
        (
            Document(
                path="priorities.yaml",
                form="manifest",
                objects=objects,
                says=f"Workloads are admitted in the order of their criticality: {told}. It is no pod priority.",
                apply=f"kubectl apply -f FILE in the manager and in every worker; label jobs with {_LABEL}.",
                rollback=f"Take the label {_LABEL} off the jobs, then kubectl delete -f FILE.",
                expires_at=until,
            ),
        )
    )
