"""Bursts in the ledger: which of them run, and what was decided about advice on owned capacity. Pure.

A burst runs from the moment at which it was carried out. A return that was carried out ends what it names of it; one
that was said by mistake and reopened ends nothing, and a burst that was reopened never ran.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from recommender.advise.capacity import Held
from recommender.advise.capacity_question import RunningBurst
from recommender.advise.capacity_record import CapacityMove, CapacityRecommendation
from recommender.advise.record import Kind, State
from recommender.ledger.events import Event
from recommender.ledger.standing import Standing, decided_by

CarriedOut = tuple[Event, CapacityRecommendation]


def running_bursts(carried: Sequence[CarriedOut]) -> tuple[RunningBurst, ...]:
    """This will return the bursts that run, oldest first, each with what of it has not come home.

    Args:
        carried: every `implemented` that was not taken back, with the advice as it was proposed last before it.
    """
    ended = [(event, one) for event, one in carried if one.kind is Kind.BURST_RETURN]
    found = []
    for event, one in sorted(carried, key=lambda pair: (_moment(pair[0]), pair[1].id)):
        if one.kind is not Kind.BURST:
            continue
        home = {
            _key(move)
            for end, back in ended
            if back.burst_id == one.id and _moment(end) >= _moment(event)
            for move in back.moves
        }
        away = tuple(move for move in one.moves if _key(move) not in home)
        if away:
            found.append(RunningBurst(one, _moment(event), away))
    return tuple(found)


def held_capacity(decided: Iterable[tuple[Standing, CapacityRecommendation]]) -> Held:
    """This will return what keeps advice on owned capacity away.

    Args:
        decided: standings with the advice that they are about.
    """
    dismissed = [(now, one) for now, one in decided if now.state is State.DISMISSED]
    return Held(
        dismissed=frozenset(one.id for _, one in dismissed),
        snoozed=frozenset(one.group for now, one in decided if now.state is State.SNOOZED),
        destinations={
            (one.target.cluster, one.recommended.cluster, one.recommended.pool): decided_by(now)
            for now, one in dismissed
            if one.kind is Kind.BURST and one.recommended is not None
        },
    )


def _moment(event: Event) -> datetime:
    return event.happened_at or event.at


def _key(move: CapacityMove) -> tuple[str, ...]:
    return (move.cluster, move.namespace, move.workload_kind, move.workload)
