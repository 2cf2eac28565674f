"""The arrow emit → Volcano's Queues: how the owned capacity of a cluster is shared among classes.

What a class deserves is what the plan puts there for it at peak. Where that is more than there is, every class gets the
same share of its peak: queues that together deserve more than the cluster has would reclaim from each other for ever.
Each may use all that is there (capability) while others leave it free. Quotas are rounded down for the same reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recommender.advise.owned import PAID_FOR
from recommender.emit.contract import Document, Emitted, NotExpressed, Subject
from recommender.emit.names import dns_label, file_name
from recommender.emit.order import expiry
from recommender.emit.planned import NOTHING, Needs, Planned, planned
from recommender.emit.provenance import metadata
from recommender.emit.quantities import cpu, memory, whole
from recommender.frames import WORKLOAD_KEY
from recommender.place.committed import pool_of

GPU = "nvidia.com/gpu"


def queues(subject: Subject) -> Emitted:
    """This will write the Queues of every cluster that has owned or committed capacity and a workload on it."""
    rows = [one for one in planned(subject) if one.capacity_type in PAID_FOR]
    capacity = owned_capacity(subject)
    documents = []
    said = []
    for cluster in sorted({one.cluster for one in rows}):
        mine = [one for one in rows if one.cluster == cluster]
        if cluster in capacity:
            documents.append(_document(subject, cluster, mine, capacity[cluster]))
        else:
            why = "the plan does not tell what its owned nodes hold, so there is nothing to share out"
            said.append(NotExpressed(f"queues of {cluster}", why))
    return Emitted(tuple(documents), tuple(said))


def owned_capacity(subject: Subject) -> Mapping[str, Needs]:
    """This will return what all owned and committed nodes of each cluster leave for pods, where it is known."""
    found: dict[str, Needs] = {}
    for pool in subject.plan.owned_capacity:
        if pool_of(pool.pool) != pool.pool:
            continue  # on-demand nodes to the cluster, which a bill pays for ahead
        if pool.vcpus_per_node is None or pool.memory_gib_per_node is None or pool.gpus_per_node is None:
            continue
        one = Needs(
            pool.vcpus_per_node * pool.nodes, pool.memory_gib_per_node * pool.nodes, pool.gpus_per_node * pool.nodes
        )
        found[pool.cluster] = found.get(pool.cluster, NOTHING) + one
    return found


def queue_name(subject: Subject, residency_class: str) -> str:
    """This will return the name of a class's Queue; workloads without a class share one."""
    prefix = subject.settings.volcano.queue_prefix
    return dns_label(f"{prefix}-{residency_class}") if residency_class else prefix


def class_of(subject: Subject) -> Mapping[tuple[str, str, str, str], str]:
    """This will return the class of every workload; empty: none."""
    return {
        (row[0], row[1], row[2], row[3]): row[4]
        for row in subject.workloads.select(*WORKLOAD_KEY, "residency_class").rows()
    }


def deserved(peaks: Mapping[str, Needs], capacity: Needs) -> dict[str, Needs]:
    """This will return what each class deserves: its peak, or its share of what there is where the peaks are more."""
    total = NOTHING
    for peak in peaks.values():
        total = total + peak
    cpus, gib, gpus = (
        min(1.0, has / asked) if asked > 0 else 1.0
        for has, asked in (
            (capacity.vcpus, total.vcpus),
            (capacity.memory_gib, total.memory_gib),
            (capacity.gpus, total.gpus),
        )
    )
    return {
        name: Needs(peak.vcpus * cpus, peak.memory_gib * gib, peak.gpus * gpus) for name, peak in sorted(peaks.items())
    }


def _document(subject: Subject, cluster: str, rows: list[Planned], capacity: Needs) -> Document:
    classes = class_of(subject)
    peaks: dict[str, Needs] = {}
    for row in rows:
        peaks[classes[row.key]] = peaks.get(classes[row.key], NOTHING) + row.peak
    shares = deserved(peaks, capacity)
    until = expiry(subject)
    objects = tuple(
        {
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "Queue",
            "metadata": metadata(subject, queue_name(subject, name), expires_at=until),
            "spec": {
                "reclaimable": True,
                "deserved": _amounts(share, gpus=capacity.gpus > 0),
                "capability": _amounts(capacity, gpus=capacity.gpus > 0),
            },
        }
        for name, share in shares.items()
    )
    told = ", ".join(f"{queue_name(subject, name)} {share.vcpus:g} vCPU" for name, share in shares.items())
    return Document(
        path=f"queues/{file_name(cluster, ending='yaml')}",
        form="manifest",
        objects=objects,
        says=f"Owned capacity of {cluster} ({capacity.vcpus:g} vCPU) is shared by class: {told}.",
        apply=f"In {cluster}, whose Volcano runs the capacity plugin (proportion knows no deserved): kubectl apply -f "
        "FILE.",
        rollback="Apply the queues that stood before (git revert); a queue that is new is closed, then deleted once it "
        "is empty.",
        expires_at=until,
        clusters=(cluster,),
        workloads=tuple(row.key for row in rows),
    )


def _amounts(needs: Needs, *, gpus: bool) -> dict[str, Any]:
    stated = {"cpu": cpu(needs.vcpus, up=False), "memory": memory(needs.memory_gib, up=False)}
    return stated | ({GPU: whole(needs.gpus, up=False)} if gpus else {})
