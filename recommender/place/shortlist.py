"""The few places of each workload that a plan can use, out of many workloads times many places.

Priced and judged a slice of workloads at a time, so that memory does not grow with the pairs. All places with a limit
are kept, and of those without one the cheapest: nobody else is in the way there, so that a dearer one is in no best
plan, and a bound over the pairs kept is a bound over all. A few more are kept for what guards and people hold back, and
a cheap refused one for the explanation.

While a slice is looked at, it is also reduced to the place that comes nearest in each cluster and capacity type: what
place.by_cluster needs of all pairs, so that a score of a large fleet has no holes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

from recommender.place.by_cluster import ROOM_RULES
from recommender.place.candidates import with_nodes_needed
from recommender.place.constraints import CONSTRAINTS
from recommender.place.rule import named, refusal_code

KEPT_WITHOUT_LIMIT = 3
_PAIRS_A_SLICE = 400_000
_REFUSED_LOOKED_AT = 2
MOST_NEAREST = 2_000_000
"""Of workloads times clusters and capacity types; of a larger fleet only what a plan can use is told."""
_GROUP = ("to_cluster", "to_capacity_type")
_FEW_VALUES = (pl.String, pl.Boolean, pl.List(pl.String))
_READ = frozenset(
    {
        *("w", "p", "namespace", "from_cluster", "from_pool", "goal", "state_gib"),
        *("replicas_mean", "replicas_peak", "replica_vcpus", "replica_memory_gib", "replica_gpus"),
        *(f"{name}_request_{what}" for name in ("vcpu", "memory_gib", "gpu") for what in ("mean", "peak")),
        *("gang_size", "checkpoint_minutes", "to_cluster", "to_pool", "to_provider", "to_region", "to_capacity_type"),
        *("to_vcpus", "to_memory_gib", "to_gpus", "to_allocatable_vcpus", "to_allocatable_memory_gib"),
        *("to_gbp_per_vcpu_hour", "to_gbp_per_gib_hour", "to_gbp_per_gpu_hour", "to_marginal_gbp_per_hour"),
        "to_nodes_limited",
    }
)
"""What pricing reads; what the constraints read is added."""
_ALIKE = [
    *("to_cluster", "to_provider", "to_region", "to_zone", "to_jurisdiction", "to_capacity_type"),
    *("to_architecture", "to_gpu_model", "to_accelerators"),
]
_CHEAPER_BY = ("to_gbp_per_vcpu_hour", "to_gbp_per_gib_hour", "to_gbp_per_gpu_hour")
_LARGER_BY = ("to_allocatable_vcpus", "to_allocatable_memory_gib", "to_gpus")
_KEPT = ("w", "p", "limited", "refused")
_LAW = sum(2**bit for bit, rule in enumerate(CONSTRAINTS) if rule.id not in ROOM_RULES)
"""The bits of the rules that say whether a workload may be at a place at all."""


@dataclass(frozen=True, slots=True)
class Shortlist:
    """What is kept of all pairs.

    Args:
        pairs: w, p, `limited` (it takes room that others want) and `refused` (by a constraint), in the order of (w, p).
        nearest: of each workload, cluster and capacity type the cheapest place that it may be at, else the first one:
            w, p, gbp_per_hour, `code` (of the constraints that refuse it; of one not worth pricing those that do not
            depend on a workload's size), see named_places. None: there would be more than MOST_NEAREST.
    """

    pairs: pl.DataFrame
    nearest: pl.DataFrame | None


def shortlist(
    current: pl.DataFrame,
    fleet: pl.DataFrame,
    price: Callable[[pl.DataFrame], pl.DataFrame],
    *,
    crowded: frozenset[str] = frozenset(),
    and_columns: tuple[str, ...] = (),
) -> Shortlist:
    """This will return the pairs worth looking at.

    Args:
        current: workloads to advise on, from place.candidates.
        fleet: from place.candidates.
        price: adds to pairs what they cost (`ranking_gbp_per_hour`) and which room they take (`to_has_quota`).
        crowded: clusters where a quota limits a place, so that a dearer machine may be the one that fits.
        and_columns: further columns of the priced pairs to return.
    """
    needed = _READ | {name for rule in CONSTRAINTS for name in rule.refuses.meta.root_names()}
    workloads = current.select(name for name in current.columns if name in needed)
    there = undominated(fleet, crowded).select(name for name in fleet.columns if name in needed)
    kinds = _by_kind(workloads, there)
    numbered = workloads.with_columns(kind=kinds.of_workload)
    groups = there.select("p", g=pl.struct(_GROUP).rank("dense"))
    reduced = current.height * groups["g"].n_unique() <= MOST_NEAREST
    rows = max(1, _PAIRS_A_SLICE * max(1, kinds.of_workload.n_unique()) // max(1, kinds.worth.height))
    kept: list[pl.DataFrame] = []
    nearest: list[pl.DataFrame] = []
    for part in numbered.iter_slices(rows) if numbered.height else [numbered]:
        priced = _priced(part.join(kinds.worth, on="kind").drop("kind").join(there, on="p"), price)
        kept.append(_kept(priced, [*_KEPT, *and_columns]))
        if reduced:
            nearest.append(_nearest(priced, part, kinds.refused, groups, there))
    return Shortlist(pl.concat(kept).sort("w", "p"), pl.concat(nearest) if reduced else None)


def named_places(nearest: pl.DataFrame, fleet: pl.DataFrame) -> pl.DataFrame:
    """This will put names in the place of numbers: `to_…` of the place, `refused` as ids of constraints.

    Args:
        nearest: of a Shortlist.
        fleet: from place.candidates.
    """
    places = fleet.select("p", "to_cluster", "to_pool", "to_instance_type", "to_capacity_type")
    told = named(nearest, CONSTRAINTS, code="code", into="refused")
    return told.join(places, on="p", how="left", maintain_order="left")


def undominated(fleet: pl.DataFrame, crowded: frozenset[str]) -> pl.DataFrame:
    """This will leave out places that no workload has among its cheapest.

    A place is left out if so many others of its cluster, region and capacity type, without a limit like itself, are as
    cheap by every part and give as much room that the shortlist is full before it, the workload's own pool set aside.

    Args:
        fleet: from place.candidates.
        crowded: clusters where a quota limits a place.
    """
    free = ~pl.col("to_nodes_limited") & ~pl.col("to_cluster").is_in(sorted(crowded)) & pl.col("to_vcpus").is_not_null()
    gone: list[int] = []
    for _, alike in fleet.filter(free).group_by(_ALIKE, maintain_order=True):
        at_most = alike.select(_CHEAPER_BY).to_numpy()
        at_least = alike.select(_LARGER_BY).to_numpy()
        better = np.ones((alike.height, alike.height), dtype=bool)
        for column in at_most.T:
            better &= column[None, :] <= column[:, None]
        for column in at_least.T:
            better &= column[None, :] >= column[:, None]
        # Of two that are the same in all this the one with the lower number is before the other, as in the shortlist.
        same = better & better.T
        better &= ~(same & (alike["p"].to_numpy()[None, :] >= alike["p"].to_numpy()[:, None]))
        pools = alike["to_pool"].to_numpy()
        beaten = [len(set(pools[row])) > KEPT_WITHOUT_LIMIT for row in better]
        gone += alike["p"].filter(pl.Series(beaten)).to_list()
    return fleet.filter(~pl.col("p").is_in(gone))


@dataclass(frozen=True, slots=True)
class _Kinds:
    """Workloads that are alike in all that the rules without a size read.

    Args:
        of_workload: the kind of each workload.
        worth: kind and p of the places worth pricing: those that no such rule refuses, and the two refused ones with
            the cheapest vCPU, for the explanation.
        refused: kind, p, code (of CONSTRAINTS) of all places that such a rule refuses.
    """

    of_workload: pl.Series
    worth: pl.DataFrame
    refused: pl.DataFrame


def _by_kind(workloads: pl.DataFrame, fleet: pl.DataFrame) -> _Kinds:
    """Judge what does not depend on a workload's size once for all workloads that are alike in the rest."""
    words = {name for name, kind in workloads.schema.items() if kind in _FEW_VALUES}
    known = words | set(fleet.columns)
    rules = [rule for rule in CONSTRAINTS if known.issuperset(rule.refuses.meta.root_names())]
    read = sorted(words & {name for rule in rules for name in rule.refuses.meta.root_names()})
    as_text = [
        pl.col(name).list.join(",") if workloads.schema[name] == pl.List(pl.String) else pl.col(name).cast(pl.String)
        for name in read
    ]
    alike = pl.concat_str([text.fill_null("\0") for text in as_text], separator="\1").rank("dense")
    numbered = workloads.select(*read, kind=alike)
    kinds = numbered.unique("kind", keep="first").join(fleet, how="cross")
    bits = {rule.id: bit for bit, rule in enumerate(CONSTRAINTS)}
    code = pl.sum_horizontal(
        pl.lit(0, pl.UInt32), *(pl.when(one.refuses).then(2 ** bits[one.id]).otherwise(0) for one in rules)
    )
    judged = kinds.with_columns(code=code.cast(pl.UInt32))
    order = pl.struct(pl.col("to_gbp_per_vcpu_hour").fill_null(float("inf")), "p").rank("ordinal")
    worth = (pl.col("code") == 0) | (order.over("kind", pl.col("code") > 0) <= _REFUSED_LOOKED_AT)
    return _Kinds(
        numbered["kind"],
        judged.filter(worth).select("kind", "p"),
        judged.filter(pl.col("code") > 0).select("kind", "p", "code"),
    )


def _priced(bare: pl.DataFrame, price: Callable[[pl.DataFrame], pl.DataFrame]) -> pl.DataFrame:
    own = (pl.col("from_cluster") == pl.col("to_cluster")) & (pl.col("from_pool") == pl.col("to_pool"))
    return (
        price(with_nodes_needed(bare.filter(~own)))
        .with_columns(limited=pl.col("to_nodes_limited") | pl.col("to_has_quota"), code=refusal_code(CONSTRAINTS))
        .with_columns(refused=pl.col("code") > 0)
    )


def _kept(pairs: pl.DataFrame, columns: list[str]) -> pl.DataFrame:
    priced = pairs.select(*columns, cost="ranking_gbp_per_hour")
    legal = priced.filter(~pl.col("refused"))
    return pl.concat(
        [
            legal.filter("limited").drop("cost"),
            _cheapest(legal.filter(~pl.col("limited")), KEPT_WITHOUT_LIMIT),
            _cheapest(priced.filter("refused"), 1),
        ]
    )


def _nearest(
    pairs: pl.DataFrame, workloads: pl.DataFrame, refused: pl.DataFrame, groups: pl.DataFrame, there: pl.DataFrame
) -> pl.DataFrame:
    """The place of each workload, cluster and capacity type that comes nearest: see Shortlist."""
    numbered = pairs.select("w", "p", "code", "gbp_per_hour").join(groups, on="p", how="left", maintain_order="left")
    lawful = (pl.col("code") & _LAW == 0) & pl.col("gbp_per_hour").is_not_null()
    looked_at = numbered.sort("w", "g", ~lawful, "gbp_per_hour", "p", nulls_last=True).unique(["w", "g"], keep="first")
    first = refused.join(groups, on="p", how="left").sort("p").unique(["kind", "g"], keep="first")
    places = there.select("p", "to_cluster", "to_pool")
    own = (pl.col("from_cluster") == pl.col("to_cluster")) & (pl.col("from_pool") == pl.col("to_pool"))
    passed_over = (
        workloads.select("w", "kind", "from_cluster", "from_pool")
        .join(first, on="kind")
        .join(looked_at.select("w", "g"), on=["w", "g"], how="anti")
        .join(places, on="p", how="left")
        .filter(~own)
        .select("w", "p", "code", gbp_per_hour=pl.lit(None, pl.Float64))
    )
    return pl.concat([looked_at.select(passed_over.columns), passed_over]).sort("w", "p")


def _cheapest(pairs: pl.DataFrame, count: int) -> pl.DataFrame:
    """The cheapest of each workload, the lower p where two cost the same; those without a price come last."""
    order = pl.struct(pl.col("cost").fill_null(float("inf")), "p").rank("ordinal").over("w")
    return pairs.filter(order <= count).drop("cost")
