"""First half of the split: what a vCPU and a GiB cost in a generation of machines, read off three families.

Where a provider sells the same processor with about 2, 4 and 8 GiB per vCPU (AWS c, m, r; Azure F or Dl, D, E), the
prices of the three families determine both. Promises prices that are never negative, and the largest relative error
that they leave; a group over MAX_ERROR is not used.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

GROUP = ("provider", "region", "generation", "architecture", "operating_system", "capacity_type")
"""Inside a group machines differ only in size and in GiB per vCPU, so one pair of prices should explain them."""

SERIES: Mapping[str, tuple[str, ...]] = {"aws": ("c", "m", "r"), "azure": ("d", "e", "f")}
"""First letters of the families that differ only in GiB per vCPU; burstable, storage and confidential ones do not."""

MAX_ERROR = 0.05
"""A group whose fitted prices miss any of its machines by more than this share does not follow the model."""

SAME_GIB_PER_VCPU = 0.05
"""A machine whose GiB per vCPU strays further from its family's usual value is left out of the fit: Azure sells
E96s_v5 with 7 GiB per vCPU at the price of 8, and one such machine would spoil its whole group."""

_LEVELS = ("vcpu_level", "gib_level")
NORMAL_EQUATIONS = (
    (pl.col("a") ** 2).sum().alias("aa"),
    (pl.col("b") ** 2).sum().alias("bb"),
    (pl.col("a") * pl.col("b")).sum().alias("ab"),
    pl.col("a").sum().alias("sa"),
    pl.col("b").sum().alias("sb"),
)
"""The sums that solve_two_prices works on."""

_GIB_PER_VCPU = pl.col("memory_gib") / pl.col("vcpus")


def in_three_families() -> pl.Expr:
    """This will tell which machines may stand in a fit: of the right series, 1.5 to 12 GiB per vCPU, no devices."""
    letters = pl.col("family").str.extract(r"^([A-Z]+|[a-z]+)", 1).str.to_lowercase()
    series = [(pl.col("provider") == provider) & letters.is_in(list(allowed)) for provider, allowed in SERIES.items()]
    return pl.any_horizontal(*series).fill_null(value=False) & _role().is_not_null() & (pl.col("devices") == 0)


def fit_groups(machines: pl.DataFrame) -> pl.DataFrame:
    """This will fit the two prices of each group in which all three families are there.

    Non-negative least squares on relative error: the smallest sum of ((vcpus·p + gib·q) / price − 1)² with p, q ≥ 0.
    In two unknowns it has a closed form: the normal equations, or else the better of the two edges.

    Args:
        machines: GROUP, family, vcpus, memory_gib, devices and gbp_per_hour.

    Returns:
        GROUP, vcpu_level (GBP per vCPU-hour), gib_level (GBP per GiB-hour), offers (how many were fitted) and
        max_error (the largest relative miss before scaling).
    """
    usual = _GIB_PER_VCPU.median().over(*GROUP, "family")
    like_family = (_GIB_PER_VCPU / usual - 1).abs() <= SAME_GIB_PER_VCPU
    members = machines.filter(in_three_families(), like_family).with_columns(
        role=_role(),
        a=pl.col("vcpus") / pl.col("gbp_per_hour"),
        b=pl.col("memory_gib") / pl.col("gbp_per_hour"),
    )
    sums = (
        members.group_by(GROUP)
        .agg(
            *NORMAL_EQUATIONS,
            roles=pl.col("role").n_unique(),
            offers=pl.len(),
        )
        .filter(pl.col("roles") == 3)
    )
    fitted = solve_two_prices(sums, first="vcpu_level", second="gib_level").select(*GROUP, *_LEVELS, "offers")
    worst = members.join(fitted, on=GROUP).group_by(GROUP).agg(max_error=relative_miss().max())
    return fitted.join(worst, on=GROUP).sort(GROUP)


def relative_miss() -> pl.Expr:
    """This will measure how far the levels of a row are from its price, as a share of the price."""
    explained = pl.col("vcpus") * pl.col("vcpu_level") + pl.col("memory_gib") * pl.col("gib_level")
    return (explained / pl.col("gbp_per_hour") - 1).abs()


def _role() -> pl.Expr:
    """Which of the three families a machine stands for, by its GiB per vCPU; null: none of them."""
    return (
        pl.when(_GIB_PER_VCPU.is_between(1.5, 3, closed="left"))
        .then(pl.lit("compute"))
        .when(_GIB_PER_VCPU.is_between(3, 6, closed="left"))
        .then(pl.lit("general"))
        .when(_GIB_PER_VCPU.is_between(6, 12, closed="left"))
        .then(pl.lit("memory"))
    )


def solve_two_prices(sums: pl.DataFrame, *, first: str, second: str) -> pl.DataFrame:
    """This will solve non-negative least squares in two unknowns from its sums.

    Args:
        sums: NORMAL_EQUATIONS over rows with a·first + b·second = 1.
        first: name of the price that goes with a.
        second: name of the price that goes with b.

    Returns:
        The rows with both prices, neither negative; not finite where a and b are proportional.
    """
    determinant = pl.col("aa") * pl.col("bb") - pl.col("ab") ** 2
    inside = sums.with_columns(
        ((pl.col("sa") * pl.col("bb") - pl.col("sb") * pl.col("ab")) / determinant).alias(first),
        ((pl.col("sb") * pl.col("aa") - pl.col("sa") * pl.col("ab")) / determinant).alias(second),
    )
    # On an edge one price is zero; the edge that explains more of the sum of squares leaves the smaller rest.
    at_edge = pl.min_horizontal(first, second) < 0
    first_only = pl.col("sa") ** 2 / pl.col("aa") >= pl.col("sb") ** 2 / pl.col("bb")
    first_alone = pl.when(first_only).then(pl.col("sa") / pl.col("aa")).otherwise(0.0)
    second_alone = pl.when(first_only).then(0.0).otherwise(pl.col("sb") / pl.col("bb"))
    return inside.with_columns(
        pl.when(at_edge).then(first_alone).otherwise(first).alias(first),
        pl.when(at_edge).then(second_alone).otherwise(second).alias(second),
    )
