"""What is bought ahead becomes the cheapest part of on-demand pools: nodes that run are paid for, more cost nothing.

    commitments, workloads where they are, pools → share of each workload that is paid for, places that are free

A bill applies a commitment to whatever runs, so no workload moves onto it. Of a group's workloads those that stay in
any case are taken to be paid for: what is bound to its nodes, then what runs longest. The last one may be paid for in
part; leaving saves it only the rest, which is never more than what the bill falls by, because a bill falls first by
what is not paid for. More nodes that a commitment would pay for stand as a pool of their own beside the pool they
belong to; `pool_of` gives the name back that the cluster knows.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import dataframely as dy
import polars as pl

from exporters.core.frames import OFFER_KEY, Offer
from exporters.core.words import CapacityType, OperatingSystem
from recommender.frames import WORKLOAD_KEY, BoughtAhead, ClusterCost, Pool
from recommender.place.commitment_use import Allotment, Bought, NodeGroup, allot, gbp_per_node
from recommender.place.offered import PLACE, offered

_ON_DEMAND = CapacityType.ON_DEMAND.value
_TERMS = (CapacityType.COMMITTED_1Y.value, CapacityType.COMMITTED_3Y.value)
_PAID_PART = re.compile(r" \(committed [^()]+\)$")
_GROUP = ["cluster", "pool", "instance_type"]
_AMOUNTS = ("instances", "vcpus", "memory_gib", "gpus", "money_gbp")
_PRICES = ("gbp_per_hour", "gbp_per_vcpu_hour", "gbp_per_gib_hour", "gbp_per_gpu_hour", "gbp_per_accelerator_hour")
_NATIVE = ("price_per_hour", "price_per_vcpu_hour", "price_per_gib_hour", "price_per_gpu_hour")
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Covered:
    """What commitments do in one evaluation.

    Args:
        bought: all that have not ended.
        running: w, WORKLOAD_KEY, `at_pool` and `at_type` of workloads on such nodes.
        groups: nodes that they could pay for.
        allotments: which they do pay for, and how many more they would.
        ratios: w, committed_ratio: share of a workload's nodes that is paid for; others have none.
        pools: nodes that could be started for nothing (rows of Pool).
        offers: what such nodes cost in full (rows of Offer), where no source has a price.
    """

    bought: pl.DataFrame
    running: pl.DataFrame
    groups: tuple[NodeGroup, ...]
    allotments: tuple[Allotment, ...]
    ratios: pl.DataFrame
    pools: pl.DataFrame
    offers: pl.DataFrame

    @property
    def nodes(self) -> Mapping[tuple[str, str], Mapping[str, float]]:
        """Nodes that are paid for, by cluster and pool, and machine type."""
        found: dict[tuple[str, str], dict[str, float]] = {}
        for one in self.allotments:
            cluster, pool, name = one.group
            types = found.setdefault((cluster, pool), {})
            types[name] = types.get(name, 0.0) + one.covered
        return found


def paid_part(pool: str, instance_type: str) -> str:
    """This will name the nodes of a pool that could be started for nothing."""
    return f"{pool} (committed {instance_type})"


def pool_of(name: str) -> str:
    """This will return the pool as its cluster knows it."""
    return _PAID_PART.sub("", name)


def nodes_are(pool: str, capacity_type: str) -> str:
    """This will return how nodes of a pool are labelled: a commitment is known to the bill, not to the cluster."""
    return capacity_type if pool_of(pool) == pool else _ON_DEMAND


def pool_name(column: str) -> pl.Expr:
    """This will return the pool as its cluster knows it, of a column."""
    return pl.col(column).str.replace(_PAID_PART.pattern, "")


def with_pool_names(costs: pl.DataFrame) -> pl.DataFrame:
    """This will give the places of ClusterCost the pools and capacity types that clusters know.

    What is paid for and the rest of its pool are one place then: what has room stands before what has none, then what
    is cheaper.
    """
    is_paid = pl.col("to_pool").str.contains(_PAID_PART.pattern)
    if not costs.select(is_paid.any()).item():
        return costs
    key = ClusterCost.primary_key()
    named = costs.with_columns(
        to_pool=pool_name("to_pool"),
        to_capacity_type=pl.when(is_paid).then(pl.lit(_ON_DEMAND)).otherwise("to_capacity_type"),
    )
    best_first = ["allowed", "has_room", "gbp_per_hour", "to_pool", "to_instance_type"]
    ordered = named.sort(
        [*key, *best_first], descending=[False] * len(key) + [True, True] + [False] * 3, nulls_last=True
    )
    return ordered.unique(key, keep="first", maintain_order=True)


def not_own_pool(pairs: pl.DataFrame) -> pl.DataFrame:
    """This will leave out the part of a workload's own pool that is paid for: what a bill covers is no move."""
    same = (pl.col("from_cluster") == pl.col("to_cluster")) & (pl.col("from_pool") == pool_name("to_pool"))
    return pairs.filter(~same)


