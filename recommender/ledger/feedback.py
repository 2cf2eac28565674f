"""Decisions of schedulers meet the advice: what was decided as advised is carried out, with the evidence for it. Pure.

Only a decision that names the advised cluster, and no other, and that somebody has not decided against, becomes an
`implemented` event; everything else is told with its reason and changes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Literal

from pydantic import Field

from recommender.advise.record import Part, Recommendation, State
from recommender.ledger.decide import Decision, next_event
from recommender.ledger.events import SCHEDULER, Event, EventKind
from recommender.ledger.standing import Standing, after
from recommender.observe.decisions import Decided


class Evidence(Part):
    """Who or what applied advice; kept with the `implemented` event."""

    by: Literal["hand", "pull-request", "scheduler"]
    reference: str = Field(description="An address, a ticket, or the object that was decided, for people.")
    system: Literal["ocm", "kueue"] | None = Field(default=None, description="Whose decision; absent: no scheduler's.")
    cluster: str | None = Field(default=None, description="The cluster that was chosen.")
    decided_at: datetime | None = Field(default=None, description="Absent: it is not told.")


class Outcome(StrEnum):
    """What a decision is to the advice."""

    AS_ADVISED = "as-advised"
    ALREADY = "already-carried-out"
    STAYS = "stays"
    ELSEWHERE = "elsewhere"
    AGAINST_A_DECISION = "against-a-decision"
    BEFORE_THE_ADVICE = "before-the-advice"
    SAME_CLUSTER = "same-cluster"
    AMBIGUOUS = "ambiguous"
    UNKNOWN_CLUSTER = "unknown-cluster"
    NO_ADVICE = "no-advice"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Link:
    """A decision beside the advice that it is about.

    Args:
        decision: what was decided.
        outcome: what that is to the advice.
        why: in a sentence.
        advice: the recommendation; None: none is known.
        event: what the ledger is to remember; None: nothing.
    """

    decision: Decided
    outcome: Outcome
    why: str
    advice: Recommendation | None = None
    event: Event | None = None


@dataclass(frozen=True, slots=True)
class Known:
    """The advice that decisions may be about, with where it stands."""

    standings: Mapping[str, Standing]
    advice: Mapping[str, Recommendation]

    def about(self, decision: Decided) -> list[Recommendation]:
        """This will return the advice that a decision is about: by ids that it carries, else by its workload."""
        if decision.advice_ids:
            return [self.advice[one] for one in decision.advice_ids if one in self.advice]
        return [one for one in self.advice.values() if self._lives(one) and _is_of(one, decision)]

    def _lives(self, one: Recommendation) -> bool:
        return self.standings[one.id].state not in {State.EXPIRED, State.SUPERSEDED, State.VERIFIED}


def by_person(reference: str) -> Evidence:
    """This will return the evidence that a person gives: the address of a pull request, or whatever else was done."""
    address = reference.startswith(("https://", "http://"))
    return Evidence(by="pull-request" if address else "hand", reference=reference)


def linked(decisions: Iterable[Decided], known: Known, *, clusters: Collection[str], at: datetime) -> tuple[Link, ...]:
    """This will link decisions to advice and say what each means, one link a decision and advice.

    Args:
        decisions: what was decided.
        known: the advice.
        clusters: names of the fleet.
        at: now.
    """
    links = [link for decision in decisions for link in _links(decision, known, clusters)]
    meant: dict[str, list[Link]] = {}
    for link in links:
        if link.advice is not None:
            meant.setdefault(link.advice.id, []).append(link)
    told: set[str] = set()
    return tuple(_with_event(link, meant, known, told, at) for link in links)


def _links(decision: Decided, known: Known, clusters: Collection[str]) -> list[Link]:
    if not decision.clusters:
        return [Link(decision, Outcome.UNDECIDED, "it names no cluster yet")]
    if strange := sorted(set(decision.clusters) - set(clusters)):
        why = f"{', '.join(strange)} is no cluster of the settings"
        return [Link(decision, Outcome.UNKNOWN_CLUSTER, why)]
    found = known.about(decision)
    if not found:
        carried = f"nothing is known of {', '.join(decision.advice_ids)}" if decision.advice_ids else ""
        return [Link(decision, Outcome.NO_ADVICE, carried or "it carries no id, and its workload is not advised")]
    if len(found) > 1 and not decision.advice_ids:
        names = ", ".join(sorted(one.id for one in found))
        return [Link(decision, Outcome.AMBIGUOUS, f"several pieces of advice fit: {names}")]
    return [_link(decision, one, known.standings[one.id]) for one in found]


def _link(decision: Decided, advice: Recommendation, standing: Standing) -> Link:
    outcome, why = _of_place(decision, advice) or _of_state(decision, standing)
    return Link(decision, outcome, why, advice)


def _of_place(decision: Decided, advice: Recommendation) -> tuple[Outcome, str] | None:
    """None: it chooses the advised cluster and no other."""
    wanted, here, chosen = advice.recommended.cluster, advice.current.cluster, ", ".join(decision.clusters)
    if wanted == here:
        return Outcome.SAME_CLUSTER, "it chooses a cluster, and the advice is about a pool of the same one"
    if decision.clusters == (wanted,):
        return None
    if wanted in decision.clusters:
        return Outcome.AMBIGUOUS, f"several clusters were chosen: {chosen}"
    if decision.clusters == (here,):
        return Outcome.STAYS, f"it stays in {here}; {wanted} is advised"
    return Outcome.ELSEWHERE, f"{chosen} was chosen; {wanted} is advised"


def _of_state(decision: Decided, standing: Standing) -> tuple[Outcome, str]:
    if standing.state in {State.IMPLEMENTED, State.VERIFIED}:
        return Outcome.ALREADY, f"it is {standing.state.value} since {standing.since:%-d %B %Y}"
    if standing.state in {State.DISMISSED, State.SNOOZED}:
        return Outcome.AGAINST_A_DECISION, f"{standing.author} {standing.state.value} it"
    if decision.decided_at is not None and decision.decided_at < standing.opened_at:
        return Outcome.BEFORE_THE_ADVICE, f"it was made on {decision.decided_at:%-d %B %Y, %H:%M} UTC"
    return Outcome.AS_ADVISED, f"{decision.clusters[0]} was chosen"


def _with_event(link: Link, meant: Mapping[str, Sequence[Link]], known: Known, told: set[str], at: datetime) -> Link:
    """The event of a link, once for each piece of advice, and none where two decisions disagree."""
    advice = link.advice
    if link.outcome is not Outcome.AS_ADVISED or advice is None:
        return link
    others = [one for one in meant[advice.id] if one.decision.clusters != link.decision.clusters]
    if others:
        why = f"{others[0].decision.source} says otherwise: {', '.join(others[0].decision.clusters)}"
        return Link(link.decision, Outcome.AMBIGUOUS, why, advice)
    if advice.id in told:
        return Link(link.decision, Outcome.ALREADY, "another decision says the same", advice)
    told.add(advice.id)
    event = _event(link, known.standings[advice.id], at)
    return Link(link.decision, link.outcome, link.why, advice, event)


def _event(link: Link, standing: Standing, at: datetime) -> Event:
    decision, [cluster] = link.decision, link.decision.clusters
    evidence = Evidence(
        by="scheduler",
        reference=decision.source,
        system=decision.system,
        cluster=cluster,
        decided_at=decision.decided_at,
    )
    made_at = decision.decided_at if decision.decided_at is None or decision.decided_at <= at else None
    made = Decision(
        EventKind.IMPLEMENTED,
        SCHEDULER,
        reason=f"{decision.source} chose {cluster}",
        happened_at=made_at,
        evidence=evidence.model_dump_json(exclude_none=True),
    )
    event = next_event(standing, made, at=at)
    after(standing, event)
    return event


def _is_of(one: Recommendation, decision: Decided) -> bool:
    owner, target = decision.owner, one.target
    return owner is not None and (owner.namespace, owner.workload_kind, owner.workload) == (
        target.namespace,
        target.workload_kind,
        target.workload,
    )
