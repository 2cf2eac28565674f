"""What the next evaluation must know of the past: moves that were made, and decisions that keep advice away."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

import dataframely as dy
import polars as pl

from recommender.advise.capacity import NOTHING_HELD, Held
from recommender.advise.capacity_question import RunningBurst
from recommender.advise.capacity_record import CapacityRecommendation, advice_of
from recommender.advise.record import Recommendation, State
from recommender.frames import Hold, Move
from recommender.ledger.bursts import held_capacity, running_bursts
from recommender.ledger.events import Event, EventKind
from recommender.ledger.measurement import Realised
from recommender.ledger.standing import Standing, decided_by, standing
from recommender.ledger.store import Histories, Reader


@dataclass(frozen=True, slots=True)
class Memory:
    """The past as an evaluation sees it.

    Args:
        moves: moves that were made.
        decided: standings that may keep advice away, with the advice they are about.
        running: bursts that were carried out and have not come home.
        held: what was decided about advice on owned capacity.
    """

    moves: dy.DataFrame[Move]
    decided: tuple[tuple[Standing, Recommendation], ...]
    running: tuple[RunningBurst, ...] = ()
    held: Held = NOTHING_HELD

    def holds(self, *, usage_start: datetime) -> dy.DataFrame[Hold]:
        """This will return what keeps advice away.

        Args:
            usage_start: first moment of the usage that is read. A move that was made later does not show in all of
                it, so that what was carried out would be advised again.
        """
        rows = [row for now, advice in self.decided for row in _held(now, advice, usage_start)]
        unique = {tuple(row[name] for name in Hold.primary_key()): row for row in rows}
        return Hold.validate(pl.DataFrame(list(unique.values()), schema=Hold.create_empty().schema))


def memory_of(reader: Reader, *, at: datetime) -> Memory:
    """This will read what the ledger knew at a moment."""
    histories = reader.histories()
    told = {one: _until(events, at) for one, events in histories.items()}
    made = [pair for events in told.values() for pair in _implemented(events)]
    standings = [now for now in standings_at(histories, at=at).values() if now.state in _HOLDS]
    wanted = {(one.recommendation_id, one.sequence): one for _, one in made}
    wanted |= {(one.recommendation_id, one.proposal.sequence): one.proposal for one in standings}
    records = {key: advice_of(text) for key, text in reader.documents(wanted.values()).items()}
    carried = [(event, records[_key(proposal)]) for event, proposal in made]
    decided = [(one, records[_key(one.proposal)]) for one in standings]
    return Memory(
        moves=_moves([(event, one) for event, one in carried if isinstance(one, Recommendation)]),
        decided=tuple((now, one) for now, one in decided if isinstance(one, Recommendation)),
        running=running_bursts([(event, one) for event, one in carried if isinstance(one, CapacityRecommendation)]),
        held=held_capacity([(now, one) for now, one in decided if isinstance(one, CapacityRecommendation)]),
    )


def standings_at(histories: Histories, *, at: datetime) -> Mapping[str, Standing]:
    """This will return where every recommendation stood at a moment; one proposed later is left out."""
    found = ((one, standing(events, at=at)) for one, events in histories.items())
    return {one: now for one, now in found if now is not None}


def verified(reader: Reader, histories: Histories, *, at: datetime) -> tuple[Realised, ...]:
    """This will return every measurement that was written down by a moment, oldest first."""
    events = [event for told in histories.values() for event in _until(told, at) if event.kind is EventKind.VERIFIED]
    texts = reader.measurements(events)
    ordered = sorted(events, key=lambda event: (event.at, event.recommendation_id))
    return tuple(Realised.model_validate_json(texts[_key(event)]) for event in ordered)


_HOLDS = {State.DISMISSED, State.SNOOZED, State.IMPLEMENTED}


def _key(event: Event) -> tuple[str, int]:
    return (event.recommendation_id, event.sequence)


def _until(events: tuple[Event, ...], at: datetime) -> tuple[Event, ...]:
    return tuple(event for event in events if event.at <= at)


def _implemented(events: tuple[Event, ...]) -> Iterator[tuple[Event, Event]]:
    """Moves that were made and not taken back, each with the proposal that it rests on."""
    proposal, move = None, None
    for event in events:
        if event.kind is EventKind.PROPOSED:
            proposal = event
            if move is not None:
                yield move
                move = None
        elif event.kind is EventKind.IMPLEMENTED and proposal is not None:
            move = (event, proposal)
        elif event.kind is EventKind.REOPENED:
            move = None
    if move is not None:
        yield move


def _moves(made: list[tuple[Event, Recommendation]]) -> dy.DataFrame[Move]:
    rows = [
        {
            "cluster": advice.recommended.cluster,
            "namespace": advice.target.namespace,
            "workload_kind": advice.target.workload_kind,
            "workload": advice.target.workload,
            "moved_at": event.happened_at or event.at,
            "from_cluster": advice.current.cluster,
            "from_pool": advice.current.pool,
        }
        for event, advice in made
    ]
    frame = pl.DataFrame(rows, schema=Move.create_empty().schema)
    return Move.validate(frame.unique(Move.primary_key(), keep="last", maintain_order=True).sort(Move.primary_key()))


def _held(now: Standing, advice: Recommendation, usage_start: datetime) -> Iterator[dict[str, str]]:
    target, to = advice.target, advice.recommended
    row = {
        "cluster": target.cluster,
        "namespace": target.namespace,
        "workload_kind": target.workload_kind,
        "workload": target.workload,
        "to_cluster": to.cluster,
        "to_pool": to.pool,
        "rule": now.state.value,
    }
    who = f"{now.author} {now.state.value} it on {now.since:%-d %B %Y}"
    if now.state is State.DISMISSED:
        yield row | {"why": decided_by(now)}
    elif now.state is State.SNOOZED:
        yield row | {"to_cluster": "", "to_pool": "", "why": decided_by(now)}
    elif now.implemented_at is not None and now.implemented_at > usage_start:
        left_behind = {} if to.cluster == target.cluster else {"to_cluster": "", "to_pool": ""}
        yield row | left_behind | {"why": f"{who}, and the usage that is read begins before that"}