def also_paid_part(rows: pl.DataFrame, covered: Covered, *, cluster: str, pool: str) -> pl.DataFrame:
    """This will say of the part of a pool that is paid for what rows say of the pool.

    Args:
        rows: with the columns that `cluster` and `pool` name.
        covered: has the parts.
        cluster: column of the cluster.
        pool: column of the pool.
    """
    parts = covered.pools.select(pl.col("cluster").alias(cluster), _part="pool").with_columns(
        pool_name("_part").alias(pool)
    )
    more = rows.join(parts, on=[cluster, pool], how="inner").with_columns(pl.col("_part").alias(pool))
    return pl.concat([rows, more.select(rows.columns)])


def cover(
    bought: dy.DataFrame[BoughtAhead],
    there: pl.DataFrame,
    pools: dy.DataFrame[Pool],
    offers: dy.DataFrame[Offer],
    nodes_seen: pl.DataFrame | None,
    *,
    at: datetime,
    horizon_hours: float,
) -> Covered:
    """This will share out what is bought ahead.

    Args:
        bought: commitments that have not ended.
        there: every workload at its present place, from place.candidates.at_current, with w and nodes_needed.
        pools: the fleet.
        offers: all usable prices.
        nodes_seen: ObservedPool; None: nobody counted the nodes.
        at: the evaluation time (UTC).
        horizon_hours: what ends sooner pays for what runs, and is offered to nothing else.
    """
    ours = pools.filter(pl.col("capacity_type") == _ON_DEMAND)
    running = there.filter(~pl.col("per_node") & pl.col("nodes_needed").is_not_null()).join(
        ours.select("cluster", "pool").unique(),
        left_on=["from_cluster", "from_pool"],
        right_on=["cluster", "pool"],
        how="semi",
    )
    groups = _groups(running, ours, offers, nodes_seen)
    usable = [_bought(row, offers, at, horizon_hours) for row in bought.filter(unusable="").iter_rows(named=True)]
    allotments = allot(usable, groups)
    more = [one for one in allotments if one.free > 0]
    by_key, of_group = {one.key: one for one in usable}, {one.key: one for one in groups}
    paid = [(by_key[one.commitment], of_group[one.group], one.free) for one in more]
    made = _pools(paid, ours)
    return Covered(
        bought=bought,
        running=_keys(running),
        groups=groups,
        allotments=allotments,
        ratios=_ratios(running, groups, allotments),
        pools=made,
        offers=_offers(paid, offers),
    )


def _keys(running: pl.DataFrame) -> pl.DataFrame:
    places = {"cluster": "from_cluster", "at_pool": "from_pool", "at_type": "from_instance_type"}
    return running.select("w", *WORKLOAD_KEY[1:], **{name: pl.col(column) for name, column in places.items()})


