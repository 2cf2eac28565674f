"""The arrow emit → schedulers: by which labels and taints a node tells how it was bought.

Where a provider or an autoscaler writes such a label it stands; where none does, ours does, and the operator puts it on
the nodes. A node without any label is of an unknown capacity type, never on-demand. Sources: Karpenter, "Well-Known
Labels"; GKE, "Spot VMs"; AKS, "Add a Spot node pool" (which also taints its nodes).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from recommender.emit.names import label_key, label_value
from recommender.emit_settings import EmitSettings

REGION_LABEL: Final = "topology.kubernetes.io/region"

_BY_PROVIDER: Final[Mapping[str, Mapping[str, tuple[str, str]]]] = {
    "aws": {
        "on-demand": ("karpenter.sh/capacity-type", "on-demand"),
        "spot": ("karpenter.sh/capacity-type", "spot"),
    },
    "gcp": {
        "on-demand": ("cloud.google.com/gke-provisioning", "standard"),
        "spot": ("cloud.google.com/gke-provisioning", "spot"),
    },
    "azure": {"spot": ("kubernetes.azure.com/scalesetpriority", "spot")},
}


def capacity_labels(settings: EmitSettings, provider: str, capacity_type: str) -> dict[str, str]:
    """This will return the labels of nodes that were bought in one way; settings stand before the table."""
    for stated, labels in settings.node_labels.get(provider, {}).items():
        if stated == capacity_type and labels:
            return dict(sorted(labels.items()))
    key, value = _BY_PROVIDER.get(provider, {}).get(
        capacity_type, (label_key(settings, "capacity-type"), label_value(capacity_type))
    )
    return {key: value}


def spot_taint(settings: EmitSettings, provider: str) -> dict[str, Any]:
    """This will return the taint that keeps pods off spot nodes unless they tolerate it."""
    if provider == "azure":
        return {"key": "kubernetes.azure.com/scalesetpriority", "value": "spot", "effect": "NoSchedule"}
    return {"key": label_key(settings, "capacity-type"), "value": "spot", "effect": "NoSchedule"}
