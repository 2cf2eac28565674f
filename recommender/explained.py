"""What `explain` shows: one recommendation down to the prices, the usage and the thresholds that it rests on."""

from __future__ import annotations

from collections.abc import Iterator

from exporters.core.errors import SettingsError
from exporters.core.money import pounds, rate
from recommender.advise.capacity_record import CapacityRecommendation
from recommender.advise.plan import Plan
from recommender.advise.record import PricedPlace, Recommendation
from recommender.report import words
from recommender.report.capacity_lines import capacity_lines
from recommender.report.evidence_words import price_line
from recommender.report.view_model import place_of

TERMS = (
    ("compute", "compute_gbp_per_hour"),
    ("data leaving", "egress_gbp_per_hour"),
    ("interruptions", "interruption_gbp_per_hour"),
    ("lost work", "lost_work_gbp_per_hour"),
    ("distance", "latency_gbp_per_hour"),
    ("together", "gbp_per_hour"),
    ("in full", "full_gbp_per_hour"),
)


def find(plan: Plan, advice_id: str) -> Recommendation | CapacityRecommendation:
    """This will return the recommendation with an id, or with the only id that begins like it.

    Raises:
        SettingsError: none has it, or several do.
    """
    everything: tuple[Recommendation | CapacityRecommendation, ...] = (*plan.recommendations, *plan.capacity)
    found = [one for one in everything if one.id.startswith(advice_id)] if advice_id else []
    if len(found) == 1:
        return found[0]
    raise SettingsError(
        f"{len(found) or 'no'} recommendation{'' if len(found) == 1 else 's'} of this plan begin with that id",
        where=f"explain {advice_id}",
        next_step="Run tuppence recommend for the ids; an id stands as long as the advice does.",
    )


def explained(one: Recommendation | CapacityRecommendation) -> str:
    """This will explain a recommendation in plain text."""
    lines = capacity_lines(one) if isinstance(one, CapacityRecommendation) else _lines(one)
    return "\n".join(words.shown(line) for line in lines) + "\n"


def _lines(one: Recommendation) -> Iterator[str]:
    owner = one.target.owner or words.NOBODY
    yield one.title
    stands = f"{one.state.value}, stands until {words.moment(one.expires_at)}"
    yield f"{one.id}, {words.KINDS[one.kind]}, owner {owner}, {stands}"
    yield ""
    yield from (f"  {line}" for line in one.explanation)
    yield ""
    yield from _money(one)
    yield ""
    yield from _costs(one)
    yield ""
    yield "Prices"
    yield from (f"  {price_line(price)}" for price in one.prices)
    yield from (
        f"  {flow.used_for}: {flow.gib_per_hour:g} GiB/h {flow.direction} ({flow.to}), {flow.basis}, "
        f"{rate(flow.gbp_per_gib)} per GiB"
        for flow in one.egress
    )
    yield ""
    yield from _usage(one)
    yield from _verdict(one)


def _money(one: Recommendation) -> Iterator[str]:
    if one.monthly is not None:
        saving, hours = one.monthly.saving, one.monthly.hours_per_month
        yield f"Saving: {pounds(saving.p50)} a month of {hours} hours, {pounds(saving.p10)} to {pounds(saving.p90)}"
    else:
        delta = words.month_of(one.cost_delta_gbp_per_hour or 0.0)
        yield f"Owed to a rule ({one.legal_basis or 'no legal basis named'}): {words.change(delta)} a month, no saving"
    once = one.one_off
    yield f"Once: {pounds(once.total_gbp)} ({once.state_gib:g} GiB of state, {once.restart_minutes:g} min of restart)"


def _costs(one: Recommendation) -> Iterator[str]:
    sides: tuple[tuple[str, PricedPlace], ...] = (("now", one.current), ("advised", one.recommended))
    for name, side in sides:
        place = place_of(side)
        yield f"{name:9} {place.machine} in {place.where}"
        terms = ((term, value) for term, column in TERMS if (value := getattr(side, column)) or term == "together")
        yield "          " + ", ".join(f"{term} {rate(value)}" for term, value in terms) + " an hour"


def _usage(one: Recommendation) -> Iterator[str]:
    seen = one.evidence
    observed = f"{words.percent(seen.coverage_ratio)} observed"
    yield f"Usage: {words.moment(seen.window_start)} to {words.moment(seen.window_end)}, {observed}"
    yield (
        f"  on average {seen.vcpu_request_mean:g} vCPU, {seen.memory_gib_request_mean:g} GiB and "
        f"{seen.gpu_request_mean:g} GPUs requested, running {words.percent(seen.running_ratio)} of the time"
    )
    yield f"Confidence: {one.risk.confidence.value}, because {'; '.join(one.risk.confidence_why)}"


def _verdict(one: Recommendation) -> Iterator[str]:
    """What would change it: the thresholds it passed, and the rules that stand before cheaper offers."""
    if (guards := one.guards) is not None:
        saves, least = pounds(guards.saving_gbp_per_month), pounds(guards.min_saving_gbp_per_month)
        worth, least_worth = guards.balance_ratio, guards.min_balance_ratio
        yield "It would not be advised if"
        yield f"  it saved under {least} a month (it saves {saves})"
        yield f"  or under {words.percent(guards.min_saving_ratio)} (it saves {words.percent(guards.saving_ratio)})"
        yield f"  or paid back after {guards.max_payback_hours:g} hours (it does after {guards.payback_hours:.2f})"
        yield f"  or were worth under {least_worth:g} of its disruption (it is worth {worth:.2f})"
    costly = [refusal for refusal in one.refused if refusal.rule_costs_gbp_per_month]
    if costly:
        yield "Refused"
    for refusal in costly:
        assert refusal.rule_costs_gbp_per_month is not None
        yield (
            f"  {refusal.instance_type}, {refusal.capacity_type} in {refusal.cluster} / {refusal.pool}, "
            f"{pounds(refusal.rule_costs_gbp_per_month)} a month cheaper: {words.rule(refusal.rule)}, {refusal.why}"
        )
