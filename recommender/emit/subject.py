"""Before the emitters: of a plan, only what somebody may still carry out; and what they all ask of the fleet.

A workload may be in a cluster only where ClusterCost says so in as many words: a pair that has no row, no price or a
rule against it is not allowed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from recommender.advise.capacity_record import CapacityRecommendation
from recommender.advise.plan import Plan
from recommender.advise.record import Recommendation, State, Target, WorkloadName
from recommender.emit.contract import Subject
from recommender.frames import WORKLOAD_KEY
from recommender.observe.fleet import pools

WAITING: Final = frozenset({State.OPEN, State.ACCEPTED})
"""States in which advice is handed over."""

Key = tuple[str, str, str, str]
"""A workload: cluster, namespace, kind, name."""


def only_waiting(plan: Plan) -> tuple[Plan, tuple[Recommendation | CapacityRecommendation, ...]]:
    """This will split a plan into the same plan with what is open or accepted, and the advice that is neither."""
    kept = plan.model_copy(
        update={
            "recommendations": tuple(one for one in plan.recommendations if one.state in WAITING),
            "capacity": tuple(one for one in plan.capacity if one.state in WAITING),
        }
    )
    return kept, tuple(one for one in all_advice(plan) if one.state not in WAITING)


def all_advice(plan: Plan) -> tuple[Recommendation | CapacityRecommendation, ...]:
    """This will return all advice of a plan: about workloads, then about owned capacity."""
    return (*plan.recommendations, *plan.capacity)


def allowed_clusters(subject: Subject) -> Mapping[Key, frozenset[str]]:
    """This will return the clusters that each workload may run in, whether or not they have room today.

    A cluster whose jurisdiction is not known is none of them, for any class.
    """
    known = {cluster for cluster, jurisdiction in jurisdictions(subject).items() if jurisdiction}
    found: dict[Key, set[str]] = {}
    for *key, cluster in subject.costs.filter("allowed").select(*WORKLOAD_KEY, "to_cluster").iter_rows():
        if cluster in known:
            found.setdefault((key[0], key[1], key[2], key[3]), set()).add(cluster)
    return {key: frozenset(clusters) for key, clusters in found.items()}


def jurisdictions(subject: Subject) -> Mapping[str, str]:
    """This will return the jurisdiction of each cluster; empty: not known."""
    return dict(pools(subject.clusters).select("cluster", "jurisdiction").iter_rows())


def key_of(target: Target | WorkloadName) -> Key:
    """This will return the key of the workload that advice is about."""
    return (target.cluster, target.namespace, target.workload_kind, target.workload)