def _groups(
    running: pl.DataFrame, ours: pl.DataFrame, offers: dy.DataFrame[Offer], nodes_seen: pl.DataFrame | None
) -> tuple[NodeGroup, ...]:
    """On-demand machines of the fleet that have a price, with the nodes of each that run."""
    needed = running.group_by(cluster="from_cluster", pool="from_pool", instance_type="from_instance_type").agg(
        needed=pl.col("nodes_needed").sort().sum()
    )
    places = pl.concat([ours.select(_SITE), running.select(*_of_running())]).unique(_GROUP, keep="first")
    seen = _seen(nodes_seen)
    families = offers.select("provider", "instance_type", "family").unique(["provider", "instance_type"], keep="first")
    priced = offered(offers, places, dearest_zone=False)
    committed = {term: _node_prices(offers, places, term) for term in _TERMS}
    limits = ours.group_by("cluster", "pool").agg(pl.col("nodes_max").max())
    rows = (
        places.drop("capacity_type")
        .join(priced, on=[name for name in PLACE if name != "capacity_type"], how="inner")
        .join(families, on=["provider", "instance_type"], how="left")
        .join(needed, on=_GROUP, how="left")
        .join(seen, on=_GROUP, how="left")
        .join(limits, on=["cluster", "pool"], how="left")
        .sort(_GROUP)
    )
    return tuple(_group(row, committed) for row in rows.iter_rows(named=True))


_SITE = ["cluster", "pool", "instance_type", "provider", "region", "zone", "capacity_type"]


def _of_running() -> list[pl.Expr]:
    return [pl.lit(_ON_DEMAND).alias(name) if name == "capacity_type" else _from(name) for name in _SITE]


def _from(name: str) -> pl.Expr:
    return pl.col(f"from_{name}").alias(name)


def _seen(nodes_seen: pl.DataFrame | None) -> pl.DataFrame:
    if nodes_seen is None:
        return pl.DataFrame(schema={**dict.fromkeys(_GROUP, pl.String), "seen": pl.Float64})
    on_demand = nodes_seen.filter(pl.col("capacity_type") == _ON_DEMAND)
    return on_demand.group_by(_GROUP).agg(seen=pl.col("nodes_peak").sum())


def _node_prices(offers: dy.DataFrame[Offer], places: pl.DataFrame, term: str) -> dict[tuple[str, ...], float]:
    asked = places.with_columns(capacity_type=pl.lit(term))
    rows = offered(offers, asked, dearest_zone=False).select(*PLACE[:4], gbp=_whole())
    return {tuple(key): gbp for *key, gbp in rows.iter_rows()}


def _whole() -> pl.Expr:
    return (
        pl.col("vcpus") * pl.col("gbp_per_vcpu_hour")
        + pl.col("memory_gib") * pl.col("gbp_per_gib_hour")
        + pl.col("gpus") * pl.col("gbp_per_gpu_hour")
    )


def _group(row: Mapping[str, Any], committed: Mapping[str, Mapping[tuple[str, ...], float]]) -> NodeGroup:
    place = tuple(row[name] for name in PLACE[:4])
    shapes = ("vcpus", "memory_gib", "gpus")
    whole = sum(row[shape] * row[f"gbp_per_{part}_hour"] for shape, part in zip(shapes, _PARTS, strict=True))
    terms = {term: known[place] for term, known in committed.items() if place in known}
    return NodeGroup(
        **{name: row[name] for name in (*_GROUP, "provider", "region", "zone", *shapes)},
        family=row["family"] or "",
        gpu_model=row["gpu_model"] or "",
        prices={_ON_DEMAND: whole, **terms},
        nodes=max(math.ceil((row["needed"] or 0.0) - _ROUNDING), math.ceil((row["seen"] or 0.0) - _ROUNDING)),
        nodes_max=row["nodes_max"],
    )


_PARTS = ("vcpu", "gib", "gpu")


def _bought(row: Mapping[str, Any], offers: dy.DataFrame[Offer], at: datetime, horizon_hours: float) -> Bought:
    own = offers.filter(provider=row["provider"], instance_type=row["instance_type"]) if row["instance_type"] else None
    known = None if own is None or own.is_empty() else own.row(0, named=True)
    return Bought(
        key=(row["provider"], row["account"], row["commitment_id"]),
        provider=row["provider"],
        where=row["region"],
        family=row["instance_family"] or ("" if known is None else known["family"]),
        instance_type=row["instance_type"],
        gpu_model=row["gpu_model"],
        amounts={name: row[name] for name in _AMOUNTS if row[name] is not None},
        capacity_type=row["capacity_type"],
        gbp_per_hour=row["gbp_per_hour"],
        ends_at=row["ends_at"],
        vcpus_of_type=None if known is None else known["vcpus"],
        offers_more=row["ends_at"] >= at + timedelta(hours=horizon_hours),
    )


