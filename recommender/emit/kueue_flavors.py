"""The arrow emit → Kueue: how nodes are bought, as one ResourceFlavor for each capacity type of each cluster.

A spot flavour is tainted, so that Kueue never gives it to a job that does not tolerate it.
"""

from __future__ import annotations

from typing import Any

from recommender.emit.contract import Document, Emitted, Subject
from recommender.emit.names import dns_subdomain, file_name
from recommender.emit.node_labels import REGION_LABEL, capacity_labels, spot_taint
from recommender.emit.order import allowed_costs, expiry
from recommender.emit.provenance import metadata
from recommender.emit_settings import KueueQueue
from recommender.frames import WORKLOAD_KEY
from recommender.settings import ClusterSettings


def flavor_name(cluster: str, capacity_type: str) -> str:
    """This will return the name of the ResourceFlavor of a cluster's nodes of one capacity type."""
    return dns_subdomain(cluster, capacity_type)


def stated_flavor(queue: KueueQueue, capacity_type: str) -> str:
    """This will return what a ClusterQueue of the settings calls the flavour of a capacity type."""
    stated = (name for kind, name in queue.flavors.items() if kind == capacity_type)
    return next(stated, flavor_name(queue.cluster, capacity_type))


def flavors(subject: Subject) -> Emitted:
    """This will write the flavours of every cluster that a workload may be in, one file a cluster."""
    costs = allowed_costs(subject)
    documents = []
    for cluster in sorted(subject.clusters, key=lambda one: one.name):
        there = costs.filter(to_cluster=cluster.name)
        types = sorted(there["to_capacity_type"].unique())
        if types:
            keys = tuple(there.select(WORKLOAD_KEY).unique().sort(WORKLOAD_KEY).rows())
            documents.append(_document(subject, cluster, types, keys))
    return Emitted(tuple(documents))


def _document(
    subject: Subject, cluster: ClusterSettings, types: list[str], keys: tuple[tuple[str, str, str, str], ...]
) -> Document:
    until = expiry(subject)
    return Document(
        path=f"flavors/{file_name(cluster.name, ending='yaml')}",
        form="manifest",
        objects=tuple(_flavor(subject, cluster, one) for one in types),
        says=f"Nodes of {cluster.name} are told apart by how they are bought: {', '.join(types)}.",
        apply=f"In {cluster.name}: kubectl apply -f FILE. Nodes must carry the labels; spot nodes the taint too.",
        rollback="kubectl delete -f FILE, once no ClusterQueue names the flavours.",
        expires_at=until,
        clusters=(cluster.name,),
        workloads=keys,
    )


def _flavor(subject: Subject, cluster: ClusterSettings, capacity_type: str) -> dict[str, Any]:
    labels = capacity_labels(subject.settings, cluster.provider, capacity_type)
    if cluster.tier == "cloud":
        labels = labels | {REGION_LABEL: cluster.region}
    taints = [spot_taint(subject.settings, cluster.provider)] if capacity_type == "spot" else []
    return {
        "apiVersion": subject.settings.kueue.api_version,
        "kind": "ResourceFlavor",
        "metadata": metadata(subject, flavor_name(cluster.name, capacity_type), expires_at=expiry(subject)),
        "spec": {"nodeLabels": dict(sorted(labels.items())), **({"nodeTaints": taints} if taints else {})},
    }
