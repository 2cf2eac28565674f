"""Karmada's objects for one workload: PropagationPolicy and OverridePolicy, and the names that they can carry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from recommender.emit.contract import Manifest
from recommender.emit.kubernetes import TEMPLATES
from recommender.emit.names import dns_label, dns_subdomain
from recommender.emit.subject import Key

if TYPE_CHECKING:
    from recommender.emit.karmada_legal import Legal

API: Final = "policy.karmada.io/v1alpha1"

DIVISIBLE: Final = ("Deployment", "Job", "StatefulSet")
"""Kinds whose replicas Karmada's built-in interpreter divides; a CronJob has none of its own."""

_CLUSTER_LETTERS: Final = 48
"""Most letters of a Cluster's name (pkg/util/validation: clusterNameMaxLength)."""


def policy_name(key: Key) -> str:
    """This will return the name of a workload's policies; the namespace is theirs already."""
    return dns_subdomain("tuppence", key[2].lower(), key[3])


def document_name(key: Key) -> tuple[str, ...]:
    """This will return the parts of the name of a workload's file."""
    return (key[1], key[2].lower(), key[3])


def runs_in(key: Key, clusters: Sequence[str]) -> str:
    """This will say in words where a workload runs, the first choice first."""
    return f"{key[2]} {key[1]}/{key[3]} is propagated to {', else to '.join(clusters)}"


def unnameable(key: Key, *clusters: str) -> str:
    """This will return why Karmada's objects cannot name a workload or a cluster; empty: they can."""
    if key[2] not in TEMPLATES:
        return f"which API the kind {key[2]} is of is not known here, so no policy can select it"
    if dns_label(key[1]) != key[1] or dns_subdomain(key[3]) != key[3]:
        return "its name or namespace is none that Kubernetes takes, so no policy can select it"
    return next((why for one in clusters if (why := unnameable_cluster(one))), "")


def unnameable_cluster(cluster: str) -> str:
    """This will return why Karmada cannot name a cluster; empty: it can."""
    if dns_label(cluster, limit=_CLUSTER_LETTERS) == cluster:
        return ""
    return f"{cluster!r} is no name that a Karmada Cluster can have ({_CLUSTER_LETTERS} letters, a DNS label)"


def selector(key: Key) -> dict[str, str]:
    """This will return what selects one workload."""
    return {
        "apiVersion": TEMPLATES[key[2]].api_version,
        "kind": key[2],
        "namespace": key[1],
        "name": key[3],
    }


def resource(meta: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """This will return a policy without its spec."""
    return {"apiVersion": API, "kind": kind, "metadata": dict(meta)}


def propagation(
    meta: Mapping[str, Any],
    key: Key,
    groups: Sequence[tuple[str, Sequence[str]]],
    *,
    overflow: Sequence[tuple[str, str]] = (),
) -> Manifest:
    """This will return a policy that tries groups of clusters in order, one group at a time.

    Args:
        meta: metadata.
        key: the workload.
        groups: names of affinities and their clusters.
        overflow: names of affinities and their one cluster, used in order when the first group is full, and left in
            the reverse order. Karmada takes them only with replicas that are divided by what is free.
    """
    affinities: list[dict[str, Any]] = [
        {"affinityName": name, "clusterNames": list(clusters)} for name, clusters in groups
    ]
    placement: dict[str, Any] = {"clusterAffinities": affinities}
    if overflow:
        affinities[0]["overflowAffinities"] = [
            {"affinityName": name, "clusterNames": [cluster]} for name, cluster in overflow
        ]
        placement["replicaScheduling"] = {
            "replicaSchedulingType": "Divided",
            "replicaDivisionPreference": "Weighted",
            "weightPreference": {"dynamicWeight": "AvailableReplicas"},
        }
    return _policy(meta, key, placement)


def weighted(meta: Mapping[str, Any], key: Key, weights: Mapping[str, int]) -> Manifest:
    """This will return a policy that divides replicas among clusters in fixed shares."""
    placement = {
        "clusterAffinity": {"clusterNames": list(weights)},
        "replicaScheduling": {
            "replicaSchedulingType": "Divided",
            "replicaDivisionPreference": "Weighted",
            "weightPreference": {
                "staticWeightList": [
                    {"targetCluster": {"clusterNames": [cluster]}, "weight": weight}
                    for cluster, weight in weights.items()
                ]
            },
        },
    }
    return _policy(meta, key, placement)


def override(legal: Legal, key: Key, capacity_types: Mapping[str, str]) -> dict[str, Any]:
    """This will return the spec of an OverridePolicy that chooses nodes by how they are bought; empty: no need.

    Args:
        legal: which clusters have nodes of several capacity types.
        key: the workload.
        capacity_types: the one to use, by cluster.
    """
    template = TEMPLATES[key[2]].path
    rules = []
    for cluster, capacity_type in capacity_types.items():
        nodes = legal.nodes.get((cluster, capacity_type))
        if nodes is None:
            continue
        patches: list[dict[str, Any]] = [
            {"path": f"{template}/nodeSelector", "operator": "add", "value": dict(nodes.labels)}
        ]
        if nodes.tolerations:
            values = [dict(one) for one in nodes.tolerations]
            patches.append({"path": f"{template}/tolerations", "operator": "add", "value": values})
        rules.append({"targetCluster": {"clusterNames": [cluster]}, "overriders": {"plaintext": patches}})
    return {"resourceSelectors": [selector(key)], "overrideRules": rules} if rules else {}


def _policy(meta: Mapping[str, Any], key: Key, placement: Mapping[str, Any]) -> Manifest:
    spec = {"resourceSelectors": [selector(key)], "activationPreference": "Lazy", "placement": dict(placement)}
    return {**resource(meta, "PropagationPolicy"), "spec": spec}
