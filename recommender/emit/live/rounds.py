"""Carries out a round on the hub: places are made, every write is tried dry, and only then are scores changed.

A scheduler compares clusters, so a round that is refused anywhere changes nothing anywhere: it is refused before the
first write, or what was written is put back. A hub that goes away in the middle leaves old and new scores side by side;
they end together at the old `validUntil`, or the next round finishes what this one began.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Protocol

from recommender.emit.live.publisher import Found, Round, Scores, Wanted, Write, next_round, why_not
from recommender.emit.live.refusals import HubError, NamespaceRefusedError
from recommender.emit.score_status import Freshness

_ASK_EVERY = 20
"""Writes between two looks at whether they are still allowed."""


class ServerTime(Protocol):
    """What a write tells of the server's clock."""

    @property
    def at(self) -> datetime | None:
        """The server's time (UTC); None: it did not say."""
        ...


class Writer(Protocol):
    """The part of a hub that a round needs; see hub.Hub."""

    def create(self, name: str, namespace: str) -> None:
        """This will make an object without scores."""
        ...

    def write(
        self,
        name: str,
        namespace: str,
        scores: Scores,
        valid_until: datetime | None,
        freshness: Freshness | None = None,
        *,
        dry_run: bool = False,
    ) -> ServerTime:
        """This will apply scores."""
        ...

    def withdraw(self, one: Found) -> None:
        """This will delete an object."""
        ...


@dataclass(frozen=True, slots=True)
class Terms:
    """What a round is bound by.

    Args:
        now: tells the time (UTC).
        most: how long a score may stand at most.
        clock_tolerance: by how much the hub's clock may differ.
        still_allowed: whether the mode still allows it.
        about_to_write: told the namespaces before the first write to them.
    """

    now: Callable[[], datetime]
    most: timedelta
    clock_tolerance: timedelta
    still_allowed: Callable[[], bool]
    about_to_write: Callable[[Sequence[str]], None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a round.

    Args:
        name: of the objects.
        written: objects whose scores were changed.
        withdrawn: objects that went.
        unchanged: objects that have what is wanted.
        not_on_hub: clusters without a namespace on the hub; nothing can be placed there.
        refused: by namespace, why.
        held: why nothing was written, or was put back; empty: all was.
        is_unfinished: the hub went away in the middle; another round soon finishes it.
    """

    name: str
    written: int = 0
    withdrawn: int = 0
    unchanged: int = 0
    not_on_hub: tuple[str, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)
    held: str = ""
    is_unfinished: bool = False

    @property
    def is_whole(self) -> bool:
        """The hub has what is wanted."""
        return not self.refused and not self.held


def carry_out(hub: Writer, name: str, wanted: Wanted, found: Iterable[Found], terms: Terms) -> Outcome:
    """This will bring the objects of a name to what is wanted, all of them or none.

    Args:
        hub: where.
        name: of the objects.
        wanted: the scores.
        found: every object of ours of that name.
        terms: see Terms.

    Raises:
        HubError: the hub as a whole refused, or went away before the first score was changed.
    """
    there = {one.namespace: one for one in found}
    now = terms.now()
    outcome = Outcome(name)
    if not why_not(wanted, there, now=now):
        missing = sorted(wanted.scores.keys() - there.keys())
        if missing:
            terms.about_to_write([*there, *missing])
        made, absent, refused = _places(hub, name, missing)
        there |= made
        outcome = replace(outcome, not_on_hub=absent, refused=refused)
        if refused:
            return replace(outcome, unchanged=len(there), held="a namespace is refused, so no cluster is scored anew")
        wanted = replace(wanted, scores={one: wanted.scores[one] for one in wanted.scores if one not in absent})
    planned = next_round(wanted, there.values(), now=now, most=terms.most)
    outcome = _gone(hub, planned, replace(outcome, held=planned.held, unchanged=planned.unchanged))
    if not planned.writes:
        return outcome
    return _written(hub, planned, outcome, terms)


def _places(
    hub: Writer, name: str, namespaces: Sequence[str]
) -> tuple[dict[str, Found], tuple[str, ...], dict[str, str]]:
    """Objects without scores; they change nothing for a scheduler."""
    made, absent, refused = {}, [], {}
    for namespace in namespaces:
        try:
            hub.create(name, namespace)
        except NamespaceRefusedError as error:
            if error.is_missing:
                absent.append(namespace)
            else:
                refused[namespace] = str(error)
        else:
            made[namespace] = Found(namespace, name, {}, None)
    return made, tuple(absent), refused


def _gone(hub: Writer, planned: Round, outcome: Outcome) -> Outcome:
    withdrawn, refused = 0, dict(outcome.refused)
    for one in planned.withdraw:
        try:
            hub.withdraw(one)
            withdrawn += 1
        except NamespaceRefusedError as error:
            refused[one.namespace] = str(error)
    return replace(outcome, withdrawn=withdrawn, refused=refused)


def _written(hub: Writer, planned: Round, outcome: Outcome, terms: Terms) -> Outcome:
    name = outcome.name
    refused, apart = _tried(hub, name, planned.writes, terms)
    if refused:
        held = "a namespace is refused, so no cluster is scored anew"
        return replace(outcome, refused={**outcome.refused, **refused}, held=held)
    if apart is not None:
        held = f"the hub's clock and this machine's are {apart.total_seconds():.0f} s apart; set them right"
        return replace(outcome, held=held)
    done: list[Write] = []
    for number, one in enumerate(planned.writes):
        if number % _ASK_EVERY == 0 and not terms.still_allowed():
            return replace(outcome, written=_put_back(hub, name, done), held="the mode no longer allows it")
        try:
            hub.write(name, one.namespace, one.scores, one.valid_until, one.freshness)
        except NamespaceRefusedError as error:
            left = _put_back(hub, name, done)
            refused = {**outcome.refused, one.namespace: str(error)}
            return replace(outcome, written=left, refused=refused, held=_put_back_words(left))
        except HubError as error:
            held = f"cut off after {len(done)} of {len(planned.writes)} objects ({error}); the next round goes on"
            return replace(outcome, written=len(done), held=held, is_unfinished=True)
        done.append(one)
    return replace(outcome, written=len(done))


def _tried(hub: Writer, name: str, writes: Sequence[Write], terms: Terms) -> tuple[dict[str, str], timedelta | None]:
    """What the server would refuse, and how far its clock is ahead, where that is too far."""
    refused: dict[str, str] = {}
    for one in writes:
        before = terms.now()
        try:
            tried = hub.write(name, one.namespace, one.scores, one.valid_until, one.freshness, dry_run=True)
        except NamespaceRefusedError as error:
            refused[one.namespace] = str(error)
            continue
        if tried.at is not None and abs(apart := tried.at - before) > terms.clock_tolerance:
            return refused, apart
    return refused, None


def _put_back(hub: Writer, name: str, done: Sequence[Write]) -> int:
    """The number of objects that could not be put back as they were."""
    left = 0
    for one in reversed(done):
        before = one.before or Found(one.namespace, name, {}, None)
        try:
            hub.write(name, one.namespace, before.scores, before.valid_until, before.freshness)
        except HubError:
            left += 1
    return left


def _put_back_words(left: int) -> str:
    return f"put back as it was, but for {left} objects" if left else "a namespace was refused; all is as it was"
