"""The arrow scores → Open Cluster Management's Placement: one a class, and what it will do with the advice.

A Placement lets pass only clusters with the jurisdiction's label and the class's own; neither is ever a matter of
price. Steady and the cost score are all that it weighs (mode Exact: Additive would add Balance). Fields as in
open-cluster-management.io/api, cluster/v1beta1/types_placement.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from recommender.advise.record import Recommendation
from recommender.emit.contract import Document, Manifest, Subject
from recommender.emit.names import dns_label, dns_subdomain, file_name, label_key
from recommender.emit.order import expiry
from recommender.emit.provenance import metadata
from recommender.emit.score import ANY, CPU, PRICED, Scores
from recommender.emit.score_scale import Prediction, Scale, predicted
from recommender.emit.subject import Key, jurisdictions, key_of
from recommender.frames import WORKLOAD_KEY

API: Final = "cluster.open-cluster-management.io/v1beta1"
ALLOWED, REFUSED = "allowed", "refused"
_OWNED_FIRST: Final = (("owned", "owned"), ("cloud", "cloud"))


@dataclass(frozen=True, slots=True)
class Placed:
    """A class's workloads that ask for the same kind of node, and where they may be.

    Args:
        residency_class: the class.
        resource_class: cpu, or the GPU model.
        score: the name of the score that its Placement reads.
        values: the scores of the clusters that all of the workloads may use, by their names here.
        workloads: keys.
    """

    residency_class: str
    resource_class: str
    score: str
    values: Mapping[str, int]
    workloads: tuple[Key, ...]

    @property
    def title(self) -> str:
        """This will return it in words: the class, and the GPU model if there is one."""
        return (
            self.residency_class if self.resource_class == CPU else f"{self.residency_class} on {self.resource_class}"
        )

    @property
    def name(self) -> str:
        """This will return the name of its Placement."""
        return dns_label(self.title, limit=50)

    @property
    def label(self) -> str:
        """This will return what stands after the slash in the label of clusters that it may use."""
        return dns_label(f"may-run-{self.name}")

    def first_choice(self, names: Mapping[str, str]) -> str:
        """This will return the cluster, by its name on the hub, that a Placement without a decision chooses.

        Args:
            names: names on the hub by names here, where they differ.
        """
        there = _on_hub(self.values, names)
        return min(there, key=lambda name: (-there[name], name))


def placed(subject: Subject, scores: Scores) -> tuple[Placed, ...]:
    """This will return the classes that have a score, with the clusters that all of their workloads may use."""
    known = {name for name, word in jurisdictions(subject).items() if word}
    rows = scores.scores.filter((pl.col("capacity_type") == ANY) & (pl.col("state") == PRICED))
    scored = rows.filter(pl.col("cluster").is_in(sorted(known))).sort("score", "cluster")
    found = []
    for (score, name, kind), part in scored.group_by("score", "residency_class", "resource_class", maintain_order=True):
        values = dict(part.select("cluster", "value").iter_rows())
        workloads = _allowed_in_all(subject, str(name), str(kind), list(values))
        if workloads:
            found.append(Placed(str(name), str(kind), str(score), values, workloads))
    return tuple(found)


def predictions(
    subject: Subject, classes: Sequence[Placed], advice: Sequence[Recommendation]
) -> dict[str, tuple[Placed, Prediction]]:
    """This will foretell for each move between clusters, by its id, what the Placement of its class does with it.

    Clusters are named as on the hub, where equal sums are decided by name. A move that no Placement knows of is left
    out.
    """
    scale, names = Scale.of(subject.policy), subject.settings.hub.managed_clusters
    of_workload = {key: one for one in classes for key in one.workloads}
    found = {}
    for one in advice:
        here, wanted = one.target.cluster, one.recommended.cluster
        group = of_workload.get(key_of(one.target))
        if group is None or here == wanted or wanted not in group.values:
            continue
        values = _on_hub(group.values, names)
        incumbent, challenger = names.get(here, here), names.get(wanted, wanted)
        found[one.id] = group, predicted(values, incumbent=incumbent, challenger=challenger, scale=scale)
    return found


def placement_document(
    subject: Subject, group: Placed, advice: Sequence[Recommendation], told: Sequence[str]
) -> Document:
    """This will return the Placement of a class.

    Args:
        subject: what is handed over.
        group: the class.
        advice: moves that the Placement carries out.
        told: what it will do, a sentence each.
    """
    end = expiry(subject, advice)
    named = metadata(
        subject, group.name, namespace=subject.settings.ocm.namespace, advice=tuple(advice), expires_at=end
    )
    first = group.first_choice(subject.settings.hub.managed_clusters)
    about = (
        f"Places the {len(group.workloads)} workloads of class {group.title} by their cost. A new Placement has no "
        f"incumbent and chooses {first} at once; from then on Steady holds."
    )
    return Document(
        path=f"placements/{file_name(group.name, ending='yaml')}",
        form="manifest",
        objects=({"apiVersion": API, "kind": "Placement", "metadata": named, "spec": spec(subject, group)},),
        says=" ".join((about, *(f"{sentence}." for sentence in told))),
        apply=f"kubectl --context HUB apply -f FILE; namespace {subject.settings.ocm.namespace} needs a "
        "ManagedClusterSetBinding, clusters their labels (labels/), and the scores must stand first.",
        rollback="kubectl --context HUB delete -f FILE; what reads its decisions must be pointed elsewhere before.",
        expires_at=end,
        recommendations=tuple(sorted(one.id for one in advice)),
        clusters=tuple(sorted(group.values)),
        workloads=group.workloads,
    )


def spec(subject: Subject, group: Placed) -> Manifest:
    """This will return the spec of a class's Placement."""
    ocm, score = subject.settings.ocm, subject.policy.score
    coordinate = {"resourceName": subject.settings.hub.score_name, "scoreName": group.score}
    wanted: dict[str, Any] = {"clusterSets": list(ocm.cluster_sets)} if ocm.cluster_sets else {}
    tier = label_key(subject.settings, "tier")
    return wanted | {
        "numberOfClusters": ocm.number_of_clusters,
        "predicates": [{"requiredClusterSelector": _required(subject, group)}],
        "prioritizerPolicy": {
            "mode": "Exact",
            "configurations": [
                {"scoreCoordinate": {"type": "BuiltIn", "builtIn": "Steady"}, "weight": int(score.steady_weight)},
                {"scoreCoordinate": {"type": "AddOn", "addOn": coordinate}, "weight": int(score.cost_weight)},
            ],
        },
        "tolerations": [
            {
                "key": "cluster.open-cluster-management.io/unreachable",
                "operator": "Exists",
                "tolerationSeconds": ocm.unreachable_seconds,
            }
        ],
        "decisionStrategy": {
            "groupStrategy": {
                "decisionGroups": [
                    {"groupName": name, "groupClusterSelector": {"labelSelector": {"matchLabels": {tier: value}}}}
                    for name, value in _OWNED_FIRST
                ]
            }
        },
    }


