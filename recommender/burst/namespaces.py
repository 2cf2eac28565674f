"""Quotas of namespaces away from home: a ResourceQuota counts requests, which the packing of nodes does not know.

Room is promised unit by unit before the packing: to what waits first, then to what tolerates interruption, critical
units last, because they stay at home while they can. What has no promise does not go to that cluster. So the quota
holds whatever the packing chooses; that it might have promised the room to others is the price of that.
"""

from __future__ import annotations

from collections.abc import Sequence

from recommender.burst.units import Unit
from recommender.place.shared_quotas import SharedQuotas

_AMOUNTS = ("vcpus", "memory_gib", "gpus")
_ROUNDING = 1e-9


def closed_namespaces(mix: Sequence[Unit], shared: SharedQuotas) -> set[tuple[str, str]]:
    """This will return the units that have no promise, each with the cluster that it may not go to for that.

    Args:
        mix: what runs and waits.
        shared: what namespaces have left, by cluster.
    """
    closed: set[tuple[str, str]] = set()
    for quota in shared.namespaces.iter_rows(named=True):
        left = {name: quota[f"namespace_{name}"] for name in _AMOUNTS}
        own = [one for one in mix if one.workload[1] == quota["namespace"]]
        for unit in sorted(own, key=lambda one: (one.is_critical, not one.is_waiting, not one.is_tolerant, one.id)):
            need = {name: unit.replicas * getattr(unit, name) for name in _AMOUNTS}
            if any(room is not None and need[name] > room + _ROUNDING for name, room in left.items()):
                closed.add((unit.id, quota["to_cluster"]))
            else:
                left = {name: None if room is None else room - need[name] for name, room in left.items()}
    return closed
