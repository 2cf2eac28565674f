"""Architecture: images run only on the processors they are built for."""

from __future__ import annotations

import polars as pl

from recommender.place.rule import Rule

_THERE = pl.col("to_architecture")
_NEEDED = pl.col("architecture")
_BUILT_FOR = pl.col("class_architectures").fill_null([])
_RUNS = (
    pl.when(_NEEDED != "")
    .then(_THERE == _NEEDED)
    .otherwise((pl.col("from_architecture") == _THERE) | _BUILT_FOR.list.contains(_THERE))
)

RULE = Rule(
    id="architecture",
    says=(
        "The machine has the architecture that the workload asks for, else the one it runs on now or one that its "
        "class names."
    ),
    refuses=~_RUNS.fill_null(value=True),
    why=pl.format(
        "the machine is {}, the workload is known to run on {}",
        _THERE,
        pl.when(_NEEDED != "").then(_NEEDED).otherwise("from_architecture"),
    ),
)
