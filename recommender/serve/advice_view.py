"""Advice in the words of the pages: rows of the list, and everything behind one recommendation.

Like the report's view model: texts are finished here, and templates lay them out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from exporters.core.money import GBP, pounds, rate
from recommender.advise.capacity_record import CapacityRecommendation
from recommender.advise.record import PricedPlace, PriceEvidence, Recommendation, Refusal
from recommender.explained import TERMS
from recommender.ledger.events import Event, EventKind
from recommender.report import words
from recommender.report.capacity_lines import class_of, hourly
from recommender.report.evidence_words import at_the_other_basis
from recommender.serve.advice_index import Advice, owner_of, target_of

VERBS = {
    EventKind.ACCEPTED: "Accept",
    EventKind.SNOOZED: "Snooze",
    EventKind.DISMISSED: "Dismiss",
    EventKind.IMPLEMENTED: "Carried out",
    EventKind.REOPENED: "Reopen",
}


@dataclass(frozen=True, slots=True)
class Line:
    """One row of the list."""

    id: str
    title: str
    kind: str
    owner: str
    place: str
    money: str
    money_note: str
    confidence: str
    effort: str
    state: str


@dataclass(frozen=True, slots=True)
class Term:
    """One part of the cost an hour, now and as advised; ratios are of the greater total."""

    name: str
    now: str
    advised: str
    difference: str
    is_total: bool = False


@dataclass(frozen=True, slots=True)
class Price:
    """A price that a figure rests on."""

    used_for: str
    machine: str
    where: str
    native: str
    conversion: str
    gbp: str
    beside: str
    origin: str
    observed: str
    is_old: bool
    snapshot: str


@dataclass(frozen=True, slots=True)
class Flow:
    """A data flow and its price."""

    used_for: str
    what: str
    basis: str
    price: str
    cost: str


@dataclass(frozen=True, slots=True)
class Gate:
    """A threshold that the advice passed."""

    name: str
    needed: str
    found: str


@dataclass(frozen=True, slots=True)
class Refused:
    """An offer that was not advised."""

    offer: str
    where: str
    rule: str
    why: str
    legal_basis: str
    cost: str


@dataclass(frozen=True, slots=True)
class Happened:
    """One event."""

    at: str
    what: str
    author: str
    why: str


def line_of(one: Advice) -> Line:
    """This will put advice into a row."""
    if isinstance(one, CapacityRecommendation):
        to = one.recommended
        place = class_of(one) if to is None else f"{class_of(one)} → {to.cluster} / {to.pool}"
        money, note, effort = hourly(one), "no saving", ""
    else:
        place = f"{target_of(one)} → {one.recommended.cluster} / {one.recommended.pool}"
        effort = one.effort
        if one.monthly is not None:
            saving = one.monthly.saving
            money, note = pounds(saving.p50), f"{pounds(saving.p10)} to {pounds(saving.p90)}"
        else:
            money, note = words.change(words.month_of(one.cost_delta_gbp_per_hour or 0.0)), "owed to a rule"
    return Line(
        id=one.id,
        title=words.shown(one.title),
        kind=words.KINDS[one.kind],
        owner=words.shown(owner_of(one) or words.NOBODY),
        place=words.shown(place),
        money=money,
        money_note=note,
        confidence=one.risk.confidence.value,
        effort=effort,
        state=one.state.value,
    )


def terms_of(one: Recommendation) -> tuple[Term, ...]:
    """This will say what an hour costs, part by part; parts that are nothing on both sides are left out."""
    found = []
    has_full = any(side.full_gbp_per_hour != side.gbp_per_hour for side in (one.current, one.recommended))
    for name, column in TERMS:
        now, advised = getattr(one.current, column), getattr(one.recommended, column)
        is_total = name == "together"
        if is_total or (has_full if name == "in full" else now or advised):
            found.append(Term(name.capitalize(), rate(now), rate(advised), _change(advised - now), is_total=is_total))
    return tuple(found)


def place_ratio(one: Recommendation, side: PricedPlace) -> float:
    """This will return the cost of a side as a share of the dearer one, for bars."""
    greatest = max(one.current.gbp_per_hour, one.recommended.gbp_per_hour)
    return side.gbp_per_hour / greatest if greatest else 0.0


def prices_of(prices: Iterable[PriceEvidence], *, now: datetime) -> tuple[Price, ...]:
    """This will say where prices come from: as the source gave them, the rate of exchange, and how old they are."""
    return tuple(_price(one, now=now) for one in prices)


def flows_of(one: Recommendation) -> tuple[Flow, ...]:
    """This will say what data flows cost."""
    return tuple(
        Flow(
            used_for=_side(flow.used_for),
            what=words.shown(
                f"{flow.gib_per_hour:g} GiB an hour {'from' if flow.direction == 'in' else 'to'} {flow.to}"
            ),
            basis=words.shown(flow.basis),
            price=f"{rate(flow.gbp_per_gib)} per GiB",
            cost=f"{rate(flow.gbp_per_hour)} an hour",
        )
        for flow in one.egress
    )


def gates_of(one: Recommendation) -> tuple[Gate, ...]:
    """This will list the thresholds and by how much the advice passed them."""
    guards = one.guards
    if guards is None:
        return ()
    return (
        Gate(
            "Saving a month", f"at least {pounds(guards.min_saving_gbp_per_month)}", pounds(guards.saving_gbp_per_month)
        ),
        Gate(
            "Share of the cost",
            f"at least {words.percent(guards.min_saving_ratio)}",
            words.percent(guards.saving_ratio),
        ),
        Gate("Pays back within", f"{guards.max_payback_hours:g} hours", f"{guards.payback_hours:.2f} hours"),
        Gate(
            "Worth its disruption", f"at least {guards.min_balance_ratio:g} times", f"{guards.balance_ratio:.2f} times"
        ),
    )


def refused_of(refusals: Iterable[Refusal]) -> tuple[Refused, ...]:
    """This will list refused offers, those first whose rule costs most."""
    ordered = sorted(refusals, key=lambda one: -(one.rule_costs_gbp_per_month or 0))
    return tuple(
        Refused(
            offer=words.shown(f"{one.instance_type}, {one.capacity_type}"),
            where=words.shown(f"{one.cluster} / {one.pool}"),
            rule=words.shown(words.rule(one.rule)),
            why=words.shown(words.sentence(one.why)),
            legal_basis=words.shown(one.legal_basis or ""),
            cost=f"{pounds(one.rule_costs_gbp_per_month)} a month" if one.rule_costs_gbp_per_month else "",
        )
        for one in ordered
    )


def usage_of(one: Recommendation) -> tuple[str, ...]:
    """This will say what usage it rests on."""
    seen = one.evidence
    window = f"{words.moment(seen.window_start)} to {words.moment(seen.window_end)}"
    requested = (
        f"{seen.vcpu_request_mean:.4g} vCPU, {seen.memory_gib_request_mean:.4g} GiB and "
        f"{seen.gpu_request_mean:.4g} GPUs"
    )
    return (
        f"{window}, {words.percent(seen.coverage_ratio)} observed, {words.count(seen.samples, 'sample')}",
        f"On average {requested} requested, running {words.percent(seen.running_ratio)} of the time",
    )


def capacity_facts(one: CapacityRecommendation) -> Iterator[str]:
    """This will say what asked for advice on owned capacity, and when it is worth it."""
    if (short := one.shortage) is not None:
        unit = one.target.resource
        known = short.p50 is not None and short.p90 is not None
        bound = f", next hour {short.p50:g} (P50) to {short.p90:g} (P90)" if known else ""
        yield f"Demand {short.demand:g} {unit}{bound}; owned nodes admit {short.capacity:g}: short by {short.short:g}"
        if short.exceeded is not None and short.evaluations is not None:
            yield f"Beyond capacity in {short.exceeded} of the last {short.evaluations} evaluations"
        if short.short_at is not None:
            yield f"Demand passes capacity at {words.moment(short.short_at)}"
    if one.latest_useful_start is not None:
        yield f"Ask for nodes by {words.moment(one.latest_useful_start)}"
    if one.earliest_return is not None:
        yield f"Home at the earliest at {words.moment(one.earliest_return)}"
    if (even := one.break_even) is not None:
        yield (
            f"A node costs {rate(even.node_gbp_per_hour)} an hour, "
            f"bursting for the same {rate(even.burst_gbp_per_hour)}: "
            f"it pays above {words.percent(even.break_even_ratio)} of the time; "
            f"it was short {words.percent(even.short_ratio)} of {even.observed_hours:g} hours"
        )
    if (bought := one.commitment) is not None:
        if bought.decide_by is not None:
            yield f"Decide by {words.moment(bought.decide_by)}"
        yield f"It pays above {words.percent(bought.break_even_ratio)} of the time"


def history_of(events: Iterable[Event]) -> tuple[Happened, ...]:
    """This will tell what happened, newest first."""
    return tuple(
        Happened(
            at=words.moment(one.at),
            what=f"{one.kind.value}{_until(one)}",
            author=words.shown(one.author),
            why=words.shown(one.reason or (f"by {one.successor_id}" if one.successor_id else "")),
        )
        for one in reversed(tuple(events))
    )


def _until(one: Event) -> str:
    if one.until is not None:
        return f" until {words.day(one.until)}"
    return f", done {words.moment(one.happened_at)}" if one.happened_at is not None else ""


def _price(one: PriceEvidence, *, now: datetime) -> Price:
    age = now - one.observed_at
    place = f"{one.provider} {one.region}{f' {one.zone}' if one.zone else ''}"
    conversion = f"{one.gbp_per_unit:.6f}, {one.fx_source}, {one.fx_date:%-d %B %Y}"
    return Price(
        used_for=_side(one.used_for),
        machine=words.shown(f"{one.instance_type}, {one.capacity_type}"),
        where=words.shown(place),
        native=words.shown(f"{one.price_per_hour:g} {one.currency}"),
        conversion="in pounds at its source" if one.currency == GBP else words.shown(conversion),
        gbp=rate(one.gbp_per_hour),
        beside=at_the_other_basis(one),
        origin=words.ORIGINS.get(one.origin, one.origin),
        observed=f"{words.moment(one.observed_at)}, {words.age(age)} old",
        is_old=one.max_age_hours is not None and age.total_seconds() > one.max_age_hours * 3600,
        snapshot=words.shown(f"{one.snapshot_id}{f'; {one.note}' if one.note else ''}"),
    )


def _side(used_for: str) -> str:
    return {"current": "Now", "recommended": "Advised"}[used_for]


def _change(gbp: float) -> str:
    return "same" if round(gbp, 4) == 0 else f"{rate(abs(gbp))} {'less' if gbp < 0 else 'more'}"
