"""The burst stage: demand, forecasts and the fleet in; what is short, what leaves, what comes home and what to buy out.

A pure function, like the stages before it. A cluster whose nodes or use are not known is named with the reason: nothing
is advised from half of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import dataframely as dy
import polars as pl

from recommender.burst.admissible import Admitted, Shape, admit, nominal
from recommender.burst.ending import AtHome, returns
from recommender.burst.extend import extensions
from recommender.burst.frames import (
    ActiveBurst,
    BurstNodes,
    CapacityFrame,
    CapacityUnknown,
    Extension,
    Overflow,
    Return,
    Trigger,
    Waiting,
)
from recommender.burst.home import owned_clusters, shapes
from recommender.burst.legal import Places
from recommender.burst.listing import node_rows, overflow_rows, waiting_rows
from recommender.burst.overflow import Leaving, Question, choose_overflow
from recommender.burst.trigger import triggers
from recommender.burst.units import Unit, current, overhead, units
from recommender.forecast.forecast import Forecasts
from recommender.forecast.frames import RESOURCES, Demand
from recommender.frames import ClusterSample, UsageSample, Workload
from recommender.settings import BurstSettings, Policy

Row = dict[str, Any]
TOO_LARGE = "too-large-for-home"


@dataclass(frozen=True, slots=True)
class Observation:
    """What is known of use.

    Args:
        samples: usage.
        observed: when each cluster was observed.
        workloads: with attributes.
        demand: from forecast.demand.
        forecasts: of the next hour.
        active: bursts that run now.
    """

    samples: dy.DataFrame[UsageSample]
    observed: dy.DataFrame[ClusterSample]
    workloads: dy.DataFrame[Workload]
    demand: dy.DataFrame[Demand]
    forecasts: Forecasts
    active: dy.DataFrame[ActiveBurst]


@dataclass(frozen=True, slots=True)
class BurstPlan:
    """What to do about full owned clusters.

    Args:
        at: the evaluation time (UTC).
        capacity: what owned nodes admit.
        triggers: which classes are short.
        overflow: what leaves.
        nodes: what it runs on.
        waiting: what has no place anywhere.
        returns: bursts that go home, or why not yet.
        extensions: pools that are cheaper made larger.
        unknown: clusters of which nothing can be said.
        lower_bound_gbp_per_hour: by cluster that bursts, what no choice can beat.
    """

    at: datetime
    capacity: dy.DataFrame[CapacityFrame]
    triggers: dy.DataFrame[Trigger]
    overflow: dy.DataFrame[Overflow]
    nodes: dy.DataFrame[BurstNodes]
    waiting: dy.DataFrame[Waiting]
    returns: dy.DataFrame[Return]
    extensions: dy.DataFrame[Extension]
    unknown: dy.DataFrame[CapacityUnknown]
    lower_bound_gbp_per_hour: dict[str, float]


@dataclass(frozen=True, slots=True)
class _Home:
    cluster: str
    mix: list[Unit]
    shapes: list[Shape]
    admitted: Admitted


@dataclass(slots=True)
class _Found:
    overflow: list[Row] = field(default_factory=list)
    nodes: list[Row] = field(default_factory=list)
    waiting: list[Row] = field(default_factory=list)
    returns: list[Row] = field(default_factory=list)
    extensions: list[Row] = field(default_factory=list)
    bounds: dict[str, float] = field(default_factory=dict)


def burst(seen: Observation, places: Places, *, policy: Policy, settings: BurstSettings, at: datetime) -> BurstPlan:
    """This will judge every owned cluster.

    Args:
        seen: usage, demand, forecasts, active bursts.
        places: where workloads may go, from burst.legal.
        policy: classes and weights.
        settings: trigger, timing, return, extension.
        at: the evaluation time (UTC).
    """
    homes, unknown = _homes(seen, places, policy)
    capacity = CapacityFrame.validate(_frame([row for home in homes for row in _capacity_rows(home)], CapacityFrame))
    triggered = triggers(capacity, seen.demand, seen.forecasts, settings, at=at)
    found = _Found()
    for home in homes:
        _judge(found, home, seen, places, triggered, policy=policy, settings=settings, at=at)
    return BurstPlan(
        at=at,
        capacity=capacity,
        triggers=triggered,
        overflow=Overflow.validate(_frame(found.overflow, Overflow)),
        nodes=BurstNodes.validate(_frame(found.nodes, BurstNodes)),
        waiting=Waiting.validate(_frame(found.waiting, Waiting)),
        returns=Return.validate(_frame(found.returns, Return)),
        extensions=Extension.validate(_frame(found.extensions, Extension)),
        unknown=CapacityUnknown.validate(_frame(unknown, CapacityUnknown)),
        lower_bound_gbp_per_hour=found.bounds,
    )


def _judge(
    found: _Found,
    home: _Home,
    seen: Observation,
    places: Places,
    triggered: pl.DataFrame,
    *,
    policy: Policy,
    settings: BurstSettings,
    at: datetime,
) -> None:
    """Judges one cluster: what leaves, what comes home, what to buy."""
    short = triggered.filter(pl.col("cluster") == home.cluster, pl.col("is_needed"))
    question = Question(home.cluster, home.mix, growth(short, home.mix), home.shapes, places, policy, settings)
    if short.height:
        _add_overflow(found, question, choose_overflow(question), seen.workloads)
    else:
        found.waiting += waiting_rows(question, {one.id: TOO_LARGE for one in home.admitted.never})
    demand = seen.demand.filter(pl.col("cluster") == home.cluster)
    active = ActiveBurst.validate(seen.active.filter(pl.col("cluster") == home.cluster))
    now = AtHome(home.mix, home.shapes, home.admitted, demand)
    found.returns += returns(active, now, settings, at=at)
    found.extensions += extensions(
        demand,
        cluster=home.cluster,
        shapes=home.shapes,
        admitted=home.admitted,
        fleet=places.fleet,
        settings=settings,
    )


def growth(short: pl.DataFrame, mix: Sequence[Unit]) -> list[Unit]:
    """This will return units that stand for what P90 is above demand now: copies of the commonest unit of each class.

    GPUs first, and what their units bring along of vCPUs and memory is not asked for twice.

    Args:
        short: triggers of one cluster.
        mix: what runs and waits there.
    """
    found: list[Unit] = []
    for resource in (RESOURCES[2], *RESOURCES[:2]):
        for row in short.filter(pl.col("resource") == resource).sort("resource_class").iter_rows(named=True):
            key = (resource, row["resource_class"])
            missing = (row["p90"] or 0.0) - row["demand"] - sum(one.amounts().get(key, 0.0) for one in found)
            like = _commonest([one for one in mix if one.amounts().get(key, 0.0) > 0])
            if like is None or missing <= 0:
                continue
            copies = math.ceil(missing / like.amounts()[key])
            name = (row["cluster"], "", "", f"expected {resource} {row['resource_class']}")
            found += [
                replace(like, workload=name, number=number, is_waiting=True, is_critical=False)
                for number in range(copies)
            ]
    return found


def _commonest(units_of_class: list[Unit]) -> Unit | None:
    counts: dict[tuple[float, ...], list[Unit]] = {}
    for one in units_of_class:
        counts.setdefault((one.replicas, one.gpus, one.vcpus, one.memory_gib), []).append(one)
    best = min(counts.items(), key=lambda entry: (-len(entry[1]), entry[0]), default=None)
    return None if best is None else min(best[1], key=lambda one: one.id)


def _homes(seen: Observation, places: Places, policy: Policy) -> tuple[list[_Home], list[Row]]:
    accepted = {name: tuple(one.gpu_models) for name, one in policy.classes.items()}
    homes, unknown = [], []
    for cluster in owned_clusters(places.fleet):
        now = current(seen.samples, seen.observed, cluster)
        nodes = shapes(places.fleet, cluster, overhead=overhead(now, seen.workloads))
        if not nodes:
            unknown.append(
                {
                    "cluster": cluster,
                    "reason": "no-shape",
                    "why": "the machine of one of its owned pools has no price or size",
                    "next_step": "Give it a rate card (sources.onprem) with vCPUs, memory and GPUs.",
                }
            )
        elif not seen.observed.filter(pl.col("cluster") == cluster).height:
            unknown.append(
                {
                    "cluster": cluster,
                    "reason": "not-observed",
                    "why": "it has no sample in the history, which is not the same as being idle",
                    "next_step": "Check its label and its scrape or export.",
                }
            )
        else:
            mix = units(now, seen.workloads, accepted)
            homes.append(_Home(cluster, mix, nodes, admit(mix, nodes)))
    return homes, unknown


def _capacity_rows(home: _Home) -> list[Row]:
    whole = nominal(home.shapes)
    return [
        {
            "cluster": home.cluster,
            "resource": resource,
            "resource_class": name,
            "admissible": home.admitted.amounts.get((resource, name), whole.get((resource, name), 0.0)),
            "nominal": whole.get((resource, name), 0.0),
        }
        for resource, name in sorted({*home.admitted.amounts, *whole})
    ]


def _add_overflow(found: _Found, question: Question, leaving: Leaving, workloads: pl.DataFrame) -> None:
    found.overflow += overflow_rows(question, leaving, workloads)
    found.nodes += node_rows(question, leaving)
    found.waiting += waiting_rows(question, leaving.waiting())
    found.bounds[question.cluster] = leaving.packing.lower_bound_gbp_per_hour


def _frame(rows: list[Row], schema: type[dy.Schema]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=schema.create_empty().schema)
