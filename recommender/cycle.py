"""One evaluation's way through the stages, from usage and prices to advice.

    locate → price here → price everywhere → constraints → guards → choose → cap → advise

A pure function of frames, policy and time: no clock, no network, no disk; the same inputs give the same plan.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

import dataframely as dy
import polars as pl

from exporters.core.frames import Offer
from exporters.store.read import Prices
from recommender.advise.assemble import assemble
from recommender.advise.decision import Decision, Question
from recommender.advise.plan import Plan
from recommender.frames import (
    WORKLOAD_KEY,
    BoughtAhead,
    ClusterCost,
    Flow,
    Gain,
    Hold,
    Latency,
    Move,
    NamespaceQuota,
    NotEnoughData,
    ObservedPool,
    Pool,
    Quota,
    RegionQuota,
    Workload,
)
from recommender.guard.cap import moves_left, within_cap
from recommender.guard.decided import DECISIONS, with_decisions
from recommender.guard.steady import BALANCE, with_balance, with_history, with_saving, worth_rules
from recommender.place.by_cluster import by_cluster
from recommender.place.candidates import at_current, candidates, current_places, places, some_candidates
from recommender.place.capacity import free_in_pools, free_in_quotas, limit_facts, read_by_uses, uses, with_capacity
from recommender.place.choose import choose
from recommender.place.committed import Covered, also_paid_part, cover, not_own_pool, pool_name, with_pool_names
from recommender.place.constraints import BINDING, CONSTRAINTS
from recommender.place.cost import COMMITTED_RATIO, TERMS, priced, with_move
from recommender.place.egress import egress_cost, egress_lines, state_cost
from recommender.place.latency import distances
from recommender.place.located import locate, observed_clusters
from recommender.place.overhead import NodeRoom, node_room, with_per_node
from recommender.place.rule import judge
from recommender.place.shared_quotas import free_in_shared
from recommender.place.shortlist import named_places, shortlist
from recommender.place.unguarded import unguarded
from recommender.settings import Policy

_OF_CHOSEN = {
    "w": (
        *("from_instance_type", "from_capacity_type", "from_zone", "from_offer_zone", "from_source", "from_note"),
        *("from_gbp_per_vcpu_hour", "from_gbp_per_gib_hour", "from_gbp_per_gpu_hour", "from_marginal_gbp_per_hour"),
        *("from_vcpus", "from_memory_gib", "from_gpus", "from_gpu_model", "from_accelerators", "from_nodes_limited"),
        *("owner", "samples", "coverage_ratio", "running_ratio", "last_seen", "latency_class", "pool_capacity_type"),
    ),
    "p": ("to_zone", "to_offer_zone", "to_source", "to_note", "to_tier", "to_nodes_max"),
}
"""What only a chosen pair is asked for, by whose it is: not carried along by millions of pairs."""

_MOST_PAIRS = 300_000
"""Of workloads times places that are all looked at; beyond, only those that a plan can use."""


@dataclass(frozen=True, slots=True)
class _Here:
    """Workloads where they are: with numbers, flows by number, and what each costs now."""

    workloads: pl.DataFrame
    fleet: pl.DataFrame
    flows: pl.DataFrame
    sites: pl.DataFrame
    lines: pl.DataFrame
    distances: pl.DataFrame
    prices: Prices
    covered: Covered | None


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The advice, what every workload would cost in every cluster, and what was evaluated.

    `commitments` are those that had not ended, `covered` what they pay for; None: they were ignored.
    """

    plan: Plan
    costs: dy.DataFrame[ClusterCost]
    workloads: dy.DataFrame[Workload]
    flows: dy.DataFrame[Flow]
    commitments: dy.DataFrame[BoughtAhead] | None = None
    covered: Covered | None = None


@dataclass(frozen=True, slots=True)
class _Limits:
    clusters: dy.DataFrame[Quota]
    regions: dy.DataFrame[RegionQuota]
    namespaces: dy.DataFrame[NamespaceQuota]

    def clusters_limited(self, fleet: pl.DataFrame) -> frozenset[str]:
        """Clusters where a quota limits what comes: their own, of their region, or of a namespace there."""
        regions = self.regions.select(to_provider="provider", to_region="region")
        in_regions = fleet.join(regions, on=["to_provider", "to_region"], how="semi")["to_cluster"]
        return frozenset([*self.clusters["cluster"], *self.namespaces["cluster"], *in_regions])


