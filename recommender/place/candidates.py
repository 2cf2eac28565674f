"""Every workload beside every place of the fleet: the rows that are priced, judged and chosen from.

Columns of the workload stand under their own names, of the place it is at under `from_…`, of the place it might go to
under `to_…`. A place is a pool and one of its machine types; the pool a workload is already in is not a candidate,
because which machine a pool starts next is the autoscaler's affair.
"""

from __future__ import annotations

import dataframely as dy
import polars as pl

from exporters.core.frames import Offer
from recommender.frames import Pool
from recommender.place.allocatable import allocatable_memory_gib, allocatable_vcpus, replicas_per_node
from recommender.place.offered import PLACE, offered
from recommender.place.overhead import NodeRoom, with_room
from recommender.settings import Policy

OFFER_COLUMNS = (
    "gbp_per_vcpu_hour",
    "gbp_per_gib_hour",
    "gbp_per_gpu_hour",
    "marginal_gbp_per_hour",
    "vcpus",
    "memory_gib",
    "gpus",
    "gpu_model",
    "accelerators",
    "architecture",
)
_PLACE_COLUMNS = ("cluster", "pool", "provider", "region", "zone", "jurisdiction", "instance_type", "capacity_type")
_REPLICA = ("replica_vcpus", "replica_memory_gib", "replica_gpus")
_NODE = ("to_allocatable_vcpus", "to_allocatable_memory_gib", "to_gpus")


def current_places(located: pl.DataFrame, offers: dy.DataFrame[Offer], policy: Policy) -> pl.DataFrame:
    """This will put beside each workload the offer it runs on and what its class says.

    Args:
        located: the answer of place.located.
        offers: all usable prices.
        policy: classes and weights.

    Returns:
        The workloads with `from_…` columns (null offer columns where there is no price), the class's lists, the needs
        of one replica, and `reason` extended by `no-price` and `gpu-model-conflict`.
    """
    known = located.filter(pl.col("provider").is_not_null())
    prices = offered(offers, known, dearest_zone=False)
    facts = [pl.col(name).alias(f"from_{name}") for name in OFFER_COLUMNS]
    kept = prices.select(*PLACE, *facts, from_offer_zone="offer_zone", from_source="source", from_note="note")
    return (
        located.join(kept, on=PLACE, how="left", maintain_order="left")
        .rename({name: f"from_{name}" for name in _PLACE_COLUMNS})
        .with_columns(_needed_gpu_model())
        .with_columns(reason=pl.coalesce("reason", _price_reason()))
        .join(_classes(policy), on="residency_class", how="left", maintain_order="left")
        .join(_latency_classes(policy), on="latency_class", how="left", maintain_order="left")
        .with_columns(*_latency(policy))
        .drop("_ms_max", "_gbp_per_ms_hour")
        .with_columns(*_replica_needs(), from_nodes_limited=pl.col("pool_nodes_max").is_not_null())
    )


def places(pools: dy.DataFrame[Pool], offers: dy.DataFrame[Offer], room: NodeRoom | None = None) -> pl.DataFrame:
    """This will number the places of the fleet and put the offer of each beside it, all under `to_…`.

    Args:
        pools: the fleet.
        offers: all usable prices.
        room: what is known of nodes' room, from place.overhead; None: only their machine types.

    Returns:
        One row a place in the order of its key: `p`, `to_…` (null offer columns where there is no price).
    """
    ordered = pools.sort("cluster", "pool", "instance_type").with_row_index("p")
    prices = offered(offers, pools, dearest_zone=True)
    columns = (*_PLACE_COLUMNS, *OFFER_COLUMNS, "offer_zone", "source", "note", "tier", "nodes_max")
    found = (
        ordered.join(prices, on=PLACE, how="left", maintain_order="left")
        .select("p", *(pl.col(name).alias(f"to_{name}") for name in columns))
        .with_columns(
            to_allocatable_vcpus=allocatable_vcpus("to_vcpus"),
            to_allocatable_memory_gib=allocatable_memory_gib("to_memory_gib"),
            to_nodes_limited=pl.col("to_nodes_max").is_not_null(),
        )
    )
    return found if room is None else with_room(found, room)


def candidates(current: pl.DataFrame, fleet: pl.DataFrame) -> pl.DataFrame:
    """This will pair every workload with every place but its own pool, with the share of a node that it needs there.

    Args:
        current: workloads to advise on (reason null), from current_places.
        fleet: from places.

    Returns:
        One row a pair, `replicas_per_node` (null: unknown machine) and `nodes_needed` added.
    """
    own = (pl.col("from_cluster") == pl.col("to_cluster")) & (pl.col("from_pool") == pl.col("to_pool"))
    return with_nodes_needed(current.join(fleet, how="cross", maintain_order="left_right").filter(~own))


def some_candidates(current: pl.DataFrame, fleet: pl.DataFrame, pairs: pl.DataFrame) -> pl.DataFrame:
    """This will return the rows of `candidates` for the pairs (w, p) given, in their order."""
    listed = pairs.select("w", "p").join(current, on="w", how="inner", maintain_order="left")
    joined = listed.join(fleet, on="p", how="inner", maintain_order="left")
    return with_nodes_needed(joined.select(*current.columns, *fleet.columns))


