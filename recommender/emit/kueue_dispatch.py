"""The arrow emit → MultiKueue: in which order a class's clusters are nominated, as MultiKueueConfig and AdmissionCheck.

The order counts only for the incremental dispatcher (Kueue 0.19 and later); the one that Kueue starts with nominates
all clusters at once, and the first to admit wins, whatever it costs.
"""

from __future__ import annotations

from typing import Final

from recommender.emit.contract import Document, Emitted, NotExpressed, Subject
from recommender.emit.names import dns_label, dns_subdomain, file_name
from recommender.emit.order import Group, Ranked, expiry, groups, live
from recommender.emit.provenance import metadata
from recommender.emit.subject import key_of

MOST_CLUSTERS: Final = 20
"""Of a MultiKueueConfig (its schema: maxItems)."""

CONTROLLER: Final = "kueue.x-k8s.io/multikueue"

_DISPATCHER: Final = (
    "multiKueue: {dispatcherName: kueue.x-k8s.io/multikueue-dispatcher-incremental, "
    "incrementalDispatcherConfig: {stepSize: 1}}"
)


def dispatch(subject: Subject) -> Emitted:
    """This will write a MultiKueueConfig with its AdmissionCheck for every class that has a cluster."""
    found, missing = groups(subject)
    documents = []
    said = list(missing)
    for group in found:
        kept, left_out = _kept(group)
        said.extend(left_out)
        if kept:
            documents.append(_document(subject, group, kept))
    return Emitted(tuple(documents), tuple(said))


def check_name(group: Group) -> str:
    """This will return the name of a group's MultiKueueConfig and of its AdmissionCheck."""
    if not group.gpu_model:
        return dns_label(f"tuppence-{group.residency_class}")
    return dns_label(f"tuppence-{group.residency_class}", f"gpu-{group.gpu_model}")


def _kept(group: Group) -> tuple[tuple[Ranked, ...], list[NotExpressed]]:
    """Clusters that a MultiKueueConfig can name, and why the others are not in it."""
    nameable = [one for one in group.clusters if dns_subdomain(one.cluster) == one.cluster]
    said = [
        NotExpressed(
            what=f"cluster {one.cluster} for class {group.title}",
            why="its name is no name of a MultiKueueCluster; give the cluster a lower-case DNS name",
        )
        for one in group.clusters
        if one not in nameable
    ]
    said += [
        NotExpressed(
            what=f"cluster {one.cluster} for class {group.title}",
            why=f"a MultiKueueConfig holds {MOST_CLUSTERS} clusters, and {MOST_CLUSTERS} cheaper ones are in it",
        )
        for one in nameable[MOST_CLUSTERS:]
    ]
    return tuple(nameable[:MOST_CLUSTERS]), said


def _document(subject: Subject, group: Group, kept: tuple[Ranked, ...]) -> Document:
    names = [one.cluster for one in kept]
    members = set(group.workloads)
    advice = [
        one
        for one in live(subject)
        if key_of(one.target) in members and one.recommended.cluster == names[0] != one.target.cluster
    ]
    until = expiry(subject, advice)
    name = check_name(group)
    meta = metadata(subject, name, advice=advice, expires_at=until)
    api = subject.settings.kueue.api_version
    config = {"apiVersion": api, "kind": "MultiKueueConfig", "metadata": meta, "spec": {"clusters": names}}
    check = {
        "apiVersion": api,
        "kind": "AdmissionCheck",
        "metadata": meta,
        "spec": {
            "controllerName": CONTROLLER,
            "parameters": {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": name},
        },
    }
    order = ", ".join(f"{one.cluster} £{one.gbp_per_hour:.4f}/h" for one in kept)
    return Document(
        path=f"multikueue/{file_name(name, ending='yaml')}",
        form="manifest",
        objects=(config, check),
        says=f"Jobs of class {group.title} are nominated to clusters in the order of what all workloads of it "
        f"({len(group.workloads)}) cost there: {order}.",
        apply=f"In the manager cluster: kubectl apply -f FILE; name {name} under "
        "spec.admissionChecksStrategy.admissionChecks of the class's ClusterQueue, without onFlavors (Kueue makes a "
        f"queue with a MultiKueue check on single flavours inactive); and in Kueue's Configuration set {_DISPATCHER}, "
        "else the order is not looked at.",
        rollback="Apply the list that stood before; where there was none, take the check out of the ClusterQueue, then "
        "kubectl delete -f FILE. Jobs that a cluster admitted stay there: spec.clusterName cannot be changed.",
        expires_at=until,
        recommendations=tuple(one.id for one in advice),
        clusters=tuple(names),
        workloads=group.workloads,
    )
