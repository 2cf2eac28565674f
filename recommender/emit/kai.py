"""The arrow emit → KAI Scheduler: queues that let work run as long as the policy says before it is pre-empted.

A queue for each namespace with a minimum runtime, in each cluster where its workloads run or are advised to run. Only
the runtimes are set, by server-side apply with a field manager of our own: quotas, limits and weights stay those of
the queue. Source: kai-scheduler/KAI-Scheduler, deployments/kai-scheduler/crds/scheduling.run.ai_queues.yaml.
"""

from __future__ import annotations

import math
import shlex
from dataclasses import dataclass, field
from datetime import timedelta

from recommender.advise.record import Recommendation
from recommender.emit.contract import Document, Emitted, NotExpressed, Subject
from recommender.emit.names import MANAGER, dns_subdomain, file_name
from recommender.emit.provenance import metadata
from recommender.emit.subject import WAITING, Key, allowed_clusters, key_of


@dataclass(slots=True)
class _Queue:
    """What is to be in a cluster's queue of a namespace."""

    cluster: str
    namespace: str
    minutes: float = 0.0
    workloads: set[Key] = field(default_factory=set)
    advice: dict[str, Recommendation] = field(default_factory=dict)


def emit(subject: Subject) -> Emitted:
    """This will return the queues of every cluster; the longest minimum runtime of a namespace's workloads stands."""
    allowed = allowed_clusters(subject)
    advised = {key_of(one.target): one for one in subject.plan.recommendations if one.state in WAITING}
    queues: dict[tuple[str, str], _Queue] = {}
    silent: list[NotExpressed] = []
    for key, minutes in _runtimes(subject):
        cluster, namespace, _, _ = key
        moving = advised.get(key)
        for place, one in {cluster: None, **({moving.recommended.cluster: moving} if moving else {})}.items():
            if place not in allowed.get(key, ()):
                silent.append(
                    NotExpressed("/".join(key), f"it is not known to be allowed in {place}, so no queue there")
                )
                continue
            queue = queues.setdefault((place, namespace), _Queue(place, namespace))
            queue.minutes = max(queue.minutes, minutes)
            queue.workloads.add(key)
            queue.advice.update({one.id: one} if one is not None else {})
    silent += [NotExpressed(one.id, _COST) for one in advised.values() if not _has_queue(one, queues)]
    silent += [NotExpressed(one.id, _COST) for one in subject.plan.capacity]
    return Emitted(
        tuple(_document(subject, queues[place]) for place in sorted(queues)),
        tuple(sorted(silent, key=lambda one: (one.what, one.why))),
    )


_COST = "a queue has no word for what a cluster or a machine costs, only for shares and runtimes"


def _runtimes(subject: Subject) -> list[tuple[Key, float]]:
    rows = subject.workloads.filter(
        ~subject.workloads["is_system"] & (subject.workloads["minimum_runtime_minutes"] > 0)
    )
    columns = ("cluster", "namespace", "workload_kind", "workload", "minimum_runtime_minutes")
    return sorted(((row[0], row[1], row[2], row[3]), float(row[4])) for row in rows.select(columns).iter_rows())


def _has_queue(one: Recommendation, queues: dict[tuple[str, str], _Queue]) -> bool:
    return any(one.id in queue.advice for queue in queues.values())


def _document(subject: Subject, queue: _Queue) -> Document:
    settings = subject.settings
    advice = sorted(queue.advice.values(), key=lambda one: one.id)
    until = subject.at + timedelta(hours=settings.class_expires_after_hours)
    name = dns_subdomain(queue.namespace)
    runtime = f"{math.ceil(queue.minutes)}m"
    parent = {"parentQueue": settings.kai.parent_queue} if settings.kai.parent_queue else {}
    path = f"{dns_subdomain(queue.cluster)}/{file_name(queue.namespace, ending='yaml')}"
    spec = {**parent, "preemptMinRuntime": runtime, "reclaimMinRuntime": runtime}
    named = metadata(subject, name, advice=advice, expires_at=until)
    return Document(
        path=path,
        form="manifest",
        objects=({"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": named, "spec": spec},),
        says=f"Work of the queue {name} in {queue.cluster} runs {runtime} before it is pre-empted or reclaimed: the "
        f"longest minimum runtime of its {len(queue.workloads)} workloads. A queue that is not there yet needs "
        "its quotas as well.",
        apply=f"in {queue.cluster}: kubectl apply --server-side --field-manager={MANAGER} -f {path}",
        rollback=f"in {queue.cluster}: kubectl patch queue.scheduling.run.ai {shlex.quote(name)} --type=merge -p "
        """'{"spec":{"preemptMinRuntime":null,"reclaimMinRuntime":null}}'""",
        recommendations=tuple(one.id for one in advice),
        clusters=(queue.cluster,),
        workloads=tuple(sorted(queue.workloads)),
        expires_at=until,
    )
