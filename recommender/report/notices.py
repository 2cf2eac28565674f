"""What a reader must know before believing a figure, and how the figures were counted."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from exporters.core.money import pounds
from exporters.core.units import HOURS_PER_MONTH
from exporters.core.words import PriceBasis
from recommender.advise.plan import DiscountUsed, Inputs, Machines, Plan
from recommender.place.effective import BOTH_SHOWN_FROM
from recommender.report import words
from recommender.report.node_words import nodes_in_words

USAGE_OLD_AFTER = timedelta(days=8)
"""A week's report is made in the week after; usage that ends earlier is said to."""

MOST_NAMED = 10
"""Workloads that a notice names; the others are counted."""
MOST_DISCOUNTS = 3
"""Those of the greatest bills; tuppence costs discounts lists all."""


def notices(plan: Plan) -> tuple[str, ...]:
    """This will say what stands between the figures and the truth; nothing when nothing does."""
    return tuple(words.shown(line) for line in _notices(plan))


def _notices(plan: Plan) -> Iterator[str]:
    inputs = plan.inputs
    packaged = sorted({one.source for one in inputs.snapshots if one.origin == "packaged" and one.source != "fx"})
    if packaged:
        yield (
            f"Prices of {', '.join(packaged)} are list prices shipped with Tuppence, not asked of the provider: "
            "enable the source to get today's."
        )
    if stale := sorted({one.source for one in inputs.stale_snapshots}):
        yield f"Prices of {', '.join(stale)} are too old and were left out; see “How fresh the prices are”."
    yield from _price_basis(inputs)
    if (gap := plan.generated_at - inputs.usage_window.end) > USAGE_OLD_AFTER:
        yield f"The usage ends {words.age(gap)} before this evaluation."
    if unsolved := [one for one in plan.breaches if one.recommendation_id is None]:
        named = "; ".join(f"{one.namespace}/{one.workload}: {one.why}" for one in unsolved[:MOST_NAMED])
        if len(unsolved) > MOST_NAMED:
            named += f"; and {words.number_text(len(unsolved) - MOST_NAMED)} more"
        many = words.count(len(unsolved), "workload runs", "workloads run")
        yield f"{many} against a hard rule, and no legal place has room and a price: {named}."


def _price_basis(inputs: Inputs) -> Iterator[str]:
    """Which prices count, where the bills say that they are not the list prices."""
    far = [one for one in inputs.discounts if abs(one.discount_ratio) > BOTH_SHOWN_FROM]
    largest = sorted(far, key=lambda one: one.list_gbp, reverse=True)
    named = "; ".join(_discount(one) for one in largest[:MOST_DISCOUNTS])
    more = f"; and {words.number_text(len(far) - MOST_DISCOUNTS)} more" if len(far) > MOST_DISCOUNTS else ""
    if inputs.price_basis is PriceBasis.EFFECTIVE:
        yield (
            "Prices are those really paid, by the bills, where these say so; the others are list prices"
            f"{f' ({named}{more})' if far else ''}."
        )
    elif far:
        yield (
            f"Prices are list prices, and the bills say that other prices are really paid ({named}{more}): set "
            "prices.price_basis to effective to count with those."
        )


def _discount(one: DiscountUsed) -> str:
    what = " ".join(part for part in (one.provider, one.region, one.instance_family, one.capacity_type) if part)
    way = "below" if one.discount_ratio >= 0 else "above"
    return (
        f"{what} {words.percent(abs(one.discount_ratio))} {way} list, "
        f"of {pounds(one.list_gbp)} on {words.count(one.days, 'day')}"
    )


def counting(plan: Plan) -> tuple[str, ...]:
    """This will say how the figures were counted."""
    system = words.count(plan.summary.workloads_system, "controller")
    owned = (
        "A saving is a change in cash: owned capacity counts at its marginal price, because it is paid for in any "
        "case; the full cost stands beside it."
    )
    rules = (
        "Advice that is owed to a rule is in no saving. What a rule costs is counted offer by offer where that rule "
        "alone refuses it; the figures of two rules do not add up."
    )
    return (
        f"A month is {HOURS_PER_MONTH} hours.",
        plan.summary.basis,
        *_packed(plan),
        owned,
        "The range around a saving is an allowance for short history and missing samples, not a measured quantile.",
        rules,
        f"System pods ({system}) are node overhead and never advised.",
        "Every foreign price is converted at the one rate of its currency that stands at the top.",
    )


def machines(plan: Plan) -> str:
    """This will say what packed nodes cost now and as planned; nothing where the plan does not."""
    packed = plan.machines
    if packed is None:
        return ""
    gap = "" if packed.gap_ratio is None else f", gap {words.percent(packed.gap_ratio)}"
    return (
        f"Machines now {pounds(packed.now_gbp_per_hour)} an hour, planned {pounds(packed.planned_gbp_per_hour)} "
        f"(bound {pounds(packed.lower_bound_gbp_per_hour)}{gap}){nodes_in_words(packed)}{_left_out(packed)}"
    )


def _packed(plan: Plan) -> tuple[str, ...]:
    return () if plan.machines is None else (f"{machines(plan)}. {plan.machines.basis}",)


def _left_out(packed: Machines) -> str:
    if not packed.now_without_node and not packed.planned_without_node:
        return ""
    now, planned = packed.now_without_node, packed.planned_without_node
    return f"; without workloads that find no node at everyone's peak: {now} now, {planned} planned"
