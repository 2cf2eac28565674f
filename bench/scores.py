"""How long a round of scores takes: 1,000 clusters, 12 scores each.

Usage: python bench/scores.py [--clusters 1000] [--workloads 25]

Four classes of which every workload may use on-demand and spot capacity: with `any` three scores a class. What is timed
is what a round computes between an evaluation and what is written: the scores themselves with the last round's beside
them. Exit code 1: the limit is missed, or a second round without news changes a score.
"""

from __future__ import annotations

import argparse
import sys
import time
from datetime import UTC, datetime, timedelta

import dataframely as dy
import numpy as np
import polars as pl

from recommender.emit.score import class_scores
from recommender.emit.score_inputs import InputAge
from recommender.frames import ClassScore, ClusterCost, Workload
from recommender.settings import Policy

SECONDS_TARGET = 2.0
CLASSES = ("gold", "silver", "bronze", "batch")
AT = datetime(2026, 11, 30, 12, tzinfo=UTC)
POLICY = Policy.model_validate({"classes": {name: {} for name in CLASSES}})
INPUTS = (InputAge("aws/20261130T110000Z", AT - timedelta(hours=1), timedelta(hours=48)),
          InputAge("usage", AT - timedelta(minutes=10), timedelta(hours=3)))  # fmt: skip


def fleet(clusters: int, workloads: int) -> tuple[dy.DataFrame[ClusterCost], dy.DataFrame[Workload], list[str]]:
    """This will return every workload in every cluster under two capacity types, the workloads, and the clusters."""
    names = [f"cluster-{number:04d}" for number in range(clusters)]
    random = np.random.default_rng(1)
    keys = pl.DataFrame(
        {
            "cluster": [names[one % clusters] for one in range(workloads * len(CLASSES))],
            "namespace": [CLASSES[one % len(CLASSES)] for one in range(workloads * len(CLASSES))],
            "workload_kind": "Deployment",
            "workload": [f"workload-{one:04d}" for one in range(workloads * len(CLASSES))],
        }
    )
    places = pl.DataFrame({"to_cluster": names}).join(
        pl.DataFrame({"to_capacity_type": ["on-demand", "spot"]}), how="cross"
    )
    rows = keys.join(places, how="cross")
    costs = rows.with_columns(
        to_pool=pl.lit("general"),
        to_instance_type=pl.lit("m5.xlarge"),
        allowed=pl.lit(value=True),
        has_room=pl.lit(value=True),
        rules=pl.lit([], pl.List(pl.String)),
        gbp_per_hour=pl.Series(random.uniform(0.1, 0.2, rows.height)),
        is_current=pl.col("cluster") == pl.col("to_cluster"),
    )
    number = dict.fromkeys(("replicas", "vcpu_request", "memory_gib_request", "gpu_request"), 0.0)
    filled = {name: dtype for name, dtype in Workload.create_empty().schema.items() if name not in keys.columns}
    blank: dict[type[pl.DataType], object] = {pl.String: "", pl.Float64: 0.0, pl.Boolean: False, pl.UInt32: 1}
    used = keys.with_columns(
        *(pl.lit(blank.get(dtype.base_type(), AT), dtype).alias(name) for name, dtype in filled.items()
          if name != "residency_class" and name not in number),
        residency_class=pl.col("namespace"),
    )  # fmt: skip
    return (
        ClusterCost.cast(costs.select(ClusterCost.column_names())),
        Workload.cast(used.select(Workload.column_names())),
        names,
    )


def main() -> int:
    """This will time two rounds and print them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clusters", type=int, default=1_000)
    parser.add_argument("--workloads", type=int, default=25, help="of each of four classes")
    arguments = parser.parse_args()
    costs, workloads, names = fleet(arguments.clusters, arguments.workloads)
    rounds: list[dy.DataFrame[ClassScore]] = []
    seconds: list[float] = []
    for _ in range(2):
        started = time.perf_counter()
        before = rounds[-1] if rounds else None
        made = class_scores(costs, workloads, clusters=names, policy=POLICY, inputs=INPUTS, at=AT, previous=before)
        seconds.append(time.perf_counter() - started)
        rounds.append(made.scores)
    each = rounds[0].height / arguments.clusters
    print(f"{arguments.clusters:,} clusters x {each:g} scores of {costs.height:,} costs: "
          f"{seconds[0]:.2f} s, again with the last round beside them {seconds[1]:.2f} s")  # fmt: skip
    return int(max(seconds) > SECONDS_TARGET or not rounds[0].equals(rounds[1]))


if __name__ == "__main__":
    sys.exit(main())
