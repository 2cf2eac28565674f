"""What a round writes to the hub, holds and takes back: the scores wanted beside what the hub has. Pure.

The rules, and why (Open Cluster Management reads a missing or lapsed score as 0, and each write makes it schedule):

- All objects of a name have one `validUntil`; so they lapse together, and none outlives a value in it.
- A round renews all of them or none. Between renewals an object whose values moved by DEAD_BAND points is written with
  the `validUntil` that the others have.
- Where an input is stale or a cluster is missing, nothing is written: what stands is held until it lapses.
- Nothing stands longer than the settings allow, whatever the ages of the inputs, or a clock that jumped, say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from recommender.emit.score_status import Freshness

DEAD_BAND = 2
"""Points; a smaller change is not worth a schedule of every Placement."""

LOWEST, HIGHEST = -100, 100
"""What the API server takes; it refuses a whole status for one value beyond."""

Scores = Mapping[str, int]
"""Value by score name."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The scores of one evaluation, for objects of one name.

    Args:
        scores: by namespace of the hub, one a cluster.
        valid_until: until when all of them stand (UTC): the earliest of their inputs.
        stale: why they must not be written; empty: they may.
        order: namespaces in which workloads run that the scores are for; they are written first, so that a round that
            is cut off leaves what runs where it is.
        freshness: of their inputs; None: unsaid.
    """

    scores: Mapping[str, Scores]
    valid_until: datetime
    stale: str = ""
    order: frozenset[str] = frozenset()
    freshness: Freshness | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """An object of ours on the hub.

    Args:
        namespace: where.
        name: of the object.
        scores: the values that our field manager owns.
        valid_until: what it says; None: nothing, so it never lapses.
        shared: another field manager owns a part of its status too.
        freshness: what it says of its inputs; None: nothing of ours.
    """

    namespace: str
    name: str
    scores: Scores
    valid_until: datetime | None
    shared: bool = False
    freshness: Freshness | None = None


@dataclass(frozen=True, slots=True)
class Write:
    """One object as it must be.

    Args:
        namespace: where.
        scores: all values that are ours.
        valid_until: until when.
        before: what the hub has; None: the object is made.
        freshness: of the inputs; None: unsaid.
    """

    namespace: str
    scores: Scores
    valid_until: datetime
    before: Found | None
    freshness: Freshness | None = None


@dataclass(frozen=True, slots=True)
class Round:
    """What is to be done for objects of one name.

    Args:
        writes: in order.
        withdraw: objects that are to go, such as those of a cluster that left the fleet.
        held: why nothing is written though something is wanted; empty: nothing is held.
        unchanged: objects that stay as they are.
    """

    writes: tuple[Write, ...] = ()
    withdraw: tuple[Found, ...] = ()
    held: str = ""
    unchanged: int = 0


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """What became of a withdrawal.

    Args:
        gone: objects that were deleted.
        left: by namespace and name, why it is still there; its scores end by themselves where they have an end.
    """

    gone: int
    left: Mapping[tuple[str, str], str]


def next_round(wanted: Wanted, found: Iterable[Found], *, now: datetime, most: timedelta) -> Round:
    """This will say what to write so that the hub has what is wanted, and no more often than needed.

    Args:
        wanted: the scores; namespaces that are not in it have left the fleet.
        found: every object of ours of that name.
        now: the time (UTC).
        most: how long a score may stand at most.
    """
    there = {one.namespace: one for one in found}
    gone = tuple(there[name] for name in sorted(there.keys() - wanted.scores.keys()))
    if why := why_not(wanted, there, now=now):
        return Round(withdraw=gone, held=why, unchanged=len(there) - len(gone))
    names = sorted(wanted.scores, key=lambda name: (name not in wanted.order, name))
    end = min(wanted.valid_until, now + most)
    until = _standing_until([there.get(name) for name in names], wanted, end=end, now=now)
    writes = tuple(
        Write(name, wanted.scores[name], until or end, there.get(name), _freshness(wanted, there.get(name)))
        for name in names
        if until is None or _moved(wanted.scores[name], there[name].scores)
    )
    return Round(writes=writes, withdraw=gone, unchanged=len(names) - len(writes))


def why_not(wanted: Wanted, there: Mapping[str, Found], *, now: datetime) -> str:
    """This will say why the scores must not be written; empty: they may.

    Args:
        wanted: the scores.
        there: what the hub has, by namespace.
        now: the time (UTC).
    """
    if wanted.stale:
        return wanted.stale
    if not wanted.scores:
        return "there are no scores"
    if wanted.valid_until <= now:
        return f"the inputs are stale since {wanted.valid_until:%Y-%m-%d %H:%M} UTC"
    for namespace, scores in sorted(wanted.scores.items()):
        for name, value in scores.items():
            if not LOWEST <= value <= HIGHEST:
                return f"{name} of {namespace} is {value}, not in {LOWEST}..{HIGHEST}"
    return _incomplete(wanted, there, now=now)


def _incomplete(wanted: Wanted, there: Mapping[str, Found], *, now: datetime) -> str:
    """A score that some clusters have or still show, and others lack, would be read as 0 there."""
    names = {name for scores in wanted.scores.values() for name in scores}
    for namespace, scores in sorted(wanted.scores.items()):
        if lacking := sorted(names - scores.keys()):
            return f"{namespace} has no {lacking[0]}, which other clusters have"
    for namespace, one in sorted(there.items()):
        stands = namespace in wanted.scores and (one.valid_until is None or one.valid_until > now)
        if stands and (dropped := sorted(one.scores.keys() - names)):
            return f"{dropped[0]} is no longer scored; it is held until it lapses everywhere"
    return ""


def _standing_until(objects: list[Found | None], wanted: Wanted, *, end: datetime, now: datetime) -> datetime | None:
    """The `validUntil` that all objects have and that may stand; None: all must be renewed."""
    shared: set[datetime | None] = {None if one is None else one.valid_until for one in objects}
    until = next(iter(shared)) if len(shared) == 1 else None
    if until is None or until > end:
        return None
    whole = all(one is not None and one.scores.keys() == wanted.scores[one.namespace].keys() for one in objects)
    return until if whole and until - now >= (end - now) / 2 else None


def _freshness(wanted: Wanted, before: Found | None) -> Freshness | None:
    return None if wanted.freshness is None else wanted.freshness.after(before.freshness if before else None)


def _moved(wanted: Scores, found: Scores) -> bool:
    return any(abs(value - found[name]) >= DEAD_BAND for name, value in wanted.items())
