"""Which cheaper places a burst was refused, by which rule, and which of them somebody decided against."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from recommender.advise.capacity_question import DIGITS, CapacityQuestion, Row
from recommender.advise.capacity_record import CapacityMove
from recommender.advise.record import Refusal
from recommender.burst.legal import DISMISSED, RULES, Destination
from recommender.frames import WORKLOAD_KEY
from recommender.place.rule import reasons

_LEGAL = {rule.id for rule in RULES if rule.has_legal_basis}


def refused_places(
    question: CapacityQuestion,
    moves: Sequence[CapacityMove],
    chosen: tuple[str, str],
    dismissed: Mapping[Destination, str],
) -> tuple[Refusal, ...]:
    """This will return the places that are cheaper for one of the workloads and refused to it, the cheapest first.

    Args:
        question: the evaluation.
        moves: what leaves.
        chosen: the cluster and pool that it leaves for.
        dismissed: who decided against a burst to where, in a sentence.

    Returns:
        One a place and rule, with what the workload to which it is cheapest would cost there.
    """
    who = pl.DataFrame(
        [[getattr(one, name) for name in WORKLOAD_KEY] for one in moves],
        schema=["from_cluster", *WORKLOAD_KEY[1:]],
        orient="row",
    )
    key = ["from_cluster", *WORKLOAD_KEY[1:]]
    own = question.places.pairs.join(who, on=key, how="semi", maintain_order="left")
    there = own.filter(pl.col("to_cluster") == chosen[0], pl.col("to_pool") == chosen[1])
    costs = there.group_by(key).agg(chosen_gbp_per_hour=pl.col("gbp_per_hour").min())
    cheaper = (
        own.filter(pl.col("refused").list.len() > 0, pl.col("to_cluster") != pl.col("from_cluster"))
        .join(costs, on=key, how="inner", maintain_order="left")
        .filter((pl.col("gbp_per_hour") < pl.col("chosen_gbp_per_hour")).fill_null(value=False))
        .with_columns(rule=pl.col("refused").list.first())
        .sort("gbp_per_hour", "p", *key)
    )
    place = ["to_cluster", "to_pool", "to_instance_type", "rule"]
    counted = cheaper.with_columns(offers=pl.len().over(place)).unique(place, keep="first", maintain_order=True)
    told = reasons(counted, RULES, rule="rule")
    return tuple(_refusal(row, dismissed) for row in told.iter_rows(named=True))


def _refusal(row: Row, dismissed: Mapping[Destination, str]) -> Refusal:
    is_decision = row["rule"] == DISMISSED
    why = dismissed[row["from_cluster"], row["to_cluster"], row["to_pool"]] if is_decision else row["why"]
    return Refusal(
        rule=row["rule"],
        stage="guard" if is_decision else "constraint",
        why=why,
        legal_basis=(row["legal_basis"] or None) if row["rule"] in _LEGAL else None,
        also=tuple(row["refused"][1:]),
        cluster=row["to_cluster"],
        pool=row["to_pool"],
        instance_type=row["to_instance_type"],
        capacity_type=row["to_capacity_type"],
        gbp_per_hour=round(row["gbp_per_hour"], DIGITS),
        offers=row["offers"],
    )
