"""The arrow advise → schedulers, as numbers: what workloads cost in every cluster → one score a cluster and class.

    costs, workloads → the same workloads in every cluster → £/h → points on a logarithmic scale → held, or lapsed

A score compares clusters for the workloads of one residency class that ask for the same kind of node, by capacity type
or in `any`, each workload in the cheapest type that it may use. It promises that a cluster is never cheap because
something is missing there: all clusters are priced for the same workloads, and one that not all of them may enter is
out. A class whose inputs are not whole has the scores of before until their end, and then none at all.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import dataframely as dy
import polars as pl

from recommender.emit.contract import Subject
from recommender.emit.names import dns_label
from recommender.emit.score_inputs import InputAge, input_ages, priced_at, usage_until, valid_until
from recommender.emit.score_scale import LEAST, MOST, OUT, Scale
from recommender.frames import WORKLOAD_KEY, ClassScore, ClusterCost, Workload
from recommender.place.by_cluster import ROOM_RULES
from recommender.place.constraints import cluster_observed, price_known
from recommender.settings import Policy

ANY: Final = "any"
CPU: Final = "cpu"
PRICED, FORBIDDEN, UNPRICED, NO_CAPACITY = "priced", "forbidden", "unpriced", "no-capacity"

GROUP: Final = ("residency_class", "resource_class", "capacity_type")
_CLASS: Final = ("residency_class", "resource_class")
_NOT_LAW: Final = [*ROOM_RULES, price_known.RULE.id, cluster_observed.RULE.id]
"""Rules that say that something is full or not known, not that it is forbidden."""


@dataclass(frozen=True, slots=True)
class Lapse:
    """A class of which nothing new can be said.

    Args:
        residency_class: the class.
        why: what is missing.
        held_until: until when its scores of before stand; None: there are none.
    """

    residency_class: str
    why: str
    held_until: datetime | None


@dataclass(frozen=True, slots=True)
class Scores:
    """The scores of an evaluation.

    Args:
        scores: of every class that has any; the same scores in every cluster.
        lapsed: classes that have none, or those of before.
    """

    scores: dy.DataFrame[ClassScore]
    lapsed: tuple[Lapse, ...]


def scores_of(subject: Subject, previous: dy.DataFrame[ClassScore] | None = None) -> Scores:
    """This will score the fleet of a subject; see class_scores.

    Raises:
        SettingsError: the policy gives no scale.
    """
    usage_max_age = timedelta(hours=subject.settings.score.usage_max_age_hours)
    return class_scores(
        subject.costs,
        subject.workloads,
        clusters=[one.name for one in subject.clusters],
        policy=subject.policy,
        inputs=input_ages(subject.plan.inputs, subject.clusters, usage_max_age=usage_max_age),
        at=subject.at,
        previous=previous,
    )


def class_scores(
    costs: dy.DataFrame[ClusterCost],
    workloads: dy.DataFrame[Workload],
    *,
    clusters: Sequence[str],
    policy: Policy,
    inputs: Sequence[InputAge],
    at: datetime,
    previous: dy.DataFrame[ClassScore] | None = None,
) -> Scores:
    """This will score every cluster of the fleet for every class.

    Args:
        costs: every workload in every cluster, in cash, egress included.
        workloads: with their class; one without a class has no score, because no rule says where it may go, and
            neither has one that is bound to its node's volumes.
        clusters: the fleet.
        policy: the weights of the scheduler and the smallest saving that is worth a move.
        inputs: ages of prices and usage.
        at: the time of the evaluation (UTC).
        previous: the scores before; None: there are none. They steady the anchors and stand in for what is missing.

    Raises:
        SettingsError: the policy gives no scale.
    """
    scale = Scale.of(policy)
    live = ClassScore.create_empty() if previous is None else previous.filter(pl.col("valid_until") > at)
    attributes = _attributes(workloads)
    rows = _by_capacity_type(costs, attributes)
    basis = rows.filter(pl.col("state") == PRICED).select(*GROUP, *WORKLOAD_KEY).unique(maintain_order=True)
    judged = _judged(rows, basis, clusters)
    named = judged.join(_names(judged), on=GROUP, how="left", maintain_order="left")
    anchored = named.join(_anchors(named, basis, live, scale), on="score", how="left", maintain_order="left")
    end = valid_until(inputs)
    fresh = _pointed(anchored, scale).with_columns(
        pl.lit(priced_at(inputs), pl.Datetime("us", "UTC")).alias("priced_at"),
        pl.lit(usage_until(inputs), pl.Datetime("us", "UTC")).alias("usage_until"),
        pl.lit(end or at, pl.Datetime("us", "UTC")).alias("valid_until"),
        is_held=pl.lit(value=False),
    )
    why = _lapses(fresh, attributes, live, inputs, at)
    return _held(fresh.select(ClassScore.column_names()), live, why)


def _attributes(workloads: pl.DataFrame) -> pl.DataFrame:
    """The key, class and kind of node of every workload that has a class and can move."""
    model = pl.when(pl.col("gpu_model") == "").then(pl.lit("gpu")).otherwise("gpu_model")
    movable = ~pl.col("is_system") & ~pl.col("local_volume")
    return workloads.filter(movable & (pl.col("residency_class") != "")).select(
        *WORKLOAD_KEY,
        "residency_class",
        resource_class=pl.when(pl.col("gpu_request_peak") > 0).then(model).otherwise(pl.lit(CPU)),
    )


def _by_capacity_type(costs: pl.DataFrame, attributes: pl.DataFrame) -> pl.DataFrame:
    """One row a workload, cluster and capacity type, `any` among them, with `state` and the price if there is one."""
    law = pl.col("rules").list.set_difference(_NOT_LAW).list.len() > 0
    seen = ~pl.col("rules").list.contains(cluster_observed.RULE.id)
    each = costs.join(attributes, on=WORKLOAD_KEY, how="inner").select(
        *_CLASS,
        *WORKLOAD_KEY,
        "to_cluster",
        capacity_type="to_capacity_type",
        state=pl.when(pl.col("allowed") & seen)
        .then(pl.lit(PRICED))
        .when(law)
        .then(pl.lit(FORBIDDEN))
        .otherwise(pl.lit(UNPRICED)),
        gbp_per_hour="gbp_per_hour",
        rules="rules",
    )
    priced = pl.col("state") == PRICED
    cheapest = each.group_by(*_CLASS, *WORKLOAD_KEY, "to_cluster", maintain_order=True).agg(
        capacity_type=pl.lit(ANY),
        state=pl.when(priced.any())
        .then(pl.lit(PRICED))
        .when((pl.col("state") == FORBIDDEN).all())
        .then(pl.lit(FORBIDDEN))
        .otherwise(pl.lit(UNPRICED)),
        gbp_per_hour=pl.col("gbp_per_hour").filter(priced).min(),
        rules=pl.col("rules").explode().unique(maintain_order=True),
    )
    return pl.concat([cheapest, each.select(cheapest.columns)])


def _judged(rows: pl.DataFrame, basis: pl.DataFrame, clusters: Sequence[str]) -> pl.DataFrame:
    """Every group beside every cluster: its state there, and what all of its workloads cost."""
    sizes = basis.group_by(GROUP).agg(workloads=pl.len()).sort(GROUP)
    fleet = pl.DataFrame({"cluster": sorted(set(clusters))}, schema={"cluster": pl.String})
    forbidden = pl.col("state") == FORBIDDEN
    found = (
        rows.join(basis, on=[*GROUP, *WORKLOAD_KEY], how="semi")
        .group_by(*GROUP, cluster_there=pl.col("to_cluster"))
        .agg(
            found=pl.len(),
            priced=(pl.col("state") == PRICED).sum(),
            forbidden=forbidden.sum(),
            gbp_per_hour=pl.col("gbp_per_hour").filter(pl.col("state") == PRICED).sort().sum(),
            rules=pl.col("rules")
            .filter(forbidden)
            .list.set_difference(_NOT_LAW)
            .explode()
            .unique()
            .sort()
            .str.join(", "),
        )
        .rename({"cluster_there": "cluster"})
    )
    joined = sizes.join(fleet, how="cross", maintain_order="left_right").join(
        found, on=[*GROUP, "cluster"], how="left", maintain_order="left"
    )
    absent = pl.col("found").is_null() & (pl.col("capacity_type") != ANY)
    state = (
        pl.when((pl.col("priced") == pl.col("workloads")).fill_null(value=False))
        .then(pl.lit(PRICED))
        .when((pl.col("forbidden") > 0).fill_null(value=False))
        .then(pl.lit(FORBIDDEN))
        .when(absent)
        .then(pl.lit(NO_CAPACITY))
        .otherwise(pl.lit(UNPRICED))
    )
    return joined.with_columns(state=state).with_columns(
        gbp_per_hour=pl.when(pl.col("state") == PRICED).then("gbp_per_hour")
    )


def _names(judged: pl.DataFrame) -> pl.DataFrame:
    """The name of each group's score; where two would share one, all of them get a hash."""
    groups = judged.select(GROUP).unique(maintain_order=True)
    plain = [dns_label(_plain_name(*group)) for group in groups.iter_rows()]
    number = Counter(plain)
    names = [
        name if number[name] == 1 else dns_label("cost", *group)
        for name, group in zip(plain, groups.iter_rows(), strict=True)
    ]
    return groups.with_columns(score=pl.Series("score", names, dtype=pl.String))


