"""An evaluation with the ledger on both sides of it: what was decided goes in, what is proposed is written down.

The ledger is read as it stood at the time of the evaluation, so that an evaluation of the past says the same today as
it did then. Only the present is written down: never an evaluation older than the newest one, or of the future.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from recommender.advise.plan import Plan
from recommender.inputs import evaluation
from recommender.ledger.events import Event
from recommender.ledger.measurement import Savings
from recommender.ledger.memory import memory_of, verified
from recommender.ledger.merge import last_evaluated, merge
from recommender.ledger.store import Ledger, Reader
from recommender.observe.coverage import Window
from recommender.settings import RecommenderSettings


@dataclass(frozen=True, slots=True)
class Recorded:
    """An evaluation and what became of it.

    Args:
        plan: the plan, with states.
        savings: what verified moves saved by then.
        not_recorded: why nothing was written down; empty: it was.
    """

    plan: Plan
    savings: Savings
    not_recorded: str = ""


def recorded(settings: RecommenderSettings, *, at: datetime, now: datetime, window: Window | None = None) -> Recorded:
    """This will evaluate once and write down what is proposed.

    Args:
        settings: checked settings.
        at: the time of the evaluation.
        now: the time that it is.
        window: see inputs.evaluation.

    Raises:
        TuppenceError: an input or the ledger failed; advice that was dismissed must not come back for that.
    """
    ledger = Ledger.at(settings.ledger)
    plan = _evaluated(ledger, settings, at=at, window=window)
    made: list[Recorded] = []

    def events(reader: Reader) -> tuple[Event, ...]:
        histories = reader.histories()
        why = _not_now(last_evaluated(histories), at=at, now=now)
        merged = merge(plan, histories, at=at)
        made[:] = [Recorded(merged.plan, Savings.of(verified(reader, histories, at=at)), why)]
        return () if why else merged.events

    if at > now:
        with ledger.reading() as reader:
            events(reader)
    else:
        ledger.add(events)
    return made[-1]


def remembered(settings: RecommenderSettings, *, at: datetime, window: Window | None = None) -> Plan:
    """This will evaluate once with what the ledger knows, and write nothing.

    Raises:
        TuppenceError: see recorded.
    """
    ledger = Ledger.at(settings.ledger)
    plan = _evaluated(ledger, settings, at=at, window=window)
    with ledger.reading() as reader:
        return merge(plan, reader.histories(), at=at).plan


def _not_now(newest: datetime | None, *, at: datetime, now: datetime) -> str:
    if at > now:
        return "its time is in the future"
    return "" if newest is None or newest <= at else f"the ledger has one of {newest:%Y-%m-%d %H:%M} UTC already"


def _evaluated(ledger: Ledger, settings: RecommenderSettings, *, at: datetime, window: Window | None) -> Plan:
    with ledger.reading() as reader:
        memory = memory_of(reader, at=at)
    return evaluation(settings, at=at, window=window, memory=memory)
