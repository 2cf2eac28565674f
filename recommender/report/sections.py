"""The tables of the report that add rows up: by owner, by rule, by source, and what nothing is said of."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime, timedelta
from decimal import Decimal

from exporters.core.money import pounds
from recommender.advise.plan import Placement, Plan, SnapshotUsed, WorkloadRefusal
from recommender.advise.record import WorkloadName
from recommender.report import words
from recommender.report.view import Owner, Place, Refused, RuleCost, Source, Unknown

Key = tuple[str, str, str, str]


def rule_costs(plan: Plan) -> tuple[RuleCost, ...]:
    """This will add up what each rule costs: per workload its dearest refusal; rules with a legal basis first."""
    dearest: dict[str, dict[Key, WorkloadRefusal]] = defaultdict(dict)
    for one in plan.refused:
        seen = dearest[one.rule].get(key_of(one.workload))
        if _cost(one) > 0 and (seen is None or _cost(one) > _cost(seen)):
            dearest[one.rule][key_of(one.workload)] = one
    sums = {rule: sum((_cost(one) for one in rows.values()), Decimal(0)) for rule, rows in dearest.items() if rows}
    greatest = max(sums.values(), default=Decimal(1))
    bases = {rule: sorted({one.legal_basis or "" for one in dearest[rule].values()} - {""}) for rule in sums}
    return tuple(
        RuleCost(
            rule=words.rule(rule),
            workloads=words.number_text(len(dearest[rule])),
            cost=pounds(sums[rule]),
            ratio=float(sums[rule] / greatest),
            legal_basis=words.shown("; ".join(bases[rule])),
        )
        for rule in sorted(sums, key=lambda name: (not bases[name], -sums[name], name))
    )


def refused_offers(plan: Plan, *, limit: int) -> tuple[Refused, ...]:
    """This will return the refusals that cost most, one a workload and rule."""
    owner_of = {key_of(one): one.owner for one in plan.placements}
    costly = sorted(
        (one for one in plan.refused if _cost(one) > 0), key=lambda one: (-_cost(one), key_of(one.workload), one.rule)
    )
    return tuple(
        Refused(
            workload=words.shown(f"{one.workload.cluster}/{one.workload.namespace}/{one.workload.workload}"),
            owner=words.shown(owner_of.get(key_of(one.workload)) or words.NOBODY),
            offer=Place(
                machine=words.shown(f"{one.instance_type}, {one.capacity_type}"),
                where=words.shown(f"{one.cluster} / {one.pool}"),
            ),
            rule=words.rule(one.rule),
            why=words.shown(words.sentence(one.why)),
            legal_basis=words.shown(one.legal_basis or ""),
            cost=pounds(_cost(one)),
        )
        for one in costly[:limit]
    )


def owners(plan: Plan) -> tuple[Owner, ...]:
    """This will add up cost and open saving by owner, greatest cost first, with a last line for all."""
    placed: dict[str, list[Placement]] = defaultdict(list)
    for one in plan.placements:
        placed[one.owner or ""].append(one)
    saving: dict[str, Decimal] = defaultdict(Decimal)
    advice: dict[str, int] = defaultdict(int)
    for recommendation in plan.recommendations:
        name = recommendation.target.owner or ""
        advice[name] += 1
        saving[name] += recommendation.monthly.saving.p50 if recommendation.monthly else Decimal(0)
    cost = {name: sum(one.current_gbp_per_hour for one in rows) for name, rows in placed.items()}
    greatest = max(saving.values(), default=Decimal(0))
    lines = [
        Owner(
            name=words.shown(name or words.NOBODY),
            workloads=words.number_text(len(placed[name])),
            current=words.monthly(cost[name]),
            saving=pounds(saving[name]),
            ratio=float(saving[name] / greatest) if greatest else 0.0,
            advice=words.number_text(advice[name]),
        )
        for name in sorted(placed, key=lambda owner: (-cost[owner], owner))
    ]
    total = Owner(
        name="All",
        workloads=words.number_text(len(plan.placements)),
        current=pounds(plan.summary.current_gbp_per_month),
        saving=pounds(plan.summary.saving_gbp_per_month),
        ratio=0.0,
        advice=words.number_text(len(plan.recommendations)),
    )
    return (*lines, total) if lines else ()


def sources(plan: Plan, *, old_after: timedelta) -> tuple[Source, ...]:
    """This will say how fresh each source is at the evaluation time; a live one is old after `old_after`."""
    used = [_source(one, plan.generated_at, old_after) for one in plan.inputs.snapshots]
    stale = [_source(one, plan.generated_at, None) for one in plan.inputs.stale_snapshots]
    return tuple(sorted([*used, *stale], key=lambda one: one.name))


def _source(one: SnapshotUsed, at: datetime, old_after: timedelta | None) -> Source:
    span = at - one.taken_at
    if old_after is None:
        state, level = "✗ too old, left out", "bad"
    elif one.origin == "packaged":
        state, level = "! packaged, not live", "warn"
    elif span > old_after:
        state, level = "! used, but old", "warn"
    else:
        state, level = "✓ fresh", "good"
    return Source(
        name="exchange rates" if one.source == "fx" else words.shown(one.source),
        state=state,
        level=level,
        origin=words.ORIGINS.get(one.origin, one.origin),
        taken=words.day(one.taken_at) if one.origin == "packaged" else words.moment(one.taken_at),
        age=words.age(span),
    )


def unknown(plan: Plan) -> tuple[Unknown, ...]:
    """This will list workloads and clusters of which nothing is said."""
    return tuple(
        Unknown(
            what=words.shown("/".join(part for part in (one.cluster, one.namespace, one.workload) if part)),
            why=words.shown(words.sentence(one.why)),
            next_step=words.shown(one.next_step),
        )
        for one in plan.not_enough_data
    )


def key_of(name: WorkloadName) -> Key:
    """This will return a workload's key."""
    return (name.cluster, name.namespace, name.workload_kind, name.workload)


def _cost(one: WorkloadRefusal) -> Decimal:
    return one.rule_costs_gbp_per_month or Decimal(0)
