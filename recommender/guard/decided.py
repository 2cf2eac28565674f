"""What people decided holds: dismissed advice stays away, a snoozed workload is left alone, a move is not asked twice.

Decisions come from the ledger as a frame. They hold also where a move is owed to a rule; the breach itself stays in
the plan.
"""

from __future__ import annotations

import dataframely as dy
import polars as pl

from recommender.frames import WORKLOAD_KEY, Hold
from recommender.place.rule import Rule

_KEY = ("from_cluster", *WORKLOAD_KEY[1:])
_PLACE = ("to_cluster", "to_pool")
_SAYS = {
    "dismissed": "Nobody has dismissed this move.",
    "snoozed": "Nobody has snoozed the workload.",
    "implemented": "It has not been carried out, or there is usage of the time after it.",
}

DECISIONS = tuple(
    Rule(
        id=name,
        says=says,
        refuses=(pl.col("decided") == name).fill_null(value=False),
        why=pl.col("decided_why"),
    )
    for name, says in _SAYS.items()
)


def with_decisions(pairs: pl.DataFrame, holds: dy.DataFrame[Hold]) -> pl.DataFrame:
    """This will add the decision that holds each pair back: `decided` (null: none) and `decided_why`.

    Args:
        pairs: with the workload's key under from_cluster, namespace, workload_kind, workload, and to_cluster, to_pool.
        holds: decisions about a workload at one place, or at any.
    """
    renamed = holds.rename({"cluster": "from_cluster"}).sort(*_KEY, *_PLACE)
    anywhere = renamed.filter(pl.col("to_cluster") == "").select(*_KEY, any_rule="rule", any_why="why")
    there = renamed.filter(pl.col("to_cluster") != "").select(*_KEY, *_PLACE, "rule", "why")
    return (
        pairs.join(anywhere, on=_KEY, how="left", maintain_order="left")
        .join(there, on=[*_KEY, *_PLACE], how="left", maintain_order="left")
        .with_columns(decided=pl.coalesce("any_rule", "rule"), decided_why=pl.coalesce("any_why", "why"))
        .drop("any_rule", "any_why", "rule", "why")
    )
