"""What a workload's data flows cost at each region it may run in.

Who pays for a byte is the place it leaves: a flow out is priced from the workload's region, a flow in from the other
side's. Bytes from the internet are free on all three clouds. Between two regions of one provider the provider's pair
rate holds; between providers, and to the internet, the internet rate of the region that the bytes leave. Within one
region a zone rate holds only between zones known to differ; a flow names no zone, so it costs nothing, and the evidence
says `same-region`.

Monthly tiers count all bytes that the whole fleet sends the same way (design: tier-aware, both ends), so each
workload pays the average price of that volume, its own included. A rate nobody published is null, never zero.
"""

from __future__ import annotations

import polars as pl

from exporters.core.units import HOURS_PER_MONTH
from recommender.place.tiers import PATH, PROVENANCE, cost_of_volume, provenance

INTERNET = "internet"
_SITE = ("provider", "region")
_LINE = ("w", *_SITE, "to", "direction", "gib_per_hour", "from_region", "basis", "gbp_per_gib", "gbp_per_hour")


def egress_lines(
    flows: pl.DataFrame, current: pl.DataFrame, regions: pl.DataFrame, rates: pl.DataFrame
) -> pl.DataFrame:
    """This will price every flow of every workload at every region.

    Args:
        flows: w, to, direction, gib_per_hour.
        current: w, provider, region: where each workload is.
        regions: provider, region: where any workload may go.
        rates: EgressRate.

    Returns:
        w, provider, region, to, direction, gib_per_hour, from_region (provider/region that the bytes leave), basis,
        gbp_per_gib and gbp_per_hour (both null: no published rate), and PROVENANCE (null where nothing is billed).
    """
    sites = pl.concat([regions.select(_SITE), current.select(_SITE)]).unique().sort(_SITE)
    lines = _with_path(flows.join(sites, how="cross", maintain_order="left_right"), rates)
    volume = _volume_with(lines, current)
    priced = cost_of_volume(volume, rates).with_columns(
        gbp_per_gib=pl.when(pl.col("gib_per_month") > 0).then(pl.col("gbp_per_month") / pl.col("gib_per_month"))
    )
    free = pl.col("basis").is_in(["same-region", "inbound"]) | (pl.col("gib_per_hour") == 0)
    return (
        lines.join(
            priced.select("w", *_SITE, *PATH, "gbp_per_gib"), on=["w", *_SITE, *PATH], how="left", maintain_order="left"
        )
        .with_columns(gbp_per_gib=pl.when(free).then(0.0).otherwise("gbp_per_gib"))
        .with_columns(gbp_per_hour=pl.col("gib_per_hour") * pl.col("gbp_per_gib"))
        .join(provenance(rates), on=list(PATH), how="left", maintain_order="left")
        .select(*_LINE, *(pl.when(~free).then(pl.col(name)).alias(name) for name in PROVENANCE))
    )


def egress_cost(lines: pl.DataFrame) -> pl.DataFrame:
    """This will add up the lines of each workload at each region: w, provider, region, egress_gbp_per_hour.

    One flow without a rate leaves the whole sum null.
    """
    whole = pl.col("gbp_per_hour").is_not_null().all()
    return lines.group_by("w", *_SITE, maintain_order=True).agg(
        egress_gbp_per_hour=pl.when(whole).then(pl.col("gbp_per_hour").sum())
    )


def state_cost(
    moving: pl.DataFrame, flows: pl.DataFrame, current: pl.DataFrame, regions: pl.DataFrame, rates: pl.DataFrame
) -> pl.DataFrame:
    """This will price the bytes of state that leave with a workload: w, provider, region, state_gbp (null: no rate).

    Args:
        moving: w, state_gib above zero.
        flows: w, to, direction, gib_per_hour of the fleet, for the tier that the bytes start in.
        current: w, provider, region.
        regions: provider, region.
        rates: EgressRate.
    """
    sites = regions.select(_SITE).unique().sort(_SITE)
    there = pl.concat_str("provider", "region", separator="/")
    pairs = (
        moving.join(current.rename({"provider": "at_provider", "region": "at_region"}), on="w", maintain_order="left")
        .join(sites, how="cross", maintain_order="left_right")
        .with_columns(to=there, direction=pl.lit("out"))
        .rename({"provider": "to_provider", "region": "to_region_"})
        .rename({"at_provider": "provider", "at_region": "region"})
    )
    paths = _with_path(pairs, rates)
    base = _fleet_volume(flows, current, rates)
    before = paths.join(base, on=PATH, how="left", maintain_order="left").with_columns(
        pl.col("fleet_gib_per_month").fill_null(0.0)
    )
    after = cost_of_volume(
        before.with_columns(gib_per_month=pl.col("fleet_gib_per_month") + pl.col("state_gib")), rates
    )
    start = cost_of_volume(before.with_columns(gib_per_month=pl.col("fleet_gib_per_month")), rates)
    difference = after["gbp_per_month"] - start["gbp_per_month"]
    return after.select(
        "w",
        provider="to_provider",
        region="to_region_",
        state_gbp=pl.when(pl.col("basis") == "same-region").then(0.0).otherwise(difference),
    )


