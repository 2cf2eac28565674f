"""A commitment that ends soon becomes advice: to renew it, to renew less of it, or to let it lapse.

    what it pays for hour by hour under the plan, what it costs → one record a commitment

Node by node: a node is worth renewing while it is used for more of the time than the break-even, its price under the
commitment ÷ its price on demand. What does not pay is dearer bought ahead than by the hour.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from exporters.core.money import rate
from recommender.advise.capacity_record import CAPACITY_GAP, CapacityRecommendation
from recommender.advise.commit import MOST_NODES, OUTSIDE, CommitQuestion, Subject, built, evidence
from recommender.advise.commit_worth import DIGITS, saving, term_offered, used_share, worthwhile
from recommender.advise.commitment_record import CommitmentAdvice
from recommender.advise.plan import NotEnoughData
from recommender.advise.record import Confidence
from recommender.advise.steady_use import HourlyNodes
from recommender.place.commitment_use import Allotment, NodeGroup

_ROUNDING = 1e-9
_ON_DEMAND = "on-demand"
_TITLES = {
    "commit": "Renew {what}, or buy as much again, before {day}",
    "renew-smaller": "Renew {nodes} of {all} nodes of {what} on {day}",
    "let-lapse": "Let {what} lapse on {day}",
}


@dataclass(frozen=True, slots=True)
class _Ending:
    """A commitment that ends soon, in nodes of the machine that it pays for most.

    Args:
        row: of BoughtAhead.
        main: that machine.
        nodes: that all of it would pay for; whole.
        committed: what one of them costs under it, £/h.
        use: of what it pays for, in such nodes.
    """

    row: Mapping[str, Any]
    main: NodeGroup
    nodes: int
    committed: float
    use: HourlyNodes

    @property
    def on_demand(self) -> float:
        """What one of its nodes costs by the hour, £/h."""
        return self.main.prices[_ON_DEMAND]


def renewal_advice(question: CommitQuestion) -> Iterator[CapacityRecommendation | NotEnoughData]:
    """This will yield a record for each commitment that ends soon and pays for nodes of the fleet."""
    soon = question.at + timedelta(days=question.settings.renew_within_days)
    for row in question.covered.bought.filter(unusable="").iter_rows(named=True):
        key = (row["provider"], row["account"], row["commitment_id"])
        given = [one for one in question.covered.allotments if one.commitment == key]
        if row["ends_at"] > soon or not given:
            continue
        ending = _ending(question, row, given)
        if isinstance(ending, str):
            yield _not_known(row, given[0], ending)
            continue
        made = _record(question, ending)
        if made is not None:
            yield made


def _ending(question: CommitQuestion, row: Mapping[str, Any], given: Sequence[Allotment]) -> _Ending | str:
    """What is known of it; a string: what is not."""
    if row["gbp_per_hour"] is None:
        return "its cost an hour is not known"
    most = max(given, key=lambda one: (one.covered * one.share_per_node, one.free, one.group))
    main = next(one for one in question.covered.groups if one.key == most.group)
    if row["money_gbp"] is not None and row["capacity_type"] not in main.prices:
        # What it is charged at the on-demand price would seem to pay at a break-even of 100 % only.
        return f"what it charges for {main.instance_type} is not known"
    weights = {one.group: one.share_per_node / most.share_per_node for one in given}
    use = question.use.of(weights, {one.group: one.covered + one.free for one in given})
    if use.days < question.settings.min_history_days - _ROUNDING:
        return f"{use.days:.1f} days were observed, {question.settings.min_history_days:g} are needed"
    nodes = min(math.floor(1.0 / most.share_per_node + _ROUNDING), MOST_NODES)
    return _Ending(row, main, nodes, row["gbp_per_hour"] * most.share_per_node, use)


def _record(question: CommitQuestion, ending: _Ending) -> CapacityRecommendation | None:
    hours, prices = ending.use.hours, {"committed": ending.committed, "on_demand": ending.on_demand}
    kept = worthwhile(hours, most=ending.nodes, **prices)
    if ending.nodes < 1 or (kept == ending.nodes and ending.row["renews"]):
        return None
    action = "let-lapse" if kept == 0 else "renew-smaller" if kept < ending.nodes else "commit"
    if action == "commit":
        delta = -saving(hours, first=1, last=kept, **prices)
    else:
        delta = saving(hours, first=kept + 1, last=ending.nodes, **prices)
    word = ending.row["capacity_type"]
    kept_saving = saving(hours, first=1, last=kept, **prices)
    terms = (term_offered(word, nodes=kept, saving_gbp_per_hour=kept_saving, **prices),) if kept else ()
    advice = CommitmentAdvice(
        action=action,
        provider=ending.row["provider"],
        region=ending.row["region"] or None,
        instance_family=ending.main.family or None,
        commitment_id=ending.row["commitment_id"],
        steady_nodes=float(kept),
        covered_nodes=0.0,
        nodes=kept,
        observed_days=round(ending.use.days, 3),
        used_ratio=round(_used(ending), DIGITS),
        break_even_ratio=round(ending.committed / ending.on_demand, DIGITS),
        decide_by=ending.row["ends_at"],
        terms=terms,
    )
    what, day = f"{ending.row['kind']} {ending.row['commitment_id']}", f"{ending.row['ends_at']:%-d %B %Y}"
    return built(
        question,
        Subject(
            main=ending.main,
            key=("renewal", ending.row["provider"], ending.row["account"], ending.row["commitment_id"]),
            title=_TITLES[action].format(what=what, day=day, nodes=kept, all=ending.nodes),
            capacity_type=word,
            doubts=((Confidence.MEDIUM, OUTSIDE),),
        ),
        advice,
        cost_delta=delta,
        prices=evidence(question.prices, ending.main, (_ON_DEMAND,)),
        explanation=tuple(_explanation(ending, advice, day)),
    )


def _used(ending: _Ending) -> float:
    return sum(used_share(ending.use.hours, number) for number in range(1, ending.nodes + 1)) / ending.nodes


def _explanation(ending: _Ending, advice: CommitmentAdvice, day: str) -> Iterator[str]:
    yield (
        f"It pays for {ending.nodes} nodes of {ending.main.instance_type} at {rate(ending.committed)} an hour each, "
        f"used or not; on demand one costs {rate(ending.on_demand)}: a node pays if it is used for more than "
        f"{advice.break_even_ratio:.1%} of the time."
    )
    yield (
        f"In {advice.observed_days:g} observed days what stays under the plan took {advice.used_ratio or 0.0:.1%} of "
        f"it; {advice.nodes} of its nodes were used for longer than that."
    )
    if ending.row["renews"]:
        yield f"The provider renews it by itself on {day}: renewal has to be turned off before."
    else:
        yield f"It ends on {day}; from then on what it pays for is charged on demand."


def _not_known(row: Mapping[str, Any], given: Allotment, why: str) -> NotEnoughData:
    return NotEnoughData(
        cluster=given.group[0],
        reason=f"{CAPACITY_GAP}commit-history",
        why=f"whether {row['kind']} {row['commitment_id']}, which ends on {_day(row['ends_at'])}, is worth renewing "
        f"is not known: {why}",
        next_step="Read more usage (usage.window_hours); let the store have its cost, and prices of its term.",
    )


def _day(moment: datetime) -> str:
    return f"{moment:%-d %B %Y}"
