"""What runs on demand hour after hour becomes advice to buy it ahead: what is worth it, when it pays, what can be lost.

    nodes by hour of what stays under the plan, prices by the hour and bought ahead → one record a region and family

Only what runs now and stays in the plan counts, less what other commitments pay for already, and never more than ran
in nearly every observed hour. Of one-year and three-year prices the shorter is advised, because less can be lost; the
other stands beside it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import polars as pl

from exporters.core.money import pounds, rate
from exporters.store.read import Prices
from recommender.advise.capacity_record import (
    CAPACITY_GAP,
    CapacityNodes,
    CapacityPlace,
    CapacityRecommendation,
    CapacityTarget,
)
from recommender.advise.commit_worth import DIGITS, TERM_MONTHS, saving, steady, term_offered, worthwhile
from recommender.advise.commitment_record import CommitmentAdvice, TermOffered
from recommender.advise.evidence import PriceFinder
from recommender.advise.expected import trust
from recommender.advise.identity import advice_id, etag
from recommender.advise.plan import NotEnoughData
from recommender.advise.record import Confidence, Kind, PriceEvidence, Risk
from recommender.advise.steady_use import HourlyNodes, SteadyUse
from recommender.commit_settings import CommitSettings
from recommender.place.commitment_use import NodeGroup
from recommender.place.committed import Covered
from recommender.place.offered import PLACE, offered

_ROUNDING = 1e-9
_ON_DEMAND = "on-demand"
_MONTH_DAYS = 28.0
MOST_NODES = 10_000
OUTSIDE = "what runs outside the fleet is not seen: a commitment that the whole account shares may be used by it"


@dataclass(frozen=True, slots=True)
class CommitQuestion:
    """What advice to buy ahead, or not to renew, is made from.

    Args:
        covered: what commitments pay for.
        use: nodes by hour.
        prices: that the plan rests on.
        settings: thresholds.
        at: the evaluation time (UTC).
        expires_after_hours: life of the advice.
    """

    covered: Covered
    use: SteadyUse
    prices: Prices
    settings: CommitSettings
    at: datetime
    expires_after_hours: float

    @property
    def expires_at(self) -> datetime:
        """When the advice is over unless it is renewed."""
        return self.at + timedelta(hours=self.expires_after_hours)


@dataclass(frozen=True, slots=True)
class _Family:
    """On-demand machines of one family in one region; machines with GPUs stand alone, each type for itself."""

    provider: str
    region: str
    name: str
    groups: tuple[NodeGroup, ...]

    @property
    def main(self) -> NodeGroup:
        """The machines that would be bought: those of which most vCPUs run."""
        return min(self.groups, key=lambda one: (-one.nodes * one.vcpus, one.instance_type, one.key))

    @property
    def weights(self) -> Mapping[tuple[str, str, str], float]:
        """What a node of each group counts, in nodes of the main machine."""
        return {one.key: one.vcpus / self.main.vcpus for one in self.groups}


def commit_advice(question: CommitQuestion) -> Iterator[CapacityRecommendation | NotEnoughData]:
    """This will yield a record for each family of which nodes are worth buying ahead, or say what is not known."""
    for family in _families(question.covered.groups):
        terms = {term: family.main.prices[term] for term in TERM_MONTHS if term in family.main.prices}
        use = question.use.of(family.weights)
        if not terms or not any(use.hours):
            continue
        if use.days < question.settings.min_history_days - _ROUNDING:
            yield _too_short(family, use, question.settings)
            continue
        made = _record(question, family, use, terms)
        if made is not None:
            yield made


def _families(groups: Sequence[NodeGroup]) -> Iterator[_Family]:
    found: dict[tuple[str, str, str], list[NodeGroup]] = {}
    for one in sorted(groups, key=lambda each: each.key):
        name = one.family if one.family and one.gpus == 0 else one.instance_type
        found.setdefault((one.provider, one.region, name), []).append(one)
    for (provider, region, name), members in sorted(found.items()):
        yield _Family(provider, region, name, tuple(members))


def _record(
    question: CommitQuestion, family: _Family, use: HourlyNodes, terms: Mapping[str, float]
) -> CapacityRecommendation | None:
    base = steady(use.hours, quantile=question.settings.undercut_ratio)
    paid = _paid_for(question.covered, family.weights)
    first = math.ceil(paid - _ROUNDING) + 1
    most = min(math.floor(base + _ROUNDING), MOST_NODES)
    on_demand = family.main.prices[_ON_DEMAND]
    ends = {
        term: worthwhile(use.hours, most=most, committed=price, on_demand=on_demand) for term, price in terms.items()
    }
    term = next((one for one in TERM_MONTHS if ends.get(one, 0) >= first), None)
    if term is None:
        return None
    last, nodes = ends[term], ends[term] - first + 1
    offers = {
        one: saving(use.hours, first=first, last=last, committed=terms[one], on_demand=on_demand) for one in terms
    }
    told = tuple(
        term_offered(one, nodes=nodes, committed=terms[one], on_demand=on_demand, saving_gbp_per_hour=offers[one])
        for one in TERM_MONTHS
        if one in terms and (one == term or offers[one] > 0)
    )
    advice = CommitmentAdvice(
        action="commit",
        provider=family.provider,
        region=family.region,
        instance_family=family.name,
        steady_nodes=round(base, DIGITS),
        covered_nodes=round(paid, DIGITS),
        nodes=nodes,
        observed_days=round(use.days, 3),
        break_even_ratio=round(terms[term] / on_demand, DIGITS),
        terms=told,
    )
    title = f"Commit to {_many(nodes)} of {family.main.instance_type} in {family.provider} {family.region}"
    return built(
        question,
        Subject(
            main=family.main,
            key=("commit", family.provider, family.region, family.name),
            title=f"{title} for {TERM_MONTHS[term] // 12} year{'' if term == 'committed-1y' else 's'}",
            capacity_type=term,
            doubts=tuple(_history_doubts(use.days, term)),
        ),
        advice,
        cost_delta=-offers[term],
        prices=evidence(question.prices, family.main, (term, _ON_DEMAND)),
        explanation=tuple(_explanation(family, advice, next(one for one in told if one.capacity_type == term))),
    )


def _paid_for(covered: Covered, weights: Mapping[tuple[str, str, str], float]) -> float:
    """Nodes that other commitments pay for, or would: buying the same twice saves nothing."""
    given = [one for one in covered.allotments if one.group in weights]
    return sum((one.covered + one.free) * weights[one.group] for one in given)


def _explanation(family: _Family, advice: CommitmentAdvice, term: TermOffered) -> Iterator[str]:
    clusters = ", ".join(sorted({one.cluster for one in family.groups}))
    yield (
        f"{advice.steady_nodes:.4g} nodes of {family.name} or more ran on demand in nearly every one of "
        f"{advice.observed_days:g} observed days ({clusters}), and stay under the plan; other commitments pay for "
        f"{advice.covered_nodes:.4g}."
    )
    yield (
        f"A node costs {rate(term.gbp_per_node_hour)} an hour bought ahead, used or not, and "
        f"{rate(term.on_demand_gbp_per_node_hour)} on demand: it pays if it is used for more than "
        f"{term.break_even_ratio:.1%} of the time, or for {term.break_even_months:.1f} of {term.term_months} months."
    )
    yield f"If usage stays, {pounds(term.saving_gbp_per_month)} a month less is paid."
    yield from (_losses(one) for one in advice.terms)


def _losses(term: TermOffered) -> str:
    told = ", ".join(
        f"{pounds(abs(loss))} {'lost' if loss > 0 else 'saved all the same'} if usage ends after month {month}"
        for month, loss in term.losses_gbp[:-1]
    )
    return f"{term.capacity_type}: {pounds(term.whole_term_gbp)} in all is the most that can be lost; {told}."


def _too_short(family: _Family, use: HourlyNodes, settings: CommitSettings) -> NotEnoughData:
    return NotEnoughData(
        cluster=family.main.cluster,
        reason=f"{CAPACITY_GAP}commit-history",
        why=f"whether {family.name} in {family.provider} {family.region} is worth buying ahead is not known: "
        f"{use.days:.1f} days were observed, {settings.min_history_days:g} are needed",
        next_step="Wait, or read more usage: usage.window_hours.",
    )


def _history_doubts(days: float, term: str) -> list[tuple[Confidence, str]]:
    found = []
    if days < _MONTH_DAYS:
        found.append((Confidence.MEDIUM, f"{days:.1f} days were observed, four weeks show a month"))
    if term != "committed-1y":
        found.append((Confidence.LOW, "three years are bought by the usage of weeks"))
    return found


@dataclass(frozen=True, slots=True)
class Subject:
    """What advice is about.

    Args:
        main: the machines.
        key: what names it for good.
        title: one line.
        capacity_type: the term.
        doubts: what speaks against it.
    """

    main: NodeGroup
    key: tuple[str, ...]
    title: str
    capacity_type: str
    doubts: tuple[tuple[Confidence, str], ...]


def built(
    question: CommitQuestion,
    subject: Subject,
    advice: CommitmentAdvice,
    *,
    cost_delta: float,
    prices: tuple[PriceEvidence, ...],
    explanation: tuple[str, ...],
) -> CapacityRecommendation:
    """This will put advice into the record of its kind.

    Args:
        question: what it is made from.
        subject: what it is about.
        advice: the figures.
        cost_delta: £/h, of either sign.
        prices: that it rests on.
        explanation: sentences.
    """
    main, capacity_type = subject.main, subject.capacity_type
    resource, what = ("gpu", main.gpu_model) if main.gpus else ("vcpu", advice.instance_family or main.family)
    target = CapacityTarget(cluster=main.cluster, pool=main.pool, resource=resource, resource_class=what)
    place = CapacityPlace(
        cluster=main.cluster,
        pool=main.pool,
        provider=main.provider,
        region=main.region,
        instance_type=main.instance_type,
        capacity_type=capacity_type,
    )
    bought = tuple(
        CapacityNodes(
            instance_type=main.instance_type,
            capacity_type=capacity_type,
            nodes=advice.nodes,
            gbp_per_hour=round(advice.nodes * one.gbp_per_node_hour, DIGITS),
        )
        for one in advice.terms
        if one.capacity_type == capacity_type and advice.nodes
    )
    return CapacityRecommendation(
        id=advice_id(Kind.COMMIT, workload=subject.key, cluster="", pool=""),
        etag=etag(advice, prices),
        kind=Kind.COMMIT,
        title=subject.title,
        target=target,
        recommended=place,
        nodes=bought,
        cost_delta_gbp_per_hour=round(cost_delta, DIGITS) + 0.0,
        commitment=advice,
        prices=prices,
        risk=_risk(prices, subject.doubts, days=advice.observed_days),
        explanation=explanation,
        group="/".join((target.cluster, target.pool, resource, what, *subject.key)),
        proposed_at=question.at,
        expires_at=question.expires_at,
    )


def _risk(prices: tuple[PriceEvidence, ...], doubts: Sequence[tuple[Confidence, str]], *, days: float) -> Risk:
    base = trust(prices, days=days, coverage=1.0, on_spot=False)
    order = (Confidence.HIGH, Confidence.MEDIUM, Confidence.LOW)
    found = [*doubts, *((base.confidence, text) for text in base.why if base.confidence is not Confidence.HIGH)]
    worst = max((level for level, _ in found), key=order.index, default=Confidence.HIGH)
    why = tuple(dict.fromkeys(text for level, text in found if level == worst))
    return Risk(interruptions_per_month=0.0, confidence=worst, confidence_why=why or base.why)


def evidence(prices: Prices, main: NodeGroup, capacity_types: Sequence[str]) -> tuple[PriceEvidence, ...]:
    """This will return the offers of a machine: the first as what is advised, the others as what is paid now."""
    place = [main.provider, main.region, main.zone, main.instance_type]
    asked = pl.DataFrame([(*place, one) for one in capacity_types], schema=list(PLACE), orient="row")
    rows = offered(prices.offers, asked, dearest_zone=False).select(pl.all().name.prefix("to_"))
    finder = PriceFinder(prices, rows, sides=(("current", "to"),))
    by_type = {row["to_capacity_type"]: row for row in rows.iter_rows(named=True)}
    return tuple(
        finder.as_offered("recommended" if number == 0 else "current", by_type[one])
        for number, one in enumerate(capacity_types)
        if one in by_type
    )


def _many(nodes: int) -> str:
    return f"{nodes} node{'' if nodes == 1 else 's'}"
