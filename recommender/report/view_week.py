"""The view model of what a week adds to a report: spend, events, what was saved, demand, owners; already in words."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SpendReason:
    """What one workload adds to the change of the week."""

    workload: str
    owner: str
    change: str
    because: str


@dataclass(frozen=True, slots=True)
class SpendSection:
    """What the week cost.

    Args:
        sentence: the change and its parts; where there is no comparison, why.
        notes: what is in neither week's sum, or at this week's prices in both.
        reasons: the workloads that changed most.
    """

    sentence: str
    notes: tuple[str, ...] = ()
    reasons: tuple[SpendReason, ...] = ()


@dataclass(frozen=True, slots=True)
class RealisedMove:
    """One measured move."""

    title: str
    owner: str
    predicted: str
    saved: str
    range: str
    in_its_days: str
    why: str


@dataclass(frozen=True, slots=True)
class RealisedSection:
    """What moves really saved in a quarter."""

    quarter: str
    total: str
    sentence: str
    moves: tuple[RealisedMove, ...]


@dataclass(frozen=True, slots=True)
class EventCount:
    """How often something happened to advice."""

    what: str
    count: str


@dataclass(frozen=True, slots=True)
class EventLine:
    """One thing that happened to a piece of advice."""

    id: str
    what: str
    title: str
    owner: str
    money: str
    when: str
    by: str
    reason: str


@dataclass(frozen=True, slots=True)
class EventsSection:
    """What happened to advice.

    Args:
        period: from when to when.
        left: how many lines are not shown, as a sentence; empty: all are.
    """

    period: str
    counts: tuple[EventCount, ...]
    lines: tuple[EventLine, ...]
    left: str


@dataclass(frozen=True, slots=True)
class BurstDay:
    """A day on which demand was beyond what owned nodes admit."""

    day: str
    of: str
    hours: str
    peak: str
    capacity: str


@dataclass(frozen=True, slots=True)
class ForecastLine:
    """How well one series was foretold."""

    of: str
    error: str
    covered: str
    model: str
    verdict: str


@dataclass(frozen=True, slots=True)
class DemandSection:
    """Demand of the week: bursts, and how good the forecasts were.

    Args:
        sentence: in short; where nothing is known, why.
    """

    sentence: str
    bursts: tuple[BurstDay, ...] = ()
    accuracy: tuple[ForecastLine, ...] = ()
    not_forecast: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OwnerAdvice:
    """One line of an owner's table."""

    id: str
    rank: str
    title: str
    money: str
    confidence: str


@dataclass(frozen=True, slots=True)
class OwnerTable:
    """What one owner could do first.

    Args:
        left: how many more there are; empty: none.
    """

    name: str
    spent: str
    rows: tuple[OwnerAdvice, ...]
    left: str
