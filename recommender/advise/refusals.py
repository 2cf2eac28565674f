"""What was refused to each workload, why, and what the refusing rule costs.

Of the hundreds of pairs a workload is refused, those are told that a reader can act on: the cheapest offer that one
rule alone refuses, per rule, where it would save something; the cheapest refused offer of all; offers without a price;
and the best legal place that a guard held back or that had no room left. Beyond MOST_TOLD of a stage only what is
refused to workloads that move is told, and what would save most.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from sys import intern

import polars as pl

from exporters.core.money import pence
from exporters.core.units import HOURS_PER_MONTH
from recommender.advise.compact import compact
from recommender.advise.plan import RuleCount, WorkloadRefusal
from recommender.advise.record import Refusal, WorkloadName
from recommender.guard.decided import DECISIONS
from recommender.guard.steady import BALANCE, worth_rules
from recommender.place.committed import pool_of
from recommender.place.constraints import CONSTRAINTS, capacity, gang, gpu_model, price_known, quota
from recommender.place.rule import reasons
from recommender.settings import Steady

_DIGITS = 9
_LEGAL = [rule.id for rule in CONSTRAINTS if rule.has_legal_basis]
_WEEKLY_CAP = "max_moves_per_week"
_TAKEN = "capacity_taken"
_ROOM = [capacity.RULE.id, gang.RULE.id, quota.RULE.id]
_READ = (
    *("w", "p", "refused", "held", "gbp_per_hour", "ranking_gbp_per_hour", "saving_gbp_per_hour"),
    *("current_gbp_per_hour", "gpu_request_peak"),
)
MOST_TOLD = 10_000
"""Refusals of a stage; nobody reads more, and their number by rule is in the summary."""
SIMULATION = "simulation"
"""The guard of advise/simulate.py."""


def refusals(
    pairs: pl.DataFrame, moving: pl.DataFrame, steady: Steady, withheld: Mapping[int, str]
) -> dict[int, tuple[WorkloadRefusal, ...]]:
    """This will return the refusals worth telling, by workload number.

    Args:
        pairs: judged pairs.
        moving: the chosen ones, with within_cap.
        steady: the policy's thresholds.
        withheld: why whole nodes hold back a workload's move, by w.
    """
    moved = moving.filter("within_cap").select("w", planned="gbp_per_hour")
    # Of the many columns only those that say which rows are told; the others are looked up for these.
    planned = (
        pairs.select(_READ)
        .join(moved, on="w", how="left", maintain_order="left")
        .with_columns(planned=pl.coalesce("planned", "current_gbp_per_hour"), moves=pl.col("planned").is_not_null())
    )
    told = [*_by_constraints(planned, pairs), *_by_guards(planned, pairs, moving, steady, withheld)]
    grouped: dict[int, list[WorkloadRefusal]] = {}
    for w, refusal in told:
        grouped.setdefault(w, []).append(refusal)
    return {w: tuple(sorted(rows, key=_order)) for w, rows in sorted(grouped.items())}


def counts(pairs: pl.DataFrame) -> tuple[RuleCount, ...]:
    """This will count the offers that each constraint and guard refused, first reasons only."""
    first = pl.coalesce(pl.col("refused").list.first(), pl.col("held").list.first())
    counted = pairs.select(rule=first).drop_nulls().group_by("rule").len().sort("rule")
    return tuple(RuleCount(rule=rule, offers=number) for rule, number in counted.iter_rows())


def _most_telling(told: pl.DataFrame, pairs: pl.DataFrame) -> pl.DataFrame:
    """The rows to tell, with all columns of their pair: at most MOST_TOLD, beside those of workloads that move."""
    if told.height > MOST_TOLD:
        saves = (pl.col("planned") - pl.col("gbp_per_hour")).fill_null(float("-inf"))
        place = pl.struct(-saves, "w", "p", "rules").rank("ordinal")
        told = told.filter(pl.col("moves") | (place <= MOST_TOLD))
    chosen = told.select("w", "p", "planned", "offers", _refused="refused")
    return (
        chosen.join(pairs, on=["w", "p"], how="left", maintain_order="left")
        .with_columns(refused="_refused", rule=pl.col("_refused").list.first())
        .drop("_refused")
    )


def _by_constraints(planned: pl.DataFrame, pairs: pl.DataFrame) -> Iterable[tuple[int, WorkloadRefusal]]:
    # That a GPU machine is kept from a workload without GPUs is counted, but is no choice anybody could make otherwise.
    idle_gpus = (pl.col("gpu_request_peak") == 0) & pl.col("refused").list.contains(gpu_model.RULE.id)
    # A machine that has no price has no known room either: only the price is told.
    unknown = (pl.col("refused").list.set_difference(_ROOM) == [price_known.RULE.id]) & pl.col("gbp_per_hour").is_null()
    refused = (
        planned.filter((pl.col("refused").list.len() > 0) & ~idle_gpus)
        .with_columns(refused=pl.when(unknown).then(pl.lit([price_known.RULE.id])).otherwise("refused"))
        .with_columns(rules=pl.col("refused").list.join(" "))
    )
    cheapest = (
        refused.sort("w", "rules", "gbp_per_hour", "p", nulls_last=True)
        .with_columns(offers=pl.len().over("w", "rules"))
        .unique(["w", "rules"], keep="first", maintain_order=True)
    )
    alone = pl.col("refused").list.len() == 1
    saves = (pl.col("gbp_per_hour") < pl.col("planned")).fill_null(value=False)
    cheapest_of_all = pl.struct("gbp_per_hour", "p").rank("ordinal").over("w") == 1
    unpriced = pl.col("rules") == price_known.RULE.id
    told = cheapest.filter((alone & saves) | (cheapest_of_all & pl.col("gbp_per_hour").is_not_null()) | unpriced)
    rows = reasons(_most_telling(told, pairs), CONSTRAINTS, rule="rule")
    return [(row["w"], _refusal(row, stage="constraint")) for row in rows.iter_rows(named=True)]


def _by_guards(
    planned: pl.DataFrame, pairs: pl.DataFrame, moving: pl.DataFrame, steady: Steady, withheld: Mapping[int, str]
) -> Iterable[tuple[int, WorkloadRefusal]]:
    """For each workload that stays, the best legal place, if it would have saved something."""
    stays = planned.join(moving.filter("within_cap"), on="w", how="anti")
    legal = stays.filter((pl.col("refused").list.len() == 0) & (pl.col("saving_gbp_per_hour") > 0))
    capped = moving.filter(~pl.col("within_cap")).select("w", "p", capped=True)
    best = (
        legal.join(capped, on=["w", "p"], how="left", maintain_order="left")
        .sort(
            "w",
            pl.col("capped").fill_null(value=False) | pl.col("held").list.contains(SIMULATION),
            "ranking_gbp_per_hour",
            "p",
            descending=[False, True, False, False],
        )
        .unique("w", keep="first", maintain_order=True)
        .with_columns(
            refused=pl.when(pl.col("held").list.len() > 0)
            .then("held")
            .when("capped")
            .then(pl.lit([_WEEKLY_CAP]))
            .otherwise(pl.lit([_TAKEN])),
            offers=pl.lit(1, pl.UInt32),
            rules=pl.lit(""),
        )
    )
    texts = {
        _WEEKLY_CAP: f"{steady.max_moves_per_week} moves a week are advised at most; others disturb less a pound saved",
        _TAKEN: "the room there goes to workloads that save more by it",
        SIMULATION: "packed on the pool's nodes beside what runs there at its peak, not every replica finds a node",
    }
    rules = (*DECISIONS, *worth_rules(steady), BALANCE)
    explained = reasons(_most_telling(best, pairs), rules, rule="rule").with_columns(
        why=pl.coalesce("why", pl.col("rule").replace_strict(texts, default=None, return_dtype=pl.String))
    )
    return [
        (row["w"], _refusal(row | {"why": row["why"] or withheld[row["w"]]}, stage="guard"))
        for row in explained.iter_rows(named=True)
    ]


def _refusal(row: dict[str, object], *, stage: str) -> WorkloadRefusal:
    cost, planned = row["gbp_per_hour"], row["planned"]
    rule = str(row["rule"])
    listed = row["refused"]
    assert isinstance(listed, list)
    fields: dict[str, object] = {
        "rule": rule,
        "stage": "capacity" if rule == _TAKEN else stage,
        "why": row["why"],
        "legal_basis": (row["legal_basis"] or None) if rule in _LEGAL else None,
        "also": tuple(listed[1:]),
        "cluster": row["to_cluster"],
        "pool": pool_of(str(row["to_pool"])),
        "instance_type": row["to_instance_type"],
        "capacity_type": row["to_capacity_type"],
        "offers": row["offers"],
        "workload": WorkloadName(
            cluster=str(row["from_cluster"]),
            namespace=str(row["namespace"]),
            workload_kind=str(row["workload_kind"]),
            workload=str(row["workload"]),
        ),
    }
    if isinstance(cost, float) and isinstance(planned, float):
        fields["gbp_per_hour"] = round(cost, _DIGITS)
        fields["rule_costs_gbp_per_month"] = pence(max(0.0, planned - cost) * HOURS_PER_MONTH)
    return compact(WorkloadRefusal.model_validate({name: _held_once(value) for name, value in fields.items()}))


def _held_once(value: object) -> object:
    # Rules, places and reasons are few beside the refusals that name them.
    return intern(value) if isinstance(value, str) else value


def _order(one: Refusal) -> tuple[float, str, str, str]:
    cost = float("inf") if one.gbp_per_hour is None else one.gbp_per_hour
    return (cost, one.rule, one.cluster, one.pool)
