"""What a node of a machine type leaves for pods, and how much of a node a workload needs.

Kubernetes keeps a part of each node for itself. The reserve is the one that Google publishes for GKE ("Plan node
sizes": 25 % of the first 4 GiB, 20 % of the next 4, 10 % of the next 8, 6 % of the next 112, 2 % beyond, 100 MiB for
eviction; 6 % of the first vCPU, 1 % of the second, 0.5 % of the next two, 0.25 % beyond). EKS and AKS keep
amounts of the same size, so one formula stands for all.
"""

from __future__ import annotations

import polars as pl

_MEMORY_STEPS = ((0.0, 4.0, 0.25), (4.0, 8.0, 0.20), (8.0, 16.0, 0.10), (16.0, 128.0, 0.06), (128.0, None, 0.02))
_VCPU_STEPS = ((0.0, 1.0, 0.06), (1.0, 2.0, 0.01), (2.0, 4.0, 0.005), (4.0, None, 0.0025))
_EVICTION_GIB = 100 / 1024
_ROUNDING = 1e-9
"""Requests and shapes are binary floats; a replica that fills a node exactly still fits."""


def allocatable_vcpus(vcpus: str) -> pl.Expr:
    """This will return the vCPUs of a node that pods may request."""
    return pl.col(vcpus) - _stepped(vcpus, _VCPU_STEPS)


def allocatable_memory_gib(memory_gib: str) -> pl.Expr:
    """This will return the GiB of a node that pods may request, never below zero."""
    return (pl.col(memory_gib) - _stepped(memory_gib, _MEMORY_STEPS) - _EVICTION_GIB).clip(lower_bound=0.0)


def replicas_per_node(needs: tuple[str, str, str], gives: tuple[str, str, str]) -> pl.Expr:
    """This will return how many equal replicas a node holds; null where a replica needs nothing.

    Args:
        needs: columns with vCPU, GiB and GPUs of a replica.
        gives: columns with the same that a node leaves for pods.
    """
    each = [
        pl.when(pl.col(need) > 0).then((pl.col(give) / pl.col(need) + _ROUNDING).floor())
        for need, give in zip(needs, gives, strict=True)
    ]
    return pl.min_horizontal(each)


def _stepped(column: str, steps: tuple[tuple[float, float | None, float], ...]) -> pl.Expr:
    return pl.sum_horizontal(
        (pl.col(column) - start).clip(0.0, None if end is None else end - start) * ratio for start, end, ratio in steps
    )
