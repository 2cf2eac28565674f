"""The edge of a hand-over: evaluates at its moment with what the ledger knows, lets each system speak, writes a folder.

Nothing is written but the folder, and nothing is applied. The ledger is read and not written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from exporters.core.errors import SettingsError
from recommender.advise.capacity_record import CapacityRecommendation, advice_of
from recommender.advise.record import Recommendation, State
from recommender.cycle import Evaluation
from recommender.emit.contract import Subject, System
from recommender.emit.index import Index, index_of
from recommender.emit.overtaken import Overtaken, overtaken
from recommender.emit.registry import SYSTEMS
from recommender.emit.subject import only_waiting
from recommender.emit.write import files_of, write_folder
from recommender.inputs import policy_of
from recommender.ledger.memory import standings_at
from recommender.ledger.store import Ledger, Reader
from recommender.recorded import remembered_evaluation, unrecorded_evaluation
from recommender.settings import RecommenderSettings
from recommender.watched import pending_at

Standing = tuple[Recommendation | CapacityRecommendation, State]
"""Advice as it was proposed, and its state."""


@dataclass(frozen=True, slots=True)
class HandOver:
    """What there is to hand over, and what there is not.

    Args:
        subject: with advice that is open or accepted, and no other.
        left_out: advice in other states.
        superseded: what stands in the ledger and must not be applied.
    """

    subject: Subject
    left_out: tuple[Recommendation | CapacityRecommendation, ...] = ()
    superseded: tuple[Overtaken, ...] = ()


def hand_over(settings: RecommenderSettings, *, at: datetime, no_ledger: bool = False) -> HandOver:
    """This will evaluate at a moment and return what there is to hand over.

    Args:
        settings: checked settings.
        at: the moment: prices, usage and decisions are as they were then.
        no_ledger: as if nothing had been decided or proposed before.

    Raises:
        TuppenceError: an input or the ledger failed; nothing is handed over from half of them.
    """
    if no_ledger:
        return handed(settings, unrecorded_evaluation(settings, at=at), at=at)
    made = remembered_evaluation(settings, at=at)
    with Ledger.at(settings.ledger).reading() as reader:
        return handed(settings, made, _standing(reader, at=at), at=at)


def handed(
    settings: RecommenderSettings, made: Evaluation, standing: Sequence[Standing] = (), *, at: datetime
) -> HandOver:
    """This will return what there is to hand over of an evaluation that was made already.

    Args:
        settings: checked settings.
        made: the evaluation, with states.
        standing: open and accepted advice of the ledger, as it was proposed.
        at: the time of the evaluation.
    """
    plan, left_out = only_waiting(made.plan)
    subject = Subject(
        plan=plan,
        costs=made.costs,
        workloads=made.workloads,
        flows=made.flows,
        clusters=settings.clusters,
        policy=policy_of(settings),
        settings=settings.emit,
        at=at,
        pending=pending_at(settings, at=at),
    )
    known = {one.id for one in left_out}
    return HandOver(subject, left_out, overtaken([pair for pair in standing if pair[0].id not in known], subject))


def emit_to(
    folder: Path,
    given: HandOver,
    systems: Sequence[System] = SYSTEMS,
) -> Index:
    """This will write what some systems get into a folder, whole or not at all, and return its index.

    Raises:
        SettingsError: something else is at that place.
        StoreError: the disk refused.
    """
    emitted = [(system, system.emit(given.subject)) for system in systems]
    files = files_of(given.subject, emitted)
    index = index_of(given.subject, emitted, left_out=given.left_out, superseded=given.superseded, files=sorted(files))
    write_folder(folder, index, files)
    return index


def systems_named(names: Sequence[str]) -> tuple[System, ...]:
    """This will return the systems of some names, each once; no name: all.

    Raises:
        SettingsError: there is no such system.
    """
    known = {system.name: system for system in SYSTEMS}
    if wrong := [name for name in names if name not in known]:
        raise SettingsError(
            f"there is no system {wrong[0]!r}", where="--system", next_step=f"Name some of: {', '.join(known)}."
        )
    return tuple(system for system in SYSTEMS if not names or system.name in names)


def _standing(reader: Reader, *, at: datetime) -> list[Standing]:
    """The records that wait for somebody, as they were proposed, with their states."""
    live = {one: now for one, now in standings_at(reader.histories(), at=at).items() if now.is_live}
    texts = reader.documents(now.proposal for now in live.values())
    return [(advice_of(text), live[identifier].state) for (identifier, _), text in texts.items()]