def evaluate(
    *,
    prices: Prices,
    workloads: dy.DataFrame[Workload],
    flows: dy.DataFrame[Flow],
    pools: dy.DataFrame[Pool],
    policy: Policy,
    at: datetime,
    usage_window: tuple[datetime, datetime],
    quotas: dy.DataFrame[Quota] | None = None,
    region_quotas: dy.DataFrame[RegionQuota] | None = None,
    namespace_quotas: dy.DataFrame[NamespaceQuota] | None = None,
    latency: dy.DataFrame[Latency] | None = None,
    moves: dy.DataFrame[Move] | None = None,
    holds: dy.DataFrame[Hold] | None = None,
    not_enough_data: dy.DataFrame[NotEnoughData] | None = None,
    nodes_seen: dy.DataFrame[ObservedPool] | None = None,
    commitments: dy.DataFrame[BoughtAhead] | None = None,
    min_coverage_ratio: float = 0.8,
    expires_after_hours: float = 168.0,
) -> Evaluation:
    """This will say which workload should run where, what that saves, and what cannot be said.

    Args:
        prices: usable prices at one rate per currency; stale snapshots are named in it, not used.
        workloads: what ran in the window, with policy attributes.
        flows: their data flows.
        pools: the fleet.
        policy: classes, weights, thresholds.
        at: the time of the evaluation (UTC).
        usage_window: first and last moment of the usage (UTC).
        quotas: limits of clusters; None: none.
        region_quotas: limits of regions over all clusters there; None: none.
        namespace_quotas: limits of namespaces in clusters; None: none.
        latency: distances between regions; None: none is known.
        moves: recent moves, from the ledger; None: none.
        holds: decisions that keep advice away, from the ledger; None: none.
        not_enough_data: what observe says cannot be advised; None: a cluster without workloads was not seen.
        nodes_seen: the nodes that were seen; None: the source of usage knows no nodes.
        commitments: what is bought ahead and has not ended; None: it is ignored.
        min_coverage_ratio: share of the window below which a workload's cluster was not observed enough.
        expires_after_hours: life of a recommendation.
    """
    question = Question(
        prices=prices,
        workloads=workloads.sort(WORKLOAD_KEY),
        pools=pools.sort("cluster", "pool", "instance_type"),
        policy=policy,
        at=at,
        usage_window=usage_window,
        expires_after_hours=expires_after_hours,
        min_coverage_ratio=min_coverage_ratio,
        latency=Latency.create_empty() if latency is None else latency,
        unfit=None if not_enough_data is None else not_enough_data.sort(NotEnoughData.primary_key()),
        nodes_seen=None if nodes_seen is None else nodes_seen.sort(ObservedPool.primary_key()),
        commitments=commitments,
    )
    limits = _limits(quotas, region_quotas, namespace_quotas)
    return _answer(question, limits, workloads=workloads, flows=flows, pools=pools, moves=moves, holds=holds)


def _answer(
    question: Question,
    limits: _Limits,
    *,
    workloads: dy.DataFrame[Workload],
    flows: dy.DataFrame[Flow],
    pools: dy.DataFrame[Pool],
    moves: dy.DataFrame[Move] | None,
    holds: dy.DataFrame[Hold] | None,
) -> Evaluation:
    """The question's way through the stages: what each place costs, what is judged and chosen, and what is said."""
    here = _here(question, workloads, flows, pools)
    question = replace(question, prices=here.prices)
    history, held = _remembered(here.covered, moves, holds)
    pairs, nearest = _judged(here, question, limits, history, held)
    plan = assemble(question, _decision(here, pairs, question, limits, history))
    told = pairs if nearest is None else named_places(nearest, here.fleet)
    costs = ClusterCost.cast(with_pool_names(by_cluster(here.workloads, told)))
    return Evaluation(plan, costs, workloads, flows, question.commitments, here.covered)


def _remembered(
    covered: Covered | None, moves: dy.DataFrame[Move] | None, holds: dy.DataFrame[Hold] | None
) -> tuple[dy.DataFrame[Move], dy.DataFrame[Hold]]:
    """What happened and what was decided of a pool holds of the part of it that is paid for, too."""
    past = Move.create_empty() if moves is None else moves
    held = Hold.create_empty() if holds is None else holds
    if covered is None:
        return past, held
    return (
        Move.validate(also_paid_part(past, covered, cluster="from_cluster", pool="from_pool")),
        Hold.validate(also_paid_part(held, covered, cluster="to_cluster", pool="to_pool")),
    )


def _limits(
    clusters: dy.DataFrame[Quota] | None,
    regions: dy.DataFrame[RegionQuota] | None,
    namespaces: dy.DataFrame[NamespaceQuota] | None,
) -> _Limits:
    return _Limits(
        clusters=Quota.create_empty() if clusters is None else clusters,
        regions=RegionQuota.create_empty() if regions is None else regions,
        namespaces=NamespaceQuota.create_empty() if namespaces is None else namespaces,
    )


