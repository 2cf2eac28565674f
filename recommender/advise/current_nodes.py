"""The nodes that there are now, beside those that packing needs: seen by the source of usage, else as the usage says.

Nodes that were seen stand as they were; what they cost is said where the machine has a price, and where it has none
that is said too. A source that sees no nodes but names the machine type of each workload says which types there are;
how many is then packed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from recommender.advise.decision import Question
from recommender.advise.plan import NotEnoughData
from recommender.place.offered import PLACE, offered

Basis = Literal["seen", "usage", "packed"]
MixKey = tuple[str, str, str, str]
"""Cluster, pool, capacity type, instance type."""

_KEY = ["cluster", "pool", "capacity_type", "instance_type"]
_SITE = ["provider", "region"]


@dataclass(frozen=True, slots=True)
class Nodes:
    """Nodes of one machine type in a pool.

    Args:
        nodes: how many; not whole where some came or went within the hour.
        gbp_per_hour: their cash price; None: the machine has no price.
        why: why there is no price, or that the settings do not know the pool; None: nothing to say.
        in_settings: whether the settings describe the pool.
        provider: whose machine; empty: not known.
        region: where; empty: not known.
    """

    nodes: float
    gbp_per_hour: float | None
    why: str | None = None
    in_settings: bool = True
    provider: str = ""
    region: str = ""


@dataclass(frozen=True, slots=True)
class Current:
    """The node mix now.

    Args:
        basis: seen: nodes that were seen; usage: packed on the machine types that usage names; packed: on any.
        nodes: by cluster, pool, capacity type and machine type.
        clusters: whose nodes are known.
    """

    basis: Basis
    nodes: Mapping[MixKey, Nodes]
    clusters: frozenset[str]

    def cost_of(self, cluster: str, pool: str) -> float | None:
        """This will return what a pool's nodes cost; None: not known, or some without a price."""
        if cluster not in self.clusters:
            return None
        prices = [one.gbp_per_hour for key, one in self.nodes.items() if key[:2] == (cluster, pool)]
        return None if None in prices else sum(price for price in prices if price is not None)

    def count_of(self, cluster: str, pool: str) -> float | None:
        """This will return how many nodes a pool has; None: not known."""
        if cluster not in self.clusters:
            return None
        return sum(one.nodes for key, one in self.nodes.items() if key[:2] == (cluster, pool))


def seen_nodes(question: Question) -> Current | None:
    """This will price the nodes that were seen in the last hour of each cluster; None: the source knows no nodes."""
    seen = question.nodes_seen
    if seen is None:
        return None
    limited = question.pools.filter(pl.col("nodes_max").is_not_null()).select("cluster", "pool", limited=True).unique()
    prices = offered(question.prices.offers, seen, dearest_zone=False)
    rows = (
        seen.filter(pl.col("nodes") > 0)
        .join(limited, on=["cluster", "pool"], how="left", maintain_order="left")
        .join(prices.drop("gpu_model"), on=PLACE, how="left", maintain_order="left")
        .with_columns(cash=_cash() * pl.col("nodes"))
        .group_by(_KEY, maintain_order=True)
        .agg(
            pl.col("nodes").sum(),
            pl.when(pl.col("cash").is_not_null().all()).then(pl.col("cash").sum()).alias("cash"),
            pl.col("in_settings", *_SITE).first(),
        )
    )
    nodes = {tuple(row[name] for name in _KEY): _nodes(row) for row in rows.iter_rows(named=True)}
    return Current("seen", {key: nodes[key] for key in sorted(nodes)}, frozenset(seen["cluster"]))


def unpriced(current: Current) -> tuple[NotEnoughData, ...]:
    """This will name the pools with nodes that have no price."""
    told: dict[tuple[str, str], list[str]] = {}
    for (cluster, pool, _, _), one in current.nodes.items():
        if one.gbp_per_hour is None and one.why:
            told.setdefault((cluster, pool), []).append(
                f"{one.nodes:g} {'node' if one.nodes == 1 else 'nodes'} without a price: {one.why}"
            )
    return tuple(
        NotEnoughData(
            cluster=cluster,
            workload_kind="Pool",
            workload=pool or "(no pool)",
            reason="nodes-without-price",
            why="; ".join(whys),
            next_step="Add the machine to a price book or widen the source's filters; give nodes the labels of the "
            "pool, the machine type and the purchase option.",
        )
        for (cluster, pool), whys in sorted(told.items())
    )


def _cash() -> pl.Expr:
    """As place.cost counts a node: owned at its marginal price, committed of known size nothing, else its price."""
    shapes = {"vcpus": "gbp_per_vcpu_hour", "memory_gib": "gbp_per_gib_hour", "gpus": "gbp_per_gpu_hour"}
    full = pl.sum_horizontal((pl.col(shape) * pl.col(price) for shape, price in shapes.items()), ignore_nulls=False)
    committed = pl.col("capacity_type").str.starts_with("committed") & pl.col("limited").fill_null(value=False)
    return (
        pl.when(pl.col("capacity_type") == "owned")
        .then("marginal_gbp_per_hour")
        .when(committed & full.is_not_null())
        .then(0.0)
        .otherwise(full)
    )


def _nodes(row: Mapping[str, Any]) -> Nodes:
    return Nodes(
        nodes=row["nodes"],
        gbp_per_hour=row["cash"],
        why=_why(row),
        in_settings=row["in_settings"],
        provider=row["provider"],
        region=row["region"],
    )


def _why(row: Mapping[str, Any]) -> str | None:
    if row["cash"] is None:
        if not row["instance_type"]:
            return "the machine type is not known"
        if not row["capacity_type"]:
            return f"how {row['instance_type']} is bought is not known"
        where = "/".join(row[name] or "unknown" for name in _SITE)
        return f"there is no {row['capacity_type']} price for {row['instance_type']} in {where}"
    if row["in_settings"]:
        return None
    return "the settings do not describe this pool" if row["pool"] else "no node label names the pool"
