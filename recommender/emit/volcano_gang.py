"""The arrow emit → Volcano's PodGroups: gangs that start whole, and gangs that never could.

A gang of which fewer replicas were ever seen than it has, or that needs more than the cluster has, would wait for ever;
it is named instead of written. Volcano counts what is free over all nodes of a cluster, not node by node: that every
member finds its node is what the plan has checked.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from recommender.advise.owned import PAID_FOR
from recommender.emit.contract import Document, Emitted, NotExpressed, Subject
from recommender.emit.names import dns_label, dns_subdomain, file_name
from recommender.emit.order import allowed_costs, expiry
from recommender.emit.planned import Needs, Planned, planned
from recommender.emit.provenance import metadata
from recommender.emit.quantities import cpu, memory, whole
from recommender.emit.volcano_queue import GPU, class_of, owned_capacity, queue_name
from recommender.frames import WORKLOAD_KEY


def gangs(subject: Subject) -> Emitted:
    """This will write a PodGroup for every gang, where the plan has it."""
    limits = _limits(subject)
    owned, classes = owned_capacity(subject), class_of(subject)
    found = [one for one in planned(subject) if one.gang_size > 1]
    documents = []
    said = [*_homeless(subject)]
    for one in found:
        why = _never(one, limits.get(one.cluster))
        if why:
            said.append(NotExpressed("/".join(one.key), why))
        else:
            shared = one.cluster in owned and one.capacity_type in PAID_FOR
            documents.append(_document(subject, one, classes[one.key] if shared else None))
    return Emitted(tuple(documents), tuple(said))


def _limits(subject: Subject) -> Mapping[str, Needs]:
    """The most that may run in a cluster: what its owned nodes hold, or the quota that the settings state."""
    owned = owned_capacity(subject)
    found = {}
    for cluster in subject.clusters:
        if cluster.tier == "owned" and cluster.name in owned:
            found[cluster.name] = owned[cluster.name]
        elif cluster.quotas.vcpus is not None or cluster.quotas.gpus is not None:
            endless = float("inf")
            vcpus, gpus = cluster.quotas.vcpus, cluster.quotas.gpus
            found[cluster.name] = Needs(endless if vcpus is None else vcpus, endless, endless if gpus is None else gpus)
    return found


def _homeless(subject: Subject) -> list[NotExpressed]:
    """Gangs that may be in no cluster at all, with the rules that keep them out."""
    lawful = set(allowed_costs(subject).select(WORKLOAD_KEY).rows())
    said = []
    mine = subject.workloads.filter(pl.col("gang_size") > 1, ~pl.col("is_system")).sort(WORKLOAD_KEY)
    for *key, size in mine.select(*WORKLOAD_KEY, "gang_size").rows():
        if tuple(key) not in lawful:
            rows = subject.costs.filter(**dict(zip(WORKLOAD_KEY, key, strict=True)))
            told = ", ".join(sorted(set(rows["rules"].explode().drop_nulls()))) or "it has no price anywhere"
            said.append(NotExpressed("/".join(key), f"its gang of {size} may be in no cluster: {told}"))
    return said


def _never(row: Planned, limit: Needs | None) -> str:
    """Why a gang would wait for ever where the plan has it; empty: it would not."""
    if row.replicas_peak < row.gang_size:
        return (
            f"at most {row.replicas_peak:g} of its replicas were seen at once, fewer than its gang of {row.gang_size}: "
            "with that minMember it would never start; correct its gang_size or its replicas"
        )
    if dns_label(row.namespace) != row.namespace:
        return "its namespace is none that Kubernetes takes"
    if limit is None:
        return ""
    pairs = (
        ("vCPU", row.gang.vcpus, limit.vcpus),
        ("GiB", row.gang.memory_gib, limit.memory_gib),
        ("GPU", row.gang.gpus, limit.gpus),
    )
    short = [f"{need:g} {name} of {most:g}" for name, need, most in pairs if need > most + 1e-9]
    return f"its gang of {row.gang_size} needs {', '.join(short)} that {row.cluster} has at all" if short else ""


def _document(subject: Subject, row: Planned, residency_class: str | None) -> Document:
    """The PodGroup; residency_class None: no Queue is written where it runs."""
    until = expiry(subject)
    name = dns_subdomain(row.key[3])
    resources = {"cpu": cpu(row.gang.vcpus), "memory": memory(row.gang.memory_gib)}
    resources |= {GPU: whole(row.gang.gpus)} if row.gang.gpus > 0 else {}
    queue = {"queue": queue_name(subject, residency_class)} if residency_class is not None else {}
    group = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": metadata(subject, name, namespace=row.namespace, expires_at=until),
        "spec": {"minMember": row.gang_size, **queue, "minResources": resources},
    }
    return Document(
        path=f"gangs/{file_name(row.cluster, row.namespace, row.key[2].lower(), row.key[3], ending='yaml')}",
        form="manifest",
        objects=(group,),
        says=f"{row.key[2]} {row.namespace}/{row.key[3]} starts in {row.cluster} with all {row.gang_size} of its gang "
        "or not at all.",
        apply=f"In {row.cluster}: kubectl apply -f FILE; annotate its pods with scheduling.volcano.sh/group-name: "
        f"{name}. A Volcano Job makes its own PodGroup: set its spec.minAvailable to {row.gang_size} instead.",
        rollback="Take the annotation off, then kubectl delete -f FILE.",
        expires_at=until,
        clusters=(row.cluster,),
        workloads=(row.key,),
    )
