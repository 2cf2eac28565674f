"""What decisions say of the goals' weights: at which price of an interruption, or a millisecond, they make sense. Pure.

Advice that brings interruptions or distance saves money besides. That money, divided by what it brings, is the price at
which it is worth nothing more: who accepts it holds the weight below that price, who dismisses it for that reason holds
it above. The weight proposed is the one that the fewest decisions contradict, the nearest to today's among equals. A
dismissal for another reason says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, log

from exporters.core.units import HOURS_PER_MONTH
from recommender.advise.record import Recommendation
from recommender.ledger.bounds import LEAST_ITEMS, Change, Finding, bounded
from recommender.settings import Policy, Weights

SUBJECTS = {
    "interruption_gbp": "weight of an interruption",
    "reliability_interruption_gbp": "weight of an interruption, where the goal is reliability",
    "latency_gbp_per_ms_hour": "weight of a millisecond",
}
"""The weights that decisions speak of, by their setting."""

_INTERRUPTIONS = re.compile(r"\b(spot|interrupt\w*|pre-?empt\w*|evict\w*|reclaim\w*|(un)?reliab\w*)\b", re.IGNORECASE)
_DISTANCE = re.compile(r"\b(latency|latencies|slow\w*|distan\w*|milliseconds?|ms|round.?trip)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Decided:
    """Advice that somebody accepted or dismissed.

    Args:
        advice: as it was proposed last before that.
        accepted: or dismissed.
        reason: in the author's words.
    """

    advice: Recommendation
    accepted: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """What one decision says of one weight.

    Args:
        weight: the setting.
        worth: the weight at which the advice would have been worth nothing, in its unit.
        accepted: the weight is held below `worth`; else above it.
    """

    weight: str
    worth: float
    accepted: bool


def judgements(decided: Sequence[Decided], policy: Policy) -> list[Judgement]:
    """This will return what decisions say; most say nothing."""
    return [found for one in decided for found in (_of_interruptions(one, policy), _of_distance(one, policy)) if found]


def weighed(
    told: Sequence[Judgement], weights: Weights, *, week_ago: dict[str, float]
) -> tuple[list[Change], list[Finding]]:
    """This will propose weights.

    Args:
        told: from `judgements`.
        weights: in force.
        week_ago: values of a week ago, by setting below `policy`; missing: those in force.
    """
    changes, findings = [], []
    for name, subject in SUBJECTS.items():
        heard = [one for one in told if one.weight == name]
        now, setting = float(getattr(weights, name)), f"weights.{name}"
        wanted = _least_contradicted(heard, now)
        says = _says(heard, now, wanted)
        findings.append(Finding(subject, len(heard), LEAST_ITEMS, says))
        if len(heard) >= LEAST_ITEMS and wanted != now:
            proposed = bounded(wanted, now=now, week_ago=week_ago.get(setting, now))
            changes += [Change(setting, now, proposed, says)] if proposed != now else []
    return changes, findings


def _of_interruptions(one: Decided, policy: Policy) -> Judgement | None:
    left, to = one.advice.current, one.advice.recommended
    an_hour = one.advice.risk.interruptions_per_month / HOURS_PER_MONTH
    if left.capacity_type == "spot" or an_hour <= 0 or not _speaks(one, _INTERRUPTIONS):
        return None
    worth = (left.gbp_per_hour - to.gbp_per_hour + to.interruption_gbp_per_hour) / an_hour
    reliable = _goal(one.advice, policy) == "reliability"
    return _judgement("reliability_interruption_gbp" if reliable else "interruption_gbp", worth, one)


def _of_distance(one: Decided, policy: Policy) -> Judgement | None:
    left, to = one.advice.current, one.advice.recommended
    if left.latency_ms is None or to.latency_ms is None or _goal(one.advice, policy) != "latency":
        return None
    farther = to.latency_ms - left.latency_ms
    if farther <= 0 or not _speaks(one, _DISTANCE):
        return None
    saves = left.gbp_per_hour - left.latency_gbp_per_hour - to.gbp_per_hour + to.latency_gbp_per_hour
    return _judgement("latency_gbp_per_ms_hour", saves / farther, one)


def _judgement(weight: str, worth: float, one: Decided) -> Judgement | None:
    return Judgement(weight, worth, one.accepted) if worth > 0 else None


def _speaks(one: Decided, about: re.Pattern[str]) -> bool:
    return one.accepted or about.search(one.reason) is not None


def _goal(advice: Recommendation, policy: Policy) -> str:
    its = policy.classes.get(advice.target.residency_class or "")
    return "cost" if its is None else its.goal


def _least_contradicted(heard: Sequence[Judgement], now: float) -> float:
    def contradicted(weight: float) -> int:
        return sum(one.worth < weight if one.accepted else one.worth > weight for one in heard)

    def away(weight: float) -> float:
        return abs(log(weight / now)) if now > 0 else inf

    candidates = {now, *(one.worth for one in heard)}
    return min(candidates, key=lambda weight: (contradicted(weight), 0.0 if weight == now else away(weight), weight))


def _says(heard: Sequence[Judgement], now: float, wanted: float) -> str:
    dismissed = sum(not one.accepted for one in heard)
    if len(heard) < LEAST_ITEMS:
        return f"not enough decisions that bear on it: {len(heard)} of {LEAST_ITEMS}"
    counted = f"{len(heard) - dismissed} accepted, {dismissed} dismissed for it"
    if wanted == now:
        return f"{counted}: no weight fits these decisions better"
    return f"{counted}: they fit a weight of £{wanted:.6g} best"
