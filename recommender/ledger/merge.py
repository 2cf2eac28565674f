"""A new plan meets the ledger: what is proposed, what has gone, and which state each piece of advice is shown in. Pure.

Advice is written down once for as long as it stands. Figures that changed are written again with their prices, once a
day (UTC) at most, and advice is renewed when half of its life is over. Advice that went is superseded by what the same
workload is advised now, or has expired; where nothing can be said of the workload, and where somebody has accepted it,
it stays until its time is over. Advice whose precondition no longer holds is superseded at once (preconditions.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TypeVar

from recommender.advise.capacity_record import CAPACITY_GAP, NOT_JUDGED, CapacityRecommendation
from recommender.advise.plan import Plan
from recommender.advise.record import Recommendation, State
from recommender.ledger.events import TUPPENCE, Event, EventKind
from recommender.ledger.memory import standings_at
from recommender.ledger.preconditions import Proposed, broken
from recommender.ledger.standing import Standing, after
from recommender.ledger.store import Histories
from recommender.observe.coverage import Reason

Advice = TypeVar("Advice", Recommendation, CapacityRecommendation)

_EVALUATED = {EventKind.PROPOSED, EventKind.EXPIRED, EventKind.SUPERSEDED}


@dataclass(frozen=True, slots=True)
class Merged:
    """What a plan and a ledger make together.

    Args:
        plan: the plan, every recommendation with its state and the time at which it was first proposed.
        events: what the ledger is to remember.
    """

    plan: Plan
    events: tuple[Event, ...]


def merge(
    plan: Plan, histories: Histories, *, at: datetime, before: Mapping[str, Proposed] = MappingProxyType({})
) -> Merged:
    """This will merge a plan of the moment `at` with what had happened by then.

    Args:
        plan: one evaluation.
        histories: all events.
        at: the time of the evaluation.
        before: what stood by then was worked out for (preconditions.live_proposals); empty: preconditions are not
            looked at.
    """
    stood = standings_at(histories, at=at)
    ended = {
        one: _end(stood[one], EventKind.SUPERSEDED, at, reason=why) for one, why in broken(plan, stood, before).items()
    }
    standings = {**stood, **{one: after(stood[one], event) for one, event in ended.items()}}
    shown = tuple(_shown(one, standings.get(one.id), at) for one in plan.recommendations)
    capacity = as_standing(plan.capacity, histories, at=at)
    proposed: list[tuple[Recommendation | CapacityRecommendation, str]] = [(one, one.xor_group) for one in shown]
    proposed += [(one, one.group) for one in capacity]
    events = [
        *ended.values(),
        *(event for one, group in proposed for event in _proposal(one, group, standings.get(one.id), at)),
        *_gone(plan, [(one.id, group) for one, group in proposed], standings, at),
    ]
    overtaken = {one for one, told in histories.items() if told[-1].at > at}
    return Merged(
        plan=plan.model_copy(update={"recommendations": shown, "capacity": capacity}),
        events=tuple(event for event in events if event.recommendation_id not in overtaken),
    )


def as_standing(
    advice: Iterable[CapacityRecommendation], histories: Histories, *, at: datetime
) -> tuple[CapacityRecommendation, ...]:
    """This will return advice on owned capacity with the states that the ledger knew at a moment."""
    standings = standings_at(histories, at=at)
    return tuple(_shown(one, standings.get(one.id), at) for one in advice)


def last_evaluated(histories: Histories) -> datetime | None:
    """This will return the time of the newest evaluation that left a trace; None: there is none."""
    times = (
        event.at
        for events in histories.values()
        for event in events
        if event.author == TUPPENCE and event.kind in _EVALUATED
    )
    return max(times, default=None)


def _shown(one: Advice, now: Standing | None, at: datetime) -> Advice:
    if now is None or _begins_anew(now):
        return one.model_copy(update={"state": State.OPEN, "proposed_at": at})
    return one.model_copy(update={"state": now.state, "proposed_at": now.opened_at})


def _begins_anew(now: Standing) -> bool:
    return not now.is_live and now.state not in {State.DISMISSED, State.SNOOZED}


def _proposal(
    one: Recommendation | CapacityRecommendation, group: str, now: Standing | None, at: datetime
) -> Iterator[Event]:
    if now is not None and not _begins_anew(now) and not (now.is_live and _is_due(one, now.proposal, at)):
        return
    yield Event(
        recommendation_id=one.id,
        sequence=1 if now is None else now.last.sequence + 1,
        kind=EventKind.PROPOSED,
        at=at,
        author=TUPPENCE,
        etag=one.etag,
        expires_at=one.expires_at,
        xor_group=group,
        document=one.model_dump_json(exclude_none=True),
    )


def _is_due(one: Recommendation | CapacityRecommendation, last: Event, at: datetime) -> bool:
    """Whether advice that stands is written down again."""
    assert last.expires_at is not None, "a proposal says how long it stands"
    changed = one.etag != last.etag and at.astimezone(UTC).date() != last.at.astimezone(UTC).date()
    return changed or at - last.at >= (last.expires_at - last.at) / 2


def _gone(
    plan: Plan, advised: list[tuple[str, str]], standings: Mapping[str, Standing], at: datetime
) -> Iterator[Event]:
    """What stands in the ledger and is advised no more.

    Args:
        plan: the plan.
        advised: id and group of all that it advises.
        standings: where everything stands.
        at: the time of the plan.
    """
    groups: dict[str, list[str]] = {}
    for identifier, group in advised:
        groups.setdefault(group, []).append(identifier)
    unsaid = _unsaid(plan)
    for identifier, now in standings.items():
        group = now.proposal.xor_group or ""
        successors = groups.get(group, [])
        if not now.is_live or identifier in successors:
            continue
        if successors:
            yield _end(now, EventKind.SUPERSEDED, at, reason=_elsewhere(group), successor=successors[0])
        elif now.state is State.OPEN and not unsaid(group):
            yield _end(now, EventKind.EXPIRED, at, reason="it is no longer advised")


def _is_of_pool(group: str) -> bool:
    """A workload's key has four parts; the group of advice on owned capacity has more."""
    return group.count("/") > _WORKLOAD_SLASHES


def _elsewhere(group: str) -> str:
    return "the pool is advised otherwise" if _is_of_pool(group) else "the workload is advised elsewhere"


_WORKLOAD_SLASHES = 3


def _unsaid(plan: Plan) -> Callable[[str], bool]:
    """Whether nothing can be said of a group: of a workload, which is named by its key, or of a class of a pool."""
    rows = [one for one in plan.not_enough_data if one.reason != Reason.VANISHED]
    of_usage = [one for one in rows if not one.reason.startswith(CAPACITY_GAP)]
    workloads = {
        f"{one.cluster}/{one.namespace}/{one.workload_kind}/{one.workload}" for one in of_usage if one.workload
    }
    clusters = tuple(f"{one.cluster}/" for one in of_usage if not one.workload)
    not_judged = tuple(f"{one.cluster}/" for one in rows if one.reason in NOT_JUDGED)

    def is_unsaid(group: str) -> bool:
        return group in workloads or group.startswith((*clusters, *(not_judged if _is_of_pool(group) else ())))

    return is_unsaid


def _end(now: Standing, kind: EventKind, at: datetime, *, reason: str, successor: str | None = None) -> Event:
    return Event(
        recommendation_id=now.recommendation_id,
        sequence=now.last.sequence + 1,
        kind=kind,
        at=at,
        author=TUPPENCE,
        reason=reason,
        successor_id=successor,
    )
