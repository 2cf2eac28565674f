"""Latency: a class may name how far its workloads may be from what they talk to; what nobody measured is refused."""

from __future__ import annotations

import polars as pl

from recommender.place.rule import Rule

_UNKNOWN = pl.col("latency_ms").is_null()
_MOST = pl.col("latency_ms_max")

RULE = Rule(
    id="latency",
    says=(
        "The other ends of its data flows, else the region where it is now, are no farther than its class allows; a "
        "distance that nobody measured is refused."
    ),
    refuses=_MOST.is_not_null() & (_UNKNOWN | (pl.col("latency_ms") > _MOST)).fill_null(value=True),
    why=pl.when(_UNKNOWN)
    .then(
        pl.format(
            "nobody measured how far {} is from {}, class {} allows {} ms",
            "to_region",
            pl.col("latency_to").fill_null("there"),
            "latency_limit_of",
            _MOST,
        )
    )
    .otherwise(
        pl.format(
            "{} is {} ms from {}, class {} allows {} ms",
            "to_region",
            pl.col("latency_ms"),
            pl.col("latency_to").fill_null("there"),
            "latency_limit_of",
            _MOST,
        )
    ),
)
