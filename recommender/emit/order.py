"""The arrow emit → schedulers that take a list of clusters: which clusters a class may use, the cheapest first.

A class's workloads are ordered together, those that ask for a GPU model apart from the rest, because what they need is
in other clusters. A cluster stands in the list only when it is allowed for every one of them, has a price for every one
of them, and its jurisdiction is known; the price is the sum of what they cost there, in cash, each in the cheapest
capacity type that it may use. Owned capacity is priced at its margin, so it comes first exactly while it is cheaper.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

import polars as pl

from recommender.advise.capacity_record import CapacityRecommendation
from recommender.advise.record import Recommendation
from recommender.emit.contract import NotExpressed, Subject
from recommender.emit.subject import WAITING, Key, jurisdictions
from recommender.frames import WORKLOAD_KEY
from recommender.place.constraints import cluster_observed

_UNCLASSED = "no rule of the policy gives it a class, so it stays in its jurisdiction; add a rule that matches it"
_BOUND = "it is bound to volumes of its node and stays there; it is in no order of its class"
_UNTOLD = (
    "it has no price anywhere (the plan's not_enough_data says why), so it is in no order of its class: do not submit "
    "it to the queues and policies of its class"
)


@dataclass(frozen=True, slots=True)
class Ranked:
    """A cluster that a group may use, with what the whole group costs there."""

    cluster: str
    gbp_per_hour: float
    observed: bool


@dataclass(frozen=True, slots=True)
class Group:
    """The workloads of a class that ask for one GPU model, or for none, and their clusters, the cheapest first."""

    residency_class: str
    gpu_model: str
    workloads: tuple[Key, ...]
    clusters: tuple[Ranked, ...]

    @property
    def title(self) -> str:
        """This will return the group in words: the class, and the GPU model if there is one."""
        return f"{self.residency_class} on {self.gpu_model}" if self.gpu_model else self.residency_class


def allowed_costs(subject: Subject) -> pl.DataFrame:
    """This will return the rows of ClusterCost that something may be handed over for.

    Allowed, with a price, in a cluster of the fleet whose jurisdiction is known and among those that the class names.
    """
    known = [(name, word) for name, word in sorted(jurisdictions(subject).items()) if word]
    places = pl.DataFrame(known, schema={"to_cluster": pl.String, "jurisdiction": pl.String}, orient="row")
    classes = [(name, list(one.residency)) for name, one in sorted(subject.policy.classes.items())]
    residency = pl.DataFrame(
        classes, schema={"residency_class": pl.String, "residency": pl.List(pl.String)}, orient="row"
    )
    return (
        subject.costs.filter("allowed", pl.col("gbp_per_hour").is_not_null())
        .join(places, on="to_cluster", how="inner")
        .join(subject.workloads.select(*WORKLOAD_KEY, "residency_class", "gpu_model"), on=WORKLOAD_KEY, how="inner")
        .join(residency, on="residency_class", how="left")
        .filter(
            pl.col("residency").is_null()
            | (pl.col("residency").list.len() == 0)
            | pl.col("jurisdiction").is_in(pl.col("residency"))
        )
        .sort(*WORKLOAD_KEY, "to_cluster", "to_capacity_type")
    )


def groups(subject: Subject) -> tuple[tuple[Group, ...], tuple[NotExpressed, ...]]:
    """This will order the clusters of every class, and say which workloads and classes have no order."""
    told = subject.costs.select(WORKLOAD_KEY).unique()
    mine = subject.workloads.filter(~pl.col("is_system")).sort(WORKLOAD_KEY)
    classed = mine.filter(pl.col("residency_class") != "")
    free = classed.filter(~pl.col("local_volume"))
    missing = [
        *_said(mine.filter(pl.col("residency_class") == ""), _UNCLASSED),
        *_said(classed.filter("local_volume"), _BOUND),
        *_said(free.join(told, on=WORKLOAD_KEY, how="anti"), _UNTOLD),
    ]
    members = free.join(told, on=WORKLOAD_KEY, how="semi").sort(WORKLOAD_KEY)
    ranked = _ranked(allowed_costs(subject))
    found = []
    for (name, gpu), rows in members.group_by("residency_class", "gpu_model", maintain_order=True):
        keys = tuple(rows.select(WORKLOAD_KEY).rows())
        group = Group(str(name), str(gpu), keys, _clusters(ranked, rows, len(keys)))
        if group.clusters:
            found.append(group)
        else:
            missing.append(_nowhere(group))
    return tuple(sorted(found, key=lambda one: (one.residency_class, one.gpu_model))), tuple(missing)


def live(subject: Subject) -> tuple[Recommendation, ...]:
    """This will return the advice on workloads that may be handed over, by id."""
    return tuple(sorted((r for r in subject.plan.recommendations if _current(subject, r)), key=lambda one: one.id))


def live_capacity(subject: Subject) -> tuple[CapacityRecommendation, ...]:
    """This will return the advice on owned capacity that may be handed over, by id."""
    return tuple(sorted((r for r in subject.plan.capacity if _current(subject, r)), key=lambda one: one.id))


def expiry(subject: Subject, advice: Iterable[Recommendation | CapacityRecommendation] = ()) -> datetime:
    """This will return from when an object must not be applied: the first expiry of its advice and of its class."""
    of_class = subject.at + timedelta(hours=subject.settings.class_expires_after_hours)
    expires = [one.expires_at for one in advice]
    return min(expires) if expires else of_class


def _current(subject: Subject, one: Recommendation | CapacityRecommendation) -> bool:
    return one.state in WAITING and one.expires_at > subject.at


def _ranked(costs: pl.DataFrame) -> pl.DataFrame:
    """Each workload in each cluster at the cheapest capacity type that it may use there."""
    unseen = pl.col("rules").list.contains(cluster_observed.RULE.id)
    return costs.group_by(*WORKLOAD_KEY, "to_cluster", maintain_order=True).agg(
        pl.col("gbp_per_hour").min(), observed=(~unseen).any()
    )


def _clusters(ranked: pl.DataFrame, rows: pl.DataFrame, members: int) -> tuple[Ranked, ...]:
    """Clusters that take every workload of the group; those that were not observed come last: their room is unknown."""
    inside = ranked.join(rows.select(WORKLOAD_KEY), on=WORKLOAD_KEY, how="semi")
    sums = (
        inside.group_by("to_cluster")
        .agg(pl.len().alias("members"), pl.col("gbp_per_hour").sum(), pl.col("observed").all())
        .filter(pl.col("members") == members)
        # Sums of floats differ in the last digits with their order; a millionth of a penny decides nothing.
        .with_columns(pl.col("gbp_per_hour").round(8))
        .sort(pl.col("observed").not_(), "gbp_per_hour", "to_cluster")
    )
    return tuple(Ranked(row["to_cluster"], row["gbp_per_hour"], row["observed"]) for row in sums.iter_rows(named=True))


def _said(rows: pl.DataFrame, why: str) -> list[NotExpressed]:
    return [NotExpressed(what="/".join(key), why=why) for key in rows.sort(WORKLOAD_KEY).select(WORKLOAD_KEY).rows()]


def _nowhere(group: Group) -> NotExpressed:
    return NotExpressed(
        what=f"class {group.title}",
        why=f"no cluster is allowed and priced for all of its {len(group.workloads)} workloads; the plan's refusals "
        "say by which rules: split the class, or name a cluster that all of them may use",
    )
