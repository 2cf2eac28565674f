"""The arrow emit → Argo CD: an ApplicationSet that follows a Placement, for each workload whose place in Git is known.

An Application that changes its cluster is deleted in the one and made in the other without overlap, so what has state
or must not stop moves in two steps: two clusters, wait until both are healthy, then one. Work that would run twice in
two clusters, and what may not stay where it is, moves in one. Placements pin clusters by name beside the residency's
label: they decide where the advice says, not by score. Sources: Argo CD, "Cluster Decision Resource Generator" (it
reads decisions in its own namespace); open-cluster-management.io/api, cluster/v1beta1/types_placement.go (celSelector).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from recommender.advise.record import Kind, Recommendation
from recommender.emit.contract import Document, Emitted, Manifest, NotExpressed, Subject
from recommender.emit.names import dns_label, dns_subdomain, label_key, label_value
from recommender.emit.provenance import metadata
from recommender.emit.subject import WAITING, allowed_clusters, key_of
from recommender.emit_settings import ArgoCdApplication

CONFIG: Final = "tuppence-placement-decisions"
REQUEUE_SECONDS: Final = 180
"""How often Argo CD looks at the decisions, its default."""

_BATCH: Final = frozenset({"CronJob", "Job"})
_NAME_LETTERS: Final = 40
"""Of an Application's name, so that the cluster's fits behind it in a label."""


@dataclass(frozen=True, slots=True)
class _Move:
    """A workload's way from cluster to cluster.

    Args:
        advice: the recommendation.
        application: where it stands in Git.
        may_stay: the policy allows it where it is.
        residency: jurisdictions that it may be in; empty: any.
        in_two_steps: it runs in both clusters for a time.
        state_gib: GiB that have to be copied.
    """

    advice: Recommendation
    application: ArgoCdApplication
    may_stay: bool
    residency: tuple[str, ...]
    in_two_steps: bool
    state_gib: float

    @property
    def name(self) -> str:
        """This will return the name of its ApplicationSet and its Placement."""
        target = self.advice.target
        return dns_label(target.cluster, target.namespace, target.workload, limit=_NAME_LETTERS)

    @property
    def folder(self) -> str:
        """This will return the folder of its files."""
        target = self.advice.target
        return f"{dns_subdomain(target.cluster)}/{dns_subdomain(target.namespace, target.workload, limit=150)}"


def emit(subject: Subject) -> Emitted:
    """This will return the ApplicationSets and the steps of every move between clusters whose place in Git is known."""
    known = {(one.namespace, one.workload): one for one in subject.settings.argocd.applications}
    allowed = allowed_clusters(subject)
    states = {tuple(row[:4]): float(row[4]) for row in _states(subject)}
    moves: list[_Move] = []
    silent: list[NotExpressed] = []
    for one in sorted(subject.plan.recommendations, key=lambda each: each.id):
        if one.state not in WAITING:
            continue
        key = key_of(one.target)
        application = known.get((one.target.namespace, one.target.workload))
        if one.recommended.cluster == one.target.cluster:
            silent.append(NotExpressed(one.id, _SAME))
        elif one.recommended.cluster not in allowed.get(key, ()):
            silent.append(NotExpressed(one.id, f"the policy does not allow it in {one.recommended.cluster}"))
        elif application is None:
            silent.append(NotExpressed(one.id, _UNKNOWN.format(name=f"{one.target.namespace}/{one.target.workload}")))
        else:
            may_stay = one.target.cluster in allowed.get(key, ())
            moves.append(_move(subject, one, application, may_stay=may_stay, state_gib=states.get(key, 0.0)))
    silent += [NotExpressed(one.id, _CAPACITY) for one in sorted(subject.plan.capacity, key=lambda each: each.id)]
    documents = [document for move in moves for document in _documents(subject, move)]
    return Emitted((_config(subject), *documents) if documents else (), tuple(silent))


_SAME = "it stays in its cluster; an ApplicationSet chooses clusters, not nodes"
_CAPACITY = (
    "an ApplicationSet moves whole applications and has no word for some of the replicas; Karmada and Kueue have"
)
_UNKNOWN = "where {name} stands in Git is not known; name it in emit.argocd.applications"


def _states(subject: Subject) -> Iterator[tuple[Any, ...]]:
    return subject.workloads.select("cluster", "namespace", "workload_kind", "workload", "state_gib").iter_rows()


def _move(
    subject: Subject, one: Recommendation, application: ArgoCdApplication, *, may_stay: bool, state_gib: float
) -> _Move:
    rules = subject.policy.classes.get(one.target.residency_class or "")
    steady = one.target.criticality != "low" or (rules is not None and rules.goal != "cost")
    overlaps = may_stay and one.kind is not Kind.COMPLIANCE and one.target.workload_kind not in _BATCH
    return _Move(
        advice=one,
        application=application,
        may_stay=may_stay,
        residency=tuple(rules.residency) if rules is not None else (),
        in_two_steps=overlaps and (steady or state_gib > 0),
        state_gib=state_gib,
    )


def _documents(subject: Subject, move: _Move) -> Iterator[Document]:
    here, there = move.advice.target.cluster, move.advice.recommended.cluster
    state = f" Its {move.state_gib:g} GiB of state have to be copied first: Argo CD copies none." * (move.state_gib > 0)
    yield _application_set(subject, move)
    last = f"Then delete what is left in {here}: the ApplicationSet deletes nothing by itself."
    if not move.in_two_steps:
        yield _step(subject, move, "1-moved", (there,), before=(here,) if move.may_stay else (), says=state, then=last)
        return
    yield _step(
        subject, move, "1-both", (here, there), before=(here,), says=state, then=f"Wait until it is healthy in {there}."
    )
    yield _step(subject, move, "2-moved", (there,), before=(here, there), says="", then=last)


def _config(subject: Subject) -> Document:
    settings = subject.settings
    until = subject.at + timedelta(hours=settings.class_expires_after_hours)
    data = {
        "apiVersion": "cluster.open-cluster-management.io/v1beta1",
        "kind": "placementdecisions",
        "statusListKey": "decisions",
        "matchKey": "clusterName",
    }
    named = metadata(subject, CONFIG, namespace=settings.argocd.namespace, expires_at=until)
    return Document(
        path="config.yaml",
        form="manifest",
        objects=({"apiVersion": "v1", "kind": "ConfigMap", "metadata": named, "data": data},),
        says="Tells ApplicationSets how to read decisions of Placements.",
        apply="kubectl apply -f config.yaml, on the hub; or in the repository that Argo CD's own settings come from",
        rollback="kubectl delete -f config.yaml, when no ApplicationSet names it any more",
        expires_at=until,
    )


def _application_set(subject: Subject, move: _Move) -> Document:
    one, application = move.advice, move.application
    namespace = subject.settings.argocd.namespace
    source = {"repoURL": application.repo_url, "targetRevision": application.revision, "path": application.path}
    placement = {"cluster.open-cluster-management.io/placement": move.name}
    spec: dict[str, Any] = {
        "goTemplate": True,
        "goTemplateOptions": ["missingkey=error"],
        "generators": [
            {
                "clusterDecisionResource": {
                    "configMapRef": CONFIG,
                    "labelSelector": {"matchLabels": placement},
                    "requeueAfterSeconds": REQUEUE_SECONDS,
                }
            }
        ],
        "syncPolicy": {"preserveResourcesOnDeletion": True},
        "template": {
            "metadata": {"name": move.name + "-{{.clusterName}}"},
            "spec": {
                "project": application.project,
                "source": source,
                "destination": {"name": "{{.clusterName}}", "namespace": one.target.namespace},
                "syncPolicy": {"automated": {"prune": True, "selfHeal": True}},
            },
        },
    }
    named = metadata(subject, move.name, namespace=namespace, advice=[one], expires_at=one.expires_at)
    path = f"{move.folder}/applicationset.yaml"
    return Document(
        path=path,
        form="manifest",
        objects=({"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "metadata": named, "spec": spec},),
        says=f"Deploys {one.target.namespace}/{one.target.workload} where the Placement {move.name} decides, instead "
        "of the Application that deploys it now.",
        apply=f"kubectl apply -f {path}, on the hub, after step 1",
        rollback=f"kubectl delete -f {path}: what it deployed stays",
        recommendations=(one.id,),
        clusters=(one.recommended.cluster,),
        workloads=(key_of(one.target),),
        expires_at=one.expires_at,
    )


def _step(
    subject: Subject,
    move: _Move,
    step: str,
    clusters: tuple[str, ...],
    *,
    before: tuple[str, ...],
    says: str,
    then: str,
) -> Document:
    one = move.advice
    path = f"{move.folder}/{step}.yaml"
    undone = f"kubectl apply -f {move.folder}/{step}.rollback.yaml, on the hub"
    return Document(
        path=path,
        form="manifest",
        objects=(_placement(subject, move, clusters),),
        rollback_objects=(_placement(subject, move, before),) if before else (),
        says=f"{one.title}: it runs in {' and in '.join(clusters)}.{says}",
        apply=f"kubectl apply -f {path}, on the hub. {then}",
        rollback=undone if before else f"none that the policy allows: it may not run in {one.target.cluster}",
        recommendations=(one.id,),
        clusters=clusters,
        workloads=(key_of(one.target),),
        expires_at=one.expires_at,
    )


def _placement(subject: Subject, move: _Move, clusters: tuple[str, ...]) -> Manifest:
    settings = subject.settings
    names = [settings.hub.managed_clusters.get(name, name) for name in clusters]
    selector: dict[str, Any] = {
        "celSelector": {"celExpressions": [f"managedCluster.metadata.name in {json.dumps(names)}"]}
    }
    if move.residency:
        values = sorted(label_value(name) for name in move.residency)
        expression = {"key": label_key(settings, "jurisdiction"), "operator": "In", "values": values}
        selector["labelSelector"] = {"matchExpressions": [expression]}
    named = metadata(
        subject,
        move.name,
        namespace=settings.argocd.namespace,
        advice=[move.advice],
        expires_at=move.advice.expires_at,
    )
    sets: Mapping[str, Any] = {"clusterSets": list(settings.ocm.cluster_sets)} if settings.ocm.cluster_sets else {}
    return {
        "apiVersion": "cluster.open-cluster-management.io/v1beta1",
        "kind": "Placement",
        "metadata": named,
        "spec": {**sets, "numberOfClusters": len(clusters), "predicates": [{"requiredClusterSelector": selector}]},
    }
