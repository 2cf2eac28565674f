"""The tables of the report that add rows up: by rule, by source, and what nothing is said of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal

from exporters.core.money import pounds
from recommender.advise.plan import NotEnoughData, Plan, SnapshotUsed, WorkloadRefusal
from recommender.advise.record import WorkloadName
from recommender.report import words
from recommender.report.many import Told
from recommender.report.view import Place, Refused, RuleCost, Source, Unknown

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


def unknown(plan: Plan) -> Sequence[Unknown]:
    """This will list workloads and clusters of which nothing is said."""
    return Told(plan.not_enough_data, _unknown)


def _unknown(one: NotEnoughData) -> Unknown:
    return Unknown(
        what=words.shown("/".join(part for part in (one.cluster, one.namespace, one.workload) if part)),
        why=words.shown(words.sentence(one.why)),
        next_step=words.shown(one.next_step),
    )


def key_of(name: WorkloadName) -> Key:
    """This will return a workload's key."""
    return (name.cluster, name.namespace, name.workload_kind, name.workload)


def _cost(one: WorkloadRefusal) -> Decimal:
    return one.rule_costs_gbp_per_month or Decimal(0)
