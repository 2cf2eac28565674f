"""What one more node of a place costs, and the word that a place is known by while one overflow is chosen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PLACE = ("to_cluster", "to_pool", "to_instance_type")
Row = Mapping[str, Any]


def price_of(row: Row) -> float | None:
    """This will return what one more node of a place costs in cash, £/h; None: not known.

    Owned nodes elsewhere cost their energy, committed ones of known number nothing until they are used up.
    """
    if row["to_capacity_type"] == "owned":
        marginal: float | None = row["to_marginal_gbp_per_hour"]
        return marginal
    if row["to_capacity_type"].startswith("committed") and row["to_nodes_limited"]:
        return 0.0
    return full_price_of(row)


def full_price_of(row: Row) -> float:
    """This will return parts × prices of one node, £/h; of owned nodes with purchase, hosting and staff."""
    return float(
        row["to_vcpus"] * row["to_gbp_per_vcpu_hour"]
        + row["to_memory_gib"] * row["to_gbp_per_gib_hour"]
        + row["to_gpus"] * row["to_gbp_per_gpu_hour"]
    )


def place_id(row: Row) -> str:
    """This will return a word for a place."""
    return "/".join(str(row[name]) for name in PLACE)
