"""A plan becomes the view model of its report: every choice of what to show, and every sum, is made here once.

Savings are never added to the costs of compliance, and sums over rules are not given: two rules may refuse the same
offer.
"""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

from exporters.core.money import pounds, rate
from recommender.advise.plan import OwnedPool, Plan
from recommender.advise.record import PricedPlace, Range, Recommendation
from recommender.report import words
from recommender.report.capacity import capacity_section
from recommender.report.notices import counting, machines, notices
from recommender.report.rows import recommendation_rows
from recommender.report.sections import owners, refused_offers, rule_costs, sources, unknown
from recommender.report.view import Advice, Figure, OwnedCapacity, Place, Report
from recommender.report.week import Week

TOP = 10
SOURCE_OLD_AFTER = timedelta(hours=36)


def report_of(plan: Plan, week: Week | None = None) -> Report:
    """This will put a plan into words.

    Args:
        plan: one evaluation.
        week: the week that it is a report of; None: a report of whatever usage it rests on.
    """
    saving = [one for one in plan.recommendations if one.monthly is not None]
    greatest = max((one.monthly.saving.p50 for one in saving if one.monthly), default=Decimal(0))
    told = [_advice(one, greatest) for one in plan.recommendations]
    owed = tuple(one for one in told if one.change)
    saves = tuple(one for one in told if not one.change)
    window = plan.inputs.usage_window
    return Report(
        title=week.title if week else f"{words.day(window.start)} to {words.day(window.end - timedelta(seconds=1))}",
        week=week.id if week else "",
        made_at=words.moment(plan.generated_at),
        scope=_scope(plan),
        usage=f"{words.moment(window.start)} to {words.moment(window.end)}, {words.number_text(window.hours)} hours",
        rates=_rates(plan),
        notices=notices(plan),
        figures=_figures(plan, [one.monthly.saving for one in saving if one.monthly]),
        owed=owed,
        top=saves[:TOP],
        rest=saves[TOP:],
        rule_costs=rule_costs(plan),
        refused=refused_offers(plan, limit=TOP),
        owned=tuple(_owned(one) for one in plan.owned_capacity),
        capacity=capacity_section(plan),
        owners=owners(plan),
        sources=sources(plan, old_after=SOURCE_OLD_AFTER),
        unknown=unknown(plan),
        counting=counting(plan),
        machines=machines(plan),
        document={"week": week.id, **plan.document()} if week else plan.document(),
        rows=recommendation_rows(plan),
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


def _figures(plan: Plan, ranges: list[Range]) -> tuple[Figure, ...]:
    summary = plan.summary
    low, high = sum((one.p10 for one in ranges), Decimal(0)), sum((one.p90 for one in ranges), Decimal(0))
    now, open_saving = summary.current_gbp_per_month, summary.saving_gbp_per_month
    share = f"; {words.percent(float(open_saving / now))} of the cost now" if now else ""
    owed = len(plan.recommendations) - len(ranges)
    delta = words.change(words.month_of(summary.compliance_delta_gbp_per_hour))
    return (
        Figure("Cost now", pounds(now), f"a month, {words.count(summary.workloads_priced, 'workload')} priced"),
        Figure("Open saving", pounds(open_saving), f"a month, {pounds(low)} to {pounds(high)}{share}"),
        Figure("Owed to a rule", words.number_text(owed), f"{delta} a month" if owed else "no breach to mend"),
        Figure(
            "Nothing can be said of",
            words.number_text(len(plan.not_enough_data)),
            "workloads or clusters; the report says why",
        ),
    )


def _owned(one: OwnedPool) -> OwnedCapacity:
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
    )
