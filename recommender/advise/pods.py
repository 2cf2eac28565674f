"""A workload's pods and the machines of a pool, as packing and its bound read them."""

from __future__ import annotations

from dataclasses import dataclass

_ROUNDING = 1e-10
"""Requests and shapes are binary floats; a pod that fills a node exactly still fits."""


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine type of a pool.

    Args:
        instance_type: its name.
        kind: capacity type and architecture; pods keep both.
        room: vCPUs, GiB and GPUs that a node leaves for pods.
        gpu_model: empty without GPUs.
        gbp_per_hour: cash price of one node.
        weight: what is made least; above zero also where nodes are paid for in any case.
        vcpus: of the whole node, as quotas count it.
    """

    instance_type: str
    kind: str
    room: tuple[float, float, float]
    gpu_model: str
    gbp_per_hour: float
    weight: float
    vcpus: float


@dataclass(frozen=True, slots=True)
class Replicas:
    """A workload's pods, all alike.

    Args:
        w: the workload's number.
        count: replicas at peak.
        need: vCPUs, GiB and GPUs of one.
        kind: of the machines that may hold it; empty: not known, any.
        gpu_model: the model it needs; empty: any.
    """

    w: int
    count: int
    need: tuple[float, float, float]
    kind: str
    gpu_model: str


def may_hold(machine: Machine, pods: Replicas) -> bool:
    """This will say whether an empty node of a machine type may and can hold one of the pods."""
    same_kind = pods.kind in ("", machine.kind)
    same_gpu = pods.need[2] == 0 or pods.gpu_model in ("", machine.gpu_model)
    return (
        same_kind and same_gpu and all(a <= b * (1 + _ROUNDING) for a, b in zip(pods.need, machine.room, strict=True))
    )
