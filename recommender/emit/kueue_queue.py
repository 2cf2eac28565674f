"""The arrow emit → a worker's ClusterQueue: flavours in the order of what they cost, quotas as large as the plan.

A ClusterQueue that the settings tell is patched: each operation tests the value that it was worked out from, and a
quota is only ever raised, so that nothing admitted is stranded. One that they do not tell is written whole, to be
created.
Borrowing would let a job start on a dearer flavour while a cheaper one is free elsewhere in the cohort, so priced
flavours borrow nothing; outside a cohort Kueue refuses the field, and nothing is borrowed anyway.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import polars as pl

from recommender.advise.record import Recommendation
from recommender.emit.contract import Document, Emitted, NotExpressed, Subject
from recommender.emit.kueue_flavors import flavor_name, stated_flavor
from recommender.emit.kueue_patch import patched
from recommender.emit.names import dns_label, dns_subdomain, file_name
from recommender.emit.order import allowed_costs, expiry, live
from recommender.emit.planned import NOTHING, Needs, Planned, lawful_namespaces, planned, quota_of
from recommender.emit.provenance import metadata
from recommender.emit.quantities import cpu, memory, whole
from recommender.emit.subject import key_of
from recommender.emit_settings import KueueQueue
from recommender.frames import WORKLOAD_KEY
from recommender.settings import ClusterSettings

GPU = "nvidia.com/gpu"
NAMESPACE_LABEL = "kubernetes.io/metadata.name"


def queues(subject: Subject) -> Emitted:
    """This will write or patch the ClusterQueue of every cluster that the plan puts something in."""
    everything = planned(subject)
    documents: list[Document] = []
    said: list[NotExpressed] = []
    for cluster in sorted(subject.clusters, key=lambda one: one.name):
        inside = [one for one in everything if one.cluster == cluster.name]
        lawful = lawful_namespaces(subject, cluster.name)
        rows = [one for one in inside if one.namespace in lawful]
        said.extend(_kept_out(cluster.name, sorted({one.namespace for one in inside} - lawful)))
        too_large = _beyond_quota(cluster, rows)
        said.extend(too_large)
        if rows and not too_large:
            made = _of_cluster(subject, cluster.name, rows)
            documents.extend(made.documents)
            said.extend(made.not_expressed)
    return Emitted(tuple(documents), tuple(said))


def flavor_order(subject: Subject, cluster: str, rows: list[Planned]) -> list[str]:
    """This will return the capacity types that workloads may use in a cluster, the cheapest first.

    Types are compared by what the workloads that may use one cost there, against what the same workloads cost at their
    cheapest: a type that few may use is not cheap because they are few.
    """
    keys = pl.DataFrame([one.key for one in rows], schema=dict.fromkeys(WORKLOAD_KEY, pl.String), orient="row")
    costs = allowed_costs(subject).filter(pl.col("to_cluster") == cluster).join(keys, on=list(WORKLOAD_KEY), how="semi")
    best = costs.group_by(WORKLOAD_KEY).agg(best=pl.col("gbp_per_hour").min())
    ratios = (
        costs.join(best, on=list(WORKLOAD_KEY))
        .group_by("to_capacity_type")
        .agg(ratio=(pl.col("gbp_per_hour").sum() / pl.col("best").sum()).round(9).fill_nan(1.0))
        .sort("ratio", "to_capacity_type")
    )
    return list(ratios["to_capacity_type"])


def resources(needs: Needs, *, cohort: bool, gpus: bool) -> list[dict[str, Any]]:
    """This will return a flavour's quotas as Kueue writes them."""
    stated = [("cpu", cpu(needs.vcpus)), ("memory", memory(needs.memory_gib))]
    stated += [(GPU, whole(needs.gpus))] if gpus else []
    limit = {"borrowingLimit": "0"} if cohort else {}
    return [{"name": name, "nominalQuota": amount, **limit} for name, amount in stated]


def queue_object(
    subject: Subject, *, meta: dict[str, Any], flavors: list[tuple[str, Needs]], namespaces: list[str], stop: str = ""
) -> dict[str, Any]:
    """This will return a whole ClusterQueue.

    Args:
        subject: whose settings name the version and the cohort.
        meta: metadata.
        flavors: names and quotas, in the order in which they are tried.
        namespaces: that may use it.
        stop: a stopPolicy; empty: the field is left out.
    """
    kueue = subject.settings.kueue
    gpus = any(needs.gpus > 0 for _, needs in flavors)
    cohort_field = "cohortName" if kueue.api_version.endswith("v1beta2") else "cohort"
    return {
        "apiVersion": kueue.api_version,
        "kind": "ClusterQueue",
        "metadata": meta,
        "spec": {
            **({cohort_field: kueue.cohort} if kueue.cohort else {}),
            "namespaceSelector": {
                "matchExpressions": [{"key": NAMESPACE_LABEL, "operator": "In", "values": namespaces}]
            },
            "resourceGroups": [
                {
                    "coveredResources": ["cpu", "memory", *([GPU] if gpus else [])],
                    "flavors": [
                        {"name": name, "resources": resources(needs, cohort=bool(kueue.cohort), gpus=gpus)}
                        for name, needs in flavors
                    ],
                }
            ],
            "flavorFungibility": {"whenCanBorrow": "TryNextFlavor", "whenCanPreempt": "TryNextFlavor"},
            **({"stopPolicy": stop} if stop else {}),
        },
    }


