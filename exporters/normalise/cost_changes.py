"""From days to the reasons why they differ: a change in cost, split by cause, exactly.

Pure. Promises that the parts add up to the change, that exchanging before and after turns every sign (and makes what is
new gone), and that what cannot be told apart is said to be so.

The method is price-volume-mix analysis with the weights of T. L. Bennet, "The Theory of Measurement of Changes in Cost
of Living", Journal of the Royal Statistical Society 83 (1920): a change of a product is split as
``Δ(a·b) = Δa·(b₀+b₁)/2 + Δb·(a₀+a₁)/2``. It leaves no remainder and prefers neither before nor after; W. E. Diewert,
"Index Number Theory Using Differences Rather Than Ratios" (2005), gives its axioms. With n the native cost of a row in
currency c and r̄ the mean of the two spans' rates of c, ``v = Σ n·r̄`` is the cost at constant currency:

``fx``         ``Δcost − Δv``, which for one rate a span is ``Δr·(n₀+n₁)/2``
``one-off``    Δv of purchases, tax, credits and adjustments
``new, gone``  Δv of the usage of a service that only one of the spans has usage of

and of the usage of each unit otherwise, with Q = Σ q its quantity and P = V/Q its average price:

``usage``      ``ΔQ·P̄``
``mix``        ``Q̄·Σ p̄_g·Δw_g`` over groups of region, family and market, with w_g = q_g/Q and p_g = v_g/q_g
``price``      ``Q̄·Σ w̄_g·Σ x̄_s·Δp_s`` over the ways of paying within a group: on demand, committed
``commitments``  ``Q̄·Σ w̄_g·Σ p̄_s·Δx_s`` with x_s = q_s/q_g, and Δv of unused commitments
``unmeasured`` Δv of groups with a cost whose quantity or unit is not stated in one of the spans

A group that one span lacks has the price that it has in the other, so that its coming or going is mix and no price.
Quantities of different units are never added: hours that give way to gigabytes are usage, down in one and up in the
other. Where vCPU-hours are known they are the quantity, so that larger machines are more usage and no dearer price.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import dataframely as dy
import polars as pl

from exporters.core.cost_change_frames import SERIES_KEY, Cause, CostChange, Span
from exporters.core.cost_frames import CommitmentStatus
from exporters.normalise.cost_parts import cell_parts
from exporters.normalise.cost_spans import in_both_spans

ChangeBasis: TypeAlias = Literal["billed", "effective"]
_ONE_OFFS: Final = ("Purchase", "Tax", "Credit", "Adjustment")


def cost_changes(
    days: pl.DataFrame, last: pl.DataFrame, *, span: Span, basis: ChangeBasis = "effective"
) -> dy.DataFrame[CostChange]:
    """This will return what changed by provider, account and service; accounts with a day that is not whole are absent.

    Args:
        days: rows of PoundCost with whole_until.
        last: provider, billing_account and last_day: what is compared with a week before.
        span: how many days, ending with the last.
        basis: which cost.
    """
    rows = _at_constant_currency(in_both_spans(days, last, span), basis)
    key = list(SERIES_KEY)
    kinds = rows.with_columns(kind=_kind())
    usage = kinds.filter(pl.col("kind") == Cause.USAGE.value)
    totals = kinds.group_by(key).agg(
        pl.col("last_day").max(),
        before_gbp=pl.col("gbp").filter(~pl.col("is_after")).sum(),
        after_gbp=pl.col("gbp").filter(pl.col("is_after")).sum(),
        at_constant=(_SIGN * pl.col("value")).sum(),
        **{
            cause.column: (_SIGN * pl.col("value")).filter(pl.col("kind") == cause.value).sum()
            for cause in (Cause.ONE_OFF, Cause.COMMITMENTS)
        },
    )
    table = (
        totals.join(_largest_regions(kinds), on=key)
        .join(cell_parts(usage), on=key, how="left")
        .with_columns(span=pl.lit(span.value), change_gbp=pl.col("after_gbp") - pl.col("before_gbp"))
        .with_columns(
            fx_gbp=pl.col("change_gbp").cast(pl.Float64) - pl.col("at_constant"),
            commitments_gbp=pl.col(Cause.COMMITMENTS.column) + pl.col("paid_otherwise").fill_null(0.0),
        )
        .with_columns(pl.col(cause.column).fill_null(0.0) for cause in Cause)
    )
    return CostChange.validate(table.select(CostChange.column_names()).sort(key), cast=True)


def _at_constant_currency(rows: pl.DataFrame, basis: ChangeBasis) -> pl.DataFrame:
    """Rows with gbp, their cost, and value: the same at the mean of the two spans' rates (pounds, Float64).

    A span's rate is the mean of its days', weighted by what was spent in the currency, without signs: credits that
    cancel charges must not blow it up.
    """
    named = rows.with_columns(native=pl.col(f"{basis}_cost").cast(pl.Float64), gbp=pl.col(f"{basis}_gbp"))
    rate, weight = pl.col("gbp_per_unit").cast(pl.Float64), pl.col("native").abs()
    of_span = named.group_by("provider", "currency", "is_after").agg(
        rate=pl.when(weight.sum() > 0).then((weight * rate).sum() / weight.sum()).otherwise(rate.mean())
    )
    mean = of_span.group_by("provider", "currency").agg(pl.col("rate").mean())
    return named.join(mean, on=["provider", "currency"]).with_columns(value=pl.col("native") * pl.col("rate"))


def _kind() -> pl.Expr:
    """By which cause a row's change is explained; usage is looked into further."""
    unused = pl.col("commitment_status") == CommitmentStatus.UNUSED.value
    return (
        pl.when(unused)
        .then(pl.lit(Cause.COMMITMENTS.value))
        .when(pl.col("charge_category").is_in(_ONE_OFFS))
        .then(pl.lit(Cause.ONE_OFF.value))
        .otherwise(pl.lit(Cause.USAGE.value))
    )


def _largest_regions(rows: pl.DataFrame) -> pl.DataFrame:
    """The region of each cell whose cost changed most, by name where two changed alike."""
    changed = rows.group_by(*SERIES_KEY, "region").agg(
        region_change_gbp=(_SIGN * pl.col("gbp").cast(pl.Float64)).sum().round(9)
    )
    in_order = changed.sort([pl.col("region_change_gbp").abs(), "region"], descending=[True, False])
    return in_order.unique(list(SERIES_KEY), keep="first", maintain_order=True)


_SIGN: Final = pl.when(pl.col("is_after")).then(1.0).otherwise(-1.0)
