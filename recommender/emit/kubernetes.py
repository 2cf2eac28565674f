"""The arrow emit → Kubernetes: patches of pod templates for advice that leaves a workload in its cluster.

A JSON Patch adds a preferred node affinity and tolerations, so that the default scheduler still places the pods where
no such node is free. What a rule demands is required instead: the architecture, the region of a class with a residency,
and nodes other than those that a workload may not be on. Each patch tests first that the template has neither of its
own: nothing that somebody wrote is replaced. A `test` of null holds where the member is absent in the library that the
API server, kubectl and kustomize apply patches with (its own table of tests has {"op": "test", "path": "/foo",
"value": null} on {"baz": "qux"} as passing); RFC 6902 itself would refuse it. Sources: Kubernetes, "Assigning Pods to
Nodes", "Well-Known Labels"; RFC 6902; github.com/evanphx/json-patch, patch_test.go.

A pilot may be given another scheduler by a patch of its own, with the patch back: when that scheduler is down nothing
else places its pods.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from recommender.advise.record import Kind, Recommendation
from recommender.emit.contract import Document, Emitted, Manifest, NotExpressed, Subject
from recommender.emit.names import dns_subdomain, file_name
from recommender.emit.node_labels import REGION_LABEL, capacity_labels, spot_taint
from recommender.emit.subject import WAITING, allowed_clusters, key_of
from recommender.settings import ClusterSettings

ARCHITECTURE_LABEL: Final = "kubernetes.io/arch"
INSTANCE_TYPE_LABEL: Final = "node.kubernetes.io/instance-type"
CLOUDS: Final = ("aws", "azure", "gcp")
"""Providers whose cloud controller labels nodes with region and instance type."""


@dataclass(frozen=True, slots=True)
class Template:
    """Where a kind keeps its pod's spec, and whether an object that exists takes a change of it."""

    api_version: str
    path: str
    mutable: bool = True


TEMPLATES: Final[Mapping[str, Template]] = {
    "CronJob": Template("batch/v1", "/spec/jobTemplate/spec/template/spec"),
    "DaemonSet": Template("apps/v1", "/spec/template/spec"),
    "Deployment": Template("apps/v1", "/spec/template/spec"),
    "Job": Template("batch/v1", "/spec/template/spec", mutable=False),
    "ReplicaSet": Template("apps/v1", "/spec/template/spec"),
    "StatefulSet": Template("apps/v1", "/spec/template/spec"),
}


def emit(subject: Subject) -> Emitted:
    """This will return the patches of workloads that stay in their cluster."""
    fleet = {cluster.name: cluster for cluster in subject.clusters}
    allowed = allowed_clusters(subject)
    needs = {
        (row["cluster"], row["namespace"], row["workload_kind"], row["workload"]): row
        for row in subject.workloads.iter_rows(named=True)
    }
    documents: list[Document] = []
    silent: list[NotExpressed] = []
    for one in sorted(subject.plan.recommendations, key=lambda each: each.id):
        if one.state not in WAITING:
            continue
        key = key_of(one.target)
        why = _why_not(one, fleet.get(one.target.cluster), legal=one.target.cluster in allowed.get(key, ()))
        affinity = {} if why else _affinity(subject, one, fleet[one.target.cluster], needs[key])
        if why or not affinity:
            silent.append(NotExpressed(one.id, why or _UNLABELLED.format(cluster=one.target.cluster)))
            continue
        documents.append(_placed(subject, one, affinity))
        if _is_pilot(subject, one):
            documents.append(_scheduled(subject, one))
    silent += [NotExpressed(one.id, _CAPACITY) for one in sorted(subject.plan.capacity, key=lambda each: each.id)]
    return Emitted(tuple(documents), tuple(silent))


_CAPACITY = "a pod template has no word for overflowing to another cluster; Kueue, Karmada, OCM and Volcano have"
_UNLABELLED = (
    "the nodes of {cluster} carry no label that tells its pools apart; name them in emit.kubernetes.pool_labels"
)


def _why_not(one: Recommendation, cluster: ClusterSettings | None, *, legal: bool) -> str:
    if one.recommended.cluster != one.target.cluster:
        return "it moves to another cluster, for which a pod template has no word; OCM, Karmada, Fleet and Argo CD have"
    if cluster is None or not legal:
        return f"{one.target.cluster} is not among the clusters that the policy allows it in"
    if one.target.workload_kind not in TEMPLATES:
        return f"where a {one.target.workload_kind} keeps its pod's template is not known; change it by hand"
    return ""


def _is_pilot(subject: Subject, one: Recommendation) -> bool:
    settings = subject.settings.kubernetes
    listed = one.target.namespace in settings.pilot_namespaces
    return bool(settings.pilot_scheduler) and listed and one.target.criticality == "low"


def _placed(subject: Subject, one: Recommendation, affinity: Mapping[str, Any]) -> Document:
    template = TEMPLATES[one.target.workload_kind]
    added: dict[str, Any] = {"affinity": {"nodeAffinity": affinity}}
    if tolerations := _tolerations(subject, one):
        added["tolerations"] = tolerations
    place = {name: f"{template.path}/{name}" for name in added}
    return _document(
        one,
        "",
        says=f"{one.title}: its pods prefer nodes of pool {one.recommended.pool}; they start again.",
        objects=(
            *_identity(one),
            *({"op": "test", "path": path, "value": None} for path in place.values()),
            *({"op": "add", "path": place[name], "value": value} for name, value in added.items()),
        ),
        rollback_objects=(
            *_identity(one),
            *({"op": "test", "path": place[name], "value": value} for name, value in added.items()),
            *({"op": "remove", "path": path} for path in place.values()),
        ),
    )