def _plain_name(residency_class: str, resource_class: str, capacity_type: str) -> str:
    gpu = "" if resource_class == CPU else f"-gpu-{resource_class}".lower().replace(" ", "-")
    bought = "ondemand" if capacity_type == "on-demand" else capacity_type
    return f"cost-{residency_class}{gpu}-{bought}"


def _anchors(named: pl.DataFrame, basis: pl.DataFrame, live: pl.DataFrame, scale: Scale) -> pl.DataFrame:
    """The price that scores 50: the class's mean where it runs now, on a grid, and left alone while it stays near."""
    running = basis.group_by(*GROUP, "cluster").agg(running=pl.len())
    priced = named.filter((pl.col("state") == PRICED) & (pl.col("gbp_per_hour") > 0))
    price, weight = pl.col("gbp_per_hour"), pl.col("running").fill_null(0)
    means = (
        priced.join(running, on=[*GROUP, "cluster"], how="left")
        .sort("score", "cluster")
        .group_by("score", maintain_order=True)
        .agg(
            mean=pl.when(weight.sum() > 0)
            .then((price * weight).sum() / weight.sum())
            .otherwise(price.log().mean().exp())
        )
    )
    before = live.group_by("score").agg(pl.col("reference_gbp_per_hour").first()).iter_rows()
    known = {score: reference for score, reference in before if reference}
    anchors = [_steadied(mean, known.get(score), scale) for score, mean in means.iter_rows()]
    return means.select("score", reference_gbp_per_hour=pl.Series(anchors, dtype=pl.Float64))


