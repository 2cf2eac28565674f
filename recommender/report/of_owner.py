"""One owner's part of a plan and of a week: everything that is theirs, sums that are theirs, nothing of others.

Advice on owned capacity is theirs only where everything that moves is; shared pools, their nodes and their use are
nobody's alone and are left out, and so is the bound that is proven for all together. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from exporters.core.errors import SettingsError
from exporters.core.money import pence
from exporters.core.units import HOURS_PER_MONTH
from recommender.advise.plan import NotEnoughData, Placement, Plan, RuleCount, Summary
from recommender.advise.record import Recommendation
from recommender.report.document import OF_ALL_OWNERS
from recommender.report.sections import Key, key_of
from recommender.report.view import Report
from recommender.report.view_model import report_of
from recommender.report.week_ledger import owner_of
from recommender.report.words import shown
from recommender.week.calendar import Week
from recommender.week.facts import Past, WeekFacts, owners_of
from recommender.week.spend import Spend

_DIGITS = 9


def owner_report(plan: Plan, owner: str, week: Week | None = None, facts: WeekFacts | None = None) -> Report:
    """This will return one owner's report.

    Args:
        plan: of everybody.
        owner: whose; a name of the plan.
        week: see report_of.
        facts: of everybody.

    Raises:
        SettingsError: nobody of that name has anything.
    """
    known = owners_of(plan, facts)
    if owner not in known:
        raise SettingsError(
            f"nothing belongs to {owner!r}",
            where="report --owner",
            next_step=f"Name one of: {', '.join(known[:20])}." if known else "Name owners in the policy's rules.",
        )
    own = None if facts is None else facts_of_owner(facts, owner)
    made = report_of(of_owner(plan, owner), week, own)
    return replace(
        made,
        owner=shown(owner),
        scope=f"Owner {shown(owner)}: {made.scope}",
        more={**made.more, "owner": owner},
        without=OF_ALL_OWNERS,
        owner_tables=(),
        owners=(),
        demand=None,
    )


def reports_by_scope(plan: Plan, week: Week, facts: WeekFacts | None = None) -> Mapping[str, Report]:
    """This will return everybody's report under the empty name, and each owner's under theirs."""
    every = {"": report_of(plan, week, facts)}
    return every | {owner: owner_report(plan, owner, week, facts) for owner in owners_of(plan, facts)}


def of_owner(plan: Plan, owner: str) -> Plan:
    """This will return the part of a plan that is one owner's, ranked anew from one."""
    placed = tuple(one for one in plan.placements if one.owner == owner)
    advised = [one for one in plan.recommendations if one.target.owner == owner]
    keys = {key_of(one) for one in placed} | {key_of(one.target) for one in advised}
    refused = tuple(one for one in plan.refused if key_of(one.workload) in keys)
    ranked = tuple(one.model_copy(update={"rank": number}) for number, one in enumerate(advised, start=1))
    summary = _summary(plan.summary, placed, ranked).model_copy(
        update={"refused_offers": _counts([(one.rule, one.offers) for one in refused])}
    )
    return plan.model_copy(
        update={
            "summary": summary,
            "node_mix": (),
            "machines": None,
            "owned_capacity": (),
            "scarce_capacity": (),
            "commitments": (),
            "placements": placed,
            "recommendations": ranked,
            "capacity": tuple(one for one in plan.capacity if owner_of(one) == owner),
            "refused": refused,
            "not_enough_data": tuple(one for one in plan.not_enough_data if _key(one) in keys),
            "breaches": tuple(one for one in plan.breaches if key_of(one) in keys),
            "price_warnings": (),
        }
    )


def facts_of_owner(facts: WeekFacts, owner: str) -> WeekFacts:
    """This will return what a week says of one owner."""
    spend = None if facts.spend is None else facts.spend.by_owner.get(owner)
    return replace(
        facts,
        spend=None if spend is None else Spend(spend, {}),
        no_spend=facts.no_spend or ("" if spend else "nothing of this owner ran in either week."),
        demanded=None,
        no_demand="",
        past=None if facts.past is None else _past(facts.past, owner),
    )


def _past(past: Past, owner: str) -> Past:
    advice = {key: one for key, one in past.advice.items() if owner_of(one) == owner}
    return replace(
        past,
        events=tuple(one for one in past.events if one.recommendation_id in advice),
        advice=advice,
        measured=tuple(one for one in past.measured if one.owner == owner),
    )


def _summary(whole: Summary, placed: Sequence[Placement], advised: Sequence[Recommendation]) -> Summary:
    saves = [one for one in advised if one.monthly is not None]
    current = sum(one.current_gbp_per_hour for one in placed)
    planned = sum(one.gbp_per_hour for one in placed)
    delta = sum(one.cost_delta_gbp_per_hour or 0.0 for one in advised if one.monthly is None)
    return whole.model_copy(
        update={
            "current_gbp_per_hour": round(current, _DIGITS),
            "planned_gbp_per_hour": round(planned, _DIGITS),
            "saving_gbp_per_hour": round(current + delta - planned, _DIGITS),
            "compliance_delta_gbp_per_hour": round(delta, _DIGITS),
            "saving_gbp_per_month": sum((one.monthly.saving.p50 for one in saves if one.monthly), pence(0)),
            "current_gbp_per_month": pence(current * HOURS_PER_MONTH),
            # Not known of one owner; OF_ALL_OWNERS keeps them out of the document.
            "planned_full_gbp_per_hour": 0.0,
            "lower_bound_gbp_per_hour": 0.0,
            "gap_ratio": None,
            "withheld_by_guards_gbp_per_hour": 0.0,
            "workloads": len(placed),
            "workloads_priced": len(placed),
            "recommendations": len(advised),
        }
    )


def _counts(refused: Sequence[tuple[str, int]]) -> tuple[RuleCount, ...]:
    counted: Counter[str] = Counter()
    for rule, offers in refused:
        counted[rule] += offers
    return tuple(RuleCount(rule=rule, offers=counted[rule]) for rule in sorted(counted))


def _key(one: NotEnoughData) -> Key:
    return (one.cluster, one.namespace or "", one.workload_kind or "", one.workload or "")
