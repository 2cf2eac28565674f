"""What advice about owned capacity is made from: the burst stage's answer, and the inputs that it rests on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import dataframely as dy
import polars as pl

from exporters.core.units import SECONDS_PER_HOUR
from exporters.store.read import Prices
from recommender.advise.capacity_record import CapacityMove, CapacityPlace, CapacityRecommendation, CapacityTarget
from recommender.advise.evidence import PriceFinder
from recommender.burst.burst import BurstPlan
from recommender.burst.legal import Places
from recommender.forecast.forecast import Forecasts
from recommender.forecast.frames import UNKNOWN_CLASS, Demand
from recommender.frames import Workload
from recommender.settings import BurstSettings

DIGITS = 9
Row = Mapping[str, Any]
_PLACE = ("cluster", "pool", "provider", "region", "instance_type", "capacity_type")


@dataclass(frozen=True, slots=True)
class RunningBurst:
    """A burst that somebody carried out, as the ledger has it.

    Args:
        advice: as it was proposed last before that.
        started_at: when it was carried out.
        moves: what of it has not come home.
    """

    advice: CapacityRecommendation
    started_at: datetime
    moves: tuple[CapacityMove, ...]


@dataclass(frozen=True, slots=True)
class CapacityQuestion:
    """One evaluation of owned capacity.

    Args:
        bursts: what the burst stage says.
        places: where workloads may go, with the fleet.
        prices: what they rest on.
        workloads: with attributes.
        demand: of the history.
        forecasts: of the next hour.
        running: bursts that run.
        settings: of bursts.
        at: the evaluation time (UTC).
        expires_after_hours: life of advice to buy capacity.
    """

    bursts: BurstPlan
    places: Places
    prices: Prices
    workloads: dy.DataFrame[Workload]
    demand: dy.DataFrame[Demand]
    forecasts: Forecasts
    running: tuple[RunningBurst, ...]
    settings: BurstSettings
    at: datetime
    expires_after_hours: float

    def finder(self) -> PriceFinder:
        """This will return what finds the offers of the fleet's places again."""
        priced = self.places.fleet.filter(pl.col("to_vcpus").is_not_null())
        return PriceFinder(self.prices, priced, sides=(("recommended", "to"),))

    def machine(self, cluster: str, pool: str, instance_type: str) -> Row:
        """This will return the row of the fleet of a machine."""
        return self.places.fleet.row(
            by_predicate=(
                (pl.col("to_cluster") == cluster)
                & (pl.col("to_pool") == pool)
                & (pl.col("to_instance_type") == instance_type)
            ),
            named=True,
        )

    def home(self, cluster: str, resource: str, resource_class: str) -> Row:
        """This will return the owned machine that has a class; of several, the one with the most nodes."""
        owned = self.places.fleet.filter(
            pl.col("to_cluster") == cluster, pl.col("to_capacity_type") == "owned", pl.col("to_vcpus").is_not_null()
        )
        if resource == "gpu":
            has = pl.col("to_gpus") > 0
            if resource_class != UNKNOWN_CLASS:
                has &= pl.col("to_gpu_model") == resource_class
        else:
            has = pl.col("to_architecture") == resource_class
        with_class = owned.filter(has)
        found = with_class if with_class.height else owned
        order = found.sort("to_nodes_max", "to_pool", "to_instance_type", descending=[True, False, False])
        return order.row(0, named=True)

    def target(self, cluster: str, resource: str, resource_class: str) -> CapacityTarget:
        """This will name the owned pool of a class."""
        pool = self.home(cluster, resource, resource_class)["to_pool"]
        return CapacityTarget(cluster=cluster, pool=pool, resource=resource, resource_class=resource_class)

    def observed(self, target: CapacityTarget) -> tuple[float, float]:
        """This will return the days of a class that were observed, and their share of the time from first to last."""
        series = self.demand.filter(**target.model_dump(include={"cluster", "resource", "resource_class"}))
        times = series["timestamp"].sort()
        gap = times.diff().drop_nulls().dt.total_seconds().median()
        if not isinstance(gap, float) or gap <= 0:
            return 0.0, 0.0
        span = (times[-1] - times[0]).total_seconds() + gap
        return times.len() * gap / SECONDS_PER_HOUR / 24, min(1.0, times.len() * gap / span)


def place_of(row: Row) -> CapacityPlace:
    """This will name the place of a row of the fleet."""
    return CapacityPlace(jurisdiction=row["to_jurisdiction"] or None, **{name: row[f"to_{name}"] for name in _PLACE})


def group_of(target: CapacityTarget, *more: str) -> str:
    """This will name what advice is about; it begins with the cluster, as the key of a workload does."""
    return "/".join((target.cluster, target.pool, target.resource, target.resource_class, *more))
