"""Residency: a class names the jurisdictions its workloads may run in; what nobody allowed is refused."""

from __future__ import annotations

import polars as pl

from recommender.place.rule import Rule

_THERE = pl.col("to_jurisdiction").fill_null("")
_NO_CLASS = pl.col("residency_class") == ""
_ALLOWED = pl.col("residency").fill_null([])
_SAME = (pl.col("from_jurisdiction").fill_null("") == _THERE) & (
    (_THERE != "") | (pl.col("to_cluster") == pl.col("from_cluster"))
)
_PERMITTED = (
    pl.when(_NO_CLASS)
    .then(_SAME)
    .when(_ALLOWED.list.len() == 0)
    .then(pl.lit(value=True))
    .otherwise(_ALLOWED.list.contains(_THERE) & (_THERE != ""))
)
_NAMED = pl.when(_THERE == "").then(pl.lit("an unknown jurisdiction")).otherwise(_THERE)

RULE = Rule(
    id="residency",
    says=(
        "The jurisdiction is one that the workload's class names. An unknown jurisdiction is refused by every class "
        "that names any; a workload without a class stays in the jurisdiction it is in."
    ),
    refuses=~_PERMITTED,
    why=pl.when(_NO_CLASS)
    .then(pl.format("no residency class lets it leave {} for {}", pl.col("from_jurisdiction").fill_null("?"), _NAMED))
    .otherwise(
        pl.format("{} is in {}, class {} allows {}", "to_cluster", _NAMED, "residency_class", _ALLOWED.list.join(", "))
    ),
    has_legal_basis=True,
    binds_current=True,
)
