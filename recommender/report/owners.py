"""The tables by owner: what each one's workloads cost and could save, and what each could do first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from decimal import Decimal

from exporters.core.money import pence, pounds
from recommender.advise.plan import Placement, Plan
from recommender.advise.record import Recommendation
from recommender.report import words
from recommender.report.view import MOST_ROWS, Owner
from recommender.report.view_week import OwnerAdvice, OwnerTable
from recommender.report.week_spend import change_of, spent
from recommender.week.facts import WeekFacts

MOST_OWNERS = 20
MOST_ADVICE = 3


def owners(plan: Plan, facts: WeekFacts | None = None) -> tuple[Owner, ...]:
    """This will add up cost and open saving by owner, greatest cost first, with a last line for all.

    Of more than 200 owners the others share one line.
    """
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
    hours = plan.inputs.usage_window.hours
    ranked = sorted(placed, key=lambda owner: (-cost[owner], owner))

    def line(title: str, names: Sequence[str], change: str) -> Owner:
        hourly, saved = sum(cost[name] for name in names), sum((saving[name] for name in names), Decimal(0))
        return Owner(
            name=words.shown(title),
            workloads=words.number_text(sum(len(placed[name]) for name in names)),
            current=words.monthly(hourly),
            spent=pounds(pence(hourly * hours)) if facts else "",
            spent_change=change,
            saving=pounds(saved),
            ratio=min(1.0, float(saved / greatest)) if greatest else 0.0,
            advice=words.number_text(sum(advice[name] for name in names)),
        )

    lines = [line(name or words.NOBODY, [name], _change(name, facts)) for name in ranked[:MOST_ROWS]]
    if others := ranked[MOST_ROWS:]:
        lines.append(line(words.count(len(others), "other owner"), others, ""))
    return (*lines, _total(plan, facts)) if lines else ()


def _total(plan: Plan, facts: WeekFacts | None) -> Owner:
    return Owner(
        name="All",
        workloads=words.number_text(len(plan.placements)),
        current=pounds(plan.summary.current_gbp_per_month),
        spent=pounds(spent(plan)) if facts else "",
        spent_change=change_of(facts.spend.whole) if facts and facts.spend else "",
        saving=pounds(plan.summary.saving_gbp_per_month),
        ratio=0.0,
        advice=words.number_text(len(plan.recommendations)),
    )


def _change(owner: str, facts: WeekFacts | None) -> str:
    known = None if facts is None or facts.spend is None else facts.spend.by_owner.get(owner)
    return change_of(known) if known is not None and known.compared else ""


def owner_tables(plan: Plan, facts: WeekFacts | None = None) -> tuple[OwnerTable, ...]:
    """This will list what each owner could do first, for the owners that could save most."""
    by_owner: dict[str, list[Recommendation]] = defaultdict(list)
    for one in plan.recommendations:
        by_owner[one.target.owner or ""].append(one)
    saving = {name: sum((_saving(one) for one in rows), Decimal(0)) for name, rows in by_owner.items()}
    ranked = sorted(by_owner, key=lambda name: (-saving[name], name))[:MOST_OWNERS]
    return tuple(
        OwnerTable(
            name=words.shown(name or words.NOBODY),
            spent=_change(name, facts),
            rows=tuple(_row(one) for one in by_owner[name][:MOST_ADVICE]),
            left=_left(len(by_owner[name]) - MOST_ADVICE),
        )
        for name in ranked
    )


def _saving(one: Recommendation) -> Decimal:
    return one.monthly.saving.p50 if one.monthly else Decimal(0)


def _row(one: Recommendation) -> OwnerAdvice:
    money = f"{words.change(words.month_of(one.cost_delta_gbp_per_hour or 0.0))}, owed to a rule"
    return OwnerAdvice(
        id=one.id,
        rank=str(one.rank),
        title=words.shown(one.title),
        money=money if one.monthly is None else pounds(one.monthly.saving.p50),
        confidence=one.risk.confidence.value,
    )


def _left(count: int) -> str:
    return f"{words.number_text(count)} more" if count > 0 else ""
