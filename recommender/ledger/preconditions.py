"""Whether advice that stands still fits what it was made from: the workload is there, where it was, as large as it was.

Advice whose precondition no longer holds is superseded before anybody applies it, accepted or not; where the workload
is advised the same again, that is a new proposal, to be decided anew. Pure but for the reading of what was proposed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from recommender.advise.capacity_record import CAPACITY_KINDS
from recommender.advise.plan import Placement, Plan
from recommender.advise.record import Recommendation, WorkloadName
from recommender.ledger.memory import standings_at
from recommender.ledger.standing import Standing
from recommender.ledger.store import Histories, Reader
from recommender.observe.coverage import Reason

CHANGE_RATIO = 0.10
"""Requests that change by more are not those that the advice was worked out for."""

_ROUNDING = 1e-9
_REQUESTS = {"vcpu_request_mean": "vCPU", "memory_gib_request_mean": "GiB", "gpu_request_mean": "GPUs"}


@dataclass(frozen=True, slots=True)
class Proposed:
    """What a proposal was worked out for.

    Args:
        target: the workload, with the cluster in which it was.
        pool: the one in which it was.
        to_cluster: the cluster that was advised.
        to_pool: the pool that was advised.
        requests: means by the names of the usage evidence.
    """

    target: WorkloadName
    pool: str
    to_cluster: str
    to_pool: str
    requests: Mapping[str, float]


def live_proposals(reader: Reader, histories: Histories, *, at: datetime) -> Mapping[str, Proposed]:
    """This will read what stood open or accepted at a moment; advice on owned capacity is about no one workload."""
    live = [one.proposal for one in standings_at(histories, at=at).values() if one.is_live]
    found = ((key, _read(text)) for (key, _), text in reader.documents(live).items())
    return {key: one for key, one in found if one is not None}


def broken(plan: Plan, standings: Mapping[str, Standing], before: Mapping[str, Proposed]) -> Mapping[str, str]:
    """This will say of what stands why its precondition no longer holds.

    Args:
        plan: what was evaluated now.
        standings: where everything stands.
        before: what was proposed, by id; of what is not in it nothing is said.

    Returns:
        The reason, by id.
    """
    now = _Now.of(plan)
    live = ((one, before[one]) for one, standing in standings.items() if standing.is_live and one in before)
    reasons = ((identifier, next(_reasons(was, now, identifier), "")) for identifier, was in live)
    return {identifier: reason for identifier, reason in reasons if reason}


@dataclass(frozen=True, slots=True)
class _Now:
    """The plan by keys of workloads."""

    placed: Mapping[tuple[str, ...], Placement]
    clusters_of: Mapping[tuple[str, ...], list[str]]
    vanished: frozenset[tuple[str, ...]]
    advised: Mapping[str, Recommendation]

    @classmethod
    def of(cls, plan: Plan) -> _Now:
        placed = {_key(one): one for one in plan.placements}
        clusters: dict[tuple[str, ...], list[str]] = {}
        for cluster, *rest in sorted(placed):
            clusters.setdefault(tuple(rest), []).append(cluster)
        vanished = frozenset(
            (one.cluster, one.namespace or "", one.workload_kind or "", one.workload or "")
            for one in plan.not_enough_data
            if one.reason == Reason.VANISHED
        )
        return cls(placed, clusters, vanished, {one.id: one for one in plan.recommendations})


def _reasons(was: Proposed, now: _Now, identifier: str) -> Iterator[str]:
    key = _key(was.target)
    elsewhere = [cluster for cluster in now.clusters_of.get(key[1:], ()) if cluster != key[0]]
    if key in now.vanished or (key not in now.placed and was.to_cluster in elsewhere):
        yield _gone(was, elsewhere)
    there = now.placed.get(key)
    if there is not None and there.recommendation_id is None and there.to_pool != was.pool:
        where = "as was advised" if there.to_pool == was.to_pool else "not where it was"
        yield f"the workload runs in pool {there.to_pool} now, {where}"
    advised = now.advised.get(identifier)
    if advised is not None:
        yield from _changed(was, advised)


def _gone(was: Proposed, elsewhere: list[str]) -> str:
    if was.to_cluster in elsewhere:
        return f"the workload runs in {was.to_cluster} now, as was advised: if it was moved, say tuppence implemented"
    if elsewhere:
        return f"the workload has gone from {was.target.cluster} and runs in {', '.join(elsewhere)}"
    return "the workload has gone"


def _changed(was: Proposed, advised: Recommendation) -> Iterator[str]:
    for name, unit in _REQUESTS.items():
        old, new = was.requests[name], float(getattr(advised.evidence, name))
        if abs(new - old) > CHANGE_RATIO * old + _ROUNDING:
            yield f"its requests changed from {old:g} to {new:g} {unit}, by more than {CHANGE_RATIO:.0%}"


def _read(text: str) -> Proposed | None:
    """Read as plain JSON: an evaluation reads all that stands, and needs seven values of each."""
    document = json.loads(text)
    if document["kind"] in CAPACITY_KINDS:
        return None
    names = {name: document["target"][name] for name in WorkloadName.model_fields}
    return Proposed(
        target=WorkloadName(**names),
        pool=document["current"]["pool"],
        to_cluster=document["recommended"]["cluster"],
        to_pool=document["recommended"]["pool"],
        requests={name: float(document["evidence"][name]) for name in _REQUESTS},
    )


def _key(one: WorkloadName) -> tuple[str, ...]:
    return (one.cluster, one.namespace, one.workload_kind, one.workload)
