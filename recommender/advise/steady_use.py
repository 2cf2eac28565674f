"""How many on-demand nodes ran in each hour that was observed, of what stays where it is under the plan.

    usage samples → nodes' worth of requests, by pool and machine type, hour by hour

Requests are shares of nodes, the greatest of vCPU, memory and GPU: nodes that stand half empty are not counted whole,
because a smaller pool would hold the same. DaemonSets are left out: they run because nodes do.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from exporters.core.units import SECONDS_PER_HOUR
from recommender.frames import WORKLOAD_KEY
from recommender.place.commitment_use import NodeGroup

GroupKey = tuple[str, str, str]
_GROUP = ["cluster", "pool", "instance_type"]
_SHARES = {"vcpu_request": "vcpus", "memory_gib_request": "memory_gib", "gpu_request": "gpus"}


@dataclass(frozen=True, slots=True)
class HourlyNodes:
    """Nodes of some groups together, hour by hour.

    Args:
        hours: nodes, one figure an observed hour.
        days: observed.
    """

    hours: tuple[float, ...]
    days: float


class SteadyUse:
    """Nodes that ran, by group and hour.

    Args:
        samples: UsageSample.
        observed: ClusterSample.
        running: WORKLOAD_KEY, `at_pool`, `at_type` of workloads on on-demand nodes.
        leaving: keys of workloads that the plan moves away.
        groups: on-demand machines of the fleet.
    """

    def __init__(
        self,
        samples: pl.DataFrame,
        observed: pl.DataFrame,
        *,
        running: pl.DataFrame,
        leaving: Collection[tuple[str, str, str, str]],
        groups: Sequence[NodeGroup],
    ) -> None:
        self._observed = observed
        self._nodes = _nodes(samples, running, leaving, groups)

    def of(self, weights: Mapping[GroupKey, float], most: Mapping[GroupKey, float] | None = None) -> HourlyNodes:
        """This will add up groups, in hours in which all of their clusters were observed.

        Args:
            weights: of a node of each group.
            most: nodes of each group that count at most; None: all.
        """
        limits = {key: float("inf") for key in weights} if most is None else most
        rows = [(*key, weight, limits[key]) for key, weight in sorted(weights.items())]
        schema = {**dict.fromkeys(_GROUP, pl.String), "weight": pl.Float64, "most": pl.Float64}
        wanted = pl.DataFrame(rows, schema=schema, orient="row")
        counted = pl.min_horizontal("nodes", "most") * pl.col("weight")
        used = self._nodes.join(wanted, on=_GROUP, how="inner").group_by("timestamp").agg(nodes=counted.sort().sum())
        times = _observed_times(self._observed, sorted({cluster for cluster, _, _ in weights}))
        found = times.join(used, on="timestamp", how="left").sort("timestamp")["nodes"].fill_null(0.0)
        return HourlyNodes(tuple(found.to_list()), _days(times["timestamp"]))


def _nodes(
    samples: pl.DataFrame,
    running: pl.DataFrame,
    leaving: Collection[tuple[str, str, str, str]],
    groups: Sequence[NodeGroup],
) -> pl.DataFrame:
    """Nodes of each group at each time."""
    gone = pl.DataFrame(sorted(leaving), schema=dict.fromkeys(WORKLOAD_KEY, pl.String), orient="row")
    shapes = pl.DataFrame(
        [(*one.key, one.vcpus, one.memory_gib, one.gpus) for one in groups],
        schema={**dict.fromkeys(_GROUP, pl.String), **dict.fromkeys(_SHARES.values(), pl.Float64)},
        orient="row",
    )
    share = pl.max_horizontal(pl.when(pl.col(of) > 0).then(pl.col(asked) / pl.col(of)) for asked, of in _SHARES.items())
    return (
        samples.filter(pl.col("capacity_type").is_in(["on-demand", ""]))
        .join(running, on=WORKLOAD_KEY, how="inner")
        .join(gone, on=WORKLOAD_KEY, how="anti")
        .with_columns(
            pool=pl.when(pl.col("pool") == "").then("at_pool").otherwise("pool"),
            instance_type=pl.when(pl.col("instance_type") == "").then("at_type").otherwise("instance_type"),
        )
        .join(shapes, on=_GROUP, how="inner")
        .group_by("timestamp", *_GROUP)
        .agg(nodes=share.sort().sum())
    )


def _observed_times(observed: pl.DataFrame, clusters: Sequence[str]) -> pl.DataFrame:
    ours = observed.filter(pl.col("cluster").is_in(clusters) & (pl.col("coverage_ratio") > 0))
    counted = ours.group_by("timestamp").agg(clusters=pl.col("cluster").n_unique())
    return counted.filter(pl.col("clusters") == len(clusters)).select("timestamp").sort("timestamp")


def _days(times: pl.Series) -> float:
    gap = times.sort().diff().drop_nulls().dt.total_seconds().median()
    seconds = gap if isinstance(gap, int | float) else SECONDS_PER_HOUR
    return float(len(times) * seconds / SECONDS_PER_HOUR / 24)
