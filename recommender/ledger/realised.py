"""What a move has really saved: what today's usage would cost at the place left, less what it costs now. Pure.

Both sides are priced by the same rules as advice, from the usage of 14 days (a setting) that all lie after the move.
The place left is priced as of today; where it has no price any more, with the prices of the day that the proposal kept.
Around the saving stands the allowance of advise.expected: 1/days + (1 − coverage), as a share of it. A saving may be
negative. A workload that vanished, stayed, or still runs at the old place too has saved nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

import dataframely as dy
import polars as pl

from exporters.core.money import pence
from exporters.core.units import HOURS_PER_MONTH, SECONDS_PER_HOUR
from recommender.advise.decision import Question
from recommender.advise.record import Range, Recommendation
from recommender.cycle import costs_here
from recommender.frames import WORKLOAD_KEY, Flow, Pool
from recommender.ledger.measurement import Outcome, Realised

_DIGITS = 9
_PLACE = ("pool", "instance_type", "capacity_type")


@dataclass(frozen=True, slots=True)
class CarriedOut:
    """Advice that somebody says was carried out.

    Args:
        advice: as it was proposed last, with the prices of that day.
        at: when the move was made.
    """

    advice: Recommendation
    at: datetime


def realised(
    carried: Sequence[CarriedOut], question: Question, flows: dy.DataFrame[Flow], pools: dy.DataFrame[Pool]
) -> tuple[Realised, ...]:
    """This will measure moves.

    Args:
        carried: the moves, in any order.
        question: usage of those days and today's prices.
        flows: of the same usage.
        pools: the fleet.

    Returns:
        One a move, by id.
    """
    actual = _by_key(costs_here(question, flows, pools))
    latest: dict[tuple[str, ...], datetime] = {}
    for one in carried:
        latest[_new_key(one)] = max(one.at, latest.get(_new_key(one), one.at))
    found = (
        _measured(one, actual, question, flows, pools)
        if one.at == latest[_new_key(one)]
        else _told(one, question.usage_window, Outcome.MOVED_ON, "the workload was moved again later")
        for one in carried
    )
    return tuple(sorted(found, key=lambda row: row.recommendation_id))


def not_yet(carried: Sequence[CarriedOut], window: tuple[datetime, datetime]) -> tuple[Realised, ...]:
    """This will say of moves that are younger than the window that they are, without any usage.

    Args:
        carried: the moves, in any order.
        window: that they would be measured by.

    Returns:
        One a move, by id.
    """
    told = (_told(one, window, Outcome.TOO_EARLY, _too_early(window)) for one in carried)
    return tuple(sorted(told, key=lambda row: row.recommendation_id))


def _measured(
    one: CarriedOut,
    actual: Mapping[tuple[str, ...], Mapping[str, Any]],
    question: Question,
    flows: dy.DataFrame[Flow],
    pools: dy.DataFrame[Pool],
) -> Realised:
    if (refusal := _refusal(one, actual, question)) is not None:
        return _told(one, question.usage_window, *refusal)
    row = actual[_new_key(one)]
    left = _at_the_place_left(one, question, flows, pools)
    basis: Literal["today", "proposal"] = "today" if left is not None else "proposal"
    counterfactual = left if left is not None else _at_kept_prices(one.advice, row)
    if counterfactual is None:
        return _told(one, question.usage_window, Outcome.NO_PRICE, "the place that was left has no price any more")
    per_hour = counterfactual - row["gbp_per_hour"]
    start, end = question.usage_window
    hours = (end - start).total_seconds() / SECONDS_PER_HOUR * row["coverage_ratio"]
    assert one.advice.monthly is not None, "_refusal lets only advice that saves through"
    predicted = one.advice.current.gbp_per_hour - one.advice.recommended.gbp_per_hour
    told = _told(one, question.usage_window, Outcome.MEASURED, f"{hours / 24:.1f} days of usage after the move")
    return told.model_copy(
        update={
            "saving": _range(per_hour, days=hours / 24, coverage=row["coverage_ratio"]),
            "counterfactual_gbp_per_hour": round(counterfactual, _DIGITS),
            "actual_gbp_per_hour": round(row["gbp_per_hour"], _DIGITS),
            "price_basis": basis,
            "realised_gbp": pence(per_hour * hours),
            "predicted_gbp": pence(predicted * hours),
        }
    )


def _refusal(
    one: CarriedOut, actual: Mapping[tuple[str, ...], Mapping[str, Any]], question: Question
) -> tuple[Outcome, str] | None:
    """Why nothing can be measured; None: it can."""
    if one.advice.monthly is None:
        return Outcome.OWED_TO_A_RULE, "it was owed to a rule and is no saving"
    if one.at > question.usage_window[0]:
        return Outcome.TOO_EARLY, _too_early(question.usage_window)
    there, before = actual.get(_new_key(one)), actual.get(_old_key(one))
    if there is None:
        return _absent(one, before)
    if _old_key(one) != _new_key(one) and before is not None:
        return Outcome.NOT_MOVED, f"it still runs in {one.advice.current.cluster} too"
    return _unfit(one, there, question)


def _absent(one: CarriedOut, before: Mapping[str, Any] | None) -> tuple[Outcome, str]:
    if before is None:
        return Outcome.VANISHED, "it runs neither at the old place nor at the new one; that is no saving"
    left, to = one.advice.current.cluster, one.advice.recommended.cluster
    return Outcome.NOT_MOVED, f"it still runs in {left}, and not in {to}"


def _unfit(one: CarriedOut, there: Mapping[str, Any], question: Question) -> tuple[Outcome, str] | None:
    to = one.advice.recommended.pool
    if there["coverage_ratio"] < question.min_coverage_ratio:
        return (
            Outcome.NOT_ENOUGH_DATA,
            f"{there['coverage_ratio']:.0%} of the {_days(question.usage_window)} days were observed",
        )
    if there["from_pool"] != to:
        stayed = there["from_pool"] == one.advice.current.pool
        where = f"pool {there['from_pool']}" if there["from_pool"] else "a pool that is not known"
        return Outcome.NOT_MOVED if stayed else Outcome.MOVED_ON, f"it runs in {where}, not in {to}"
    if there["gbp_per_hour"] is None:
        return Outcome.NO_PRICE, f"what it costs now is not known ({there['reason'] or 'no price'})"
    return None


def _at_the_place_left(
    one: CarriedOut,
    question: Question,
    flows: dy.DataFrame[Flow],
    pools: dy.DataFrame[Pool],
) -> float | None:
    """The workload as it is today, put back to where it was, all others where they are; None: no price."""
    left, new = one.advice.current, dict(zip(WORKLOAD_KEY, _new_key(one), strict=True))
    is_it = pl.all_horizontal(pl.col(name) == value for name, value in new.items())

    def put(value: str, column: str) -> pl.Expr:
        return pl.when(is_it).then(pl.lit(value)).otherwise(pl.col(column)).alias(column)

    place = [put(getattr(left, name), name) for name in ("cluster", *_PLACE)]
    back = replace(question, workloads=question.workloads.with_columns(place).sort(WORKLOAD_KEY), unfit=None)
    its_flows = Flow.validate(flows.with_columns(put(left.cluster, "cluster")))
    costs = _by_key(costs_here(back, its_flows, _with_pool(pools, one.advice)))
    value = costs[_old_key(one)]["gbp_per_hour"]
    return None if value is None else float(value)


def _with_pool(pools: dy.DataFrame[Pool], advice: Recommendation) -> dy.DataFrame[Pool]:
    """The fleet with the pool that was left, should it be there no more."""
    left = advice.current
    known = (pl.col("cluster") == left.cluster) & (pl.col("pool") == left.pool)
    known &= (pl.col("instance_type") == left.instance_type) & (pl.col("capacity_type") == left.capacity_type)
    if not pools.filter(known).is_empty():
        return pools
    row = {
        "cluster": left.cluster,
        "pool": left.pool,
        "instance_type": left.instance_type,
        "provider": left.provider,
        "region": left.region,
        "zone": "",
        "jurisdiction": left.jurisdiction or "",
        "tier": "owned" if left.capacity_type == "owned" else "cloud",
        "capacity_type": left.capacity_type,
        "nodes_min": 0,
        "nodes_max": None,
    }
    others = pools.filter((pl.col("cluster") != left.cluster) | (pl.col("pool") != left.pool))
    return Pool.validate(pl.concat([others, pl.DataFrame([row], schema=Pool.create_empty().schema)]))


def _at_kept_prices(advice: Recommendation, row: Mapping[str, Any]) -> float | None:
    """Today's requests at the prices of the day of the proposal, and its other terms as they were then."""
    kept = next((price for price in advice.prices if price.used_for == "current"), None)
    if kept is None or kept.marginal_gbp_per_hour is not None or advice.current.capacity_type.startswith("committed"):
        return None
    compute = (
        row["vcpu_request_mean"] * kept.gbp_per_vcpu_hour
        + row["memory_gib_request_mean"] * kept.gbp_per_gib_hour
        + row["gpu_request_mean"] * (kept.gbp_per_gpu_hour or 0.0)
    )
    return float(compute + advice.current.gbp_per_hour - advice.current.compute_gbp_per_hour)


