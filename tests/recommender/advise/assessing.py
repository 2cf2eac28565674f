"""What an assessment rests on in tests: an evaluation of the small fleet, with samples of every hour of its week."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import polars as pl

from recommender.advise.assess import Ground, assess
from recommender.advise.assess_clusters import Seen
from recommender.advise.assess_gates import Track
from recommender.advise.assess_record import Assessment
from recommender.advise.decision import Question
from recommender.cycle import costs_here
from recommender.forecast.forecast import Forecasts
from recommender.forecast.frames import Accuracy, ForecastFrame, NotForecast, RecentBound
from recommender.frames import WORKLOAD_KEY, ClusterSample, UsageSample
from recommender.observe.coverage import Window
from recommender.rollout_settings import RolloutSettings
from tests.builders import NOON
from tests.recommender.emit.subjects import CLUSTERS
from tests.recommender.world import WEEK, appraisal, flows, node_agents, policy, prices, standard_pools, workload

HOURS = 168


def good(name: str = "batch", **changes: Any) -> dict[str, Any]:
    """This will return a workload that suits a pilot: low, tolerant, without state, of a class with no legal basis."""
    suits = {"criticality": "low", "interruption_tolerance": "spot", "checkpoint_minutes": 10.0}
    return workload(name, **suits | {"residency_class": "europe"} | changes)


def hourly(rows: list[dict[str, Any]], *, first_seen: dict[str, datetime] | None = None) -> pl.DataFrame:
    """This will return samples of every hour of the week, from when a workload was first seen."""
    empty = UsageSample.create_empty()
    found = []
    for row in rows:
        start = (first_seen or {}).get(row["workload"], WEEK[0])
        hours = [WEEK[0] + timedelta(hours=hour) for hour in range(HOURS)]
        base = {name: row[name] for name in (*WORKLOAD_KEY, "pool", "instance_type", "capacity_type", "gpu_model")}
        amounts = {
            "replicas": row["replicas_mean"],
            "vcpu_request": row["vcpu_request_mean"],
            "memory_gib_request": row["memory_gib_request_mean"],
            "gpu_request": row["gpu_request_mean"],
            "pending_replicas": 0.0,
        }
        found += [base | amounts | {"timestamp": hour} for hour in hours if hour >= start]
    return UsageSample.validate(pl.DataFrame(found, schema=empty.schema))


def observed(*clusters: str, hours: int = HOURS) -> pl.DataFrame:
    """This will return that clusters were observed in the first hours of the week."""
    rows = [
        {"cluster": name, "timestamp": WEEK[0] + timedelta(hours=hour), "coverage_ratio": 1.0}
        for name in clusters
        for hour in range(hours)
    ]
    return ClusterSample.validate(pl.DataFrame(rows, schema=ClusterSample.create_empty().schema))


def no_forecasts() -> Forecasts:
    """This will return that nothing was foretold."""
    return Forecasts(
        ForecastFrame.create_empty(), Accuracy.create_empty(), RecentBound.create_empty(), NotForecast.create_empty()
    )


def ground(*rows: dict[str, Any], seen: dict[str, Any] | None = None, **changes: Any) -> Ground:
    """This will return what an assessment of workloads on the standard fleet rests on.

    Args:
        rows: the workloads; those of the node agents are added.
        seen: of Seen, where it differs.
        changes: of Ground, or of the evaluation, where they differ.
    """
    of_ground = {name: changes.pop(name) for name in ("costs_before", "track", "pending") if name in changes}
    made = appraisal(*rows, **changes)
    question = Question(
        prices=changes.get("prices") or prices(),
        workloads=made.workloads.sort(WORKLOAD_KEY),
        pools=standard_pools(),
        policy=changes.get("policy") or policy(),
        at=NOON,
        usage_window=WEEK,
        expires_after_hours=168.0,
        min_coverage_ratio=0.8,
    )
    here = costs_here(question, changes.get("flows") or flows(), standard_pools())
    costs = here.select(
        pl.col("from_cluster").alias("cluster"), *WORKLOAD_KEY[1:], "reason", "gbp_per_hour", "full_gbp_per_hour"
    )
    machines = question.prices.offers.select("provider", "region", "instance_type", "vcpus", "memory_gib", "gpus")
    every = [*rows, *node_agents()]
    values: dict[str, Any] = {
        "clusters": CLUSTERS,
        "pools": standard_pools(),
        "machines": machines,
        "workloads": made.workloads,
        "costs": made.workloads.join(costs, on=WORKLOAD_KEY, how="left"),
        "samples": hourly(every),
        "observed": observed("eks-lon", "gke-bel", "onprem-lon"),
        "window": Window(*WEEK),
        "nodes": None,
        "forecasts": no_forecasts(),
    } | (seen or {})
    given: dict[str, Any] = {"costs_before": made.costs, "track": Track(), "pending": None} | of_ground
    return Ground(plan=made.plan, costs=made.costs, here=costs, seen=Seen(**values), **given)


def assessed(given: Ground, **settings: Any) -> Assessment:
    """This will assess by the default settings, unless changed."""
    return assess(given, policy(), RolloutSettings.model_validate(settings), mode="recommend", min_coverage_ratio=0.8)
