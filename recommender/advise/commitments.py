"""Every commitment of an evaluation becomes a row of the plan: what it pays for now, and under the plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

import polars as pl

from exporters.core.money import rate
from recommender.advise.commitment_record import CommitmentPlanned, CommittedNodes
from recommender.place.commitment_use import Allotment
from recommender.place.committed import Covered, pool_name

DIGITS = 9
GroupKey = tuple[str, str, str]
_UNITS = {"instances": "instances", "vcpus": "vCPU", "memory_gib": "GiB", "gpus": "GPU"}
_OPTIONAL = ("region", "instance_family", "instance_type")


def commitments_planned(
    covered: Covered | None, workloads: pl.DataFrame, moving: pl.DataFrame, *, at: datetime, horizon_hours: float
) -> tuple[CommitmentPlanned, ...]:
    """This will say of every commitment what the fleet takes of it, in the order of provider, account and id.

    Args:
        covered: what commitments do; None: they were not asked for.
        workloads: every workload where it is, with nodes_needed.
        moving: the pairs that are advised, with nodes_needed.
        at: the evaluation time (UTC).
        horizon_hours: what ends sooner is told.
    """
    if covered is None:
        return ()
    planned = _planned(covered, workloads.join(moving, on="w", how="semi"), moving)
    return tuple(
        _row(row, [(one, planned[one.commitment, one.group]) for one in covered.allotments if one.commitment == key],
             horizon=at + timedelta(hours=horizon_hours))
        for row in covered.bought.iter_rows(named=True)
        if (key := (row["provider"], row["account"], row["commitment_id"]))
    )  # fmt: skip


def _planned(
    covered: Covered, leaving: pl.DataFrame, moving: pl.DataFrame
) -> dict[tuple[tuple[str, str, str], GroupKey], float]:
    """Nodes of each group under the plan, paid for by the commitments that pay for it now, in their order."""
    change = _change(leaving, moving)
    left = {one.key: max(0.0, one.nodes + change.get(one.key, 0.0)) for one in covered.groups}
    found = {}
    for one in covered.allotments:
        nodes = min(left[one.group], one.covered + one.free)
        left[one.group] -= nodes
        found[one.commitment, one.group] = nodes
    return found


def _change(leaving: pl.DataFrame, moving: pl.DataFrame) -> dict[GroupKey, float]:
    gone = leaving.select(*_group("from"), nodes=-pl.col("nodes_needed"))
    come = moving.select(*_group("to"), nodes="nodes_needed")
    sums = pl.concat([gone, come]).group_by("cluster", "pool", "instance_type").agg(pl.col("nodes").sort().sum())
    return {(cluster, pool, name): nodes for cluster, pool, name, nodes in sums.iter_rows()}


def _group(side: str) -> Iterator[pl.Expr]:
    yield pl.col(f"{side}_cluster").alias("cluster")
    yield pool_name(f"{side}_pool").alias("pool")
    yield pl.col(f"{side}_instance_type").alias("instance_type")


def _row(row: Mapping[str, Any], given: list[tuple[Allotment, float]], *, horizon: datetime) -> CommitmentPlanned:
    used = sum(one.covered * one.share_per_node for one, _ in given)
    planned = min(1.0, sum(nodes * one.share_per_node for one, nodes in given))
    cost = row["gbp_per_hour"]
    return CommitmentPlanned(
        **{name: row[name] for name in ("commitment_id", "source", "provider", "account", "kind", "capacity_type")},
        **{name: row[name] or None for name in _OPTIONAL},
        bought=_bought(row),
        gbp_per_hour=None if cost is None else round(cost, DIGITS),
        used_ratio=round(min(1.0, used), DIGITS),
        planned_used_ratio=round(planned, DIGITS),
        unused_gbp_per_hour=None if cost is None else round(cost * (1.0 - planned), DIGITS),
        nodes=tuple(
            CommittedNodes(
                cluster=one.group[0],
                pool=one.group[1],
                instance_type=one.group[2],
                nodes=round(one.covered, DIGITS),
                free_nodes=one.free,
                planned_nodes=round(nodes, DIGITS),
            )
            for one, nodes in given
        ),
        starts_at=row["starts_at"],
        ends_at=row["ends_at"],
        renews=row["renews"],
        note="; ".join(_notes(row, given, horizon)) or None,
    )


def _bought(row: Mapping[str, Any]) -> str:
    parts = [f"{row[name]:g} {unit}" for name, unit in _UNITS.items() if row[name] is not None]
    if row["instances"] == 1:
        parts[0] = "1 instance"
    if row["money_gbp"] is not None:
        parts.append(f"{rate(row['money_gbp'])} an hour")
    return ", ".join(parts) or "nothing that is known"


def _notes(row: Mapping[str, Any], given: list[tuple[Allotment, float]], horizon: datetime) -> Iterator[str]:
    if row["unusable"]:
        yield f"it pays for nothing here: {row['unusable']}"
    elif not given:
        yield "it fits no on-demand pool of the settings that has a price"
    if not row["unusable"] and row["ends_at"] < horizon:
        yield "it ends before a move pays back: nothing is moved onto it, and what it pays for costs cash from then on"
