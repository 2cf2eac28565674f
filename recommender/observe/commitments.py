"""What was bought ahead becomes capacity: one row a commitment that has not ended, in pounds.

    statements of sources of costs → what each commitment pays for an hour

A resource-based commitment of Google is stated in rows of one id, vCPUs and GiB apart (Commitment), and is one row
here. What has not begun, and money in a currency without a rate, is kept and counts for nothing.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import dataframely as dy
import polars as pl

from exporters.core.frames import FxRate
from exporters.core.standing_frames import Commitment, CommitmentUnit
from exporters.core.words import CapacityType
from exporters.store.standing import in_pounds_now
from recommender.frames import BoughtAhead

_KEY = ("provider", "account", "commitment_id")
_AMOUNTS = {
    "instances": CommitmentUnit.INSTANCE,
    "vcpus": CommitmentUnit.VCPU,
    "memory_gib": CommitmentUnit.GIB,
    "gpus": CommitmentUnit.GPU,
}
_TEXTS = ("source", "kind", "plan_type", "region")
_THREE_YEARS_FROM = timedelta(days=2 * 365)
"""Terms are of one or three years; what runs for longer than two was bought for three."""


def bought_ahead(
    commitments: dy.DataFrame[Commitment], fx: dy.DataFrame[FxRate], *, at: datetime
) -> dy.DataFrame[BoughtAhead]:
    """This will return the commitments that have not ended at a moment.

    Args:
        commitments: as sources stated them; one that two sources state counts once, by the first source's name.
        fx: the rate table.
        at: the evaluation time (UTC).
    """
    once = _once(commitments.filter(pl.col("ends_at") > at))
    pounds = in_pounds_now(once, fx, "quantity", "cost_per_hour")
    amounts = [
        pl.when((pl.col("unit") == unit.value).any())
        .then(pl.col("quantity").filter(pl.col("unit") == unit.value).sum())
        .alias(name)
        for name, unit in _AMOUNTS.items()
    ]
    is_money = pl.col("unit") == CommitmentUnit.MONEY.value
    rows = pounds.group_by(_KEY).agg(
        *(pl.col(name).first() for name in _TEXTS),
        # A row of GPUs may name a model and no family, beside rows of vCPUs that name it.
        *(pl.col(name).max() for name in ("instance_family", "instance_type", "gpu_model")),
        *amounts,
        pl.when(is_money.any() & pl.col("quantity_gbp").filter(is_money).is_not_null().all())
        .then(pl.col("quantity_gbp").filter(is_money).sum())
        .alias("money_gbp"),
        _whole_cost().alias("gbp_per_hour"),
        is_money.any().alias("is_money"),
        pl.col("currency").first(),
        pl.col("starts_at").max(),
        pl.col("ends_at").min(),
        pl.col("renews").all(),
    )
    made = rows.with_columns(capacity_type=_capacity_type(), unusable=_unusable(at))
    return BoughtAhead.validate(made.select(BoughtAhead.column_names()).sort(_KEY))


def _once(rows: pl.DataFrame) -> pl.DataFrame:
    first = pl.col("source") == pl.col("source").min().over(_KEY)
    return rows.filter(first).sort(*_KEY, "unit")


def _whole_cost() -> pl.Expr:
    """The sum of its rows; null when one is not known, because a part of a cost is no cost."""
    cost = pl.col("cost_per_hour_gbp")
    return pl.when(cost.is_not_null().all()).then(cost.sum())


def _capacity_type() -> pl.Expr:
    long = pl.col("ends_at") - pl.col("starts_at") > _THREE_YEARS_FROM
    return (
        pl.when(long).then(pl.lit(CapacityType.COMMITTED_3Y.value)).otherwise(pl.lit(CapacityType.COMMITTED_1Y.value))
    )


def _unusable(at: datetime) -> pl.Expr:
    starts = pl.format("it begins on {}", pl.col("starts_at").dt.strftime("%-d %B %Y"))
    no_rate = pl.format("there is no exchange rate for {}", "currency")
    return (
        pl.when(pl.col("starts_at") > at)
        .then(starts)
        .when(pl.col("is_money") & pl.col("money_gbp").is_null())
        .then(no_rate)
        .otherwise(pl.lit(""))
    )
