"""The cost of a workload at a place, £/h, term by term.

    compute + egress + interruption + lost work + latency = gbp_per_hour

Compute is requests × parts of the offer (vCPU, GiB, GPU), mean requests over the window. It is a change in cash: on
owned machines the marginal price of a node (energy) times the greatest share of the node that the requests take; on
committed capacity of known size nothing, because it is paid for until it is used up, and of nodes that a commitment
pays for in part only the rest; the full cost stands beside it.
What the move itself costs is kept apart and, spread over the payback horizon, decides only the order of places.
A term without a price leaves the total null: it is never zero.
"""

from __future__ import annotations

import polars as pl

from recommender.place.interruption import interruption_terms
from recommender.place.latency import no_distances, with_latency
from recommender.settings import Policy

TERMS = (
    "compute_gbp_per_hour",
    "egress_gbp_per_hour",
    "interruption_gbp_per_hour",
    "lost_work_gbp_per_hour",
    "latency_gbp_per_hour",
)
COMMITTED_RATIO = "to_committed_ratio"
"""Share of a workload's nodes where it is that a commitment pays for; a place that it might go to has none."""

_SITE = {"to_provider": "provider", "to_region": "region"}


def priced(
    pairs: pl.DataFrame, egress: pl.DataFrame, policy: Policy, distances: pl.DataFrame | None = None
) -> pl.DataFrame:
    """This will add the terms of each pair's cost and their sum.

    Args:
        pairs: from place.candidates.
        egress: w, provider, region, egress_gbp_per_hour of workloads that have flows; the others have none to pay.
        policy: weights and spot risk.
        distances: from place.latency; None: none was measured.

    Returns:
        The pairs with TERMS, `latency_ms`, `latency_to`, `interruptions_per_hour`, `gbp_per_hour`,
        `full_compute_gbp_per_hour` and `full_gbp_per_hour`; null where a price is not known or the machine lacks the
        GPUs.
    """
    return (
        with_latency(with_egress(pairs, egress), no_distances() if distances is None else distances)
        .with_columns(full_compute_gbp_per_hour=_parts_by_prices())
        .with_columns(compute_gbp_per_hour=_cash(covered=COMMITTED_RATIO in pairs.columns))
        .with_columns(interruption_terms(policy, compute="compute_gbp_per_hour"))
        .with_columns(gbp_per_hour=_sum(TERMS), full_gbp_per_hour=_sum(("full_compute_gbp_per_hour", *TERMS[1:])))
    )


def with_egress(pairs: pl.DataFrame, egress: pl.DataFrame) -> pl.DataFrame:
    """This will add egress_gbp_per_hour: zero for a workload without flows, null where a rate is not known."""
    costs = egress.rename({name: column for column, name in _SITE.items()})
    with_flows = egress.select("w", has_flows=True).unique()
    has_flows = pl.col("has_flows").fill_null(value=False)
    return (
        pairs.join(with_flows, on="w", how="left", maintain_order="left")
        .join(costs, on=["w", *_SITE], how="left", maintain_order="left")
        .with_columns(egress_gbp_per_hour=pl.when(has_flows).then("egress_gbp_per_hour").otherwise(0.0))
        .drop("has_flows")
    )


def with_move(costs: pl.DataFrame, state: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """This will add what moving costs once, and the total that places are ordered by.

    Args:
        costs: from `priced`.
        state: w, provider, region, state_gbp of workloads with state.
        policy: minutes of a restart, payback horizon.

    Returns:
        The rows with `state_gbp`, `restart_gbp` (old and new run side by side for the restart), `one_off_gbp` and
        `ranking_gbp_per_hour` = gbp_per_hour + one_off_gbp ÷ payback hours.
    """
    there = state.rename({name: column for column, name in _SITE.items()})
    restart = pl.col("compute_gbp_per_hour") * policy.weights.restart_minutes / 60.0
    has_state = pl.col("state_gib") > 0
    return (
        costs.join(there, on=["w", *_SITE], how="left", maintain_order="left")
        .with_columns(state_gbp=pl.when(has_state).then("state_gbp").otherwise(0.0), restart_gbp=restart)
        .with_columns(one_off_gbp=pl.col("state_gbp") + pl.col("restart_gbp"))
        .with_columns(
            ranking_gbp_per_hour=pl.col("gbp_per_hour") + pl.col("one_off_gbp") / policy.steady.payback_hours,
        )
    )


def mean_share(resource: str, of: str) -> pl.Expr:
    """This will return the share of a node's resource that the mean requests take; null where it has none."""
    return pl.when(pl.col(of) > 0).then(pl.col(f"{resource}_request_mean") / pl.col(of))


def dominant_share() -> pl.Expr:
    """This will return the greatest share of a node that the mean requests take."""
    return pl.max_horizontal(
        mean_share("vcpu", "to_vcpus"), mean_share("memory_gib", "to_memory_gib"), mean_share("gpu", "to_gpus")
    )


def _parts_by_prices() -> pl.Expr:
    runs = (pl.col("gpu_request_mean") == 0) | (pl.col("to_gpus") > 0)
    sum_of_parts = (
        pl.col("vcpu_request_mean") * pl.col("to_gbp_per_vcpu_hour")
        + pl.col("memory_gib_request_mean") * pl.col("to_gbp_per_gib_hour")
        + pl.col("gpu_request_mean") * pl.col("to_gbp_per_gpu_hour")
    )
    return pl.when(runs).then(sum_of_parts)


def _cash(*, covered: bool) -> pl.Expr:
    full = pl.col("full_compute_gbp_per_hour")
    charged = full * (1.0 - pl.col(COMMITTED_RATIO)) if covered else full
    committed = pl.col("to_capacity_type").str.starts_with("committed") & pl.col("to_nodes_limited")
    return (
        pl.when(full.is_null())
        .then(None)
        .when(pl.col("to_capacity_type") == "owned")
        .then(pl.col("to_marginal_gbp_per_hour") * dominant_share())
        .when(committed)
        .then(0.0)
        .otherwise(charged)
    )


def _sum(columns: tuple[str, ...]) -> pl.Expr:
    return pl.sum_horizontal(columns, ignore_nulls=False)
