"""The plan by cluster, rule, owner and burst as samples of metrics: what dashboards and alerts ask beside its totals.

Labels are bounded: clusters, rules and kinds are named in the settings or in the code; of owners, whom labels of
workloads name, only those with the largest savings have a series of their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from typing import Final

import dataframely as dy

from recommender.advise.plan import Plan
from recommender.advise.record import Kind, State
from recommender.frames import Pool

Sample = tuple[str, tuple[str, ...], float]

MOST_OWNERS: Final = 20
OTHER_OWNERS: Final = "(others)"
"""Owners of open savings past the largest; no name of a team has parentheses (Kubernetes: label values)."""

_WAITING = frozenset({State.OPEN, State.ACCEPTED})


def overview_samples(plan: Plan, fleet: dy.DataFrame[Pool] | None) -> Iterator[Sample]:
    """This will yield the samples of the metrics OVERVIEW of the catalogue.

    Args:
        plan: the last good one.
        fleet: the pools that it was made for; None: not told.
    """
    if fleet is not None:
        places = fleet.select("cluster", "provider", "region", "jurisdiction", "tier").unique(maintain_order=True)
        yield from (("tuppence_cluster_info", place, 1.0) for place in places.iter_rows())
    yield from _cluster_costs(plan)
    for one in plan.summary.refused_offers:
        yield "tuppence_refused_offers", (one.rule,), float(one.offers)
    yield from _savings_of_owners(plan)
    yield from _bursts(plan)
    yield from _next_expiries(plan)


def _cluster_costs(plan: Plan) -> Iterator[Sample]:
    """A cluster that empties under the plan has a planned cost of zero, and the other way round."""
    now: dict[str, float] = {}
    planned: dict[str, float] = {}
    for one in plan.placements:
        now[one.cluster] = now.get(one.cluster, 0.0) + one.current_gbp_per_hour
        planned[one.to_cluster] = planned.get(one.to_cluster, 0.0) + one.gbp_per_hour
    for cluster in sorted({*now, *planned}):
        yield "tuppence_cluster_current_gbp_per_hour", (cluster,), now.get(cluster, 0.0)
        yield "tuppence_cluster_planned_gbp_per_hour", (cluster,), planned.get(cluster, 0.0)


def _savings_of_owners(plan: Plan) -> Iterator[Sample]:
    sums: dict[str, Decimal] = {}
    for one in plan.recommendations:
        if one.state is State.OPEN and one.monthly is not None:
            owner = one.target.owner or ""
            sums[owner] = sums.get(owner, Decimal(0)) + one.monthly.saving.p50
    largest = sorted(sums.items(), key=lambda item: (-item[1], item[0]))
    rest = largest[MOST_OWNERS:]
    for owner, saving in largest[:MOST_OWNERS]:
        yield "tuppence_owner_saving_gbp_per_month", (owner,), float(saving)
    if rest:
        yield "tuppence_owner_saving_gbp_per_month", (OTHER_OWNERS,), float(sum(saving for _, saving in rest))


def _bursts(plan: Plan) -> Iterator[Sample]:
    replicas: Counter[tuple[str, str, str, str, str]] = Counter()
    costs: dict[tuple[str, str, str, str, str], float] = {}
    for one in plan.capacity:
        if one.kind is Kind.BURST and one.state in _WAITING and one.recommended is not None:
            target = one.target
            away = one.recommended.cluster
            labels = (target.cluster, target.resource, target.resource_class, away, one.state.value)
            replicas[labels] += sum(move.replicas for move in one.moves)
            costs[labels] = costs.get(labels, 0.0) + one.cost_delta_gbp_per_hour
    for labels, cost in costs.items():
        yield "tuppence_burst_replicas", labels, float(replicas[labels])
        yield "tuppence_burst_cost_delta_gbp_per_hour", labels, cost


def _next_expiries(plan: Plan) -> Iterator[Sample]:
    ends: dict[tuple[str, ...], float] = {}
    lives = [(one.kind, one.state, one.expires_at) for one in plan.recommendations]
    lives += [(one.kind, one.state, one.expires_at) for one in plan.capacity]
    for kind, state, expires_at in lives:
        if state in _WAITING:
            key, end = (kind.value, state.value), expires_at.timestamp()
            ends[key] = min(ends.get(key, end), end)
    yield from (("tuppence_recommendation_next_expiry_timestamp_seconds", key, end) for key, end in ends.items())