def _scheduled(subject: Subject, one: Recommendation) -> Document:
    path = f"{TEMPLATES[one.target.workload_kind].path}/schedulerName"
    name = subject.settings.kubernetes.pilot_scheduler
    return _document(
        one,
        "scheduler",
        says=f"A pilot: pods of {one.target.namespace}/{one.target.workload} are placed by {name}, and by nothing else "
        "while it is down; only objects of the API server have the field to test.",
        objects=(
            *_identity(one),
            {"op": "test", "path": path, "value": "default-scheduler"},
            {"op": "replace", "path": path, "value": name},
        ),
        rollback_objects=(
            *_identity(one),
            {"op": "test", "path": path, "value": name},
            {"op": "replace", "path": path, "value": "default-scheduler"},
        ),
    )


def _document(
    one: Recommendation,
    what: str,
    *,
    says: str,
    objects: tuple[Manifest, ...],
    rollback_objects: tuple[Manifest, ...],
) -> Document:
    target, template = one.target, TEMPLATES[one.target.workload_kind]
    words = (target.namespace, target.workload_kind.lower(), target.workload)
    path = f"{dns_subdomain(target.cluster)}/{file_name(*words, *([what] if what else []), ending='json')}"
    return Document(
        path=path,
        form="json-patch",
        objects=objects,
        says=says,
        apply=_apply(one, path),
        rollback="in the same way, with the patch back; its pods start again",
        rollback_objects=rollback_objects,
        patches={
            "apiVersion": template.api_version,
            "kind": target.workload_kind,
            "namespace": target.namespace,
            "name": target.workload,
        },
        recommendations=(one.id,),
        clusters=(target.cluster,),
        workloads=(key_of(target),),
        expires_at=one.expires_at,
    )


def _apply(one: Recommendation, path: str) -> str:
    target = one.target
    if not TEMPLATES[target.workload_kind].mutable:
        return (
            f"as a JSON 6902 patch of the {target.workload_kind}'s manifest in its repository, for its next run; one "
            "that exists keeps its template"
        )
    return (
        f"as a JSON 6902 patch (kustomize) of the manifest in its repository, or in {target.cluster}: kubectl patch "
        f"{target.workload_kind.lower()} {shlex.quote(target.workload)} -n {shlex.quote(target.namespace)} --type=json "
        f"--patch-file {path}"
    )


def _identity(one: Recommendation) -> Iterator[Manifest]:
    target = one.target
    yield {"op": "test", "path": "/kind", "value": target.workload_kind}
    yield {"op": "test", "path": "/metadata/name", "value": target.workload}


def _affinity(
    subject: Subject, one: Recommendation, cluster: ClusterSettings, needs: Mapping[str, Any]
) -> dict[str, Any]:
    """The node affinity; empty: no label tells the recommended nodes from the others."""
    wanted = _wanted(subject, one, cluster)
    if not wanted:
        return {}
    required = _required(subject, one, cluster, needs)
    weight = subject.settings.kubernetes.weight
    preferred = {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": weight, "preference": {"matchExpressions": wanted}}
        ]
    }
    if not required:
        return preferred
    demanded = {"nodeSelectorTerms": [{"matchExpressions": required}]}
    return {"requiredDuringSchedulingIgnoredDuringExecution": demanded, **preferred}


def _wanted(subject: Subject, one: Recommendation, cluster: ClusterSettings) -> list[dict[str, Any]]:
    """Labels of the recommended pool's nodes."""
    to = one.recommended
    stated = subject.settings.kubernetes.pool_labels.get(cluster.name, {}).get(to.pool, {})
    if stated:
        return [_in(key, [value]) for key, value in sorted(stated.items())]
    found = []
    if to.capacity_type != one.current.capacity_type:
        labels = capacity_labels(subject.settings, cluster.provider, to.capacity_type)
        found = [_in(key, [value]) for key, value in labels.items()]
    types = {pool.name: pool.instance_types for pool in cluster.pools}
    if cluster.provider in CLOUDS and set(types.get(to.pool, ())) != set(types.get(one.current.pool, ())):
        found.append(_in(INSTANCE_TYPE_LABEL, sorted(types[to.pool])))
    return found


def _required(
    subject: Subject, one: Recommendation, cluster: ClusterSettings, needs: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """What the policy demands of every node, whatever it costs."""
    rules = subject.policy.classes.get(needs["residency_class"])
    found = []
    architectures = [needs["architecture"]] if needs["architecture"] else list(rules.architectures if rules else ())
    if architectures:
        found.append(_in(ARCHITECTURE_LABEL, sorted(architectures)))
    if rules is not None and rules.residency and cluster.provider in CLOUDS:
        found.append(_in(REGION_LABEL, [cluster.region]))
    if one.kind is Kind.COMPLIANCE and one.current.capacity_type != one.recommended.capacity_type:
        forbidden = capacity_labels(subject.settings, cluster.provider, one.current.capacity_type)
        found += [{"key": key, "operator": "NotIn", "values": [value]} for key, value in forbidden.items()]
    return found


def _tolerations(subject: Subject, one: Recommendation) -> list[dict[str, Any]]:
    if one.recommended.capacity_type != "spot":
        return []
    taint = spot_taint(subject.settings, one.recommended.provider)
    return [{"key": taint["key"], "operator": "Equal", "value": taint["value"], "effect": taint["effect"]}]


def _in(key: str, values: list[str]) -> dict[str, Any]:
    return {"key": key, "operator": "In", "values": values}
