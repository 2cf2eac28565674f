"""The fleet as a hub sees it, beside the settings: which clusters it has, and whether all agree on where each one is.

Pure. A label of the ManagedCluster is the hub's word, a ClusterClaim the cluster's own, a ClusterProfile an
inventory's. Placements trust the label: one that disagrees with the settings can let a workload run where policy
forbids it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

DISAGREE = "they disagree on where it is"
Object = Mapping[str, Any]


def hub_fleet(
    jurisdictions: Mapping[str, str],
    *,
    names: Mapping[str, str],
    managed_clusters: Iterable[Object],
    cluster_profiles: Iterable[Object],
    label_prefix: str,
) -> pl.DataFrame:
    """This will set every cluster beside what the hub says of it.

    Args:
        jurisdictions: of each cluster of the fleet by the settings; empty: unknown.
        names: the name of a cluster on the hub, where it is another one.
        managed_clusters: ManagedClusters as JSON values.
        cluster_profiles: ClusterProfiles as JSON values.
        label_prefix: before the slash of labels and properties, after the dot of claims.

    Returns:
        cluster, on_hub (its name there), settings, label, claim, profile (a jurisdiction each, empty: unsaid), problem
        (empty: none); sorted by cluster. Clusters that only the hub has come with an empty `cluster`.
    """
    managed = {one["metadata"]["name"]: one for one in managed_clusters}
    profiles = {_profile_name(one): one for one in cluster_profiles}
    known = {names.get(cluster, cluster): cluster for cluster in jurisdictions}
    rows = []
    for there in sorted({*known, *managed}):
        cluster, one, profile = known.get(there, ""), managed.get(there), profiles.get(there)
        said = {
            "settings": jurisdictions.get(cluster, ""),
            "label": _label(one, f"{label_prefix}/jurisdiction"),
            "claim": _named(one, "clusterClaims", f"jurisdiction.{label_prefix}"),
            "profile": _named(profile, "properties", f"{label_prefix}/jurisdiction"),
        }
        row = {"cluster": cluster, "on_hub": there if one is not None else "", **said}
        rows.append(row | {"problem": _problem(cluster, one, said)})
    schema = dict.fromkeys(("cluster", "on_hub", "settings", "label", "claim", "profile", "problem"), pl.String)
    return pl.DataFrame(rows, schema=schema).sort("cluster", "on_hub")


def _problem(cluster: str, managed: Object | None, said: Mapping[str, str]) -> str:
    if not cluster:
        return "the settings do not have it: it gets no score"
    if managed is None:
        return "it is no managed cluster of the hub: nothing can be placed there"
    words = {value for value in said.values() if value}
    if len(words) > 1:
        return f"{DISAGREE}: " + ", ".join(f"{who} {what}" for who, what in said.items() if what)
    if not said["label"]:
        return "it has no label of its jurisdiction, so a Placement that asks for one never chooses it"
    return ""


def _label(one: Object | None, key: str) -> str:
    return str(((one or {}).get("metadata", {}).get("labels") or {}).get(key, ""))


def _named(one: Object | None, field: str, name: str) -> str:
    listed = ((one or {}).get("status") or {}).get(field) or []
    return next((str(each["value"]) for each in listed if each["name"] == name), "")


def _profile_name(one: Object) -> str:
    """Open Cluster Management names a ClusterProfile after its ManagedCluster, or says so in a label."""
    metadata = one["metadata"]
    labels = metadata.get("labels") or {}
    return str(labels.get("open-cluster-management.io/cluster-name", metadata["name"]))
