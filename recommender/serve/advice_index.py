"""The list of advice as an index: made once a plan, so that a page of 50,000 recommendations is cut in milliseconds.

A frame holds what is filtered and sorted by; records become text only for the page that is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import polars as pl

from recommender.advise.capacity_record import CapacityRecommendation
from recommender.advise.plan import Plan
from recommender.advise.record import Confidence, Kind, Recommendation, State

Advice = Recommendation | CapacityRecommendation

LIVE = (State.OPEN, State.ACCEPTED)
"""States of advice that waits for somebody."""

_SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "row": pl.UInt32,
    "id": pl.String,
    "kind": pl.String,
    "owner": pl.String,
    "cluster": pl.String,
    "namespace": pl.String,
    "confidence": pl.String,
    "effort": pl.String,
    "state": pl.String,
    "saving": pl.Float64,
    "rank": pl.UInt32,
    "text": pl.String,
    "of_plan": pl.Boolean,
    "of_capacity": pl.Boolean,
}
_EFFORT = pl.Enum(["low", "medium", "high", ""])
_CONFIDENCE = pl.Enum([one.value for one in Confidence])


class Order(StrEnum):
    """What the list is sorted by; a minus stands for greatest first."""

    RANK = "rank"
    SAVING = "saving"
    SAVING_DOWN = "-saving"
    OWNER = "owner"
    CLUSTER = "cluster"
    CONFIDENCE = "confidence"
    EFFORT = "effort"
    STATE = "state"


@dataclass(frozen=True, slots=True)
class Query:
    """What of the list is wanted; None: whatever it is.

    Args:
        states: empty: all.
        text: to be found in title, target, owner or id, whatever the case.
        of_plan: only what the last plan advises.
        of_capacity: advice on owned capacity; False: on workloads.
    """

    kind: Kind | None = None
    owner: str | None = None
    cluster: str | None = None
    namespace: str | None = None
    confidence: Confidence | None = None
    effort: str | None = None
    states: tuple[State, ...] = ()
    text: str = ""
    min_saving_gbp_per_month: float | None = None
    of_plan: bool | None = None
    of_capacity: bool | None = None
    sort: Order = Order.RANK


@dataclass(frozen=True, slots=True)
class AdviceIndex:
    """What can be listed.

    Args:
        records: the advice of the plan, and what the ledger keeps beside it.
        frame: one row a record.
        owners: all of them, sorted.
        clusters: the same.
    """

    records: tuple[Advice, ...]
    frame: pl.DataFrame
    owners: tuple[str, ...]
    clusters: tuple[str, ...]

    @classmethod
    def of(cls, plan: Plan, kept: Iterable[Advice] = ()) -> AdviceIndex:
        """This will index a plan.

        Args:
            plan: an evaluation.
            kept: advice that the ledger knows and the plan does not give any more: decided, carried out.
        """
        given: list[Advice] = [*plan.recommendations, *plan.capacity]
        known = {one.id for one in given}
        records = (*given, *(one for one in kept if one.id not in known))
        rows = [_row(number, one, of_plan=number < len(given)) for number, one in enumerate(records)]
        frame = pl.DataFrame(rows, schema=_SCHEMA, orient="row")
        return cls(records=records, frame=frame, owners=_distinct(frame["owner"]), clusters=_distinct(frame["cluster"]))

    def found(self, query: Query) -> pl.Series:
        """This will return the row numbers of what is wanted, in the wanted order; equal ones by rank."""
        return self.frame.filter(*_conditions(query)).sort(*_order(query.sort))["row"]

    def at(self, rows: Iterable[int]) -> list[Advice]:
        """This will return records in their present state."""
        states = self.frame["state"]
        return [_in_state(self.records[row], State(states[row])) for row in rows]

    def get(self, advice_id: str) -> Advice | None:
        """This will return the advice with an id in its present state; None: it is not here."""
        rows = self.frame.filter(pl.col("id") == advice_id)["row"]
        return None if rows.is_empty() else self.at(rows)[0]

    def is_of_plan(self, advice_id: str) -> bool:
        """This will tell whether the last plan gives the advice."""
        return not self.frame.filter(pl.col("id") == advice_id, "of_plan").is_empty()

    def with_state(self, advice_id: str, state: State) -> AdviceIndex:
        """This will return the index with what was decided meanwhile."""
        its = pl.when(pl.col("id") == advice_id).then(pl.lit(state.value)).otherwise("state")
        return replace(self, frame=self.frame.with_columns(its.alias("state")))

    def counts(self) -> dict[State, int]:
        """This will count the advice in each state that some is in."""
        return {State(name): number for name, number in self.frame.group_by("state").len().sort("state").iter_rows()}


def saving_of(one: Advice) -> float:
    """This will return the expected saving in pounds a month; 0: it is of a kind that does not save."""
    return float(one.monthly.saving.p50) if isinstance(one, Recommendation) and one.monthly else 0.0


def owner_of(one: Advice) -> str:
    """This will return the owner of a workload, or the one owner of all that a burst moves; empty: nobody is named."""
    if isinstance(one, Recommendation):
        return one.target.owner or ""
    owners = {move.owner for move in one.moves}
    return (owners.pop() or "") if len(owners) == 1 else ""


def target_of(one: Advice) -> str:
    """This will name the workload, or the class of owned capacity."""
    target = one.target
    if isinstance(one, Recommendation):
        return "/".join((target.cluster, one.target.namespace, one.target.workload_kind, one.target.workload))
    return "/".join((target.cluster, one.target.pool, one.target.resource, one.target.resource_class))


def _row(number: int, one: Advice, *, of_plan: bool) -> tuple[object, ...]:
    of_workload = isinstance(one, Recommendation)
    owner = owner_of(one)
    return (
        number,
        one.id,
        one.kind.value,
        owner,
        one.target.cluster,
        one.target.namespace if isinstance(one, Recommendation) else "",
        one.risk.confidence.value,
        one.effort if isinstance(one, Recommendation) else "",
        one.state.value,
        saving_of(one),
        # The ledger's come after the plan's, which are numbered from 1.
        one.rank if isinstance(one, Recommendation) and of_plan else 1_000_000 + number,
        "\n".join((one.title, target_of(one), owner, one.id)).lower(),
        of_plan,
        not of_workload,
    )


def _in_state(one: Advice, state: State) -> Advice:
    return one if one.state is state else one.model_copy(update={"state": state})


def _distinct(column: pl.Series) -> tuple[str, ...]:
    return tuple(name for name in column.unique().sort() if name)


def _conditions(query: Query) -> list[pl.Expr]:
    equal: Sequence[tuple[str, str | bool | None]] = (
        ("kind", query.kind),
        ("owner", query.owner),
        ("cluster", query.cluster),
        ("namespace", query.namespace),
        ("confidence", query.confidence),
        ("effort", query.effort),
        ("of_plan", query.of_plan),
        ("of_capacity", query.of_capacity),
    )
    found = [pl.col(name) == pl.lit(value) for name, value in equal if value is not None]
    if query.states:
        found.append(pl.col("state").is_in([one.value for one in query.states]))
    if query.text:
        found.append(pl.col("text").str.contains(query.text.lower(), literal=True))
    if query.min_saving_gbp_per_month is not None:
        found.append(pl.col("saving") >= query.min_saving_gbp_per_month)
    return found


def _order(sort: Order) -> tuple[pl.Expr, ...]:
    rank = pl.col("rank")
    return {
        Order.RANK: (rank,),
        Order.SAVING: (pl.col("saving"), rank),
        Order.SAVING_DOWN: (-pl.col("saving"), rank),
        Order.OWNER: (pl.col("owner"), rank),
        Order.CLUSTER: (pl.col("cluster"), rank),
        Order.CONFIDENCE: (pl.col("confidence").cast(_CONFIDENCE), rank),
        Order.EFFORT: (pl.col("effort").cast(_EFFORT), rank),
        Order.STATE: (pl.col("state"), rank),
    }[sort]
