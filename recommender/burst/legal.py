"""Where each workload may go by the hard constraints of place, and what it costs there beside nodes.

The constraints are place's own. Three of them are judged by the packing itself, replica by replica and for all that
leaves at once: capacity, gang and quota.
"""

from __future__ import annotations

from dataclasses import dataclass

import dataframely as dy
import polars as pl

from exporters.store.read import Prices
from recommender.frames import WORKLOAD_KEY, Flow, Pool, Quota, Workload
from recommender.place.candidates import at_current, candidates, current_places, places
from recommender.place.capacity import free_in_pools, free_in_quotas, with_capacity
from recommender.place.constraints import CONSTRAINTS
from recommender.place.cost import priced, with_move
from recommender.place.egress import egress_cost, egress_lines, state_cost
from recommender.place.located import locate, observed_clusters
from recommender.place.rule import judge
from recommender.settings import Policy

PACKED = ("capacity", "gang", "quota")
RULES = tuple(rule for rule in CONSTRAINTS if rule.id not in PACKED)


@dataclass(frozen=True, slots=True)
class Places:
    """The fleet and who may go where.

    Args:
        fleet: from place.candidates.places.
        pairs: workloads that are not system pods beside every place but their own pool, with costs and `refused`.
        free_nodes: to_cluster, to_pool, free_nodes of pools with a limit.
        quotas: to_cluster, quota_vcpus, quota_gpus, quota_nodes left.
    """

    fleet: pl.DataFrame
    pairs: pl.DataFrame
    free_nodes: pl.DataFrame
    quotas: pl.DataFrame


def legal_places(
    *,
    prices: Prices,
    workloads: dy.DataFrame[Workload],
    flows: dy.DataFrame[Flow],
    pools: dy.DataFrame[Pool],
    quotas: dy.DataFrame[Quota],
    policy: Policy,
    min_coverage_ratio: float,
) -> Places:
    """This will judge and price every workload beside every place.

    Workloads that place cannot price where they are have no pair and stay where they are.
    """
    located = locate(workloads, pools, policy, min_coverage_ratio=min_coverage_ratio)
    current = current_places(located, prices.offers, policy)
    fleet = places(pools, prices.offers)
    sure = current.filter(pl.col("reason").is_null() & ~pl.col("is_system"))
    sites = current.filter(pl.col("from_provider").is_not_null()).select(
        "w", provider="from_provider", region="from_region"
    )
    numbered = current.select("w", *WORKLOAD_KEY[1:], cluster="from_cluster").join(flows, on=WORKLOAD_KEY, how="inner")
    lines_of = numbered.sort("w", "to", "direction").select("w", "to", "direction", "gib_per_hour")
    regions = fleet.select(provider="to_provider", region="to_region").unique().sort("provider", "region")
    egress = egress_cost(egress_lines(lines_of, sites, regions, prices.egress))
    moving = sure.filter(pl.col("state_gib") > 0).select("w", "state_gib")
    state = state_cost(moving, lines_of, sites, regions, prices.egress)
    costs = with_move(priced(candidates(sure, fleet), egress, policy), state, policy)
    running = at_current(current)
    in_pools, in_quotas = free_in_pools(fleet, running), free_in_quotas(quotas, running)
    observed = observed_clusters(workloads, pools, not_seen=None, min_coverage_ratio=min_coverage_ratio)
    pairs = judge(with_capacity(costs, in_pools, in_quotas, observed), RULES, into="refused")
    return Places(fleet, pairs, in_pools.select("to_cluster", "to_pool", "free_nodes"), in_quotas)
