"""Advice of the ledger that waits for somebody and is not what today's prices and usage say any more, and why.

    records that stand open or accepted, today's evaluation → what must not be applied, each with its reasons

The evaluation is made at the moment of the hand-over, so that what it does not advise is not written. This says which
precondition went: the workload, its place, its requests, the rules, the room or the saving.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from exporters.core.units import HOURS_PER_MONTH
from recommender.advise.capacity_record import CapacityRecommendation
from recommender.advise.record import Recommendation, State
from recommender.emit.contract import Subject
from recommender.emit.subject import Key, key_of
from recommender.frames import WORKLOAD_KEY

_REQUESTS: Final = (
    ("vcpu_request_mean", "vCPU"),
    ("memory_gib_request_mean", "GiB of memory"),
    ("gpu_request_mean", "GPUs"),
)
_NOISE: Final = 0.01
"""Share by which mean requests may differ without being called changed."""


@dataclass(frozen=True, slots=True)
class Overtaken:
    """Advice that stands in the ledger and must not be applied.

    Args:
        id: of the advice.
        kind: its kind.
        title: what it said.
        state: open or accepted.
        why: which precondition no longer holds.
    """

    id: str
    kind: str
    title: str
    state: State
    why: str


def overtaken(
    standing: Iterable[tuple[Recommendation | CapacityRecommendation, State]], subject: Subject
) -> tuple[Overtaken, ...]:
    """This will return what stands and is advised no more, ordered by id.

    Args:
        standing: the records as they were proposed, with their states; only open and accepted ones.
        subject: today's evaluation.
    """
    advised = {one.id for one in subject.plan.recommendations} | {one.id for one in subject.plan.capacity}
    gone = sorted(((one, state) for one, state in standing if one.id not in advised), key=lambda pair: pair[0].id)
    today = _Today(subject)
    return tuple(
        Overtaken(id=one.id, kind=one.kind.value, title=one.title, state=state, why="; ".join(today.reasons(one)))
        for one, state in gone
    )


class _Today:
    """Today's evaluation, by workload."""

    def __init__(self, subject: Subject) -> None:
        plan = subject.plan
        self._workloads = {_key(row): row for row in subject.workloads.iter_rows(named=True)}
        self._costs: dict[tuple[Key, str, str], dict[str, Any]] = {}
        self._current: dict[Key, float | None] = {}
        for row in subject.costs.iter_rows(named=True):
            self._costs[_key(row), row["to_cluster"], row["to_capacity_type"]] = row
            if row["is_current"]:
                self._current[_key(row)] = row["gbp_per_hour"]
        self._instead = {one.xor_group: one for one in plan.recommendations}
        self._unknown = {
            (one.cluster, one.namespace, one.workload_kind, one.workload): one for one in plan.not_enough_data
        }

    def reasons(self, one: Recommendation | CapacityRecommendation) -> list[str]:
        found = list(self._found(one)) if isinstance(one, Recommendation) else []
        return found or ["today's prices and usage no longer advise it"]

    def _found(self, one: Recommendation) -> Iterator[str]:
        key = key_of(one.target)
        gap = self._unknown.get(key) or self._unknown.get((key[0], None, None, None))
        if gap is not None:
            yield f"nothing can be said of it at this time: {gap.why}"
        now = self._workloads.get(key)
        if now is None:
            yield f"{key[1]}/{key[3]} was not seen in {key[0]}"
            return
        yield from _changed(one, now)
        yield from self._at_the_place(one, key)
        instead = self._instead.get(one.xor_group)
        if instead is not None:
            yield f"advised instead: {instead.title} ({instead.id})"

    def _at_the_place(self, one: Recommendation, key: Key) -> Iterator[str]:
        to = one.recommended
        there = self._costs.get((key, to.cluster, to.capacity_type))
        current = self._current.get(key)
        if there is None:
            yield f"{to.cluster} has no {to.capacity_type} pool that could be judged"
        elif not there["allowed"]:
            yield f"the rules do not allow it in {to.cluster} ({_rules(there)})"
        elif not there["has_room"]:
            yield f"{to.cluster} has no room for it ({_rules(there)})"
        elif current is not None and one.monthly is not None:
            saves = (current - there["gbp_per_hour"]) * HOURS_PER_MONTH
            then = one.monthly.saving.p50
            yield f"at today's prices it would save £{saves:,.2f} a month; £{then:,.2f} were advised"


def _changed(one: Recommendation, now: Mapping[str, Any]) -> Iterator[str]:
    if (now["pool"], now["capacity_type"]) != (one.current.pool, one.current.capacity_type):
        where = now["pool"] or "a pool that is not known"
        yield f"it runs in {where}, {now['capacity_type'] or 'bought in a way that is not known'}"
    for name, unit in _REQUESTS:
        then, today = getattr(one.evidence, name), now[name]
        if abs(today - then) > _NOISE * max(then, today):
            yield f"it requests {today:,.2f} {unit} on average; the advice rests on {then:,.2f}"


def _rules(row: Mapping[str, Any]) -> str:
    return ", ".join(row["rules"]) or "it has no price"


def _key(row: Mapping[str, Any]) -> Key:
    cluster, namespace, kind, name = (row[column] for column in WORKLOAD_KEY)
    return (cluster, namespace, kind, name)
