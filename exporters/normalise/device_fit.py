"""What a GPU costs where one family sells it beside hosts of several sizes, part of the split.

A family such as AWS g5 or Google g2 puts one and the same GPU beside 4 to 64 vCPUs. Were the host always taken at the
level of its region, whatever the family charges more or less for it would fall on the GPU, most of all on the largest
machine, and one GPU would have five prices. Its sizes determine both: price = k × host at the level + devices × p.
Promises that no part is negative; a family it cannot reproduce within MAX_DEVICE_ERROR is left to the remainder.
"""

from __future__ import annotations

import polars as pl

from exporters.normalise.fit import NORMAL_EQUATIONS, solve_two_prices

FAMILY = ("provider", "region", "zone", "family", "device_model", "operating_system", "capacity_type")
"""Inside a family the same devices stand beside hosts of the same kind."""

LEAST_SPREAD = 1.5
"""Sizes whose hosts per device differ by less than this factor do not tell the two prices apart."""

MAX_DEVICE_ERROR = 0.1
"""Wider than between plain families: Azure sells the four-GPU size of NCasT4_v3 10 % below the line of its smaller
sizes, and a remainder there would give the largest single-GPU machine a third of the GPU price of the smallest."""


def with_device_fit(machines: pl.DataFrame) -> pl.DataFrame:
    """This will add host_scale (k) and device_level (p, GBP per device-hour); null where a family does not tell them.

    Args:
        machines: FAMILY, devices, gbp_per_hour and host, the host's price at its level (GBP per hour; null: no level).
    """
    priced = machines.filter(pl.col("host") > 0).with_columns(
        a=pl.col("host") / pl.col("gbp_per_hour"),
        b=pl.col("devices") / pl.col("gbp_per_hour"),
        per_device=pl.col("host") / pl.col("devices"),
    )
    sums = (
        priced.group_by(FAMILY)
        .agg(
            *NORMAL_EQUATIONS,
            spread=pl.col("per_device").max() / pl.col("per_device").min(),
        )
        .filter(pl.col("spread") >= LEAST_SPREAD)
    )
    fits = solve_two_prices(sums, first="host_scale", second="device_level").filter(
        pl.col("host_scale") > 0, pl.col("device_level") > 0
    )
    found = fits.select(*FAMILY, "host_scale", "device_level")
    missed = (pl.col("a") * pl.col("host_scale") + pl.col("b") * pl.col("device_level") - 1).abs()
    worst = priced.join(found, on=list(FAMILY)).group_by(FAMILY).agg(max_error=missed.max())
    good = found.join(worst.filter(pl.col("max_error") <= MAX_DEVICE_ERROR), on=list(FAMILY), how="semi")
    return machines.join(good, on=list(FAMILY), how="left", maintain_order="left")
