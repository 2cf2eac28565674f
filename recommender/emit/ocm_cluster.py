"""The arrow scores → what Open Cluster Management knows of a cluster: its scores, labels and claims.

Labels are the hub's word and decide; a ClusterClaim is the cluster's own word and corroborates. A cluster without a
label is chosen by nothing. Scores lie in the namespace of their cluster on the hub, and their status is a subresource:
what is sent with the object is dropped, so that it is a patch of its own (open-cluster-management.io/api,
cluster/v1alpha1/types_addonplacementscore.go and types.go).
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import polars as pl

from recommender.emit.contract import Document, Subject
from recommender.emit.names import file_name, label_key, label_value
from recommender.emit.ocm_placement import ALLOWED, REFUSED, Placed, claim_name
from recommender.emit.order import expiry
from recommender.emit.provenance import instant, metadata
from recommender.emit.score import Scores
from recommender.emit.score_status import freshness_of, status_of
from recommender.settings import ClusterSettings

API: Final = "cluster.open-cluster-management.io/v1alpha1"
CLUSTER_API: Final = "cluster.open-cluster-management.io/v1"


def score_documents(subject: Subject, scores: Scores, managed: Mapping[str, str]) -> tuple[Document, ...]:
    """This will return the score objects of all clusters, and a patch of the status of each.

    Args:
        subject: what is handed over.
        scores: of the fleet; none: there is nothing to return.
        managed: names on the hub by names here, of the clusters that can be there.
    """
    if scores.scores.is_empty() or not managed:
        return ()
    end = scores.scores["valid_until"].min()
    assert isinstance(end, datetime)
    name = subject.settings.hub.score_name
    objects = tuple(
        {"apiVersion": API, "kind": "AddOnPlacementScore",
         "metadata": metadata(subject, name, namespace=there, expires_at=end)}
        for there in sorted(managed.values())
    )  # fmt: skip
    first = Document(
        path="scores/objects.yaml",
        form="manifest",
        objects=objects,
        says=f"Makes the object {name} in the namespace of each cluster on the hub; its scores are patched in after.",
        apply="kubectl --context HUB apply -f FILE, then every status below scores/ within the same minute.",
        rollback="kubectl --context HUB delete -f FILE: without scores all clusters count 0, and Steady holds them.",
        expires_at=end,
    )
    return (first, *(_status(subject, scores, end, here, managed[here]) for here in sorted(managed)))


def label_document(
    subject: Subject, cluster: ClusterSettings, there: str, jurisdiction: str, classes: Sequence[Placed]
) -> Document:
    """This will return the labels that a cluster should have on the hub."""
    found = _facts(subject, cluster, jurisdiction)
    for one in classes:
        allowed = cluster.name in one.values
        found[f"{subject.settings.label_prefix}/{one.label}"] = ALLOWED if allowed else REFUSED
    here = [one for one in classes if cluster.name in one.values]
    named = ", ".join(one.title for one in here) or "no class"
    return Document(
        path=f"labels/{file_name(there, ending='yaml')}",
        form="merge-patch",
        objects=({"metadata": {"labels": dict(sorted(found.items()))}},),
        rollback_objects=({"metadata": {"labels": dict.fromkeys(sorted(found))}},),
        patches={"apiVersion": CLUSTER_API, "kind": "ManagedCluster", "namespace": "", "name": there},
        says=f"Labels {there} with its jurisdiction, and lets {named} be placed there. A person who governs the fleet "
        "should look at it: Placements trust these labels.",
        apply=f"kubectl --context HUB patch managedcluster {shlex.quote(there)} --type merge --patch-file FILE",
        rollback="The same with the roll-back: Placements that ask for the labels then choose it no more.",
        expires_at=expiry(subject),
        clusters=(cluster.name,) if here else (),
        workloads=tuple(sorted(key for one in here for key in one.workloads)),
    )


def claim_document(subject: Subject, cluster: ClusterSettings, there: str, jurisdiction: str) -> Document:
    """This will return the claims that a cluster should make of itself."""
    end = expiry(subject)
    values = {
        "jurisdiction": jurisdiction,
        "provider": cluster.provider,
        "region": cluster.region,
        "tier": cluster.tier,
    }
    objects = tuple(
        {"apiVersion": API, "kind": "ClusterClaim",
         "metadata": metadata(subject, claim_name(subject, what), expires_at=end), "spec": {"value": value}}
        for what, value in sorted(values.items())
        if value
    )  # fmt: skip
    return Document(
        path=f"claims/{file_name(there, ending='yaml')}",
        form="manifest",
        objects=objects,
        says=f"{there} says itself where it is. It takes {len(objects)} of the 20 claims of its own that a cluster may "
        "make by default (Klusterlet, maxCustomClusterClaims).",
        apply=f"kubectl --context {shlex.quote(there)} apply -f FILE, in the managed cluster itself.",
        rollback=f"kubectl --context {shlex.quote(there)} delete -f FILE",
        expires_at=end,
    )


def _status(subject: Subject, scores: Scores, end: datetime, here: str, there: str) -> Document:
    name = subject.settings.hub.score_name
    values = dict(scores.scores.filter(pl.col("cluster") == here).select("score", "value").iter_rows())
    status = status_of(values, end, freshness_of(scores.scores, at=subject.at))
    cleared: dict[str, Any] = {"scores": None, "validUntil": None, "conditions": None}
    return Document(
        path=f"scores/{file_name(there, 'status', ending='yaml')}",
        form="merge-patch",
        objects=({"status": status},),
        rollback_objects=({"status": cleared},),
        patches={"apiVersion": API, "kind": "AddOnPlacementScore", "namespace": there, "name": name},
        says=f"The scores of {there}. They lapse at {instant(end)}, in every cluster at once.",
        apply=f"kubectl --context HUB -n {shlex.quote(there)} patch addonplacementscore {shlex.quote(name)} "
        "--subresource status --type merge --patch-file FILE",
        rollback="The same with the roll-back, for all clusters: a score that is missing in one counts 0 there.",
        expires_at=end,
    )


def _facts(subject: Subject, cluster: ClusterSettings, jurisdiction: str) -> dict[str, str]:
    prefix = subject.settings.label_prefix
    found = {
        label_key(subject.settings, "tier"): cluster.tier,
        f"{prefix}/provider": label_value(cluster.provider),
        f"{prefix}/region": label_value(cluster.region),
    }
    if jurisdiction:
        found[label_key(subject.settings, "jurisdiction")] = label_value(jurisdiction)
    return found