def claim_name(subject: Subject, what: str) -> str:
    """This will return the name of a ClusterClaim of ours."""
    return dns_subdomain(f"{what}.{subject.settings.label_prefix}")


def _on_hub(values: Mapping[str, int], names: Mapping[str, str]) -> dict[str, int]:
    return {names.get(name, name): value for name, value in values.items()}


def _required(subject: Subject, group: Placed) -> Manifest:
    residency = list(subject.policy.classes[group.residency_class].residency)
    there = {"operator": "In", "values": residency} if residency else {"operator": "Exists"}
    required: dict[str, Any] = {
        "labelSelector": {
            "matchExpressions": [
                {"key": label_key(subject.settings, "jurisdiction"), **there},
                {"key": f"{subject.settings.label_prefix}/{group.label}", "operator": "In", "values": [ALLOWED]},
            ]
        }
    }
    if subject.settings.ocm.require_claims:
        claim = {"key": claim_name(subject, "jurisdiction"), **there}
        required["claimSelector"] = {"matchExpressions": [claim]}
    return required


def _allowed_in_all(
    subject: Subject, residency_class: str, resource_class: str, clusters: list[str]
) -> tuple[Key, ...]:
    """The workloads of a class that may move and are allowed in every one of the clusters."""
    gpu = pl.col("gpu_request_peak") > 0
    model = pl.when(pl.col("gpu_model") == "").then(pl.lit("gpu")).otherwise("gpu_model")
    members = subject.workloads.filter(
        ~pl.col("is_system")
        & ~pl.col("local_volume")
        & (pl.col("residency_class") == residency_class)
        & (pl.when(gpu).then(model).otherwise(pl.lit(CPU)) == resource_class)
    )
    allowed = (
        subject.costs.filter("allowed", pl.col("to_cluster").is_in(clusters))
        .group_by(WORKLOAD_KEY)
        .agg(reached=pl.col("to_cluster").n_unique())
        .filter(pl.col("reached") == len(clusters))
    )
    rows = members.join(allowed, on=WORKLOAD_KEY, how="semi").sort(WORKLOAD_KEY).select(WORKLOAD_KEY).rows()
    return tuple((row[0], row[1], row[2], row[3]) for row in rows)
