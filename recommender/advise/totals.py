"""The plan in figures: what it costs now, as planned, and at best.

There is one cost of a plan: the sum of its workloads' shares. The lower bound is of the question without guards, its
constraints and limits kept; what guards withhold is told apart: lower bound × (1 + gap) + withheld = planned.
"""

from __future__ import annotations

import polars as pl

from exporters.core.money import pence
from exporters.core.units import HOURS_PER_MONTH
from recommender.advise.build import DIGITS
from recommender.advise.decision import Decision
from recommender.advise.plan import RuleCount, Summary

NOTHING = pence(0)
BASIS = (
    "Requests share: mean requests × the price of vCPU, GiB and GPU at each place, with data flows and expected "
    "interruptions; room on nodes that nobody requests, and system pods, are not in these figures."
)


def summary(
    decision: Decision, placed: pl.DataFrame, moving: pl.DataFrame, *, refused_offers: tuple[RuleCount, ...]
) -> Summary:
    """This will add up the plan.

    Args:
        decision: what was worked out.
        placed: every priced workload at its planned place.
        moving: the chosen pairs that are advised.
        refused_offers: counts by rule.
    """
    current = _sum(placed, "current_gbp_per_hour")
    savings = moving.filter(~pl.col("must_move"))["saving_gbp_per_hour"]
    saving = float(savings.sum())
    delta = -_sum(moving.filter("must_move"), "saving_gbp_per_hour")
    cost = _sum(placed, "gbp_per_hour")
    best = current - decision.unguarded.gain_gbp_per_hour
    bound = current - decision.unguarded.bound_gbp_per_hour
    own = decision.workloads.filter(~pl.col("is_system"))
    return Summary(
        current_gbp_per_hour=round(current, DIGITS),
        planned_gbp_per_hour=round(cost, DIGITS),
        saving_gbp_per_hour=round(saving, DIGITS),
        compliance_delta_gbp_per_hour=round(delta, DIGITS) + 0.0,
        saving_gbp_per_month=sum((pence(one * HOURS_PER_MONTH) for one in savings), start=NOTHING),
        current_gbp_per_month=pence(current * HOURS_PER_MONTH),
        planned_full_gbp_per_hour=round(_sum(placed, "full_gbp_per_hour"), DIGITS),
        lower_bound_gbp_per_hour=round(bound, DIGITS),
        gap_ratio=round(max(0.0, best / bound - 1.0), DIGITS) if bound > 0 else None,
        withheld_by_guards_gbp_per_hour=round(max(0.0, cost - best), DIGITS),
        basis=BASIS,
        hours_per_month=HOURS_PER_MONTH,
        workloads=own.height,
        workloads_priced=placed.height,
        workloads_system=decision.workloads.height - own.height,
        recommendations=moving.height,
        refused_offers=refused_offers,
    )


def _sum(rows: pl.DataFrame, column: str) -> float:
    return float(rows[column].sum())
