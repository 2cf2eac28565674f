"""Under which one kind a workload goes: spelt as Kubernetes does, and the same all through the window.

A relabelled or rebuilt workload must not be split in two, because its money would be counted twice or lost.
"""

from __future__ import annotations

from itertools import pairwise

import polars as pl

NAME = ("cluster", "namespace", "workload")

KINDS = (
    "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController", "Job", "CronJob", "Pod", "Node",
)  # fmt: skip


def spelt_as_kubernetes(column: str = "workload_kind") -> pl.Expr:
    """This will spell the kinds of Kubernetes as it does, whatever the case; others stay as they are."""
    words = {kind.casefold(): kind for kind in KINDS}
    return pl.col(column).str.to_lowercase().replace_strict(words, default=pl.col(column)).alias(column)


def latest_kinds(samples: pl.DataFrame) -> pl.DataFrame:
    """This will say which kind a workload goes by, where its kind changed within the window.

    A name whose kinds follow one another (the last step of each is not after the first of the next) is one workload
    that was relabelled or rebuilt, and goes by its latest kind; kinds that run side by side are workloads of their own.

    Args:
        samples: cluster, namespace, workload_kind, workload, step.

    Returns:
        cluster, namespace, workload, workload_kind and `latest_kind`, only where the two differ.
    """
    spans = (
        samples.group_by(*NAME, "workload_kind")
        .agg(pl.col("step").min().alias("first"), pl.col("step").max().alias("last"))
        .filter(pl.len().over(NAME) > 1)
        .sort(*NAME, "first", "last")
    )
    rows = []
    for name, group in spans.group_by(NAME, maintain_order=True):
        if all(earlier["last"] <= later["first"] for earlier, later in pairwise(group.to_dicts())):
            latest = group["workload_kind"][-1]
            rows += [(*name, kind, latest) for kind in group["workload_kind"][:-1]]
    schema = dict.fromkeys((*NAME, "workload_kind", "latest_kind"), pl.String)
    return pl.DataFrame(rows, schema=schema, orient="row")


def with_latest_kind(frame: pl.DataFrame, kinds: pl.DataFrame) -> pl.DataFrame:
    """This will rename the kinds that latest_kinds found."""
    return (
        frame.join(kinds, on=[*NAME, "workload_kind"], how="left")
        .with_columns(workload_kind=pl.coalesce("latest_kind", "workload_kind"))
        .drop("latest_kind")
    )
