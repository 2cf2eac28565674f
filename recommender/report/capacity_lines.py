"""Advice on owned capacity in plain text: what moves, what an hour costs, and the demand that asked for it."""

from __future__ import annotations

from collections.abc import Iterator

from exporters.core.money import rate
from recommender.advise.capacity_record import CapacityRecommendation, Shortage
from recommender.report import words
from recommender.report.evidence_words import price_line


def capacity_lines(one: CapacityRecommendation) -> Iterator[str]:
    """This will yield the lines that explain advice on owned capacity."""
    yield one.title
    stands = f"{one.state.value}, stands until {words.moment(one.expires_at)}"
    yield f"{one.id}, {words.KINDS[one.kind]}, {class_of(one)}, {stands}"
    yield ""
    yield from (f"  {line}" for line in one.explanation)
    yield ""
    yield f"Costs {hourly(one)}; no saving"
    yield from _nodes(one)
    yield from _moves(one)
    yield ""
    if one.shortage is not None:
        yield _shortage(one.shortage)
    yield "Prices"
    yield from (f"  {price_line(price)}" for price in one.prices)
    yield f"Confidence: {one.risk.confidence.value}, because {'; '.join(one.risk.confidence_why)}"
    if one.refused:
        yield "Refused, though cheaper for one of the workloads"
    for refusal in one.refused:
        offer = f"{refusal.instance_type}, {refusal.capacity_type} in {refusal.cluster} / {refusal.pool}"
        yield f"  {offer}: {words.rule(refusal.rule)}, {refusal.why}"


def class_of(one: CapacityRecommendation) -> str:
    """This will name the short class and its pool."""
    target = one.target
    return f"{target.resource} {target.resource_class} of {target.cluster} / {target.pool}"


def hourly(one: CapacityRecommendation) -> str:
    """This will say what it changes an hour, with the direction as a word."""
    delta = one.cost_delta_gbp_per_hour
    if delta == 0:
        return "nothing more an hour"
    once = f", {rate(one.one_off_gbp)} once" if one.one_off_gbp else ""
    return f"{rate(abs(delta))} {'less' if delta < 0 else 'more'} an hour{once}"


def _nodes(one: CapacityRecommendation) -> Iterator[str]:
    for node in one.nodes:
        many = words.count(node.nodes, "node")
        yield f"  {many} of {node.instance_type}, {node.capacity_type}: {rate(node.gbp_per_hour)} an hour"


def _moves(one: CapacityRecommendation) -> Iterator[str]:
    for move in one.moves:
        waits = f", {move.waiting_replicas} of them waiting" if move.waiting_replicas else ""
        yield (
            f"  {words.count(move.replicas, 'replica')} of {move.namespace}/{move.workload}{waits}: "
            f"{rate(move.gbp_per_hour)} an hour away, owner {move.owner or words.NOBODY}"
        )


def _shortage(short: Shortage) -> str:
    foretold = (
        "no forecast" if short.p90 is None else f"P50 {short.p50 or 0.0:g} and P90 {short.p90:g} in the next hour"
    )
    return f"Demand {short.demand:g}, {foretold}; the owned nodes admit {short.capacity:g}"