def _of_cluster(subject: Subject, cluster: str, rows: list[Planned]) -> Emitted:
    order = flavor_order(subject, cluster, rows)
    by_type = {name: quota_of(one for one in rows if one.capacity_type == name) for name in order}
    known = [one for one in subject.settings.kueue.queues if one.cluster == cluster]
    if not known:
        return Emitted((_whole(subject, cluster, rows, order, by_type),))
    if len(known) > 1:
        why = "the settings name several ClusterQueues of it; what the plan puts there cannot be told apart by queue"
        return Emitted((), (NotExpressed(f"cluster {cluster}", why),))
    return _patch(subject, known[0], rows, order, by_type)


def _whole(
    subject: Subject, cluster: str, rows: list[Planned], order: list[str], by_type: dict[str, Needs]
) -> Document:
    carried, until = _carried(subject, cluster, rows)
    name = dns_label(subject.settings.kueue.queue)
    used = [(flavor_name(cluster, one), by_type[one]) for one in order if by_type[one] != NOTHING]
    namespaces = sorted({one.namespace for one in rows})
    meta = metadata(subject, name, advice=carried, expires_at=until)
    return Document(
        path=f"queues/{file_name(cluster, name, ending='yaml')}",
        form="manifest",
        objects=(queue_object(subject, meta=meta, flavors=used, namespaces=namespaces),),
        says=f"In {cluster} jobs try the flavours in the order {', '.join(one for one, _ in used)}, up to what the "
        "plan puts there at peak.",
        apply=f"In {cluster}: kubectl create -f FILE. It is refused where a ClusterQueue {name} is already: name that "
        "one with its file in emit.kueue.queues, and a patch of it is written instead.",
        rollback="kubectl delete -f FILE, once no LocalQueue points to it.",
        expires_at=until,
        recommendations=tuple(one.id for one in carried),
        clusters=(cluster,),
        workloads=tuple(one.key for one in rows),
    )


def _patch(
    subject: Subject, queue: KueueQueue, rows: list[Planned], order: list[str], by_type: dict[str, Needs]
) -> Emitted:
    what = f"ClusterQueue {queue.name} of {queue.cluster}"
    if queue.current is None:
        why = "the settings name it, but not what it holds now: a patch of it would test guessed values; give its file"
        return Emitted((), (NotExpressed(what, why),))
    names = {one: stated_flavor(queue, one) for one in order}
    made = patched(queue.current, [(names[one], by_type[one]) for one in order])
    if isinstance(made, str):
        return Emitted((), (NotExpressed(what, made),))
    said = tuple(
        NotExpressed(
            f"flavour {one} in {what}", "the plan puts workloads on it, and the queue does not have it; add it"
        )
        for one in made.lacking
    )
    if not made.operations:
        return Emitted((), said)
    carried, until = _carried(subject, queue.cluster, rows)
    document = Document(
        path=f"queues/{file_name(queue.cluster, queue.name, ending='json')}",
        form="json-patch",
        objects=made.operations,
        says=f"{what}: {made.says}.",
        apply=f"In {queue.cluster}: kubectl patch clusterqueue {dns_subdomain(queue.name)} --type=json "
        "--patch-file FILE. Admitted jobs keep their flavour.",
        rollback="The same command with the file of the roll-back.",
        rollback_objects=made.rollback,
        expires_at=until,
        patches={"apiVersion": subject.settings.kueue.api_version, "kind": "ClusterQueue", "namespace": "",
                 "name": queue.name},
        recommendations=tuple(one.id for one in carried),
        clusters=(queue.cluster,),
        workloads=tuple(one.key for one in rows),
    )  # fmt: skip
    return Emitted((document,), said)


def _carried(subject: Subject, cluster: str, rows: list[Planned]) -> tuple[list[Recommendation], datetime]:
    keys = {one.key for one in rows}
    advice = [one for one in live(subject) if one.recommended.cluster == cluster and key_of(one.target) in keys]
    return advice, expiry(subject, advice)


def _kept_out(cluster: str, namespaces: list[str]) -> list[NotExpressed]:
    return [
        NotExpressed(
            what=f"namespace {one} in {cluster}",
            why="a ClusterQueue lets whole namespaces in, and not every workload of this one may be in that cluster: "
            "part the namespace by class",
        )
        for one in namespaces
    ]


def _beyond_quota(cluster: ClusterSettings, rows: list[Planned]) -> list[NotExpressed]:
    """Gangs that the cluster's quota could never hold: no queue is written that would let them wait for ever."""
    said = []
    for one in rows:
        short = [
            f"{need:g} {name} of {limit:g}"
            for name, need, limit in (
                ("vCPUs", one.gang.vcpus, cluster.quotas.vcpus),
                ("GPUs", one.gang.gpus, cluster.quotas.gpus),
            )
            if limit is not None and need > limit
        ]
        if short:
            why = f"its gang of {one.gang_size} needs {' and '.join(short)} that {cluster.name} may have at all"
            said.append(NotExpressed("/".join(one.key), why))
    return said
