"""Units and nodes for tests: one workload after the other on round nodes."""

from __future__ import annotations

from typing import Any

from recommender.burst.admissible import Shape
from recommender.burst.units import Unit

GPU_NODE = Shape("gpu", "h100-8", nodes=3, vcpus=96.0, memory_gib=512.0, gpus=8.0, gpu_model="H100")


def unit(name: str, *, gpus: float = 0.0, vcpus: float = 1.0, memory_gib: float = 1.0, **changes: Any) -> Unit:
    """This will return a unit of one replica in onprem-lon, of H100s if it asks for GPUs."""
    models = {"gpu_class": "H100", "gpu_models": frozenset({"H100"})} if gpus else {}
    return Unit(
        **{
            "workload": ("onprem-lon", "ml", "Job", name),
            "number": 0,
            "replicas": 1,
            "vcpus": vcpus,
            "memory_gib": memory_gib,
            "gpus": gpus,
        }
        | models
        | changes
    )
