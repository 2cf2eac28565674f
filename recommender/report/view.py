"""The view model of a report: everything a reader sees, already decided and already in words.

Renderers lay these texts out and work nothing out. Texts hold no control characters; ratios are for bars only, and the
figure that a bar shows always stands beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from recommender.advise.plan import Plan
from recommender.report.charts.drawing import Chart
from recommender.report.many import Joined
from recommender.report.view_week import DemandSection, EventsSection, OwnerTable, RealisedSection, SpendSection

MOST_ROWS = 200
"""Rows of one table on a page for people; all are in JSON, CSV and the pages of the service."""


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
    """One pool that is paid for in any case.

    Args:
        shadow: what one more unit of it is worth an hour; empty: it is not scarce.
        advice: whether to extend it or to commit to more.
    """

    pool: str
    nodes: str
    used: str
    used_ratio: float
    planned: str
    planned_ratio: float
    marginal: str
    full: str
    full_month: str
    shadow: str
    advice: str


@dataclass(frozen=True, slots=True)
class CommitmentRow:
    """What is bought ahead, and how much of it the fleet takes.

    Args:
        scope: what was bought, and where it holds.
        cost: of all of it, an hour.
        unused: what is paid an hour, under the plan, for what nothing takes.
        note: what a reader must know; empty: nothing.
    """

    id: str
    scope: str
    cost: str
    used: str
    used_ratio: float
    planned: str
    planned_ratio: float
    unused: str
    ends: str
    note: str


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
    spent: str
    spent_change: str
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
        owner: whose it is; empty: everybody's.
        rates: one line an exchange rate, with its date and source.
        notices: what a reader must know before believing a figure.
        owed: advice owed to a rule, in no saving.
        top: the ten that surely save most.
        rest: the others.
        capacity: advice on owned capacity: bursts, returns, more nodes, what to buy ahead.
        commitments: what is bought ahead already.
        machines: what packed nodes cost now and as planned, one line; empty: the plan does not say.
        plan: what it was made from; its document and its rows are for machines.
        more: what stands in the document besides the plan.
        without: figures of the summary that are of all owners together, and so not in this document.
        calibration: what was learnt; None: the ledger was left out.
        assessment: name, without its ending, of the assessment's page beside it; empty: there is none.
        spend: what the week cost; None: it is no week's report.
        realised: what moves saved; None: no week's report, or the ledger was left out.
        events: what happened to advice; None: the same.
        demand: bursts and forecasts of the week; None: no week's report.
        charts: each can be read as text.
        owner_tables: what each owner could do first.
    """

    title: str
    week: str
    made_at: str
    scope: str
    usage: str
    rates: tuple[str, ...]
    notices: tuple[str, ...]
    figures: tuple[Figure, ...]
    owed: Sequence[Advice]
    top: tuple[Advice, ...]
    rest: Sequence[Advice]
    rule_costs: tuple[RuleCost, ...]
    refused: tuple[Refused, ...]
    owned: tuple[OwnedCapacity, ...]
    capacity: tuple[CapacityAdvice, ...]
    owners: tuple[Owner, ...]
    sources: tuple[Source, ...]
    unknown: Sequence[Unknown]
    counting: tuple[str, ...]
    machines: str
    plan: Plan
    more: Mapping[str, Any] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    calibration: CalibrationSection | None = None
    assessment: str = ""
    owner: str = ""
    spend: SpendSection | None = None
    realised: RealisedSection | None = None
    events: EventsSection | None = None
    demand: DemandSection | None = None
    charts: tuple[Chart, ...] = ()
    owner_tables: tuple[OwnerTable, ...] = ()
    commitments: tuple[CommitmentRow, ...] = ()

    @property
    def advice(self) -> Sequence[Advice]:
        """All recommendations in the order of their rank."""
        return Joined(self.owed, self.top, self.rest)

    @property
    def document(self) -> dict[str, Any]:
        """The plan as JSON values with what the week adds, for machines; made anew at each call."""
        document = self.plan.document()
        summary = {name: value for name, value in document["summary"].items() if name not in self.without}
        return {**document, "summary": summary, **self.more}

    @property
    def shown(self) -> Sequence[Advice]:
        """The recommendations that a page for people shows, with their reasons."""
        return [*self.owed[:MOST_ROWS], *self.top, *self.rest[:MOST_ROWS]]

    def charts_of(self, kind: str) -> tuple[Chart, ...]:
        """This will return the charts of a kind: spend, price, demand or savings."""
        return tuple(one for one in self.charts if one.name.split("-", 1)[0] == kind)