def _decision(
    here: _Here, pairs: pl.DataFrame, question: Question, limits: _Limits, moves: dy.DataFrame[Move]
) -> Decision:
    moving = _moving(pairs, question, moves)
    for key, frame in (("w", here.workloads), ("p", here.fleet)):
        moving = moving.join(frame.select(key, *_OF_CHOSEN[key]), on=key, how="left", maintain_order="left")
    return Decision(
        workloads=here.workloads,
        fleet=here.fleet,
        pairs=pairs,
        moving=moving,
        lines=here.lines,
        unguarded=unguarded(pairs, moving.filter("within_cap")),
        limits=limit_facts(pairs),
        cluster_quotas=limits.clusters,
        region_quotas=limits.regions,
        covered=here.covered,
    )


def costs_here(question: Question, flows: dy.DataFrame[Flow], pools: dy.DataFrame[Pool]) -> pl.DataFrame:
    """This will say what every workload of a question costs where it is, term by term.

    Returns:
        The workloads, their cluster and pool as `from_…`, with place.cost.TERMS, `gbp_per_hour` (null: no price) and
        `reason` (null: it can be trusted).
    """
    return _here(question, Workload.validate(question.workloads), flows, pools).workloads


def _here(
    question: Question, workloads: dy.DataFrame[Workload], flows: dy.DataFrame[Flow], pools: dy.DataFrame[Pool]
) -> _Here:
    located = locate(
        workloads, pools, question.policy, min_coverage_ratio=question.min_coverage_ratio, unfit=question.unfit
    )
    on_nodes = with_per_node(located, question.nodes_seen)
    room = node_room(on_nodes, question.nodes_seen)
    current = current_places(on_nodes, question.prices.offers, question.policy)
    there = at_current(current, room)
    covered = _covered(question, there, pools)
    prices, fleet = question.prices, places(pools, question.prices.offers, room)
    if covered is not None:
        prices = replace(prices, offers=Offer.cast(pl.concat([prices.offers, covered.offers])))
        fleet = places(Pool.cast(pl.concat([pools, covered.pools])), prices.offers, _room_of_paid(room, covered))
        there = _with_ratio(there, covered)
    known = current.filter(pl.col("from_provider").is_not_null())
    sites = known.select("w", provider="from_provider", region="from_region")
    numbered = (
        known.select("w", *WORKLOAD_KEY[1:], cluster="from_cluster")
        .join(flows, on=WORKLOAD_KEY, how="inner")
        .sort("w", "to", "direction")
        .select("w", "to", "direction", "gib_per_hour")
    )
    regions = fleet.select(provider="to_provider", region="to_region")
    lines = egress_lines(numbered, sites, regions, prices.egress)
    every_region = pl.concat([regions, sites.select("provider", "region")])
    apart = distances(known, numbered, every_region, question.latency)
    costs = judge(priced(there, egress_cost(lines), question.policy, apart), BINDING, into="breaks")
    no_egress = pl.when(pl.col("egress_gbp_per_hour").is_null()).then(pl.lit("no-egress-price"))
    return _Here(
        workloads=costs.with_columns(reason=pl.coalesce("reason", no_egress)),
        fleet=fleet,
        flows=numbered,
        sites=sites,
        lines=lines,
        distances=apart,
        prices=prices,
        covered=covered,
    )


def _covered(question: Question, there: pl.DataFrame, pools: dy.DataFrame[Pool]) -> Covered | None:
    if question.commitments is None:
        return None
    return cover(
        question.commitments,
        there,
        pools,
        question.prices.offers,
        question.nodes_seen,
        at=question.at,
        horizon_hours=question.policy.steady.payback_hours,
    )


def _with_ratio(there: pl.DataFrame, covered: Covered) -> pl.DataFrame:
    joined = there.join(covered.ratios, on="w", how="left", maintain_order="left")
    return joined.with_columns(pl.col("committed_ratio").fill_null(0.0).alias(COMMITTED_RATIO)).drop("committed_ratio")


def _room_of_paid(room: NodeRoom, covered: Covered) -> NodeRoom:
    """Nodes that are paid for give the room that other nodes of their pool told."""
    parts = covered.pools.select("cluster", "instance_type", paid="pool").with_columns(pool=pool_name("paid"))
    told = room.told.join(parts, on=["cluster", "pool", "instance_type"], how="inner").with_columns(pool="paid")
    return replace(room, told=pl.concat([room.told, told.select(room.told.columns)]))


