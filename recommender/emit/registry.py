"""The systems that advice is written for. A new system is a new module with `emit`, and a row here."""

from __future__ import annotations

from typing import Final

from recommender.emit import dsf, kubernetes, ocm
from recommender.emit.contract import System

SYSTEMS: Final[tuple[System, ...]] = (
    System("ocm", "Open Cluster Management", ocm.emit),
    System("dsf", "Dynamic Scoring Framework", dsf.emit),
    System("kubernetes", "Kubernetes", kubernetes.emit),
)
