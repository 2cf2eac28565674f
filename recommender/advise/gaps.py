"""What nothing can be said of, and what to do about it."""

from __future__ import annotations

import polars as pl

from recommender.advise.decision import Question
from recommender.advise.plan import NotEnoughData

NOT_ENOUGH_DATA: dict[str, tuple[str, str]] = {
    "unknown-cluster": ("the fleet has no cluster {cluster}", "Describe it in the section clusters of the settings."),
    "coverage": (
        "its cluster was observed in {coverage} of the window, {wanted} are needed",
        "Find out why samples are missing, or wait.",
    ),
    "unknown-residency-class": (
        "the policy has no class {residency_class!r}",
        "Add the class to the policy, or correct the label or rule that names it.",
    ),
    "unknown-latency-class": (
        "the policy has no latency class {latency_class!r}",
        "Add it to latency_classes in the policy, or correct the label or rule that names it.",
    ),
    "no-requests": (
        "it requests no vCPU, memory or GPU, so its share of a node is not known",
        "Set requests on its containers.",
    ),
    "unknown-pool": (
        "its pool is not known and cluster {cluster} has several",
        "Put the pool into the usage: a node label for the pool, or the column pool.",
    ),
    "unknown-instance-type": (
        "the machine type it runs on is not known, and pool {pool} may use several",
        "Export the node label node.kubernetes.io/instance-type, or fill the column instance_type.",
    ),
    "unknown-capacity-type": (
        "how its capacity is bought is not known; it is not taken for on-demand",
        "Export the node label that names the capacity type, or describe pool {pool} in the settings.",
    ),
    "capacity-type-conflict": (
        "usage says {capacity_type}, the settings of pool {pool} say {pool_capacity_type}",
        "Correct the pool's capacity_type, or the node label.",
    ),
    "no-price": (
        "there is no {capacity_type} price for {instance_type} in {provider}/{region}",
        "Run tuppence prices to see what is there; widen the source's filters or add the machine to a price book.",
    ),
    "stale-price": (
        "the prices of {provider} are older than allowed, so {instance_type} has no usable price",
        "Run tuppence fetch {provider} and read why it failed.",
    ),
    "gpu-model-conflict": (
        "it asks for GPU {gpu_model!r}, the machine {instance_type} has {from_gpu_model!r}",
        "Correct the column gpu_model, or the label that names the GPU.",
    ),
    "no-egress-price": (
        "one of its data flows has no published egress price where it runs ({provider}/{region})",
        "Name both ends as provider/region and add the rate to an egress book; 0 if the line is paid for.",
    ),
    "no-usage": (
        "no workload was observed in cluster {cluster}; silence is not idleness",
        "Check that its metrics reach Prometheus under the cluster label's name, or remove it from the fleet.",
    ),
}
"""Reason → what it means, what to do."""


def gaps(
    question: Question, workloads: pl.DataFrame, fleet: pl.DataFrame, *, nodes: tuple[NotEnoughData, ...] = ()
) -> tuple[NotEnoughData, ...]:
    """This will list workloads, pools and whole clusters that nothing is said of; system pods are not listed.

    Args:
        question: the inputs.
        workloads: every workload with its `reason`.
        fleet: the places.
        nodes: what is not known of nodes that there are, from advise.current_nodes.
    """
    stale = {manifest.source for manifest in question.prices.stale}
    ours = pl.col("reason").is_in(list(NOT_ENOUGH_DATA)) & ~pl.col("is_system")
    of_workloads = [
        _of_workload(row, question, stale) for row in workloads.filter(ours).sort("w").iter_rows(named=True)
    ]
    return tuple(sorted([*_told(question, workloads, fleet), *of_workloads, *nodes], key=_order))


def _told(question: Question, workloads: pl.DataFrame, fleet: pl.DataFrame) -> list[NotEnoughData]:
    """What observe said; where it was not asked, the clusters without a workload."""
    if question.unfit is None:
        silent = sorted(set(fleet["to_cluster"]) - set(workloads["from_cluster"]))
        return [_gap("no-usage", {"cluster": cluster}, {"cluster": cluster}) for cluster in silent]
    return [
        NotEnoughData.model_validate({name: value or None for name, value in row.items()})
        for row in question.unfit.iter_rows(named=True)
    ]


def _order(one: NotEnoughData) -> tuple[str, ...]:
    return (one.cluster, one.namespace or "", one.workload_kind or "", one.workload or "", one.reason)


def _of_workload(row: dict[str, object], question: Question, stale: set[str]) -> NotEnoughData:
    reason = str(row["reason"])
    if reason == "no-price" and row["from_provider"] in stale:
        reason = "stale-price"
    words = {
        **row,
        **{name: row[f"from_{name}"] for name in ("cluster", "pool", "provider", "region", "instance_type")},
        "capacity_type": row["from_capacity_type"],
        "coverage": f"{row['coverage_ratio']:.0%}",
        "wanted": f"{question.min_coverage_ratio:.0%}",
    }
    name = {key: str(words[key]) for key in ("cluster", "namespace", "workload_kind", "workload")}
    return _gap(reason, words, name)


def _gap(reason: str, words: dict[str, object], name: dict[str, str]) -> NotEnoughData:
    why, next_step = NOT_ENOUGH_DATA[reason]
    return NotEnoughData.model_validate(
        {**name, "reason": reason, "why": why.format_map(words), "next_step": next_step.format_map(words)}
    )
