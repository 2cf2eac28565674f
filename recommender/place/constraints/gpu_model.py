"""GPU model: the one the workload asks for or its class accepts; no GPU machine for a workload without GPUs."""

from __future__ import annotations

import polars as pl

from recommender.place.rule import Rule

_ASKS = pl.col("gpu_request_peak") > 0
_THERE = pl.col("to_gpu_model")
_ACCEPTED = (pl.col("gpu_model") == _THERE) | pl.col("accepted_gpu_models").fill_null([]).list.contains(_THERE)
_HAS_ANY = (pl.col("to_gpus") > 0) | (pl.col("to_accelerators") > 0)

RULE = Rule(
    id="gpu_model",
    says=(
        "The machine has GPUs of the model that the workload runs on or that its class accepts; a workload without "
        "GPUs does not take a machine that has GPUs or accelerators."
    ),
    refuses=pl.when(_ASKS).then(~_ACCEPTED).otherwise(_HAS_ANY).fill_null(value=False),
    why=pl.when(~_ASKS)
    .then(pl.lit("it needs no GPU and would hold a machine that has some"))
    .otherwise(
        pl.format(
            "it needs {}, the machine has {}",
            "gpu_model",
            pl.when(_THERE == "").then(pl.lit("no GPU")).otherwise(_THERE),
        )
    ),
)
