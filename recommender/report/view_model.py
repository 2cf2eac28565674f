"""A plan becomes the view model of its report: every choice of what to show, and every sum, is made here once.

Savings are never added to the costs of compliance, and sums over rules are not given: two rules may refuse the same
offer. What a page does not show of 50,000 recommendations is not put into words.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from functools import partial

from exporters.core.money import pounds, rate
from recommender.advise.plan import OwnedPool, Plan
from recommender.advise.record import Kind, PricedPlace, Recommendation
from recommender.report import words
from recommender.report.capacity import capacity_section
from recommender.report.commitments import commitment_section
from recommender.report.document import week_document
from recommender.report.figures import figures_of
from recommender.report.many import Told
from recommender.report.notices import counting, machines, notices
from recommender.report.owners import owner_tables, owners
from recommender.report.sections import refused_offers, rule_costs, sources, unknown
from recommender.report.view import Advice, OwnedCapacity, Place, Report
from recommender.report.week_charts import week_charts
from recommender.report.week_demand import demand_section
from recommender.report.week_ledger import events_section, realised_section
from recommender.report.week_spend import spend_section
from recommender.week.calendar import Week
from recommender.week.facts import WeekFacts

TOP = 10
SOURCE_OLD_AFTER = timedelta(hours=36)


def report_of(plan: Plan, week: Week | None = None, facts: WeekFacts | None = None) -> Report:
    """This will put a plan into words.

    Args:
        plan: one evaluation.
        week: the week that it is a report of; None: a report of whatever usage it rests on.
        facts: what the week adds; None: nothing is known of it.
    """
    saving = [one for one in plan.recommendations if one.monthly is not None]
    owed = [one for one in plan.recommendations if one.monthly is None]
    greatest = max((one.monthly.saving.p50 for one in saving if one.monthly), default=Decimal(0))
    tell = partial(_advice, greatest=greatest)
    window = plan.inputs.usage_window
    made = Report(
        title=week.title if week else f"{words.day(window.start)} to {words.day(window.end - timedelta(seconds=1))}",
        week=week.id if week else "",
        made_at=words.moment(plan.generated_at),
        scope=_scope(plan),
        usage=f"{words.moment(window.start)} to {words.moment(window.end)}, {words.number_text(window.hours)} hours",
        rates=_rates(plan),
        notices=notices(plan),
        figures=figures_of(plan, facts),
        owed=Told(owed, tell),
        top=tuple(tell(one) for one in saving[:TOP]),
        rest=Told(saving[TOP:], tell),
        rule_costs=rule_costs(plan),
        refused=refused_offers(plan, limit=TOP),
        owned=tuple(_owned(one, plan) for one in plan.owned_capacity),
        capacity=capacity_section(plan),
        commitments=commitment_section(plan),
        owners=owners(plan, facts),
        sources=sources(plan, old_after=SOURCE_OLD_AFTER),
        unknown=unknown(plan),
        counting=counting(plan),
        machines=machines(plan),
        plan=plan,
        more={"week": week.id} if week else {},
    )
    return made if facts is None else _with_week(made, facts)


def _with_week(report: Report, facts: WeekFacts) -> Report:
    return replace(
        report,
        spend=spend_section(facts),
        realised=None if facts.past is None else realised_section(facts.past),
        events=None if facts.past is None else events_section(facts.past),
        demand=demand_section(facts),
        charts=week_charts(facts),
        owner_tables=owner_tables(report.plan, facts),
        more={**report.more, **week_document(facts)},
    )


def place_of(place: PricedPlace) -> Place:
    """This will name a place."""
    law = f", {place.jurisdiction}" if place.jurisdiction else ""
    return Place(
        machine=words.shown(f"{place.instance_type}, {place.capacity_type}"),
        where=words.shown(f"{place.cluster} / {place.pool} ({place.provider} {place.region}{law})"),
    )


def _advice(one: Recommendation, greatest: Decimal) -> Advice:
    target, monthly = one.target, one.monthly
    full = [f"{words.monthly(side.full_gbp_per_hour)} in full" for side in (one.recommended,) if _has_full(side)]
    return Advice(
        id=one.id,
        rank=str(one.rank),
        title=words.shown(one.title),
        kind=words.KINDS[one.kind],
        workload=words.shown(f"{target.cluster}/{target.namespace}/{target.workload_kind}/{target.workload}"),
        owner=words.shown(target.owner or words.NOBODY),
        current=place_of(one.current),
        recommended=place_of(one.recommended),
        current_cost=words.monthly(one.current.gbp_per_hour),
        recommended_cost=", ".join([words.monthly(one.recommended.gbp_per_hour), *full]),
        saving=pounds(monthly.saving.p50) if monthly else "",
        saving_range=f"{pounds(monthly.saving.p10)} to {pounds(monthly.saving.p90)}" if monthly else "",
        saving_ratio=float(monthly.saving.p50 / greatest) if monthly and greatest else 0.0,
        share=_share(one),
        change="" if monthly else words.change(words.month_of(one.cost_delta_gbp_per_hour or 0.0)),
        confidence=one.risk.confidence.value,
        confidence_why=words.shown("; ".join(one.risk.confidence_why)),
        effort=one.effort,
        needs=_needs(one),
        legal_basis=words.shown(one.legal_basis or ""),
        explanation=tuple(words.shown(line) for line in one.explanation),
    )


def _has_full(side: PricedPlace) -> bool:
    return side.full_gbp_per_hour != side.gbp_per_hour


def _share(one: Recommendation) -> str:
    now = one.current.gbp_per_hour
    return words.percent((now - one.recommended.gbp_per_hour) / now) if one.monthly and now else ""


def _needs(one: Recommendation) -> str:
    parts = ["a restart" if one.restart_needed else "no restart"]
    if one.one_off.total_gbp >= 0.005:
        parts.append(f"{pounds(one.one_off.total_gbp)} once")
    parts.append("can be undone" if one.rollback_possible else "may not be undone at once")
    return ", ".join(parts)


def _scope(plan: Plan) -> str:
    clusters = {name for one in plan.placements for name in (one.cluster, one.to_cluster)}
    clusters |= {one.cluster for one in plan.owned_capacity} | {one.cluster for one in plan.not_enough_data}
    return f"{words.count(len(clusters), 'cluster')}, {words.count(plan.summary.workloads, 'workload')}"


def _rates(plan: Plan) -> tuple[str, ...]:
    foreign = tuple(
        words.shown(f"1 {one.currency} = {rate(one.gbp_per_unit)} ({one.fx_source}, {one.rate_date:%-d %B %Y})")
        for one in plan.inputs.exchange_rates
    )
    return foreign or ("Every price is in pounds at its source.",)


def _owned(one: OwnedPool, plan: Plan) -> OwnedCapacity:
    marginal = one.marginal_gbp_per_node_hour
    return OwnedCapacity(
        pool=words.shown(f"{one.cluster} / {one.pool}"),
        nodes=words.shown(f"{one.nodes} × {one.instance_type}, {one.capacity_type}"),
        used=words.percent(one.used_ratio),
        used_ratio=min(1.0, one.used_ratio),
        planned=words.percent(one.planned_used_ratio),
        planned_ratio=min(1.0, one.planned_used_ratio),
        marginal="not known" if marginal is None else rate(marginal),
        full=rate(one.full_gbp_per_node_hour),
        full_month=words.monthly(one.full_gbp_per_node_hour * one.nodes),
        shadow=_shadow(one),
        advice="; ".join(_more_of(one, plan)),
    )


def _shadow(one: OwnedPool) -> str:
    worth = {
        "vCPU": one.shadow_gbp_per_vcpu_hour,
        "GiB": one.shadow_gbp_per_gib_hour,
        "GPU": one.shadow_gbp_per_gpu_hour,
    }
    return ", ".join(f"{rate(gbp)} a {unit}-hour" for unit, gbp in worth.items() if gbp > 0)


def _more_of(pool: OwnedPool, plan: Plan) -> Iterator[str]:
    """Advice to extend a pool, or to commit to nodes for what it is short of."""
    for one in plan.capacity:
        if one.kind in {Kind.EXTEND, Kind.COMMIT} and (one.target.cluster, one.target.pool) == (
            pool.cluster,
            pool.pool,
        ):
            yield words.shown(one.title)
