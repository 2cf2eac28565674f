"""From changes and judged days to rows of series: few of them, the largest by name and the rest together.

Pure. Promises that the parts of what is folded add up to what they were, and that an anomaly has a series only while it
holds, under its own name.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import dataframely as dy
import polars as pl

from exporters.core.cost_change_frames import SERIES_KEY, Cause, CostAnomaly, CostChange

OTHER: Final = "other"
BOUNDS: Final = {"lower_gbp": "lower", "expected_gbp": "mid", "upper_gbp": "upper"}
_KEY: Final = list(SERIES_KEY)
_CAUSES: Final = {cause.column: cause.value for cause in Cause}


@dataclass(frozen=True, slots=True)
class Compared:
    """What was compared, as of the last whole day of each account.

    Args:
        changes: of a day and of a week.
        judged: that day of every series that can be judged.
    """

    changes: dy.DataFrame[CostChange] = field(default_factory=CostChange.create_empty)
    judged: dy.DataFrame[CostAnomaly] = field(default_factory=CostAnomaly.create_empty)


def change_rows(compared: Compared, *, top_services: int) -> pl.DataFrame:
    """This will return rows of provider, account, service, span, cause and gbp; causes of nought are left out.

    Args:
        compared: what was compared.
        top_services: of each provider and span, services of accounts with rows of their own; the rest are ``other``.
    """
    parts = compared.changes.unpivot(
        list(_CAUSES), index=[*_KEY, "span"], variable_name="cause", value_name="gbp"
    ).with_columns(pl.col("cause").replace(_CAUSES))
    key = [*_KEY, "span"]
    sizes = parts.group_by(key).agg(size=pl.col("gbp").abs().sum().round(6))
    in_order = sizes.sort(["size", *key], descending=[True, *(False for _ in key)])
    top = in_order.group_by("provider", "span", maintain_order=True).head(top_services)
    named = parts.join(top.select(*key, own=pl.lit(value=True)), on=key, how="left").with_columns(
        pl.when(pl.col("own")).then(pl.col(name)).otherwise(pl.lit(OTHER)).alias(name)
        for name in ("account", "service")
    )
    return named.group_by(*key, "cause").agg(pl.col("gbp").sum()).filter(pl.col("gbp").abs() > _TRIFLE)


def anomaly_rows(compared: Compared) -> pl.DataFrame:
    """This will return rows of provider, account, service and excess_gbp of the days that are anomalies."""
    return compared.judged.filter(pl.col("is_anomaly"))


def expected_rows(compared: Compared, *, top_services: int) -> pl.DataFrame:
    """This will return rows of provider, account, service, bound and gbp: anomalies, and the dearest of each provider.

    Args:
        compared: what was compared.
        top_services: how many of each provider beside the anomalies.
    """
    in_order = compared.judged.sort(["expected_gbp", *_KEY], descending=[True, False, False, False])
    dearest = in_order.group_by("provider", maintain_order=True).head(top_services)
    chosen = pl.concat([anomaly_rows(compared), dearest.select(compared.judged.columns)]).unique(_KEY)
    return chosen.unpivot(list(BOUNDS), index=_KEY, variable_name="bound", value_name="gbp").with_columns(
        pl.col("bound").replace(BOUNDS)
    )


_TRIFLE: Final = 1e-6
"""Pounds: a part below it is what is left of rounding in floats."""
