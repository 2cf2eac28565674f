"""The arrow emit → Azure Kubernetes Fleet Manager: in which member cluster a namespace runs.

Members are AKS and Arc-enabled clusters. The jurisdiction and the member's own name are required by labels, so a
cluster without them is never chosen. Cost is one property sorter at most: each of the two cost properties divides the
whole price of the nodes, so both together would count it twice. Only AKS clusters have these properties, and a member
without one gets nothing of the weight, however cheap it is; so where such a member may be chosen, nothing is sorted.
Sources: Azure/fleet, apis/placement and pkg/propertyprovider/azure; Azure Kubernetes Fleet Manager, "Member cluster
types".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from recommender.advise.record import Recommendation
from recommender.emit.contract import Document, Emitted, NotExpressed, Subject
from recommender.emit.names import dns_label, dns_subdomain, file_name, label_key, label_value
from recommender.emit.order import allowed_costs, expiry, live, live_capacity
from recommender.emit.provenance import metadata
from recommender.emit.subject import Key, jurisdictions, key_of
from recommender.frames import WORKLOAD_KEY

CAVEATS: Final = (
    "Fleet's cost is the list price of on-demand nodes to three decimals, its currency not stated: no spot, no "
    "commitment and no egress is in it"
)


@dataclass(frozen=True, slots=True)
class _Namespace:
    """A namespace with the members that all of its workloads may be in, the cheapest first, at £/h for all."""

    name: str
    workloads: tuple[Key, ...]
    members: tuple[tuple[str, float], ...]
    cheaper_unseen: bool


def emit(subject: Subject) -> Emitted:
    """This will write a ClusterResourcePlacement for every namespace, and the labels that it requires of members."""
    azure = {one.name for one in subject.clusters if one.provider == "azure"}
    stated = set(subject.settings.fleet.members)
    members = sorted({one.name for one in subject.clusters} & (stated or azure))
    if not members:
        why = "no cluster is a member: none is of provider azure, and emit.fleet.members names none"
        return Emitted((), (NotExpressed("fleet", why),))
    named = [one for one in members if dns_subdomain(one) == one]
    said = [NotExpressed(f"cluster {one}", "no MemberCluster can have its name") for one in members if one not in named]
    documents = []
    costs = allowed_costs(subject).filter(pl.col("to_cluster").is_in(named))
    for name in sorted(subject.workloads.filter(~pl.col("is_system"))["namespace"].unique()):
        found = _namespace(subject, name, costs, named)
        if isinstance(found, str):
            said.append(NotExpressed(f"namespace {name}", found))
            continue
        documents.append(_placement(subject, found, azure))
        if (unsorted := _unsorted(found, azure)) or found.cheaper_unseen:
            said.append(NotExpressed(f"prices of namespace {name}", unsorted or _UNSEEN))
    used = sorted({one for document in documents for one in document.clusters})
    labels = [_labels(subject, one) for one in used]
    return Emitted((*labels, *documents), (*said, *_advice_left(subject, documents)))


_NO_BURST = "a placement neither overflows nor comes back, and buys no capacity; Kueue and Karmada have bursts"
_UNSEEN = "its workloads are cheapest on spot or committed nodes, of which Fleet's cost properties know nothing"


def _namespace(subject: Subject, name: str, costs: pl.DataFrame, members: Sequence[str]) -> _Namespace | str:
    """The namespace as Fleet can place it, or why it cannot: it places a namespace with all that is in it."""
    rows = subject.workloads.filter(~pl.col("is_system"), pl.col("namespace") == name)
    if dns_label(name) != name:
        return "its name is none that Kubernetes takes"
    if rows["local_volume"].any() or (rows["state_gib"] > 0).any():
        return "it holds state, and Fleet moves objects, not data; move the data first, or part the namespace"
    mine = costs.filter(pl.col("namespace") == name)
    best = mine.sort("gbp_per_hour").group_by(*WORKLOAD_KEY, "to_cluster", maintain_order=True).first()
    sums = (
        best.group_by("to_cluster")
        .agg(pl.len().alias("workloads"), pl.col("gbp_per_hour").sum().round(8))
        .filter(pl.col("workloads") == rows.height)
        .sort("gbp_per_hour", "to_cluster")
    )
    if sums.is_empty():
        return f"none of the members {', '.join(members)} is allowed and priced for all of its {rows.height} workloads"
    chosen = best.filter(pl.col("to_cluster").is_in(sums["to_cluster"].to_list()))
    return _Namespace(
        name=name,
        workloads=tuple(rows.sort(WORKLOAD_KEY).select(WORKLOAD_KEY).rows()),
        members=tuple(sums.select("to_cluster", "gbp_per_hour").rows()),
        cheaper_unseen=bool((chosen["to_capacity_type"] != "on-demand").any()),
    )


def _placement(subject: Subject, found: _Namespace, azure: set[str]) -> Document:
    fleet = subject.settings.fleet
    names = [name for name, _ in found.members]
    advice = [one for one in _advice(subject, found) if names == [one.recommended.cluster]]
    until = expiry(subject, advice)
    name = dns_subdomain("tuppence", found.name)
    affinity: dict[str, Any] = {"requiredDuringSchedulingIgnoredDuringExecution": _required(subject, names)}
    sorts = len(names) > 1 and not _unsorted(found, azure)
    if sorts:
        sorter = {"name": f"kubernetes.azure.com/{fleet.sort_by}", "sortOrder": "Ascending"}
        affinity["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {"weight": fleet.weight, "preference": {"propertySorter": sorter}}
        ]
    placement = {
        "apiVersion": fleet.api_version,
        "kind": "ClusterResourcePlacement",
        "metadata": metadata(subject, name, advice=advice, expires_at=until),
        "spec": {
            "resourceSelectors": [{"group": "", "version": "v1", "kind": "Namespace", "name": found.name}],
            "policy": {
                "placementType": "PickN",
                "numberOfClusters": 1,
                "affinity": {"clusterAffinity": affinity},
            },
            # What is in a member already is taken over only where it is the same: nothing of somebody's is replaced.
            "strategy": {"type": "RollingUpdate", "applyStrategy": {"whenToTakeOver": "IfNoDiff"}},
        },
    }
    ours = ", ".join(f"{member} £{price:.4f}/h" for member, price in found.members)
    how = f"sorted by {fleet.sort_by}; {CAVEATS}" if sorts else "not sorted by cost"
    return Document(
        path=f"placements/{file_name(found.name, ending='yaml')}",
        form="manifest",
        objects=(placement,),
        says=f"Namespace {found.name} runs in one of the members it may be in, by our prices {ours}; {how}.",
        apply="On the fleet's hub, once the members are labelled: kubectl apply -f FILE. placementType cannot be "
        "changed afterwards.",
        rollback="Apply the placement that stood before (git revert). Deleting a ClusterResourcePlacement deletes what "
        "it placed in the members.",
        expires_at=until,
        recommendations=tuple(one.id for one in advice),
        clusters=tuple(names),
        workloads=found.workloads,
    )


def _required(subject: Subject, names: Sequence[str]) -> Mapping[str, Any]:
    known = jurisdictions(subject)
    lawful = sorted({label_value(known[name]) for name in names})
    expressions = [
        {"key": label_key(subject.settings, "jurisdiction"), "operator": "In", "values": lawful},
        {"key": _name_key(subject), "operator": "In", "values": sorted(label_value(name) for name in names)},
    ]
    return {"clusterSelectorTerms": [{"labelSelector": {"matchExpressions": expressions}}]}


def _labels(subject: Subject, cluster: str) -> Document:
    """The labels of a member: a placement that requires them passes over a cluster that nobody has labelled."""
    jurisdiction = jurisdictions(subject)[cluster]
    keys = {label_key(subject.settings, "jurisdiction"): label_value(jurisdiction), _name_key(subject): cluster}
    labels = {key: label_value(value) for key, value in sorted(keys.items())}
    return Document(
        path=f"members/{file_name(cluster, ending='yaml')}",
        form="merge-patch",
        objects=({"metadata": {"labels": labels}},),
        says=f"Member {cluster} is labelled with its name and its jurisdiction, {jurisdiction}.",
        apply=f"On the fleet's hub: kubectl patch membercluster {cluster} --type=merge --patch-file FILE. Whoever "
        "answers for residency should do it: the label is what placements require.",
        rollback="The same command with the file of the roll-back; placements then leave the member out.",
        rollback_objects=({"metadata": {"labels": dict.fromkeys(labels)}},),
        patches={
            "apiVersion": "cluster.kubernetes-fleet.io/v1",
            "kind": "MemberCluster",
            "namespace": "",
            "name": cluster,
        },
        expires_at=expiry(subject),
    )


def _name_key(subject: Subject) -> str:
    return f"{subject.settings.label_prefix}/cluster"


def _unsorted(found: _Namespace, azure: set[str]) -> str:
    """Why nothing may be sorted by cost; empty: it may."""
    without = [name for name, _ in found.members if name not in azure]
    if len(found.members) < 2 or not without:
        return ""
    return f"no cost property is known of {', '.join(without)}, being no AKS cluster: it would come last; not sorted"


def _advice(subject: Subject, found: _Namespace) -> list[Recommendation]:
    keys = set(found.workloads)
    return [one for one in live(subject) if key_of(one.target) in keys]


def _advice_left(subject: Subject, documents: Sequence[Document]) -> list[NotExpressed]:
    carried = {each for document in documents for each in document.recommendations}
    why = (
        "Fleet chooses among members by its own prices or by none, for a whole namespace; it cannot be told one of them"
    )
    left = [NotExpressed(one.id, why) for one in live(subject) if one.id not in carried]
    return [*left, *(NotExpressed(one.id, _NO_BURST) for one in live_capacity(subject))]