def _steadied(mean: float, before: float | None, scale: Scale) -> float:
    if before is not None and abs(math.log(mean / before)) <= math.log(scale.grid_ratio):
        return before
    return scale.on_grid(mean)


def _pointed(anchored: pl.DataFrame, scale: Scale) -> pl.DataFrame:
    price, reference = pl.col("gbp_per_hour"), pl.col("reference_gbp_per_hour")
    priced = pl.col("state") == PRICED
    value = pl.when(priced).then(scale.points(price, reference)).otherwise(pl.lit(OUT, pl.Int32))
    number = pl.col("workloads")
    saturated = (
        pl.when(pl.col("value") == MOST)
        .then(pl.lit(", the high end of the scale"))
        .when(pl.col("value") == LEAST)
        .then(pl.lit(", the low end of the scale"))
        .otherwise(pl.lit(""))
    )
    told = (
        pl.when(priced)
        .then(pl.format("£{} an hour for all of its workloads ({}){}", price.round(4), number, saturated))
        .when(pl.col("state") == FORBIDDEN)
        .then(pl.format("workloads that may not be there: {} of {} ({})", pl.col("forbidden"), number, pl.col("rules")))
        .when(pl.col("state") == NO_CAPACITY)
        .then(pl.format("it has no {} capacity", pl.col("capacity_type")))
        .otherwise(
            pl.format("workloads without a price there: {} of {}", number - pl.col("priced").fill_null(0), number)
        )
    )
    return (
        anchored.with_columns(value=value)
        .with_columns(reason=told, workloads=number.cast(pl.UInt32))
        .sort("score", "cluster")
    )


def _lapses(
    fresh: pl.DataFrame,
    attributes: pl.DataFrame,
    live: pl.DataFrame,
    inputs: Sequence[InputAge],
    at: datetime,
) -> dict[str, str]:
    """The classes of which nothing new can be said, with the reason."""
    wrong = "; ".join(text for one in inputs if (text := one.wrong(at))) or ("" if inputs else "there are no inputs")
    if wrong:
        return dict.fromkeys(sorted({*fresh["residency_class"], *live["residency_class"]} - {""}), wrong)
    nowhere = sorted({*attributes["residency_class"]} - {*fresh["residency_class"]})
    gaps = fresh.filter(pl.col("state") == UNPRICED)
    runs_there = attributes.select(*_CLASS, "cluster").unique()
    driven_out = gaps.filter(pl.col("capacity_type") == ANY).join(runs_there, on=[*_CLASS, "cluster"], how="semi")
    was_priced = live.filter(pl.col("state") == PRICED).select("score", "cluster")
    lost = gaps.join(was_priced, on=["score", "cluster"], how="semi")
    told = dict.fromkeys(nowhere, "none of its workloads has a price anywhere that it may be")
    for row in pl.concat([driven_out, lost]).sort("residency_class", "score", "cluster").iter_rows(named=True):
        looked_at = (row["found"] or 0) == row["workloads"]
        why = (
            "cannot be priced"
            if looked_at
            else "is not priced for every workload, as the fleet is too large to try all,"
        )
        told.setdefault(row["residency_class"], f"{row['cluster']} {why} for {row['score']}")
    return told


def _held(fresh: pl.DataFrame, live: pl.DataFrame, why: dict[str, str]) -> Scores:
    whole = fresh.filter(~pl.col("residency_class").is_in(list(why)))
    before = live.filter(pl.col("residency_class").is_in(list(why))).with_columns(is_held=pl.lit(value=True))
    ends: dict[str, Any] = dict(before.group_by("residency_class").agg(pl.col("valid_until").min()).iter_rows())
    return Scores(
        scores=ClassScore.validate(
            pl.concat([whole, before.select(whole.columns)]).sort("score", "cluster").select(ClassScore.column_names())
        ),
        lapsed=tuple(Lapse(name, text, ends.get(name)) for name, text in sorted(why.items())),
    )