def _with_path(lines: pl.DataFrame, rates: pl.DataFrame) -> pl.DataFrame:
    """The way the bytes go: from_region (as provider/region), basis, and the columns of PATH to look rates up."""
    here = pl.concat_str("provider", "region", separator="/")
    out = pl.col("direction") == "out"
    source = pl.when(out).then(here).otherwise("to")
    sink = pl.when(out).then("to").otherwise(here)
    ends = lines.with_columns(from_region=source, sink=sink)
    provider = pl.col("from_region").str.split("/").list.first()
    same_provider = provider == pl.col("sink").str.split("/").list.first()
    basis = (
        pl.when(pl.col("from_region") == INTERNET)
        .then(pl.lit("inbound"))
        .when(pl.col("from_region") == pl.col("sink"))
        .then(pl.lit("same-region"))
        .when(same_provider)
        .then(pl.lit("region-pair"))
        .otherwise(pl.lit("internet"))
    )
    named = ends.with_columns(
        basis=basis,
        path_provider=provider,
        path_region=pl.col("from_region").str.split("/").list.last(),
        path_destination=pl.when(basis == "region-pair").then(pl.lit("region")).otherwise(pl.lit(INTERNET)),
        pair_region=pl.col("sink").str.split("/").list.last(),
    )
    return _with_to_region(named, rates)


def _with_to_region(named: pl.DataFrame, rates: pl.DataFrame) -> pl.DataFrame:
    """The exact pair where the provider lists it, else its rate to any region."""
    pairs = (
        rates.filter(pl.col("destination") == "region")
        .select(path_provider="provider", path_region="from_region", pair_region="to_region", listed=True)
        .unique()
    )
    exact = (pl.col("basis") == "region-pair") & pl.col("listed").fill_null(value=False)
    return (
        named.join(pairs, on=["path_provider", "path_region", "pair_region"], how="left", maintain_order="left")
        .with_columns(path_to_region=pl.when(exact).then("pair_region").otherwise(pl.lit("")))
        .drop("listed", "pair_region", "sink")
    )


def _billed(lines: pl.DataFrame) -> pl.DataFrame:
    return lines.filter(pl.col("basis").is_in([INTERNET, "region-pair"]))


def _per_month(lines: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    total = (pl.col("gib_per_hour").sum() * HOURS_PER_MONTH).alias("gib_per_month")
    return lines.group_by(keys, maintain_order=True).agg(total)


def _fleet_volume(flows: pl.DataFrame, current: pl.DataFrame, rates: pl.DataFrame) -> pl.DataFrame:
    lines = _with_path(flows.join(current.select("w", *_SITE), on="w", maintain_order="left"), rates)
    return _per_month(_billed(lines), list(PATH)).rename({"gib_per_month": "fleet_gib_per_month"})


def _volume_with(lines: pl.DataFrame, current: pl.DataFrame) -> pl.DataFrame:
    """Bytes a month on each path, were the workload at that region and everybody else where they are."""
    here = _billed(lines).join(current.select("w", *_SITE), on=["w", *_SITE], how="semi", maintain_order="left")
    own = _per_month(here, ["w", *PATH]).rename({"gib_per_month": "own_now"})
    fleet = _per_month(here, list(PATH)).rename({"gib_per_month": "fleet_now"})
    then = _per_month(_billed(lines), ["w", *_SITE, *PATH])
    return (
        then.join(own, on=["w", *PATH], how="left", maintain_order="left")
        .join(fleet, on=list(PATH), how="left", maintain_order="left")
        .with_columns(
            gib_per_month=(pl.col("fleet_now").fill_null(0.0) - pl.col("own_now").fill_null(0.0)).clip(lower_bound=0.0)
            + pl.col("gib_per_month")
        )
    )
