"""From usage in two spans to the parts of its change: the arithmetic of cost_changes, which states the formulas.

Pure. Promises that the parts of a cell add up to what its usage changed by at constant currency.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from exporters.core.cost_change_frames import SERIES_KEY, Cause

VCPU_HOURS: Final = "vCPU-Hours"
_IN_MARKET: Final = {"Committed": "Standard"}
"""A commitment is another way to pay for the same usage; spot is another market."""

_CELL: Final = list(SERIES_KEY)
_UNIT: Final = [*_CELL, "unit"]
_GROUP: Final = [*_UNIT, "region", "instance_family", "market"]
_PAID: Final = [*_GROUP, "pricing_category"]
_SUMS: Final = ("v0", "v1", "q0", "q1")


def cell_parts(usage: pl.DataFrame) -> pl.DataFrame:
    """This will return provider, account, service and the parts in pounds: a column a cause, and paid_otherwise.

    Args:
        usage: rows of usage in both spans with account, is_after and value (pounds at constant currency).
    """
    paid = _by_way_of_paying(usage)
    in_both = (pl.col("n0").sum().over(_CELL) > 0) & (pl.col("n1").sum().over(_CELL) > 0)
    measured = _is_measured().all().over(_GROUP)
    change = pl.col("v1") - pl.col("v0")
    simple = paid.group_by(_CELL).agg(
        change.filter(pl.col("n0").sum() == 0).sum().alias(Cause.NEW.column),
        change.filter(pl.col("n1").sum() == 0).sum().alias(Cause.GONE.column),
    )
    unmeasured = paid.filter(in_both & ~measured).group_by(_CELL).agg(change.sum().alias(Cause.UNMEASURED.column))
    analysed = paid.filter(in_both & measured)
    return (
        simple.join(unmeasured, on=_CELL, how="left")
        .join(_volumes(analysed), on=_CELL, how="left")
        .join(_rates(analysed), on=_CELL, how="left")
    )


def _by_way_of_paying(usage: pl.DataFrame) -> pl.DataFrame:
    """Values v, quantities q and rows n of both spans: 0 before, 1 after."""
    named = usage.with_columns(
        unit=pl.when("has_vcpu_hours").then(pl.lit(VCPU_HOURS)).otherwise("consumed_unit"),
        quantity=pl.when("has_vcpu_hours").then("vcpu_hours").otherwise("consumed_quantity"),
        market=pl.col("pricing_category").replace(_IN_MARKET),
    )
    after = pl.col("is_after")
    return named.group_by(_PAID).agg(
        v0=pl.col("value").filter(~after).sum(),
        v1=pl.col("value").filter(after).sum(),
        q0=pl.col("quantity").filter(~after).sum(),
        q1=pl.col("quantity").filter(after).sum(),
        n0=(~after).sum(),
        n1=after.sum(),
    )


def _is_measured() -> pl.Expr:
    """Whether a price can be worked out wherever there is a cost."""
    priced = [(pl.col(f"q{span}") > 0) | ((pl.col(f"v{span}") == 0) & (pl.col(f"q{span}") == 0)) for span in "01"]
    return pl.all_horizontal(pl.col("unit") != "", *priced)


def _volumes(analysed: pl.DataFrame) -> pl.DataFrame:
    """Of each cell usage: more or less of each unit, at the mean of its average prices."""
    units = analysed.group_by(_UNIT).agg(pl.col(_SUMS).sum())
    effect = (pl.col("q1") - pl.col("q0")) * _mean(*_ratios("v", "q"))
    return units.group_by(_CELL).agg(effect.sum().alias(Cause.USAGE.column))


def _rates(analysed: pl.DataFrame) -> pl.DataFrame:
    """Of each cell mix, price and paid_otherwise: what the average price of a unit changed by, times its quantity."""
    volume = {f"Q{span}": pl.col(f"q{span}").sum().over(_UNIT) for span in "01"}
    grouped = {f"G{span}": pl.col(f"q{span}").sum().over(_GROUP) for span in "01"}
    rows = analysed.with_columns(**volume, **grouped)
    share0, share1 = _ratios("G", "Q")
    part0, part1 = _ratios("q", "G")
    price0, price1 = _ratios("v", "q")
    quantity = (pl.col("Q0") + pl.col("Q1")) / 2
    weight = quantity * _mean(share0, share1)
    groups = (
        rows.group_by(_GROUP)
        .agg(pl.col(_SUMS).sum(), pl.col("Q0", "Q1").first())
        .with_columns(G0=pl.col("q0"), G1=pl.col("q1"))
    )
    mix = groups.group_by(_CELL).agg(
        (quantity * _mean(price0, price1) * (share1 - share0)).sum().alias(Cause.MIX.column)
    )
    within = rows.group_by(_CELL).agg(
        (weight * _mean(part0, part1) * (price1 - price0)).sum().alias(Cause.PRICE.column),
        (weight * _mean(price0, price1) * (part1 - part0)).sum().alias("paid_otherwise"),
    )
    return mix.join(within, on=_CELL)


def _ratios(top: str, bottom: str) -> tuple[pl.Expr, pl.Expr]:
    """A ratio before and after; where one span has nothing to divide by it is that of the other, where both, nought."""
    own = [
        pl.when(pl.col(f"{bottom}{span}") > 0).then(pl.col(f"{top}{span}") / pl.col(f"{bottom}{span}")) for span in "01"
    ]
    return pl.coalesce(own[0], own[1], 0.0), pl.coalesce(own[1], own[0], 0.0)


def _mean(before: pl.Expr, after: pl.Expr) -> pl.Expr:
    return (before + after) / 2
