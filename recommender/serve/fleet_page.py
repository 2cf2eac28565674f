"""The page of the fleet: clusters and their pools, what runs there and what it costs, and how fresh all of it is."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fastapi import APIRouter, Request, Response

from exporters.core.money import pounds
from recommender.advise.plan import NodeMix, Plan
from recommender.report import words
from recommender.serve.access import Access
from recommender.serve.answers import served_now
from recommender.serve.last_plan import LastPlan
from recommender.serve.layout import html
from recommender.settings import ClusterSettings, RecommenderSettings

_HERE = "/fleet"
_SHOWN = 200


@dataclass(frozen=True, slots=True)
class PoolRow:
    """One machine type of a pool."""

    pool: str
    machine: str
    there: str
    packed: str
    planned: str
    cost: str
    note: str


@dataclass(frozen=True, slots=True)
class ClusterCard:
    """One cluster."""

    name: str
    place: str
    tier: str
    workloads: str
    cost: str
    planned: str
    gaps: str
    pools: tuple[PoolRow, ...]


def fleet_page(last: LastPlan, access: Access, settings: Callable[[], RecommenderSettings]) -> APIRouter:
    """This will return the route of the page of the fleet."""
    router = APIRouter(include_in_schema=False)

    @router.api_route(_HERE, methods=["GET", "HEAD"])
    def _fleet(request: Request) -> Response:
        served = served_now(last)
        report, plan = served.report, served.plan
        return html(
            "fleet.html",
            here=_HERE,
            who=access.visitor(request).shown_name,
            report=report,
            clusters=clusters_of(plan, settings().clusters),
            most=_SHOWN,
            unknown=report.unknown[:_SHOWN],
            more=max(0, len(report.unknown) - _SHOWN),
            refused=[(words.rule(one.rule), words.number_text(one.offers)) for one in plan.summary.refused_offers],
        )

    return router


def clusters_of(plan: Plan, configured: Sequence[ClusterSettings]) -> tuple[ClusterCard, ...]:
    """This will return a card a cluster, in the order of the settings."""
    now: dict[str, float] = defaultdict(float)
    planned: dict[str, float] = defaultdict(float)
    workloads = Counter(one.cluster for one in plan.placements)
    for one in plan.placements:
        now[one.cluster] += one.current_gbp_per_hour
        planned[one.to_cluster] += one.gbp_per_hour
    gaps = Counter(one.cluster for one in plan.not_enough_data)
    mix: dict[str, list[NodeMix]] = defaultdict(list)
    for pool in plan.node_mix:
        mix[pool.cluster].append(pool)
    return tuple(
        ClusterCard(
            name=words.shown(one.name),
            place=words.shown(f"{one.provider} {one.region}{f', {one.jurisdiction}' if one.jurisdiction else ''}"),
            tier={"owned": "owned nodes", "cloud": "cloud"}[one.tier],
            workloads=words.count(workloads[one.name], "workload"),
            cost=words.monthly(now[one.name]),
            planned=words.monthly(planned[one.name]),
            gaps=words.count(gaps[one.name], "gap") if gaps[one.name] else "",
            pools=tuple(_pool(pool) for pool in mix[one.name]),
        )
        for one in configured
    )


def _pool(one: NodeMix) -> PoolRow:
    cost = one.current_gbp_per_hour if one.current_gbp_per_hour is not None else one.now_gbp_per_hour
    return PoolRow(
        pool=words.shown(one.pool),
        machine=words.shown(f"{one.instance_type}, {one.capacity_type}"),
        there="not known" if one.current_nodes is None else f"{one.current_nodes:g}",
        packed=words.number_text(one.now_nodes),
        planned=words.number_text(one.nodes),
        cost="–" if cost is None else pounds(words.month_of(cost)),
        note=words.shown(one.note or ""),
    )
