"""Where each workload may go by the hard constraints of place, and what it costs there beside nodes.

The constraints are place's own. Three of them are judged by the packing itself, replica by replica and for all that
leaves at once: capacity, gang and quota. A place that somebody dismissed for a cluster is refused like any other.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

import dataframely as dy
import polars as pl

from exporters.store.read import Prices
from recommender.frames import WORKLOAD_KEY, Flow, Latency, NamespaceQuota, Pool, Quota, RegionQuota, Workload
from recommender.place.candidates import at_current, candidates, current_places, places
from recommender.place.capacity import free_in_pools, free_in_quotas, with_capacity
from recommender.place.constraints import CONSTRAINTS
from recommender.place.cost import priced, with_move
from recommender.place.egress import egress_cost, egress_lines, state_cost
from recommender.place.latency import distances
from recommender.place.located import locate, observed_clusters
from recommender.place.rule import judge
from recommender.place.shared_quotas import SharedQuotas, free_in_shared, no_shared_quotas
from recommender.settings import Policy

PACKED = ("capacity", "gang", "quota")
RULES = tuple(rule for rule in CONSTRAINTS if rule.id not in PACKED)
DISMISSED = "dismissed"
Destination = tuple[str, str, str]
"""The cluster that is short, and the cluster and pool that it would burst to."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What holds for several clusters or parts of one.

    Args:
        quotas: of clusters.
        regions: of regions over all clusters there.
        namespaces: of namespaces in clusters.
    """

    quotas: dy.DataFrame[Quota]
    regions: dy.DataFrame[RegionQuota]
    namespaces: dy.DataFrame[NamespaceQuota]


@dataclass(frozen=True, slots=True)
class Places:
    """The fleet and who may go where.

    Args:
        fleet: from place.candidates.places.
        pairs: workloads that are not system pods beside every place but their own pool, with costs and `refused`.
        free_nodes: to_cluster, to_pool, free_nodes of pools with a limit.
        quotas: to_cluster, quota_vcpus, quota_gpus, quota_nodes left.
        shared: what regions' and namespaces' quotas have left.
    """

    fleet: pl.DataFrame
    pairs: pl.DataFrame
    free_nodes: pl.DataFrame
    quotas: pl.DataFrame
    shared: SharedQuotas = field(default_factory=no_shared_quotas)


def legal_places(
    *,
    prices: Prices,
    workloads: dy.DataFrame[Workload],
    flows: dy.DataFrame[Flow],
    pools: dy.DataFrame[Pool],
    limits: Limits,
    latency: dy.DataFrame[Latency],
    policy: Policy,
    min_coverage_ratio: float,
    dismissed: Collection[Destination] = (),
) -> Places:
    """This will judge and price every workload beside every place.

    Workloads that place cannot price where they are have no pair and stay where they are.

    Args:
        prices: usable prices.
        workloads: with attributes.
        flows: their data flows.
        pools: the fleet.
        limits: quotas.
        latency: distances between regions; under a latency limit, one that is not in it is refused.
        policy: classes and weights.
        min_coverage_ratio: see place.located.
        dismissed: where somebody decided that a cluster does not burst to.
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
    every_region = pl.concat([regions, sites.select("provider", "region")])
    apart = distances(current, lines_of, every_region, latency)
    moving = sure.filter(pl.col("state_gib") > 0).select("w", "state_gib")
    state = state_cost(moving, lines_of, sites, regions, prices.egress)
    costs = with_move(priced(candidates(sure, fleet), egress, policy, apart), state, policy)
    running = at_current(current)
    in_pools, in_quotas = free_in_pools(fleet, running), free_in_quotas(limits.quotas, running)
    shared = free_in_shared(limits.regions, limits.namespaces, running)
    observed = observed_clusters(workloads, pools, not_seen=None, min_coverage_ratio=min_coverage_ratio)
    judged = judge(with_capacity(costs, in_pools, in_quotas, observed, shared), RULES, into="refused")
    pairs = _without(judged, dismissed)
    return Places(fleet, pairs, in_pools.select("to_cluster", "to_pool", "free_nodes"), in_quotas, shared)


def _without(judged: pl.DataFrame, dismissed: Collection[Destination]) -> pl.DataFrame:
    """Adds the word to the refusals of what was dismissed."""
    columns = ("from_cluster", "to_cluster", "to_pool")
    rows = pl.DataFrame(sorted(set(dismissed)), schema=dict.fromkeys(columns, pl.String), orient="row")
    is_out = pl.col("is_out").fill_null(value=False)
    more = pl.when(is_out).then(pl.lit([DISMISSED])).otherwise(pl.lit([], pl.List(pl.String)))
    return (
        judged.join(rows.with_columns(is_out=pl.lit(value=True)), on=columns, how="left", maintain_order="left")
        .with_columns(refused=pl.col("refused").list.concat(more))
        .drop("is_out")
    )
