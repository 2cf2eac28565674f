"""Price cap: a class may name the most that a vCPU-hour may cost."""

from __future__ import annotations

import polars as pl

from recommender.place.rule import Rule

_BOUGHT = pl.col("to_capacity_type") != "owned"

RULE = Rule(
    id="price_cap",
    says="A vCPU-hour of bought capacity costs no more than the class allows.",
    refuses=(_BOUGHT & (pl.col("to_gbp_per_vcpu_hour") > pl.col("max_gbp_per_vcpu_hour"))).fill_null(value=False),
    why=pl.format(
        "a vCPU-hour costs £{}, class {} allows £{}",
        pl.col("to_gbp_per_vcpu_hour").round(5),
        "residency_class",
        pl.col("max_gbp_per_vcpu_hour"),
    ),
)
