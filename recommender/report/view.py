"""The view model of a report: everything a reader sees, already decided and already in words.

Renderers lay these texts out and work nothing out. Texts hold no control characters; ratios are for bars only, and the
figure that a bar shows always stands beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Figure:
    """One of the figures at the top."""

    name: str
    value: str
    note: str


@dataclass(frozen=True, slots=True)
class Place:
    """Where something runs: ``m6i.2xlarge, on-demand`` in ``eks-eu-west-2 / general (aws eu-west-2, GB)``."""

    machine: str
    where: str


@dataclass(frozen=True, slots=True)
class Advice:
    """One recommendation.

    Args:
        saving: of a month; empty for advice that is owed to a rule.
        change: what advice owed to a rule does to the monthly cost; empty for the others.
        saving_ratio: saving ÷ the greatest saving of the report.
        share: saving as a share of what the workload costs now.
    """

    id: str
    rank: str
    title: str
    kind: str
    workload: str
    owner: str
    current: Place
    recommended: Place
    current_cost: str
    recommended_cost: str
    saving: str
    saving_range: str
    saving_ratio: float
    share: str
    change: str
    confidence: str
    confidence_why: str
    effort: str
    needs: str
    legal_basis: str
    explanation: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RuleCost:
    """What one rule costs over all workloads."""

    rule: str
    workloads: str
    cost: str
    ratio: float
    legal_basis: str


@dataclass(frozen=True, slots=True)
class Refused:
    """One refused offer that would be cheaper."""

    workload: str
    owner: str
    offer: Place
    rule: str
    why: str
    legal_basis: str
    cost: str


@dataclass(frozen=True, slots=True)
class OwnedCapacity:
    """One pool that is paid for in any case."""

    pool: str
    nodes: str
    used: str
    used_ratio: float
    planned: str
    planned_ratio: float
    marginal: str
    full: str
    full_month: str


@dataclass(frozen=True, slots=True)
class CapacityAdvice:
    """One piece of advice on owned capacity; what it changes is no saving."""

    id: str
    title: str
    kind: str
    state: str
    of: str
    to: str
    change: str
    when: str
    confidence: str
    confidence_why: str
    moves: tuple[str, ...]
    explanation: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Owner:
    """One owner's line; the last line is the total."""

    name: str
    workloads: str
    current: str
    saving: str
    ratio: float
    advice: str


@dataclass(frozen=True, slots=True)
class Source:
    """How fresh one source's prices are."""

    name: str
    state: str
    level: str
    origin: str
    taken: str
    age: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """Something of which nothing is said."""

    what: str
    why: str
    next_step: str


@dataclass(frozen=True, slots=True)
class ExpectedSaving:
    """The open saving of one kind of advice: as predicted, and times what such moves have really saved."""

    kind: str
    predicted: str
    factor: str
    expected: str


@dataclass(frozen=True, slots=True)
class ProposedFigure:
    """One figure of the policy that may be changed."""

    setting: str
    now: str
    proposed: str
    why: str


@dataclass(frozen=True, slots=True)
class CalibrationFinding:
    """What measurements and decisions say of one subject."""

    subject: str
    says: str


@dataclass(frozen=True, slots=True)
class CalibrationSection:
    """Realised against predicted, and what it asks of the policy.

    Args:
        realised: one sentence on what was measured so far.
        how: how a proposal is taken; empty: nothing is proposed.
    """

    realised: str
    expected: tuple[ExpectedSaving, ...]
    proposed: tuple[ProposedFigure, ...]
    findings: tuple[CalibrationFinding, ...]
    how: str


@dataclass(frozen=True, slots=True)
class Report:
    """A report.

    Args:
        rates: one line an exchange rate, with its date and source.
        notices: what a reader must know before believing a figure.
        owed: advice owed to a rule, in no saving.
        top: the ten that surely save most.
        rest: the others.
        capacity: advice on owned capacity: bursts, returns, more nodes.
        machines: what packed nodes cost now and as planned, one line; empty: the plan does not say.
        document: the plan as JSON values, for machines.
        rows: one row a recommendation under FOCUS names, for spreadsheets.
        calibration: what was learnt; None: the ledger was left out.
        assessment: name, without its ending, of the assessment's page beside it; empty: there is none.
    """

    title: str
    week: str
    made_at: str
    scope: str
    usage: str
    rates: tuple[str, ...]
    notices: tuple[str, ...]
    figures: tuple[Figure, ...]
    owed: tuple[Advice, ...]
    top: tuple[Advice, ...]
    rest: tuple[Advice, ...]
    rule_costs: tuple[RuleCost, ...]
    refused: tuple[Refused, ...]
    owned: tuple[OwnedCapacity, ...]
    capacity: tuple[CapacityAdvice, ...]
    owners: tuple[Owner, ...]
    sources: tuple[Source, ...]
    unknown: tuple[Unknown, ...]
    counting: tuple[str, ...]
    machines: str
    document: Mapping[str, Any]
    rows: tuple[Mapping[str, Any], ...]
    calibration: CalibrationSection | None = None
    assessment: str = ""

    @property
    def advice(self) -> tuple[Advice, ...]:
        """All recommendations in the order of their rank."""
        return (*self.owed, *self.top, *self.rest)
