"""How long it takes to place 100,000 workloads on 300 pools, five of them owned, and how near to the best it comes.

Usage: python bench/scale.py [--workloads 10000 100000] [--pools 300]

Each size runs in a process of its own, so that its peak of memory is its own, once as far as the choice (where
everything runs and what it costs, every workload beside every pool priced and judged, the choice with its bound), once
from frames to the finished plan: guards, refusals, explanations, packed nodes. Growth is of processor time, as what
else a machine does adds to the other. Exit code 1: a limit is missed.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from datetime import timedelta

import polars as pl
import scale_world as world

from exporters.core.frames import FxRate
from exporters.core.words import Origin
from exporters.store.read import Prices
from exporters.store.snapshot import Manifest
from recommender.cycle import evaluate
from recommender.frames import WORKLOAD_KEY, Gain, Latency, NotEnoughData, Quota
from recommender.place.candidates import at_current, current_places, places
from recommender.place.capacity import free_in_pools, free_in_quotas, uses, with_capacity
from recommender.place.choose import Chosen, choose
from recommender.place.cost import priced, with_move
from recommender.place.egress import egress_cost, egress_lines, state_cost
from recommender.place.latency import distances
from recommender.place.located import locate, observed_clusters
from recommender.place.shortlist import shortlist

GAP_TARGET = 0.01
SECONDS_TARGET = 20.0
GIB_TARGET = 2e9 / 2**30
ROOM = ("vcpu_request_peak", "memory_gib_request_peak", "gpu_request_peak", "nodes_needed", "namespace", "to_cluster",
        "to_pool", "to_provider", "to_region", "needs_quota_vcpus", "needs_quota_gpus")  # fmt: skip


def measured(workloads: int, pools: int) -> dict[str, float]:
    """This will place one fleet and say how long that took and how good the plan is."""
    fleet_pools, offers = world.fleet(pools, workloads=workloads)
    usage, flows = world.usage(workloads, fleet_pools, seed=1)
    rates = world.rates()
    started, busy = time.perf_counter(), time.process_time()
    located = locate(usage, fleet_pools, world.POLICY, min_coverage_ratio=0.8)
    current = current_places(located, offers, world.POLICY)
    fleet = places(fleet_pools, offers)
    sites = current.select("w", provider="from_provider", region="from_region")
    regions = fleet.select(provider="to_provider", region="to_region").unique()
    named = current.select("w", *WORKLOAD_KEY[1:], cluster="from_cluster")
    numbered = named.join(flows, on=WORKLOAD_KEY).sort("w").select("w", "to", "direction", "gib_per_hour")
    egress = egress_cost(egress_lines(numbered, sites, regions, rates))
    apart = distances(current, numbered, regions, Latency.create_empty())
    running = priced(at_current(current), egress, world.POLICY, apart)
    sure = running.filter(pl.col("reason").is_null() & ~pl.col("is_system") & pl.col("gbp_per_hour").is_not_null())
    state = state_cost(sure.filter(pl.col("state_gib") > 0).select("w", "state_gib"), numbered, sites, regions, rates)
    in_pools, in_quotas = free_in_pools(fleet, running), free_in_quotas(Quota.create_empty(), running)
    observed = observed_clusters(usage, fleet_pools, not_seen=set(), min_coverage_ratio=0.8)

    def price(pairs: pl.DataFrame) -> pl.DataFrame:
        costs = with_move(priced(pairs, egress, world.POLICY, apart), state, world.POLICY)
        return with_capacity(costs, in_pools, in_quotas, observed)

    wanted = sure.select(current.columns).filter(pl.col("reason").is_null())
    free = (
        *(f"free_{one}" for one in ("vcpus", "memory_gib", "gpus")),
        *(f"quota_{one}" for one in ("vcpus", "gpus", "nodes")),
    )
    wide = ("region_vcpus", "region_gpus", "namespace_vcpus", "namespace_memory_gib", "namespace_gpus")
    pairs = shortlist(wanted, fleet, price, and_columns=("gbp_per_hour", *ROOM, *free, *wide)).pairs
    listed = time.perf_counter()
    legal = pairs.filter(~pl.col("refused")).join(sure.select("w", now="gbp_per_hour"), on="w")
    gains = legal.select(
        "w", "p", gain_gbp_per_hour=pl.col("now") - pl.col("gbp_per_hour"), must_move=pl.lit(value=False)
    )
    chosen = choose(Gain.validate(gains), uses(legal))
    ended = time.perf_counter()
    return {
        "workloads": sure.height,
        "pairs": sure.height * fleet.height,
        "listed": legal.height,
        "seconds": ended - started,
        "processor_seconds": time.process_time() - busy,
        "choosing_seconds": ended - listed,
        "peak_gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        **_money(chosen, gains, float(sure["gbp_per_hour"].sum())),
    }


def evaluated(workloads: int, pools: int) -> dict[str, float]:
    """This will evaluate one fleet from frames to plan and say how long that took."""
    fleet_pools, offers = world.fleet(pools, workloads=workloads)
    usage, flows = world.usage(workloads, fleet_pools, seed=1)
    manifest = Manifest(source="bench", taken_at=world.NOW, origin=Origin.LIVE, max_age_hours=24.0)
    prices = Prices(offers=offers, egress=world.rates(), fx=FxRate.create_empty(), used=(manifest,), stale=())
    started, busy = time.perf_counter(), time.process_time()
    plan = evaluate(
        prices=prices,
        workloads=usage,
        flows=flows,
        pools=fleet_pools,
        policy=world.POLICY,
        at=world.NOW,
        usage_window=(world.NOW - timedelta(days=7), world.NOW),
        not_enough_data=NotEnoughData.create_empty(),
    ).plan
    return {
        "workloads": plan.summary.workloads,
        "seconds": time.perf_counter() - started,
        "processor_seconds": time.process_time() - busy,
        "peak_gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        "gap_ratio": plan.summary.gap_ratio or 0.0,
        "recommendations": len(plan.recommendations),
        "refusals_told": len(plan.refused),
        "packed_nodes": 0 if plan.machines is None else plan.machines.planned_nodes,
    }


def _money(chosen: Chosen, gains: pl.DataFrame, current: float) -> dict[str, float]:
    gained = chosen.assignment.join(gains, on=["w", "p"], how="left")["gain_gbp_per_hour"].sum()
    plan, bound = current - float(gained), current - chosen.gain_bound_gbp_per_hour
    return {
        "current_gbp_per_hour": current,
        "plan_gbp_per_hour": plan,
        "bound_gbp_per_hour": bound,
        "gap_ratio": plan / bound - 1.0,
        "scarce_limits": chosen.prices.height,
    }


def _good(results: list[dict[str, float]]) -> bool:
    """Whether one way of measuring keeps the limits; the growth is printed."""
    least, most = results[0], results[-1]
    growth = (most["processor_seconds"] / least["processor_seconds"]) / (most["workloads"] / least["workloads"])
    print(f"growth: {growth:.2f} of linear")
    return (
        all(one["gap_ratio"] <= GAP_TARGET for one in results)
        and most["seconds"] <= SECONDS_TARGET
        and most["peak_gib"] <= GIB_TARGET
        and growth <= 1.0
    )


def main() -> int:
    """This will measure each size both ways and compare with the limits."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workloads", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--pools", type=int, default=300)
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--whole", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps((evaluated if asked.whole else measured)(asked.one, asked.pools)))
        return 0
    good = []
    for how in ((), ("--whole",)):
        results = []
        for count in sorted(asked.workloads):
            command = [sys.executable, __file__, "--one", str(count), "--pools", str(asked.pools), *how]
            results.append(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
            print("from frames to plan" if how else "to the choice", json.dumps(results[-1], indent=1))
        good.append(_good(results))
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
