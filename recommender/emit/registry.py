"""The systems that advice is written for. A new system is a new module with `emit`, and a row here."""

from __future__ import annotations

from typing import Final

from recommender.emit import (
    argocd,
    clusterprofile,
    dsf,
    fleet,
    kai,
    karmada,
    kubernetes,
    kueue,
    mesh,
    ocm,
    scheduler_fallback,
    volcano,
)
from recommender.emit.contract import System

SYSTEMS: Final[tuple[System, ...]] = (
    System("ocm", "Open Cluster Management", ocm.emit),
    System("dsf", "Dynamic Scoring Framework", dsf.emit),
    System("kueue", "Kueue and MultiKueue", kueue.emit),
    System("karmada", "Karmada", karmada.emit),
    System("fleet", "Azure Kubernetes Fleet Manager", fleet.emit),
    System("volcano", "Volcano and Volcano Global", volcano.emit),
    System("argocd", "Argo CD", argocd.emit),
    System("kubernetes", "Kubernetes", kubernetes.emit),
    System("scheduler-fallback", "Kubernetes, back to the default scheduler", scheduler_fallback.emit),
    System("mesh", "Cluster meshes", mesh.emit),
    System("kai", "KAI Scheduler", kai.emit),
    System("clusterprofile", "ClusterProfile", clusterprofile.emit),
)
