"""What a row of the exporter's catalogue says: a metric, the frame it is read from, and how.

See core.metrics for the practice of names.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import polars as pl

from exporters.core.metrics import Metric as DeclaredMetric

PRICE_NOTE = "Cached; refreshed in the background every refresh_minutes of its source."


class Frame(StrEnum):
    """What a metric's series are read from (publish/series.py)."""

    OFFERS = "offers"
    MACHINES = "machines"
    EGRESS = "egress"
    REGIONS = "regions"
    FX = "fx"
    IMPLIED_FX = "implied_fx"
    COSTS = "costs"
    COST_IMPORTS = "cost_imports"
    COST_REJECTS = "cost_rejects"
    COST_REACH = "cost_reach"
    COST_ALLOCATION = "cost_allocation"
    OWNER_COSTS = "owner_costs"
    UNIT_COSTS = "unit_costs"
    DISCOUNTS = "discounts"
    COVERAGE = "coverage"
    UTILISATION = "utilisation"
    BUDGETS = "budgets"
    COST_FORECASTS = "cost_forecasts"
    PROVIDER_FORECASTS = "provider_forecasts"
    COMMITMENTS = "commitments"
    WORKLOAD_COSTS = "workload_costs"
    COST_CHANGES = "cost_changes"
    COST_ANOMALIES = "cost_anomalies"
    EXPECTED_COSTS = "expected_costs"
    HEALTH = "health"


class Fold(StrEnum):
    """What is done with rows that have the same labels."""

    NONE = "none"
    MINIMUM = "minimum"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Metric(DeclaredMetric):
    """One metric of the exporter; the columns of its frame are named as its labels.

    Args:
        frame: what its series are read from.
        value: the frame's column that holds the value; empty for infos and health metrics.
        where: rows that have a series; None: all.
        fold: what is done with rows that have the same labels.
    """

    frame: Frame
    value: str = ""
    where: pl.Expr | None = None
    fold: Fold = Fold.NONE