def _judged(
    here: _Here,
    question: Question,
    limits: _Limits,
    moves: dy.DataFrame[Move],
    holds: dy.DataFrame[Hold],
) -> tuple[pl.DataFrame, pl.DataFrame | None]:
    """Every workload that can be advised beside every place: cost, refusals by constraints, refusals by guards.

    Where that is of few places, also what comes nearest in each cluster; see place.shortlist.
    """
    sure = here.workloads.filter(pl.col("reason").is_null() & ~pl.col("is_system"))
    now = sure.select(
        "w",
        *(pl.col(term).alias(f"current_{term}") for term in TERMS),
        current_gbp_per_hour="gbp_per_hour",
        current_full_gbp_per_hour="full_gbp_per_hour",
        current_latency_ms="latency_ms",
        must_move=pl.col("breaks").list.len() > 0,
    )
    bare = sure.select(_workload_columns(sure))
    price = _pricing(here, question, limits, bare)
    few, places_there = bare.drop(_OF_CHOSEN["w"]), here.fleet.drop(_OF_CHOSEN["p"])
    nearest: pl.DataFrame | None = None
    if bare.height * here.fleet.height <= _MOST_PAIRS:
        pairs = candidates(few, places_there)
    else:
        listed = shortlist(bare, here.fleet, price, crowded=limits.clusters_limited(here.fleet))
        pairs = some_candidates(few, places_there, listed.pairs)
        nearest = listed.nearest
    if here.covered is not None and here.covered.pools.height:
        pairs = not_own_pool(pairs)
    limited = price(pairs).join(now, on="w", how="left", maintain_order="left")
    legal = judge(with_history(with_saving(limited), moves, at=question.at), CONSTRAINTS, into="refused")
    return _guarded(with_decisions(legal, holds), question), nearest


def _pricing(
    here: _Here, question: Question, limits: _Limits, bare: pl.DataFrame
) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """What adds to pairs their cost, and the room that is left for them."""
    policy = question.policy
    regions = here.fleet.select(provider="to_provider", region="to_region")
    moving_state = bare.filter(pl.col("state_gib") > 0).select("w", "state_gib")
    state = state_cost(moving_state, here.flows, here.sites, regions, question.prices.egress)
    egress = egress_cost(here.lines)
    # What is on every node is taken from what nodes leave: it needs no nodes of its own.
    nodes_needed = pl.when(~pl.col("per_node")).then("nodes_needed").otherwise(0.0)
    running = here.workloads.with_columns(nodes_needed=nodes_needed)
    in_pools = free_in_pools(here.fleet, running.filter(~pl.col("per_node")))
    in_quotas = free_in_quotas(limits.clusters, running)
    shared = free_in_shared(limits.regions, limits.namespaces, running)
    observed = observed_clusters(
        question.workloads,
        question.pools,
        not_seen=question.clusters_not_seen,
        min_coverage_ratio=question.min_coverage_ratio,
    )

    def price(pairs: pl.DataFrame) -> pl.DataFrame:
        costs = with_move(priced(pairs, egress, policy, here.distances), state, policy)
        return with_capacity(costs, in_pools, in_quotas, observed, shared)

    return price


def _guarded(legal: pl.DataFrame, question: Question) -> pl.DataFrame:
    rules = (*DECISIONS, *worth_rules(question.policy.steady))
    worth = judge(legal, rules, into="held")
    allowed = pl.col("refused").list.len() == 0
    possible = allowed & (pl.col("held").list.len() == 0) & ~pl.col("must_move")
    return judge(with_balance(worth, possible=possible), (*rules, BALANCE), into="held")


def _moving(pairs: pl.DataFrame, question: Question, moves: dy.DataFrame[Move]) -> pl.DataFrame:
    """The chosen pairs with `within_cap`."""
    allowed = pl.col("refused").list.len() == 0
    worth = pl.col("must_move") | (pl.col("held").list.len() == 0)
    gain = (pl.col("current_gbp_per_hour") - pl.col("ranking_gbp_per_hour")).alias("gain_gbp_per_hour")
    is_open = (allowed & worth & pl.col("decided").is_null()).alias("open")
    open_pairs = pairs.select("w", "p", "must_move", gain, is_open, *read_by_uses()).filter("open")
    gains = Gain.validate(open_pairs.select("w", "p", "must_move", "gain_gbp_per_hour"))
    given = choose(gains, uses(open_pairs)).assignment
    chosen = given.join(pairs, on=["w", "p"], how="left", maintain_order="left")
    left = moves_left(moves, at=question.at, max_moves_per_week=question.policy.steady.max_moves_per_week)
    return within_cap(chosen, left=left)


def _workload_columns(sure: pl.DataFrame) -> list[str]:
    """The workload's own columns and those of the place it is at; not what was worked out for that place."""
    worked_out = {"full_compute_gbp_per_hour", "gbp_per_hour", "full_gbp_per_hour", "interruptions_per_hour", *TERMS}
    worked_out |= {"breaks", "replicas_per_node", "nodes_needed", "latency_ms", "latency_to"}
    worked_out |= {"vcpu_usage_p95", "memory_gib_usage_peak", "gpu_usage_ratio_mean", "pool_nodes_max"}
    return [name for name in sure.columns if name not in worked_out and not name.startswith("to_")]
