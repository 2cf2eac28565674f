"""Is what overflows a full GPU pool chosen well? Against certified bounds and against first come, first served.

Usage: python bench/burst.py DATA

DATA holds benchmark/ and usage/. The track of benchmark/SOURCE.md: hours of real pods against an owned pool of 5 nodes
of 8 GPUs, 96 vCPU and 384 GiB (allocatable as in openb_track.py); what does not fit goes to home on-demand nodes.
Every pod may leave, at no cost beside nodes. A second run holds all pods that are not best effort for critical. Exit
code 1: dearer than 5 % above the bounds together, or a pod waits.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path

import openb_track as track_of
import polars as pl
from openb_track import GBP_PER_USD, HOME, Track
from packing_evaluator import Need

from recommender.burst.admissible import Shape
from recommender.burst.legal import Places
from recommender.burst.overflow import Leaving, Question, choose_overflow
from recommender.burst.units import Unit
from recommender.settings import BurstSettings, Policy, Weights

ABOVE_BOUND_AT_MOST = 0.05
OWNED = Shape("metal", "owned", nodes=5, vcpus=96 - 0.2, memory_gib=384 * 0.92, gpus=8.0)
FREE_TO_LEAVE = Policy(weights=Weights(interruption_gbp=0.0))


@dataclass(frozen=True, slots=True)
class Hour:
    """One hour, £/h."""

    second: int
    cost: float
    bound: float
    first_come: float
    waiting: int
    seconds: float


def needs_at(track: Track, second: int) -> dict[str, Need]:
    """This will return the pods that run at a moment of the trace and fit some home node, in order of arrival."""
    running = track.pods.filter(pl.col("creation_time") <= second, pl.col("deletion_time") > second)
    return {
        row["name"]: Need(row["cpu_milli"], row["memory_mib"], row["num_gpu"], row["qos"])
        for row in running.sort("creation_time").iter_rows(named=True)
    }


def units_of(needs: dict[str, Need], *, critical: bool) -> list[Unit]:
    """This will return each pod as a workload of one replica."""
    return [
        Unit(
            workload=("home", "openb", "Job", name),
            number=0,
            replicas=1,
            vcpus=need.cpu_milli / 1000,
            memory_gib=need.memory_mib / 1024,
            gpus=float(need.gpus),
            gpu_class="any" if need.gpus else "",
            is_critical=critical and need.qos != "BE",
        )
        for name, need in needs.items()
    ]


def places_of(track: Track, units: list[Unit]) -> Places:
    """This will return the home on-demand machines as places that every pod may go to."""
    rows = [
        {
            "to_cluster": "cloud",
            "to_pool": "on-demand",
            "to_instance_type": name,
            "to_capacity_type": "on-demand",
            "to_nodes_limited": False,
            "to_vcpus": machine.vcpus,
            "to_memory_gib": machine.memory_gib,
            "to_gpus": float(machine.gpus),
            "to_gpu_model": "any",
            "to_allocatable_vcpus": machine.vcpus - 0.2,
            "to_allocatable_memory_gib": machine.memory_gib * 0.92,
            "to_gbp_per_vcpu_hour": machine.usd_per_hour * GBP_PER_USD / machine.vcpus,
            "to_gbp_per_gib_hour": 0.0,
            "to_gbp_per_gpu_hour": 0.0,
        }
        for name, machine in track.catalogue.items()
        if (machine.provider, machine.region, machine.market) == (*HOME, "od")
    ]
    fleet = pl.DataFrame(rows)
    terms = ("egress_gbp_per_hour", "interruption_gbp_per_hour", "lost_work_gbp_per_hour", "latency_gbp_per_hour")
    who = pl.DataFrame(
        [one.workload for one in units],
        schema=["from_cluster", "namespace", "workload_kind", "workload"],
        orient="row",
    )
    pairs = who.join(fleet.select("to_cluster", "to_pool", "to_instance_type"), how="cross").with_columns(
        *(pl.lit(0.0).alias(name) for name in (*terms, "one_off_gbp")), refused=pl.lit([], dtype=pl.List(pl.String))
    )
    none = pl.DataFrame(schema={"to_cluster": pl.String, "to_pool": pl.String, "free_nodes": pl.Float64})
    quotas = pl.DataFrame(schema={"to_cluster": pl.String})
    return Places(fleet, pairs, none, quotas)


def check_fits(found: Leaving) -> None:
    """This will add up every node again, in the trace's own units, and stop at one that holds too much."""
    shapes = {f"home/{OWNED.pool}": (OWNED.vcpus, OWNED.memory_gib, OWNED.gpus)} | {
        key: (row["to_allocatable_vcpus"], row["to_allocatable_memory_gib"], row["to_gpus"])
        for key, row in found.away.items()
    }
    held: dict[tuple[str, int], list[Unit]] = {}
    for pod, offer, number in found.packing.assignment:
        held.setdefault((offer, number), []).append(found.units[pod])
    for (offer, _), units in held.items():
        sums = (sum(u.vcpus for u in units), sum(u.memory_gib for u in units), sum(u.gpus for u in units))
        assert all(need <= give + 1e-6 for need, give in zip(sums, shapes[offer], strict=True)), (offer, sums)
    assert sum(offer.startswith("home/") for offer, _ in held) <= OWNED.nodes


def hour(track: Track, row: dict[str, float], *, critical: bool) -> Hour:
    """This will choose the overflow of one hour."""
    second = int(row["trace_second"])
    mix = units_of(needs_at(track, second), critical=critical)
    started = time.perf_counter()
    found = choose_overflow(Question("home", mix, (), (OWNED,), places_of(track, mix), FREE_TO_LEAVE, BurstSettings()))
    seconds = time.perf_counter() - started
    check_fits(found)
    price = {key: machine.usd_per_hour * GBP_PER_USD for key, machine in track.catalogue.items()}
    nodes = {(offer, number) for _, offer, number in found.packing.assignment if not offer.startswith("home/")}
    cost = sum(price[found.away[offer]["to_instance_type"]] for offer, _ in nodes)
    bound, first_come = row["lower_bound_gbp_per_hour"], row["fifo_gbp_per_hour"]
    return Hour(second, cost, bound, first_come, len(found.packing.unplaced), seconds)


def main() -> int:
    """This will run both cases over every hour given."""
    data = Path(sys.argv[1])
    track = track_of.load(data)
    hours = pl.read_csv(data / "benchmark/burst_bounds.csv").to_dicts()
    good = True
    for critical in (False, True):
        print("all but best effort critical" if critical else "every pod may leave")
        found = [hour(track, row, critical=critical) for row in hours]
        for one in found:
            if one.bound > 0 or one.cost > 0:
                print(
                    f"  {one.second}: £{one.cost:.3f}, bound £{one.bound:.3f}, first come £{one.first_come:.3f},"
                    f" {one.seconds:.1f} s"
                )
        cost, bound = sum(one.cost for one in found), sum(one.bound for one in found)
        waiting = sum(one.waiting for one in found)
        print(
            f"  {len(found)} hours: £{cost:.2f}, {cost / bound - 1:+.1%} of the bound £{bound:.2f}; first come "
            f"£{sum(one.first_come for one in found):.2f}; {waiting} wait; {sum(one.seconds for one in found):.0f} s"
        )
        good &= waiting == 0 and (critical or cost <= bound * (1 + ABOVE_BOUND_AT_MOST))
    print("ok" if good else "MISSED")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
