"""Second half of the fit: the nearest known price of a vCPU and a GiB for machines that no fit explains.

Known levels come from fits and from components that are sold apart. Nearest means first the same region, then the
same provider, always the same operating system; a level in pounds is only lent within one capacity type, a ratio of
the two prices also across them. Promises never to lend anything between operating systems or providers.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from exporters.normalise.fit import GROUP, MAX_ERROR

LAST_RESORT_RATIO = 10.7
"""vCPU-hour over GiB-hour where a source has nothing to read it from: the ratio measured on AWS eu-west-2 in July 2026
for generations 5, 6a, 6g, 6i, 7g, 7i, 8g and 8i (docs/explanation/price-split.md)."""

LAST_RESORT_DEVICE_SHARE = 0.57
"""Share of a machine's price that its GPUs or accelerators get where the source has no level for the host and no other
machine to compare with: the median over the models that AWS rented out in July 2026."""

_LEVEL_STEPS = (
    GROUP,
    ("provider", "region", "operating_system", "capacity_type"),
    ("provider", "operating_system", "capacity_type"),
)
_RATIO_STEPS = (
    ("provider", "region", "operating_system", "capacity_type"),
    ("provider", "region", "operating_system"),
    ("provider", "operating_system"),
)
_SHARE_STEPS = (("provider", "instance_type"), ("provider", "device_model"), ("provider",))


def known_levels(fits: pl.DataFrame, by_components: pl.DataFrame) -> pl.DataFrame:
    """This will gather what a vCPU and a GiB cost, group by group.

    Args:
        fits: the result of fit_groups; groups over MAX_ERROR are left out.
        by_components: split machines whose components are sold apart, with GROUP, part_vcpu and part_gib.

    Returns:
        GROUP, vcpu_level, gib_level (GBP per hour) and ratio (vcpu_level over gib_level; null where GiB are free).
    """
    sold = by_components.group_by(GROUP).agg(
        vcpu_level=pl.col("part_vcpu").median(), gib_level=pl.col("part_gib").median()
    )
    fitted = fits.filter(pl.col("max_error") <= MAX_ERROR).select(sold.columns)
    ratio = pl.when(pl.col("gib_level") > 0).then(pl.col("vcpu_level") / pl.col("gib_level"))
    return pl.concat([fitted, sold]).with_columns(ratio=ratio).sort(GROUP)


def with_nearest_level(machines: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
    """This will add vcpu_level and gib_level (GBP per hour) of the nearest known group; null where there is none."""
    return _nearest(machines, known, ("vcpu_level", "gib_level"), _LEVEL_STEPS)


def with_nearest_ratio(machines: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
    """This will add the median ratio of the region, else of the provider, else LAST_RESORT_RATIO."""
    usable = known.filter(pl.col("ratio").is_not_null())
    return _nearest(machines, usable, ("ratio",), _RATIO_STEPS).with_columns(
        pl.col("ratio").fill_null(LAST_RESORT_RATIO)
    )


def with_nearest_share(machines: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
    """This will add the median device_share that the same devices have elsewhere at the provider.

    First in the same machine type, then in any machine with the same model, then in any machine with devices.

    Args:
        machines: rows with provider, instance_type and device_model.
        known: split machines with devices: the same columns and device_share.
    """
    return _nearest(machines, known, ("device_share",), _SHARE_STEPS).with_columns(
        pl.col("device_share").fill_null(LAST_RESORT_DEVICE_SHARE)
    )


def _nearest(
    machines: pl.DataFrame, known: pl.DataFrame, values: Sequence[str], steps: Sequence[Sequence[str]]
) -> pl.DataFrame:
    rows = machines
    for number, keys in enumerate(steps):
        medians = [pl.col(value).median().alias(f"{value}_{number}") for value in values]
        rows = rows.join(known.group_by(keys).agg(medians), on=list(keys), how="left")
    found = {value: [f"{value}_{number}" for number in range(len(steps))] for value in values}
    return rows.with_columns(pl.coalesce(names).alias(value) for value, names in found.items()).drop(
        name for names in found.values() for name in names
    )
