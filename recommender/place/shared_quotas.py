"""Free room of quotas that are wider or narrower than a cluster: a cloud's per region, Kubernetes' per namespace.

A region's quota counts the machines of all clusters there (vCPUs and GPUs of nodes, as the clouds count them); a
namespace's ResourceQuota counts requests in one cluster. What runs now is counted at its peak.
"""

from __future__ import annotations

from dataclasses import dataclass

import dataframely as dy
import polars as pl

from recommender.frames import NamespaceQuota, RegionQuota

_OF_REGION = {"vcpus": ("from_vcpus", "vcpu_request_peak"), "gpus": ("from_gpus", "gpu_request_peak")}
_OF_NAMESPACE = {
    "vcpus": "vcpu_request_peak",
    "memory_gib": "memory_gib_request_peak",
    "gpus": "gpu_request_peak",
}


@dataclass(frozen=True, slots=True)
class SharedQuotas:
    """What is left.

    Args:
        regions: to_provider, to_region, region_vcpus, region_gpus (null: no limit).
        namespaces: to_cluster, namespace, namespace_vcpus, namespace_memory_gib, namespace_gpus (null: no limit).
    """

    regions: pl.DataFrame
    namespaces: pl.DataFrame

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that hold what is left."""
        return (*(f"region_{name}" for name in _OF_REGION), *(f"namespace_{name}" for name in _OF_NAMESPACE))


def no_shared_quotas() -> SharedQuotas:
    """This will return quotas that limit nothing."""
    text, number = pl.String, pl.Float64
    return SharedQuotas(
        regions=pl.DataFrame(
            schema={"to_provider": text, "to_region": text, **{f"region_{name}": number for name in _OF_REGION}}
        ),
        namespaces=pl.DataFrame(
            schema={"to_cluster": text, "namespace": text, **{f"namespace_{name}": number for name in _OF_NAMESPACE}}
        ),
    )


def free_in_shared(
    regions: dy.DataFrame[RegionQuota], namespaces: dy.DataFrame[NamespaceQuota], running: pl.DataFrame
) -> SharedQuotas:
    """This will return what the quotas have left, never below zero.

    Args:
        regions: limits of regions.
        namespaces: limits of namespaces in clusters.
        running: all workloads with where they are (from_provider, from_region, from_cluster, peaks, nodes_needed).
    """
    nodes = pl.col("nodes_needed").fill_null(0.0)
    machines = {
        f"used_{name}": (nodes * pl.col(of_node)).fill_null(pl.col(requested)).sum()
        for name, (of_node, requested) in _OF_REGION.items()
    }
    requests = {f"used_{name}": pl.col(requested).sum() for name, requested in _OF_NAMESPACE.items()}
    in_regions = running.group_by(to_provider="from_provider", to_region="from_region").agg(**machines)
    in_namespaces = running.group_by("namespace", to_cluster="from_cluster").agg(**requests)
    return SharedQuotas(
        regions=_left(
            regions.rename({"provider": "to_provider", "region": "to_region"}), in_regions, tuple(_OF_REGION), "region"
        ),
        namespaces=_left(
            namespaces.rename({"cluster": "to_cluster"}), in_namespaces, tuple(_OF_NAMESPACE), "namespace"
        ),
    )


def _left(quotas: pl.DataFrame, used: pl.DataFrame, words: tuple[str, ...], scope: str) -> pl.DataFrame:
    keys = [name for name in quotas.columns if name not in words]
    left = (
        (pl.col(word) - pl.col(f"used_{word}").fill_null(0.0)).clip(lower_bound=0.0).alias(f"{scope}_{word}")
        for word in words
    )
    return quotas.join(used, on=keys, how="left", maintain_order="left").select(*keys, *left)
