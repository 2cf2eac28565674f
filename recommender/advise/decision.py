"""What the stages before hand to advice: the question that was asked, and what was decided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

import dataframely as dy
import polars as pl

from exporters.store.read import Prices
from recommender.frames import BoughtAhead, Latency, Quota, RegionQuota
from recommender.place.committed import Covered
from recommender.place.unguarded import Unguarded
from recommender.settings import Policy


@dataclass(frozen=True, slots=True)
class Question:
    """The inputs of one evaluation, frames in the order of their keys.

    `commitments` are those that have not ended (BoughtAhead); None: nobody asked for them.
    `latency` is what is known of distances (Latency). `unfit` is what observe says cannot be advised (NotEnoughData);
    None: it was not asked. `nodes_seen` are the nodes that were seen (ObservedPool); None: nobody saw nodes.
    """

    prices: Prices
    workloads: pl.DataFrame
    pools: pl.DataFrame
    policy: Policy
    at: datetime
    usage_window: tuple[datetime, datetime]
    expires_after_hours: float
    min_coverage_ratio: float
    latency: pl.DataFrame = field(default_factory=Latency.create_empty)
    unfit: pl.DataFrame | None = None
    nodes_seen: pl.DataFrame | None = None
    commitments: dy.DataFrame[BoughtAhead] | None = None

    @property
    def clusters_not_seen(self) -> set[str] | None:
        """Clusters that observe has no sample of; None: it was not asked."""
        if self.unfit is None:
            return None
        return set(self.unfit.filter(pl.col("workload") == "")["cluster"])

    @property
    def window_hours(self) -> float:
        """Hours of the usage window."""
        start, end = self.usage_window
        return (end - start).total_seconds() / 3600.0


@dataclass(frozen=True, slots=True)
class Decision:
    """What was worked out.

    Args:
        workloads: every workload at its present place (`to_…` is that place): cost terms, `reason` why nothing can be
            said, `breaks` (rules it runs against).
        fleet: the places, from place.candidates.
        pairs: every workload that can be advised beside every place: cost terms, `refused` by constraints, `held` by
            guards.
        moving: the chosen pairs, with `within_cap`.
        lines: each flow's price at each region.
        unguarded: what the rules and the room alone allow.
        limits: where the limits are that pairs can meet, and what of, from place.capacity.
        cluster_quotas: limits of clusters (Quota).
        region_quotas: limits of regions (RegionQuota).
        covered: what commitments pay for; None: nobody asked.
        withheld: why the trial on nodes holds back a workload's move, where it has words of its own, by w.
    """

    workloads: pl.DataFrame
    fleet: pl.DataFrame
    pairs: pl.DataFrame
    moving: pl.DataFrame
    lines: pl.DataFrame
    unguarded: Unguarded
    limits: pl.DataFrame
    cluster_quotas: pl.DataFrame = field(default_factory=Quota.create_empty)
    region_quotas: pl.DataFrame = field(default_factory=RegionQuota.create_empty)
    withheld: Mapping[int, str] = field(default_factory=dict)
    covered: Covered | None = None