def at_current(current: pl.DataFrame, room: NodeRoom | None = None) -> pl.DataFrame:
    """This will pair every workload with the place it is at, so that the same rules judge it there.

    Args:
        current: from current_places.
        room: as in places.
    """
    names = [name.removeprefix("from_") for name in current.columns if name.startswith("from_")]
    there = current.with_columns(pl.col(f"from_{name}").alias(f"to_{name}") for name in names).with_columns(
        to_allocatable_vcpus=allocatable_vcpus("to_vcpus"),
        to_allocatable_memory_gib=allocatable_memory_gib("to_memory_gib"),
    )
    return with_nodes_needed(there if room is None else with_room(there, room))


def with_nodes_needed(pairs: pl.DataFrame) -> pl.DataFrame:
    """This will add `replicas_per_node` and `nodes_needed`: nodes at peak, packed replica by replica.

    A replica that the reserve formula leaves no room for, but that runs there all the same, counts by its greatest
    share of the node.
    """
    share = pl.max_horizontal(
        pl.col("vcpu_request_peak") / pl.col("to_vcpus"),
        pl.col("memory_gib_request_peak") / pl.col("to_memory_gib"),
        pl.when(pl.col("to_gpus") > 0).then(pl.col("gpu_request_peak") / pl.col("to_gpus")),
    )
    packed = pl.when(pl.col("replicas_per_node") >= 1).then(pl.col("replicas_peak") / pl.col("replicas_per_node"))
    return pairs.with_columns(replicas_per_node=replicas_per_node(_REPLICA, _NODE)).with_columns(
        nodes_needed=pl.max_horizontal(packed, share)
    )


def _needed_gpu_model() -> pl.Expr:
    asks = pl.col("gpu_request_peak") > 0
    own = pl.when(pl.col("gpu_model") != "").then("gpu_model").otherwise(pl.col("from_gpu_model").fill_null(""))
    return pl.when(asks).then(own).otherwise(pl.lit("")).alias("gpu_model")


def _price_reason() -> pl.Expr:
    asks = pl.col("gpu_request_peak") > 0
    wrong_gpu = asks & (pl.col("gpu_model") != pl.col("from_gpu_model"))
    owned = pl.col("from_capacity_type") == "owned"
    unpriced = pl.col("from_vcpus").is_null() | (owned & pl.col("from_marginal_gbp_per_hour").is_null())
    return pl.when(unpriced).then(pl.lit("no-price")).when(wrong_gpu).then(pl.lit("gpu-model-conflict"))


def _replica_needs() -> list[pl.Expr]:
    def largest(resource: str) -> pl.Expr:
        at_peak = pl.col(f"{resource}_request_peak") / pl.col("replicas_peak").clip(lower_bound=1.0)
        on_average = pl.col(f"{resource}_request_mean") / pl.col("replicas_mean")
        return pl.max_horizontal(at_peak, pl.when(pl.col("replicas_mean") > 0).then(on_average))

    resources = ("vcpu", "memory_gib", "gpu")
    return [largest(name).alias(column) for name, column in zip(resources, _REPLICA, strict=True)]


def _latency(policy: Policy) -> list[pl.Expr]:
    """The limit that counts, whose it is, and the price of a millisecond: the latency class's, else the goal's."""
    stricter = pl.col("_ms_max") < pl.col("latency_ms_max").fill_null(float("inf"))
    of_goal = pl.when(pl.col("goal") == "latency").then(policy.weights.latency_gbp_per_ms_hour)
    return [
        pl.when(stricter).then("_ms_max").otherwise("latency_ms_max").alias("latency_ms_max"),
        pl.when(stricter).then("latency_class").otherwise("residency_class").alias("latency_limit_of"),
        pl.coalesce("_gbp_per_ms_hour", of_goal).alias("latency_gbp_per_ms_hour"),
    ]


def _latency_classes(policy: Policy) -> pl.DataFrame:
    rows = [(name, one.latency_ms_max, one.gbp_per_ms_hour) for name, one in sorted(policy.latency_classes.items())]
    schema = {"latency_class": pl.String, "_ms_max": pl.Float64, "_gbp_per_ms_hour": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _classes(policy: Policy) -> pl.DataFrame:
    rows = [
        {
            "residency_class": name,
            "residency": list(one.residency),
            "legal_basis": one.legal_basis,
            "class_architectures": list(one.architectures),
            "accepted_gpu_models": list(one.gpu_models),
            "max_gbp_per_vcpu_hour": one.max_gbp_per_vcpu_hour,
            "goal": one.goal,
            "latency_ms_max": one.latency_ms_max,
        }
        for name, one in sorted(policy.classes.items())
    ]
    text_list = pl.List(pl.String)
    return pl.DataFrame(
        rows,
        schema={
            "residency_class": pl.String,
            "residency": text_list,
            "legal_basis": pl.String,
            "class_architectures": text_list,
            "accepted_gpu_models": text_list,
            "max_gbp_per_vcpu_hour": pl.Float64,
            "goal": pl.String,
            "latency_ms_max": pl.Float64,
        },
    )