def _told(one: CarriedOut, window: tuple[datetime, datetime], outcome: Outcome, why: str) -> Realised:
    start, end = window
    advice = one.advice
    return Realised(
        recommendation_id=advice.id,
        title=advice.title,
        owner=advice.target.owner,
        outcome=outcome,
        why=why,
        implemented_at=one.at,
        window_start=start,
        window_end=end,
        predicted_gbp_per_month=None if advice.monthly is None else advice.monthly.saving.p50,
    )


def _range(gbp_per_hour: float, *, days: float, coverage: float) -> Range:
    month = gbp_per_hour * HOURS_PER_MONTH
    allowance = abs(month) * min(1.0, 1.0 / days + (1.0 - coverage))
    return Range(p10=pence(month - allowance), p50=pence(month), p90=pence(month + allowance))


def _days(window: tuple[datetime, datetime]) -> int:
    return round((window[1] - window[0]).total_seconds() / SECONDS_PER_HOUR / 24)


def _too_early(window: tuple[datetime, datetime]) -> str:
    return f"{_days(window)} days of usage after the move are needed"


def _by_key(costs: pl.DataFrame) -> dict[tuple[str, ...], dict[str, Any]]:
    key = ("from_cluster", *WORKLOAD_KEY[1:])
    return {tuple(row[name] for name in key): row for row in costs.iter_rows(named=True)}


def _new_key(one: CarriedOut) -> tuple[str, ...]:
    return (one.advice.recommended.cluster, *_old_key(one)[1:])


def _old_key(one: CarriedOut) -> tuple[str, ...]:
    target = one.advice.target
    return (target.cluster, target.namespace, target.workload_kind, target.workload)
