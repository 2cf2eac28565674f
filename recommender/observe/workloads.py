"""Usage and policy become workloads: the end of observe, and what place begins with.

Promises one row a workload, with means that count what is paid for and peaks that must fit, and a reason for every one
of which nothing can be advised. Pure: the window is an input, and the same usage gives the same frames.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import dataframely as dy
import polars as pl

from recommender.frames import WORKLOAD_KEY, Flow, NotEnoughData, ObservedPool, StatedAttribute, Workload
from recommender.observe.attributes import attributes_of
from recommender.observe.coverage import Coverage, Reason, Window, clusters_not_seen, coverage_of, step_of
from recommender.observe.egress import egress_unknown, upper_bounds, with_measured
from recommender.observe.seen_fleet import not_in_settings, pools_not_in_settings, pools_not_seen, with_settings
from recommender.observe.unfit import mistakes_of, unfit_workloads
from recommender.observe.usage import Egress, Usage
from recommender.observe.workload_kinds import latest_kinds, spelt_as_kubernetes, with_latest_kind
from recommender.settings import ClusterSettings, Policy

KEY = list(WORKLOAD_KEY)
PLACE = ("pool", "instance_type", "capacity_type")
TOTALS = ("replicas", "vcpu_request", "memory_gib_request", "gpu_request")
PEAKS = tuple(f"{name}_peak" for name in TOTALS)
USAGES = ("vcpu_usage", "memory_gib_usage")

SYSTEM_KINDS = ("DaemonSet", "Node")
"""Node: static pods, which their node owns (Kubernetes: "Create static Pods")."""
SYSTEM_NAMESPACES = r"^(kube-.*|gke-managed-.*|gmp-.*|calico-system|tigera-operator|aks-command|amazon-cloudwatch)$"
SYSTEM_PRIORITIES = ("system-cluster-critical", "system-node-critical")
"""The two priority classes that every cluster has (Kubernetes: "Guaranteed Scheduling For Critical Add-On Pods")."""


@dataclass(frozen=True, slots=True)
class Observed:
    """What observe hands to place.

    Args:
        workloads: all that take room in their clusters, also those of which nothing can be advised.
        flows: their data flows, stated and measured.
        not_enough_data: workloads that must not be advised, clusters of the fleet that were not seen, and what else is
            not known.
        pools: the nodes that were seen, settings standing where both speak; None: the source does not know nodes.
        flow_bounds: the most that can have left each workload, wherever it went; never a flow.
    """

    workloads: dy.DataFrame[Workload]
    flows: dy.DataFrame[Flow]
    not_enough_data: dy.DataFrame[NotEnoughData]
    pools: dy.DataFrame[ObservedPool] | None
    flow_bounds: dy.DataFrame[Flow]


def observe(usage: Usage, policy: Policy, *, clusters: Sequence[ClusterSettings], window: Window) -> Observed:
    """This will reduce a window of samples to workloads with their attributes and flows.

    Means are Σ(amount × observed time) / Σ(observed time of the cluster): a step in which the cluster was observed and
    the workload was not counts as zero; a step in which the cluster was not observed does not count.

    Args:
        usage: samples of any time; only those in the window are used.
        policy: classes and rules.
        clusters: the fleet.
        window: from start to before end.
    """
    coverage = coverage_of(usage.observed, window)
    samples = _steps(usage, coverage, window)
    kinds = latest_kinds(samples)
    samples = with_latest_kind(samples, kinds)
    reduced = _reduced(samples, coverage)
    stated = with_latest_kind(usage.stated.with_columns(spelt_as_kubernetes()), kinds)
    attributed = attributes_of(reduced, _one_statement_each(stated), policy)
    whole = reduced.join(attributed.attributes, on=KEY).with_columns(_is_system())
    mistakes = mistakes_of(attributed, usage, kinds)
    unfit = unfit_workloads(whole.filter(~pl.col("is_system")), mistakes, coverage, window)
    gone = unfit.filter(pl.col("reason").is_in([Reason.NEVER_RAN, Reason.VANISHED]))
    kept = whole.join(gone, on=KEY, how="anti")
    told = pl.concat(
        [clusters_not_seen(usage.observed, clusters, window), *_of_the_fleet(usage, clusters, window), unfit]
    )
    flows, bounds = _flows(attributed.flows, usage.egress, clusters, kinds)
    return Observed(
        workloads=Workload.validate(kept.select(Workload.column_names()).sort(KEY)),
        flows=Flow.validate(flows.join(kept, on=KEY, how="semi").sort(Flow.primary_key())),
        not_enough_data=NotEnoughData.validate(told.sort(NotEnoughData.primary_key())),
        pools=None if usage.pools is None else with_settings(usage.pools, clusters),
        flow_bounds=Flow.validate(bounds.join(kept, on=KEY, how="semi").sort(Flow.primary_key())),
    )


def _of_the_fleet(
    usage: Usage, clusters: Sequence[ClusterSettings], window: Window
) -> list[dy.DataFrame[NotEnoughData]]:
    told = [not_in_settings(usage.observed, usage.pools, clusters, window)]
    if usage.pools is not None:
        seen = with_settings(usage.pools, clusters)
        told += [pools_not_seen(seen, clusters, window), pools_not_in_settings(seen, clusters)]
    if usage.egress is not None:
        told.append(egress_unknown(usage.egress, clusters))
    return told


def _flows(
    stated: dy.DataFrame[Flow], egress: Egress | None, clusters: Sequence[ClusterSettings], kinds: pl.DataFrame
) -> tuple[dy.DataFrame[Flow], dy.DataFrame[Flow]]:
    """Flows, and upper bounds of what left."""
    if egress is None:
        return stated, Flow.create_empty()
    rows = _of_latest_kind(egress.flows, kinds, "destination", "flow_source")
    return with_measured(stated, rows, clusters), upper_bounds(_of_latest_kind(egress.most, kinds))


def _of_latest_kind(amounts: pl.DataFrame, kinds: pl.DataFrame, *more: str) -> pl.DataFrame:
    renamed = with_latest_kind(amounts.with_columns(spelt_as_kubernetes()), kinds)
    return renamed.group_by(*KEY, *more).agg(pl.col("gib_per_hour").sum())


def _one_statement_each(stated: pl.DataFrame) -> dy.DataFrame[StatedAttribute]:
    """Where a workload had two kinds, each may say something; the first by value stands, so that runs agree."""
    key = StatedAttribute.primary_key()
    return StatedAttribute.validate(stated.sort(*key, "value").unique(key, keep="first", maintain_order=True))


def _steps(usage: Usage, coverage: Coverage, window: Window) -> pl.DataFrame:
    """Samples in the window, one row a workload, place and step."""
    numbered = usage.samples.filter(window.holds()).with_columns(
        step_of(window, coverage.step_seconds), spelt_as_kubernetes()
    )
    return (
        numbered.join(coverage.steps, on=["cluster", "step"])
        .group_by(*KEY, *PLACE, "gpu_model", "step", "weight")
        .agg(
            pl.col(*TOTALS, *USAGES, "gpu_usage_ratio").mean(),
            *(pl.max_horizontal(name, f"{name}_peak").max().alias(f"{name}_peak") for name in TOTALS),
            pl.col("timestamp").min().alias("first_seen"),
            pl.col("timestamp").max().alias("last_seen"),
        )
    )


def _per_step(samples: pl.DataFrame) -> pl.DataFrame:
    """One row a workload (by its number w) and step, over all the places it ran in.

    A peak is the sum of the places' peaks, which is too high only where they did not fall together. Usage is null where
    that in one of the places is not known, or it ran in none. `_gpus_busy` is Σ GPUs × ratio over the GPUs whose ratio
    is known, `_gpus_measured` their number.
    """
    ran, ratio = pl.col("replicas") > 0, pl.col("gpu_usage_ratio")
    return (
        samples.with_columns(
            *((ran & pl.col(name).is_null()).alias(f"_{name}_unknown") for name in USAGES),
            *(pl.when(ran).then(pl.col(name)).alias(name) for name in USAGES),
            (ratio * pl.col("gpu_request")).alias("_gpus_busy"),
            pl.when(ratio.is_not_null()).then("gpu_request").alias("_gpus_measured"),
        )
        .group_by("w", "step", "weight")
        .agg(
            pl.col(*TOTALS, *PEAKS, *USAGES, "_gpus_busy", "_gpus_measured").sum(),
            pl.col(*(f"_{name}_unknown" for name in USAGES)).any(),
            pl.col("first_seen").min(),
            pl.col("last_seen").max(),
        )
        .with_columns(
            pl.when((pl.col("replicas") > 0) & ~pl.col(f"_{name}_unknown")).then(pl.col(name)).alias(name)
            for name in USAGES
        )
    )


def _reduced(samples: pl.DataFrame, coverage: Coverage) -> pl.DataFrame:
    """One row a workload. Workloads are numbered in the order of their keys, since numbers are quicker to sort."""
    keys = samples.select(KEY).unique().sort(KEY).with_row_index("w").join(coverage.clusters, on="cluster", how="left")
    numbered = samples.join(keys.select("w", *KEY), on=KEY)
    weight, observed = pl.col("weight"), pl.col("observed_steps").first()
    measured = pl.col("_gpus_measured").dot(weight)
    return (
        _per_step(numbered)
        .sort("w", "step")
        .join(keys, on="w", maintain_order="left")
        .group_by("w", *KEY, maintain_order=True)
        .agg(
            *((pl.col(name).dot(weight) / observed).alias(f"{name}_mean") for name in TOTALS),
            pl.col(*PEAKS).max(),
            pl.col("vcpu_usage").quantile(0.95, "linear").alias("vcpu_usage_p95"),
            pl.col("memory_gib_usage").max().alias("memory_gib_usage_peak"),
            pl.when(measured > 0)
            .then((pl.col("_gpus_busy").dot(weight) / measured).clip(upper_bound=1))
            .alias("gpu_usage_ratio_mean"),
            (weight.filter(pl.col("replicas") > 0).sum() / observed).clip(upper_bound=1).alias("running_ratio"),
            pl.col("coverage_ratio", "last_step").first(),
            pl.len().cast(pl.UInt32).alias("samples"),
            pl.col("first_seen").min(),
            pl.col("last_seen").max(),
            pl.col("step").min().alias("_first_step"),
            pl.col("step").max().alias("_own_last_step"),
        )
        .join(_main(numbered, PLACE, pl.col("replicas")), on="w", how="left")
        .join(_main(numbered, ("gpu_model",), pl.col("gpu_request")), on="w", how="left")
        .with_columns(pl.col(*PLACE, "gpu_model").fill_null(""))
    )


def _main(numbered: pl.DataFrame, names: Sequence[str], amount: pl.Expr) -> pl.DataFrame:
    """What most of a workload's replica-hours, or GPU-hours, were spent on."""
    return (
        numbered.group_by("w", *names)
        .agg((amount * pl.col("weight")).sum().alias("_amount"))
        .filter(pl.col("_amount") > 0)
        .sort("w", "_amount", *names, descending=[False, True] + [False] * len(names))
        .unique("w", keep="first", maintain_order=True)
        .drop("_amount")
    )


def _is_system() -> pl.Expr:
    return (
        pl.col("workload_kind").is_in(SYSTEM_KINDS)
        | pl.col("namespace").str.contains(SYSTEM_NAMESPACES)
        | pl.col("priority_class").is_in(SYSTEM_PRIORITIES)
    ).alias("is_system")