def _ratios(running: pl.DataFrame, groups: Iterable[NodeGroup], allotments: Iterable[Allotment]) -> pl.DataFrame:
    """Workload by workload until what is paid for is used up; where all nodes of a group are, all of it is."""
    paid: dict[tuple[str, str, str], float] = {}
    for one in allotments:
        paid[one.group] = paid.get(one.group, 0.0) + one.covered
    whole = {one.key for one in groups if one.nodes and paid.get(one.key, 0.0) >= one.nodes - _ROUNDING}
    order = ["is_system", "local_volume", "running_ratio"]
    ordered = running.sort([*order, "w"], descending=[True, True, True, False])
    columns = ("w", "from_cluster", "from_pool", "from_instance_type", "nodes_needed")
    rows: list[tuple[int, float]] = []
    for w, cluster, pool, name, nodes in ordered.select(columns).iter_rows():
        key = (cluster, pool, name)
        left = paid.get(key, 0.0)
        ratio = 1.0 if key in whole else 0.0 if left <= 0 else 1.0 if nodes <= left else left / nodes
        paid[key] = max(0.0, left - nodes)
        if ratio > 0:
            rows.append((w, ratio))
    found = pl.DataFrame(rows, schema={"w": pl.UInt32, "committed_ratio": pl.Float64}, orient="row")
    return found.with_columns(pl.col("w").cast(running.schema["w"])).sort("w")


def _pools(paid: Sequence[tuple[Bought, NodeGroup, int]], ours: pl.DataFrame) -> pl.DataFrame:
    """One pool for each machine type of a pool, and the longest of the terms that pay for it."""
    nodes: dict[tuple[str, str, str], int] = {}
    terms: dict[tuple[str, str, str], str] = {}
    for bought, group, free in paid:
        nodes[group.key] = nodes.get(group.key, 0) + free
        terms[group.key] = max(terms.get(group.key, ""), bought.capacity_type)
    rows = [
        row
        | {
            "pool": paid_part(row["pool"], row["instance_type"]),
            "capacity_type": terms[key],
            "nodes_min": 0,
            "nodes_max": nodes[key],
        }
        for row in ours.sort(_GROUP).iter_rows(named=True)
        if (key := (row["cluster"], row["pool"], row["instance_type"])) in nodes
    ]
    return pl.DataFrame(rows, schema=Pool.create_empty().schema)


def _offers(paid: Sequence[tuple[Bought, NodeGroup, int]], offers: dy.DataFrame[Offer]) -> pl.DataFrame:
    """On-demand offers at what a node costs under its commitment; as they are where that is not known."""
    made: list[pl.DataFrame] = [Offer.create_empty()]
    longest: dict[tuple[str, str, str], Bought] = {}
    for bought, group, _ in paid:
        place = (group.provider, group.region, group.instance_type)
        if place not in longest or longest[place].capacity_type < bought.capacity_type:
            longest[place] = bought
    of_place = {(group.provider, group.region, group.instance_type): group for _, group, _ in paid}
    for place, bought in sorted(longest.items()):
        if bought.capacity_type not in of_place[place].prices:
            made.append(_under(bought, of_place[place], offers))
    return pl.concat(made).unique(OFFER_KEY, keep="first", maintain_order=True)


def _under(bought: Bought, group: NodeGroup, offers: dy.DataFrame[Offer]) -> pl.DataFrame:
    cost = gbp_per_node(bought, group)
    ratio = 1.0 if cost is None or cost <= 0 else cost / group.prices[_ON_DEMAND]
    where = "the on-demand price stands for its own" if cost is None or cost <= 0 else "its own price"
    note = f"paid for by {bought.key[2]} until {bought.ends_at:%-d %B %Y}; {where}"
    own = offers.filter(
        provider=group.provider,
        region=group.region,
        instance_type=group.instance_type,
        capacity_type=_ON_DEMAND,
        operating_system=OperatingSystem.LINUX.value,
    )
    scale = pl.lit(ratio)
    return own.with_columns(
        *(pl.col(name) * scale for name in _PRICES),
        *((pl.col(name).cast(pl.Float64) * scale).cast(own.schema[name]) for name in _NATIVE),
        capacity_type=pl.lit(bought.capacity_type),
        note=pl.lit(note),
    )
