"""How far a place is from what a workload talks to, and what its class pays for the distance.

Milliseconds are counted to the farthest of the other ends of its data flows; a workload without any is measured from
the region where it is. Inside one region nothing is counted. A distance that nobody measured is null: it is refused
under a limit, and no penalty is made up for it.
"""

from __future__ import annotations

import polars as pl

from recommender.place.egress import INTERNET

_SITE = ("provider", "region")


def distances(current: pl.DataFrame, flows: pl.DataFrame, regions: pl.DataFrame, table: pl.DataFrame) -> pl.DataFrame:
    """This will measure each region for the workloads whose class asks for it.

    Args:
        current: w, from_provider, from_region, latency_gbp_per_ms_hour (null: distance costs nothing), latency_ms_max.
        flows: w, to, of all workloads.
        regions: provider, region: where any workload may be.
        table: Latency.

    Returns:
        w, provider, region, latency_ms (null: not known), latency_to: the farthest end, or the first not known, and
        latency_gbp_per_hour: what it pays for the distance; 0: nothing, or it is not known.
    """
    asked = pl.col("latency_gbp_per_ms_hour").is_not_null() | pl.col("latency_ms_max").is_not_null()
    bound = current.filter(asked & pl.col("from_provider").is_not_null())
    home = pl.concat_str("from_provider", "from_region", separator="/")
    own_ends = flows.filter(pl.col("to") != INTERNET).select("w", "to").unique()
    ends = pl.concat(
        [
            own_ends.join(bound.select("w"), on="w", how="semi"),
            bound.join(own_ends, on="w", how="anti").select("w", to=home),
        ]
    )
    sites = regions.select(_SITE).unique().sort(_SITE)
    there = pl.concat_str(*_SITE, separator="/")
    both_ways = pl.concat(
        [table.select("from", "to", "ms"), table.select(pl.col("to").alias("from"), pl.col("from").alias("to"), "ms")]
    )
    return (
        ends.sort("w", "to")
        .join(sites, how="cross", maintain_order="left_right")
        .with_columns(there.alias("from"))
        .join(both_ways.unique(["from", "to"], keep="first", maintain_order=True), on=["from", "to"], how="left")
        .with_columns(ms=pl.when(pl.col("from") == pl.col("to")).then(0.0).otherwise("ms"))
        .sort("w", *_SITE, pl.col("ms").fill_null(float("inf")), "to", descending=[False, False, False, True, False])
        .group_by("w", *_SITE, maintain_order=True)
        .agg(latency_ms=pl.col("ms").first(), latency_to=pl.col("to").first())
        .join(bound.select("w", "latency_gbp_per_ms_hour"), on="w", how="left", maintain_order="left")
        .with_columns(latency_gbp_per_hour=(pl.col("latency_ms") * pl.col("latency_gbp_per_ms_hour")).fill_null(0.0))
        .drop("latency_gbp_per_ms_hour")
    )


def with_latency(pairs: pl.DataFrame, distances: pl.DataFrame) -> pl.DataFrame:
    """This will add `latency_ms`, `latency_to` and `latency_gbp_per_hour`: zero where distance costs nothing.

    Args:
        pairs: with w, to_provider, to_region.
        distances: from `distances`.
    """
    renamed = distances.rename({"provider": "to_provider", "region": "to_region"})
    return pairs.join(renamed, on=["w", "to_provider", "to_region"], how="left", maintain_order="left").with_columns(
        pl.col("latency_gbp_per_hour").fill_null(0.0)
    )


def no_distances() -> pl.DataFrame:
    """This will return a frame of `distances` without a row."""
    text = dict.fromkeys(_SITE, pl.String)
    ends = {"latency_ms": pl.Float64, "latency_to": pl.String, "latency_gbp_per_hour": pl.Float64}
    return pl.DataFrame(schema={"w": pl.UInt32, **text, **ends})
