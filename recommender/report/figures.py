"""The figures at the top of the report."""

from __future__ import annotations

from decimal import Decimal

from exporters.core.money import pounds
from recommender.advise.plan import Plan
from recommender.report import words
from recommender.report.view import Figure
from recommender.report.week_ledger import realised_section
from recommender.report.week_spend import change_note, spent
from recommender.week.facts import WeekFacts


def figures_of(plan: Plan, facts: WeekFacts | None) -> tuple[Figure, ...]:
    """This will return the figures: of a week what it cost and what was saved, else what everything costs a month."""
    saves = [one.monthly.saving for one in plan.recommendations if one.monthly is not None]
    low, high = sum((one.p10 for one in saves), Decimal(0)), sum((one.p90 for one in saves), Decimal(0))
    summary = plan.summary
    now, open_saving = summary.current_gbp_per_month, summary.saving_gbp_per_month
    share = f"; {words.percent(float(open_saving / now))} of the cost now" if now else ""
    owed = len(plan.recommendations) - len(saves)
    delta = words.change(words.month_of(summary.compliance_delta_gbp_per_hour))
    priced = words.count(summary.workloads_priced, "workload")
    cost = Figure("Cost now", pounds(now), f"a month, {priced} priced")
    if facts is not None:
        cost = Figure("Spend last week", pounds(spent(plan)), f"{change_note(facts)}; {priced} priced")
    return (
        cost,
        Figure("Open saving", pounds(open_saving), f"a month, {pounds(low)} to {pounds(high)}{share}"),
        *((_realised(facts),) if facts is not None else ()),
        Figure("Owed to a rule", words.number_text(owed), f"{delta} a month" if owed else "no breach to mend"),
        Figure(
            "Nothing can be said of",
            words.number_text(len(plan.not_enough_data)),
            "workloads or clusters; the report says why",
        ),
    )


def _realised(facts: WeekFacts) -> Figure:
    if facts.past is None:
        return Figure("Realised this quarter", "not known", "the ledger was left out")
    made = realised_section(facts.past)
    return Figure(
        "Realised this quarter", made.total, f"{made.quarter}, {words.count(len(made.moves), 'move')} measured"
    )
