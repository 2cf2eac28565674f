"""The ledger as rows: where each recommendation stands, for tables and for machines."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

import polars as pl

from exporters.core.money import pounds, rate
from exporters.core.units import HOURS_PER_MONTH
from recommender.advise.capacity_record import CAPACITY_KINDS, CapacityRecommendation, advice_of
from recommender.advise.record import Recommendation, State
from recommender.ledger.measurement import Realised
from recommender.ledger.memory import standings_at
from recommender.ledger.standing import Standing
from recommender.ledger.store import Reader

_TIME = pl.Datetime("us", "UTC")
_SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "recommendation_id": pl.String,
    "state": pl.String,
    "since": _TIME,
    "author": pl.String,
    "reason": pl.String,
    "until": _TIME,
    "kind": pl.String,
    "title": pl.String,
    "owner": pl.String,
    "cluster": pl.String,
    "namespace": pl.String,
    "workload_kind": pl.String,
    "workload": pl.String,
    "to_cluster": pl.String,
    "to_pool": pl.String,
    "saving_gbp_per_month": pl.Float64,
    "cost_delta_gbp_per_hour": pl.Float64,
    "resource": pl.String,
    "resource_class": pl.String,
    "pool": pl.String,
    "proposed_at": _TIME,
    "expires_at": _TIME,
    "implemented_at": _TIME,
    "successor_id": pl.String,
}


def listed(reader: Reader, *, at: datetime, states: Collection[State], only: str | None = None) -> pl.DataFrame:
    """This will return one row a recommendation, the greatest saving first, figures as last written down.

    Args:
        reader: of the ledger.
        at: the moment; states that time alone changes are those of then.
        states: the wanted ones.
        only: a recommendation's id; None: all.
    """
    found = [
        now
        for now in standings_at(reader.histories(), at=at).values()
        if now.state in states and only in {None, now.recommendation_id}
    ]
    texts = reader.documents(one.proposal for one in found)
    rows = [_row(one, advice_of(texts[one.recommendation_id, one.proposal.sequence])) for one in found]
    frame = pl.DataFrame(rows, schema=_SCHEMA)
    return frame.sort("saving_gbp_per_month", "recommendation_id", descending=[True, False], nulls_last=True)


def people_read(rows: pl.DataFrame) -> pl.DataFrame:
    """This will return what a person reads of the rows of `listed`."""
    return pl.DataFrame(
        [
            {
                "id": row["recommendation_id"],
                "state": f"{row['state']}{_until(row['until'])}",
                "by": f"{row['author']}, {row['since']:%-d %B %Y}",
                "advice": row["title"],
                "owner": row["owner"] or "",
                "money": _money(row),
                "why": " ".join(filter(None, (row["reason"], _successor(row["successor_id"])))),
            }
            for row in rows.iter_rows(named=True)
        ]
    )


_MEASURED_SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "recommendation_id": pl.String,
    "outcome": pl.String,
    "why": pl.String,
    "title": pl.String,
    "owner": pl.String,
    "implemented_at": _TIME,
    "window_start": _TIME,
    "window_end": _TIME,
    "predicted_gbp_per_month": pl.Float64,
    "saving_gbp_per_month_p10": pl.Float64,
    "saving_gbp_per_month": pl.Float64,
    "saving_gbp_per_month_p90": pl.Float64,
    "counterfactual_gbp_per_hour": pl.Float64,
    "actual_gbp_per_hour": pl.Float64,
    "price_basis": pl.String,
    "predicted_gbp": pl.Float64,
    "realised_gbp": pl.Float64,
}


def measured(rows: Sequence[Realised]) -> pl.DataFrame:
    """This will return one row a measurement, in the order given; what was not measured is null."""
    return pl.DataFrame(
        [
            {
                **one.model_dump(mode="python", exclude={"saving"}),
                "outcome": one.outcome.value,
                "saving_gbp_per_month_p10": one.saving and one.saving.p10,
                "saving_gbp_per_month": one.saving and one.saving.p50,
                "saving_gbp_per_month_p90": one.saving and one.saving.p90,
            }
            for one in rows
        ],
        schema=_MEASURED_SCHEMA,
        strict=False,
    )


def people_read_measured(rows: pl.DataFrame) -> pl.DataFrame:
    """This will return what a person reads of the rows of `measured`."""
    return pl.DataFrame(
        [
            {
                "id": row["recommendation_id"],
                "advice": row["title"],
                "owner": row["owner"] or "",
                "predicted a month": _pounds(row["predicted_gbp_per_month"]),
                "saved a month": _pounds(row["saving_gbp_per_month"]),
                "between": _between(row["saving_gbp_per_month_p10"], row["saving_gbp_per_month_p90"]),
                "in its days": _pounds(row["realised_gbp"]),
                "how": f"{row['outcome']}: {row['why']}",
            }
            for row in rows.iter_rows(named=True)
        ]
    )


def _pounds(gbp: float | None) -> str:
    return "" if gbp is None else pounds(gbp)


def _between(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{pounds(low)} and {pounds(high)}"


def _row(now: Standing, advice: Recommendation | CapacityRecommendation) -> dict[str, object]:
    of_advice = _of_capacity(advice) if isinstance(advice, CapacityRecommendation) else _of_workload(advice)
    return {
        "recommendation_id": now.recommendation_id,
        "state": now.state.value,
        "since": now.since,
        "author": now.author,
        "reason": now.reason,
        "until": now.until,
        "kind": advice.kind.value,
        "title": advice.title,
        "cluster": advice.target.cluster,
        "cost_delta_gbp_per_hour": advice.cost_delta_gbp_per_hour,
        **of_advice,
        "proposed_at": now.opened_at,
        "expires_at": now.proposal.expires_at,
        "implemented_at": now.implemented_at,
        "successor_id": now.successor_id,
    }


def _of_workload(advice: Recommendation) -> dict[str, object]:
    target = advice.target
    return {
        "owner": target.owner,
        "namespace": target.namespace,
        "workload_kind": target.workload_kind,
        "workload": target.workload,
        "pool": advice.current.pool,
        "to_cluster": advice.recommended.cluster,
        "to_pool": advice.recommended.pool,
        "saving_gbp_per_month": None if advice.monthly is None else float(advice.monthly.saving.p50),
    }


def _of_capacity(advice: CapacityRecommendation) -> dict[str, object]:
    """Advice on a class of a pool; it is about no single workload, and about an owner only where all have the same."""
    owners = {one.owner for one in advice.moves}
    to = advice.recommended
    return {
        "owner": owners.pop() if len(owners) == 1 else None,
        "pool": advice.target.pool,
        "resource": advice.target.resource,
        "resource_class": advice.target.resource_class,
        "to_cluster": None if to is None else to.cluster,
        "to_pool": None if to is None else to.pool,
    }


def _until(until: datetime | None) -> str:
    return "" if until is None else f" until {until:%-d %B %Y}"


def _successor(identifier: str | None) -> str:
    return "" if identifier is None else f"({identifier})"


def _money(row: dict[str, Any]) -> str:
    """A saving and what a rule costs by the month, what a burst costs by the hour: it lasts for hours."""
    if row["saving_gbp_per_month"] is not None:
        return f"saves {pounds(row['saving_gbp_per_month'])} a month"
    delta = row["cost_delta_gbp_per_hour"] or 0.0
    direction = "less" if delta < 0 else "more"
    if row["kind"] in CAPACITY_KINDS:
        return f"costs {rate(abs(delta))} an hour {direction}"
    return f"costs {pounds(abs(delta * HOURS_PER_MONTH))} a month {direction}"
