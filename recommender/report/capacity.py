"""Advice on owned capacity as a section of the report: what bursts where and for how much, and when it comes home."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from exporters.core.focus import PRICING_CATEGORY
from exporters.core.money import GBP, pence
from recommender.advise.capacity_record import CapacityPlace, CapacityRecommendation
from recommender.advise.plan import Plan
from recommender.report import words
from recommender.report.capacity_lines import class_of, hourly
from recommender.report.view import CapacityAdvice

_PLACE = {
    "cluster": "Cluster",
    "pool": "Pool",
    "provider": "Provider",
    "region": "Region",
    "jurisdiction": "Jurisdiction",
    "instance_type": "InstanceType",
    "capacity_type": "CapacityType",
}


def capacity_section(plan: Plan) -> tuple[CapacityAdvice, ...]:
    """This will put advice on owned capacity into words, in the order of the plan."""
    return tuple(_advice(one) for one in plan.capacity)


def _advice(one: CapacityRecommendation) -> CapacityAdvice:
    return CapacityAdvice(
        id=one.id,
        title=words.shown(one.title),
        kind=words.KINDS[one.kind],
        state=one.state.value,
        of=words.shown(class_of(one)),
        to="" if one.recommended is None else words.shown(_where(one.recommended)),
        change=hourly(one),
        when="; ".join(_when(one)),
        confidence=one.risk.confidence.value,
        confidence_why="; ".join(words.shown(why) for why in one.risk.confidence_why),
        moves=tuple(
            words.shown(f"{words.count(move.replicas, 'replica')} of {move.namespace}/{move.workload}")
            for move in one.moves
        ),
        explanation=tuple(words.shown(line) for line in one.explanation),
    )


def _where(place: CapacityPlace) -> str:
    law = f", {place.jurisdiction}" if place.jurisdiction else ""
    return f"{place.cluster} / {place.pool} ({place.provider} {place.region}{law})"


def _when(one: CapacityRecommendation) -> Iterator[str]:
    if one.latest_useful_start is not None:
        yield f"ask for nodes by {words.moment(one.latest_useful_start)}"
    if one.earliest_return is not None:
        yield f"home at the earliest at {words.moment(one.earliest_return)}"
    if (even := one.break_even or one.commitment) is not None:
        yield f"pays above {words.percent(even.break_even_ratio)} of the time"
    if one.commitment is not None and one.commitment.decide_by is not None:
        yield f"decide by {words.day(one.commitment.decide_by)}"


def capacity_rows(plan: Plan) -> Iterator[Mapping[str, Any]]:
    """This will yield one row a piece of advice, under the names that other recommendations have, and its own."""
    yield from (_row(one) for one in plan.capacity)


def _row(one: CapacityRecommendation) -> Mapping[str, Any]:
    owners = {move.owner for move in one.moves}
    charged = one.recommended or one.current
    return {
        "ProviderName": None if charged is None else charged.provider,
        "RegionId": None if charged is None else charged.region,
        "PricingCategory": None if charged is None else PRICING_CATEGORY[charged.capacity_type],
        "BillingCurrency": GBP,
        "PricingUnit": "Hours",
        "x_RecommendationId": one.id,
        "x_Kind": one.kind.value,
        "x_State": one.state,
        "x_Title": one.title,
        "x_Owner": owners.pop() if len(owners) == 1 else None,
        "x_CurrentCluster": one.target.cluster,
        "x_CurrentPool": one.target.pool,
        **(_place("x_Current", one.current) if one.current else {}),
        **(_place("x_Recommended", one.recommended) if one.recommended else {}),
        "x_CostDeltaGbpPerHour": one.cost_delta_gbp_per_hour,
        "x_OneOffGbp": None if one.one_off_gbp is None else pence(one.one_off_gbp),
        "x_Confidence": one.risk.confidence.value,
        "x_ExpiresAt": one.expires_at.isoformat(),
        "x_Resource": one.target.resource,
        "x_ResourceClass": one.target.resource_class,
        "x_LatestUsefulStart": None if one.latest_useful_start is None else one.latest_useful_start.isoformat(),
        "x_EarliestReturn": None if one.earliest_return is None else one.earliest_return.isoformat(),
    }


def _place(prefix: str, place: CapacityPlace) -> Mapping[str, Any]:
    return {f"{prefix}{name}": getattr(place, key) for key, name in _PLACE.items()}
