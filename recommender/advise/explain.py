"""The recommendation in sentences: what, why, what it costs to do, and what speaks against it."""

from __future__ import annotations

from exporters.core.money import pounds, rate
from exporters.core.units import HOURS_PER_MONTH
from recommender.advise.record import Kind, OneOff, PricedPlace, Refusal, Target, Terms

_TERM_NAMES = (
    ("compute_gbp_per_hour", "compute"),
    ("egress_gbp_per_hour", "data leaving the region"),
    ("interruption_gbp_per_hour", "expected interruptions"),
    ("lost_work_gbp_per_hour", "work done again after interruptions"),
    ("latency_gbp_per_hour", "the penalty for distance"),
)


def title(kind: Kind, target: Target, recommended: PricedPlace) -> str:
    """This will say the advice in one line."""
    name = f"{target.namespace}/{target.workload}"
    if kind is Kind.PURCHASE_OPTION:
        return f"Run {name} on {recommended.capacity_type} in pool {recommended.pool} of {recommended.cluster}"
    if target.cluster == recommended.cluster:
        return f"Move {name} to pool {recommended.pool} of {recommended.cluster}"
    return f"Move {name} from {target.cluster} to {recommended.cluster}, pool {recommended.pool}"


def explanation(
    current: PricedPlace,
    recommended: PricedPlace,
    one_off: OneOff,
    refused: tuple[Refusal, ...],
    *,
    owed_to: str | None,
    wants_latency: bool,
) -> tuple[str, ...]:
    """This will explain advice term by term.

    Args:
        current: where the workload is.
        recommended: where it should be.
        one_off: what moving costs once.
        refused: offers that rules refused.
        owed_to: the reason of the broken rule, for advice that is owed to one.
        wants_latency: whether distance counts for it.
    """
    lines = [f"It may not stay where it is: {owed_to}."] if owed_to else []
    lines.append(
        f"An hour costs {rate(current.gbp_per_hour)} on {_named(current)} and "
        f"{rate(recommended.gbp_per_hour)} on {_named(recommended)}."
    )
    lines.extend(
        _difference(current, recommended, name, text)
        for name, text in _TERM_NAMES
        if _differs(current, recommended, name)
    )
    if wants_latency:
        lines.extend(_unmeasured(side) for side in (current, recommended) if side.latency_ms is None)
    lines.extend(_owned(side) for side in (current, recommended) if side.full_gbp_per_hour != side.gbp_per_hour)
    if one_off.payback_hours is not None:
        back = "within the hour" if one_off.payback_hours <= 1 else f"after {one_off.payback_hours:,.1f} hours"
        lines.append(f"Moving costs {pounds(one_off.total_gbp)} once, which comes back {back}.")
    lines.extend(_cost_of_rule(one) for one in refused if one.rule_costs_gbp_per_month)
    return tuple(lines)


def _named(place: PricedPlace) -> str:
    return f"{place.instance_type} ({place.capacity_type}) in {place.cluster}"


def _differs(current: Terms, recommended: Terms, name: str) -> bool:
    return bool(getattr(current, name) != getattr(recommended, name))


def _difference(current: Terms, recommended: Terms, name: str, text: str) -> str:
    saved = (getattr(current, name) - getattr(recommended, name)) * HOURS_PER_MONTH
    return f"{text[0].upper()}{text[1:]}: {pounds(abs(saved))} a month {'less' if saved > 0 else 'more'}."


def _owned(place: PricedPlace) -> str:
    return (
        f"{place.cluster} is paid for in any case: an hour there counts {rate(place.gbp_per_hour)} in cash, "
        f"{rate(place.full_gbp_per_hour)} in full."
    )


def _unmeasured(place: PricedPlace) -> str:
    return f"Nobody measured how far {place.provider}/{place.region} is: no penalty for distance is counted there."


def _cost_of_rule(one: Refusal) -> str:
    basis = f" ({one.legal_basis})" if one.legal_basis else ""
    assert one.rule_costs_gbp_per_month is not None
    return (
        f"Rule {one.rule}{basis} refuses {one.instance_type} ({one.capacity_type}) in {one.cluster}, "
        f"which would cost {pounds(one.rule_costs_gbp_per_month)} a month less: {one.why}."
    )
