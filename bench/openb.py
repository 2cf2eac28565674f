"""How near to the best the packing solver comes on the track openb-34d, judged by an evaluator of its own.

Usage: python bench/openb.py DATA [--snapshots N] [--policies home_od,eu3_spot] [--no-egress]

DATA holds benchmark/ and usage/. Exit code 1: a plan is invalid, or dearer than the target allows (1 % above the
certified bound in total for a policy, 2 % on a snapshot, the bound being the better of the track's and the solver's).
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import openb_track as track_of
from openb_track import GBP_PER_USD, POLICIES, Track
from packing_evaluator import Verdict, evaluate

from recommender.place.packing.problem import Packing
from recommender.place.packing.solve import pack

TOTAL_TARGET = 0.01
SNAPSHOT_TARGET = 0.02
CLAIM_TARGET = 0.005


@dataclass(frozen=True, slots=True)
class Result:
    """One snapshot under one policy, £/h."""

    snapshot: str
    cost: float
    evaluated: float
    own_bound: float
    track_bound: float
    track_best: float
    greedy: float
    default: float
    seconds: float
    verdict: Verdict

    @property
    def bound(self) -> float:
        """The better of the two certified bounds."""
        return max(self.own_bound, self.track_bound)


def judged(track: Track, policy: str, day: int) -> Result:
    """This will solve one snapshot and have the plan judged."""
    needs = track_of.snapshot(track, day)
    offers = track_of.node_offers(track.catalogue, POLICIES[policy])
    started = time.perf_counter()
    plan = pack(track_of.solver_pods(needs, offers), offers)
    seconds = time.perf_counter() - started
    verdict = evaluate(
        nodes_of(plan),
        pods=needs,
        catalogue=track.catalogue,
        rules=track_of.rules(track, POLICIES[policy]),
        gbp_per_usd=GBP_PER_USD,
    )
    name = f"default-d{day:02d}"
    known = track.bounds[name, policy]
    return Result(
        snapshot=name,
        cost=plan.cost_gbp_per_hour,
        evaluated=verdict.gbp_per_hour,
        own_bound=plan.lower_bound_gbp_per_hour,
        track_bound=known["lower_bound_gbp_per_hour"],
        track_best=known["best_plan_gbp_per_hour"],
        greedy=known["greedy_gbp_per_hour"],
        default=known["b1_gbp_per_hour"],
        seconds=seconds,
        verdict=verdict,
    )


def nodes_of(plan: Packing) -> list[tuple[str, tuple[str, ...]]]:
    """This will list a plan's nodes one by one."""
    return [(group.offer, contents) for group in plan.nodes for contents in group.packing]


def report(policy: str, results: list[Result]) -> bool:
    """This will print a policy's line and tell whether it meets the targets."""
    cost = sum(one.evaluated for one in results)
    ratio = cost / sum(one.bound for one in results) - 1
    worst = max(results, key=lambda one: one.evaluated / one.bound)
    worst_ratio = worst.evaluated / worst.bound - 1
    own = sum(one.cost for one in results) / sum(one.own_bound for one in results) - 1
    worst_own = max(one.cost / one.own_bound - 1 for one in results)
    claim = max(abs(one.cost / one.evaluated - 1) for one in results)
    faults = sum(one.verdict.faults for one in results)
    seconds = sorted(one.seconds for one in results)
    print(
        f"{policy:10} £{cost:9.2f}/h  bound {sum(one.bound for one in results):9.2f}  +{ratio:.3%}"
        f"  worst +{worst_ratio:.3%} ({worst.snapshot})  proven by itself +{own:.3%}, worst +{worst_own:.3%}"
        f"  best known {cost / sum(one.track_best for one in results) - 1:+.3%}"
        f"  greedy {cost / sum(one.greedy for one in results) - 1:+.2%}"
        f"  default scheduler {cost / sum(one.default for one in results) - 1:+.1%}"
        f"  claimed/evaluated within {claim:.4%}  faults {faults}"
        f"  {seconds[len(seconds) // 2]:.1f} s a snapshot, at most {seconds[-1]:.1f} s",
        flush=True,
    )
    for one in results:
        if one.verdict.faults:
            print(f"  {one.snapshot}: {one.verdict}")
    met = ratio <= TOTAL_TARGET and worst_ratio <= SNAPSHOT_TARGET and claim <= CLAIM_TARGET
    return met and not faults


def main() -> int:
    """This will run the policies asked for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--snapshots", type=int, default=34)
    parser.add_argument("--policies", default=",".join(POLICIES))
    asked = parser.parse_args()
    track = track_of.load(asked.data)
    good = True
    for policy in asked.policies.split(","):
        good &= report(policy, [judged(track, policy, day) for day in range(1, asked.snapshots + 1)])
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
