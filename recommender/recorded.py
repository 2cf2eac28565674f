"""An evaluation with the ledger on both sides of it: what was decided goes in, what is proposed is written down.

The ledger is read as it stood at the time of the evaluation, so that an evaluation of the past says the same today as
it did then. Only the present is written down: never an evaluation older than the newest one, or of the future.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

import structlog

from exporters.core.errors import TuppenceError
from exporters.core.words import CapacityType
from recommender.advise.capacity import not_judged
from recommender.advise.capacity_record import CAPACITY_KINDS, CapacityRecommendation
from recommender.advise.plan import NotEnoughData, Plan
from recommender.cycle import Evaluation
from recommender.inputs import appraisal
from recommender.ledger.events import Event
from recommender.ledger.measurement import Savings
from recommender.ledger.memory import Memory, memory_of, verified
from recommender.ledger.merge import as_standing, last_evaluated, merge
from recommender.ledger.preconditions import live_proposals
from recommender.ledger.store import Ledger, Reader
from recommender.observe.coverage import Window
from recommender.observe.fleet import pools
from recommender.outlook import Ahead, ahead_at
from recommender.settings import RecommenderSettings

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Recorded:
    """An evaluation and what became of it.

    Args:
        evaluation: the plan, with states, and what it was made from.
        savings: what verified moves saved by then.
        ahead: the next hour; None: it could not be foretold, which is said in the plan.
        not_recorded: why nothing was written down; empty: it was.
    """

    evaluation: Evaluation
    savings: Savings
    ahead: Ahead | None
    not_recorded: str = ""

    @property
    def plan(self) -> Plan:
        """The plan, with states."""
        return self.evaluation.plan


def recorded(settings: RecommenderSettings, *, at: datetime, now: datetime, window: Window | None = None) -> Recorded:
    """This will evaluate once and write down what is proposed.

    Args:
        settings: checked settings.
        at: the time of the evaluation.
        now: the time that it is.
        window: see inputs.appraisal.

    Raises:
        TuppenceError: an input or the ledger failed; advice that was dismissed must not come back for that.
    """
    ledger = Ledger.at(settings.ledger)
    evaluated, ahead = _evaluated(settings, _memory(ledger, at=at), at=at, window=window)
    made: list[Recorded] = []

    def events(reader: Reader) -> tuple[Event, ...]:
        histories = reader.histories()
        why = _not_now(last_evaluated(histories), at=at, now=now)
        merged = merge(evaluated.plan, histories, at=at, before=live_proposals(reader, histories, at=at))
        savings = Savings.of(verified(reader, histories, at=at))
        made[:] = [Recorded(replace(evaluated, plan=merged.plan), savings, ahead, why)]
        return () if why else merged.events

    if at > now:
        with ledger.reading() as reader:
            events(reader)
    else:
        ledger.add(events)
    return made[-1]


def remembered(settings: RecommenderSettings, *, at: datetime, window: Window | None = None) -> Plan:
    """This will evaluate once with what the ledger knows, and write nothing; see remembered_evaluation."""
    return remembered_evaluation(settings, at=at, window=window).plan


def remembered_evaluation(settings: RecommenderSettings, *, at: datetime, window: Window | None = None) -> Evaluation:
    """This will evaluate once with what the ledger knows, write nothing, and keep what the plan was made from.

    Raises:
        TuppenceError: see recorded.
    """
    ledger = Ledger.at(settings.ledger)
    evaluated, _ = _evaluated(settings, _memory(ledger, at=at), at=at, window=window)
    with ledger.reading() as reader:
        histories = reader.histories()
        merged = merge(evaluated.plan, histories, at=at, before=live_proposals(reader, histories, at=at))
    return replace(evaluated, plan=merged.plan)


def _not_now(newest: datetime | None, *, at: datetime, now: datetime) -> str:
    if at > now:
        return "its time is in the future"
    return "" if newest is None or newest <= at else f"the ledger has one of {newest:%Y-%m-%d %H:%M} UTC already"


def unrecorded(settings: RecommenderSettings, *, at: datetime, window: Window | None = None) -> Plan:
    """This will evaluate once as if there were no ledger; see unrecorded_evaluation."""
    return unrecorded_evaluation(settings, at=at, window=window).plan


def unrecorded_evaluation(settings: RecommenderSettings, *, at: datetime, window: Window | None = None) -> Evaluation:
    """This will evaluate once as if there were no ledger, and keep what the plan was made from.

    Raises:
        TuppenceError: an input is missing or wrong.
    """
    return _evaluated(settings, None, at=at, window=window)[0]


def ahead_remembered(settings: RecommenderSettings, *, at: datetime) -> Ahead:
    """This will look at the next hour with what the ledger knows, and write nothing.

    Raises:
        TuppenceError: see ahead_at, or the ledger cannot be read.
    """
    ledger = Ledger.at(settings.ledger)
    ahead = ahead_at(settings, at=at, memory=_memory(ledger, at=at))
    with ledger.reading() as reader:
        return replace(ahead, capacity=as_standing(ahead.capacity, reader.histories(), at=at))


def _memory(ledger: Ledger, *, at: datetime) -> Memory:
    with ledger.reading() as reader:
        return memory_of(reader, at=at)


def _evaluated(
    settings: RecommenderSettings, memory: Memory | None, *, at: datetime, window: Window | None
) -> tuple[Evaluation, Ahead | None]:
    made = appraisal(settings, at=at, window=window, memory=memory)
    try:
        ahead = ahead_at(settings, at=at, memory=memory)
    except Exception as error:  # noqa: BLE001 - advice on moves does not depend on it; what failed stands beside it
        _log.error("forecast_failed", error=str(error), exc_info=not isinstance(error, TuppenceError))
        owned = pools(settings.clusters).filter(capacity_type=CapacityType.OWNED.value)["cluster"].unique().to_list()
        return _with(made, (), not_judged(owned, str(error))), None
    return _with(made, ahead.capacity, ahead.gaps), ahead


def _with(
    made: Evaluation, capacity: tuple[CapacityRecommendation, ...], gaps: tuple[NotEnoughData, ...]
) -> Evaluation:
    unknown = (*made.plan.not_enough_data, *gaps)
    advice = sorted(
        [*capacity, *made.plan.capacity], key=lambda one: (CAPACITY_KINDS.index(one.kind), one.group, one.id)
    )
    return replace(made, plan=made.plan.model_copy(update={"capacity": tuple(advice), "not_enough_data": unknown}))
