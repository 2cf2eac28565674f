"""Extend or commit: an owned pool that is short for much of the time is cheaper made larger than burst from.

One more node pays once it would be used for a larger share of the time than

    break-even = its full price an hour ÷ the cheapest on-demand price of the same amount

because it costs its full price whether used or not (the newsvendor's rule, node by node: the n-th node is used while
demand is beyond the pool and n − 1 more nodes).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from exporters.core.units import HOURS_PER_MONTH
from recommender.burst.admissible import Admitted, Shape
from recommender.burst.node_price import full_price_of
from recommender.settings import BurstSettings

MOST_NODES = 1_000
_AMOUNT = {"vcpu": "to_allocatable_vcpus", "memory_gib": "to_allocatable_memory_gib", "gpu": "to_gpus"}
Row = dict[str, Any]


def extensions(
    demand: pl.DataFrame,
    *,
    cluster: str,
    shapes: Sequence[Shape],
    admitted: Admitted,
    fleet: pl.DataFrame,
    settings: BurstSettings,
) -> list[Row]:
    """This will look at every resource class that is short for more than the stated share of the time.

    Args:
        demand: Demand of the cluster over its history.
        cluster: its name.
        shapes: its owned nodes.
        admitted: what they admit.
        fleet: from place.candidates.places; prices of owned, committed and on-demand machines.
        settings: the share.

    Returns:
        Rows of Extension, one for each way that has a price.
    """
    rows = []
    for (resource, name), admissible in sorted(admitted.amounts.items()):
        series = demand.filter(pl.col("resource") == resource, pl.col("resource_class") == name).sort("timestamp")
        excess = [value - admissible for value in series["demand"].to_list()]
        short_ratio = sum(one > 1e-9 for one in excess) / len(excess) if excess else 0.0
        burst = _cheapest(fleet, cluster, resource, name, ("on-demand",))
        if short_ratio <= settings.extend_above_ratio or burst is None:
            continue
        facts = {
            "cluster": cluster,
            "resource": resource,
            "resource_class": name,
            "observed_hours": _hours(series),
            "short_ratio": short_ratio,
        }
        own = _own_node(fleet, cluster, resource, name, shapes)
        committed = _cheapest(fleet, cluster, resource, name, ("committed-1y", "committed-3y"))
        for kind, node in (("extend", own), ("commit", committed)):
            if node is not None:
                rows.append({**facts, "kind": kind, **_worth(node, burst, excess)})
    return rows


def _worth(node: Row, burst: Row, excess: list[float]) -> Row:
    amount, price = node["amount"], node["gbp_per_hour"]
    cloud = burst["gbp_per_hour"] / burst["amount"] * amount
    nodes, saving = 0, 0.0
    while nodes < MOST_NODES:
        used = sum(min(max(one - nodes * amount, 0.0), amount) for one in excess) / amount / len(excess)
        if used * cloud <= price:
            break
        nodes, saving = nodes + 1, saving + used * cloud - price
    return {
        "to_cluster": node["to_cluster"],
        "pool": node["to_pool"],
        "instance_type": node["to_instance_type"],
        "burst_cluster": burst["to_cluster"],
        "burst_pool": burst["to_pool"],
        "burst_instance_type": burst["to_instance_type"],
        "nodes": nodes,
        "node_gbp_per_hour": price,
        "burst_gbp_per_hour": cloud,
        "break_even_ratio": price / cloud,
        "saving_gbp_per_month": saving * float(HOURS_PER_MONTH),
    }


def _own_node(fleet: pl.DataFrame, cluster: str, resource: str, name: str, shapes: Sequence[Shape]) -> Row | None:
    """The owned node of the class at its full price: what one more of it costs, used or not."""
    pools = [one.pool for one in shapes if (resource, name) in one.amounts()]
    rows = fleet.filter(pl.col("to_cluster") == cluster, pl.col("to_pool").is_in(pools))
    nodes = [_node(row, resource, full_price_of(row)) for row in rows.iter_rows(named=True)]
    return _least([one for one in nodes if one["amount"] > 0 and one["gbp_per_hour"] > 0])


def _cheapest(
    fleet: pl.DataFrame, cluster: str, resource: str, name: str, capacity_types: tuple[str, ...]
) -> Row | None:
    """The machine outside the cluster with the cheapest unit of the class."""
    column = "to_gpu_model" if resource == "gpu" else "to_architecture"
    serves = pl.lit(value=True) if (resource, name) == ("gpu", "unknown") else pl.col(column) == name
    has_gpus = pl.col("to_gpus") > 0 if resource == "gpu" else pl.col("to_gpus") == 0
    rows = fleet.filter(
        pl.col("to_cluster") != cluster,
        pl.col("to_capacity_type").is_in(capacity_types),
        pl.col("to_vcpus").is_not_null(),
        serves,
        has_gpus,
    )
    nodes = [_node(row, resource, full_price_of(row)) for row in rows.iter_rows(named=True)]
    return _least([one for one in nodes if one["amount"] > 0 and one["gbp_per_hour"] > 0])


def _least(nodes: list[Row]) -> Row | None:
    return min(
        nodes,
        key=lambda one: (one["gbp_per_hour"] / one["amount"], one["to_pool"], one["to_instance_type"]),
        default=None,
    )


def _node(row: Row, resource: str, price: float) -> Row:
    return {
        "to_cluster": row["to_cluster"],
        "to_pool": row["to_pool"],
        "to_instance_type": row["to_instance_type"],
        "amount": row[_AMOUNT[resource]],
        "gbp_per_hour": price,
    }


def _hours(series: pl.DataFrame) -> float:
    gap = series["timestamp"].diff().drop_nulls().dt.total_seconds().median()
    return float(len(series) * (gap if isinstance(gap, int | float) else 3_600.0) / 3_600)
