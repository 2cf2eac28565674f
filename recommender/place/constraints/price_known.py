"""Known price: every term of the cost at a place has a price; an unknown one is never zero."""

from __future__ import annotations

import polars as pl

from recommender.place.rule import Rule

_OFFER = pl.col("to_vcpus").is_null()
_MARGINAL = (pl.col("to_capacity_type") == "owned") & pl.col("to_marginal_gbp_per_hour").is_null()
_EGRESS = pl.col("egress_gbp_per_hour").is_null()
_STATE = pl.col("state_gbp").is_null()

RULE = Rule(
    id="price_unknown",
    says="The machine, every data flow and the bytes of state have a known, fresh price.",
    refuses=_OFFER | _MARGINAL | _EGRESS | _STATE,
    why=pl.when(_OFFER)
    .then(pl.format("no usable {} price for {} in {}", "to_capacity_type", "to_instance_type", "to_region"))
    .when(_MARGINAL)
    .then(pl.format("no marginal price for {} in {}", "to_instance_type", "to_region"))
    .when(_EGRESS)
    .then(pl.format("a data flow to or from {} has no published egress price", "to_region"))
    .otherwise(pl.format("its state has no published egress price on the way to {}", "to_region")),
)
