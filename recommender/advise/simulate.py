"""The moves of a plan tried on nodes: what the pool it goes to cannot hold, node by node, is not advised.

Sums of free room say too much: two nodes with half a node free each hold no pod that needs a whole one. Everything
that runs in a pool with a limit now stays there in the trial, because moves are carried out in any order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from recommender.advise.decision import Decision
from recommender.advise.first_fit import without_node
from recommender.advise.machines import Packer, Place, PoolMachines, pods_by_pool
from recommender.advise.node_quotas import over_quota
from recommender.advise.pods import Replicas
from recommender.advise.refusals import SIMULATION
from recommender.place.constraints import quota


def simulated(decision: Decision, packer: Packer) -> Decision:
    """This will take the moves out of a decision that do not find a node, or that take nodes over a quota.

    Their pairs are held by `simulation`, or by `quota` and `simulation`.

    Args:
        decision: what was worked out.
        packer: of its pools.
    """
    failed = _failed(decision, packer.pools)
    moving = decision.moving.filter("within_cap", ~pl.col("w").is_in(failed))
    over = over_quota(decision, packer, moving)
    if not failed and not over:
        return decision
    failing = pl.DataFrame(
        [*((w, [SIMULATION]) for w in failed), *((w, [quota.RULE.id, SIMULATION]) for w in sorted(over))],
        schema={"w": decision.moving.schema["w"], "__held": pl.List(pl.String)},
        orient="row",
    )
    gone = decision.moving.filter("within_cap").select("w", "p").join(failing, on="w")
    pairs = (
        decision.pairs.join(gone, on=["w", "p"], how="left", maintain_order="left")
        .with_columns(held=pl.coalesce("__held", "held"))
        .drop("__held")
    )
    return replace(decision, moving=decision.moving.join(gone, on=["w", "p"], how="anti"), pairs=pairs, withheld=over)


def _failed(decision: Decision, pools: Mapping[Place, PoolMachines]) -> list[int]:
    order = [pl.col("must_move"), pl.col("saving_gbp_per_hour"), -pl.col("w").cast(pl.Int64)]
    movers = decision.moving.filter("within_cap").sort(order, descending=True)
    arriving = pods_by_pool(movers, pools, running=False)
    limited = {place: pods for place, pods in sorted(arriving.items()) if pools[place].nodes_max is not None}
    if not limited:
        return []
    running = _running(decision.workloads, pools, limited)
    return sorted(
        one.w
        for place, pods in limited.items()
        for one in pods[_most_that_fit(running.get(place, []), pods, pools[place]) :]
    )


def _running(
    workloads: pl.DataFrame, pools: Mapping[Place, PoolMachines], limited: Mapping[Place, list[Replicas]]
) -> dict[Place, list[Replicas]]:
    """What runs in the limited pools; a workload whose pool is not known counts against each of its cluster."""
    found = defaultdict(list, pods_by_pool(workloads, pools, running=True))
    lost = workloads.filter(pl.col("to_pool") == "")
    for cluster, pool in limited:
        there = lost.filter(pl.col("to_cluster") == cluster).with_columns(to_pool=pl.lit(pool))
        found[cluster, pool] += pods_by_pool(there, pools, running=True).get((cluster, pool), [])
    return found


def _most_that_fit(running: list[Replicas], arriving: list[Replicas], pool: PoolMachines) -> int:
    """How many of the arriving workloads, the first ones first, find nodes without pushing out what finds one now."""
    machines = list(pool.machines)
    before = without_node(running, machines, pool.nodes_max)

    def fit(number: int) -> bool:
        return without_node([*running, *arriving[:number]], machines, pool.nodes_max) <= before

    if fit(len(arriving)):
        return len(arriving)
    least, most = 0, len(arriving)
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (middle, most) if fit(middle) else (least, middle)
    return least
