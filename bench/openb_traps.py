"""The track openb-34d on poisoned catalogues, and with egress: what the numbers of bench/openb.py do not show.

Usage: python bench/openb_traps.py DATA

Each poisoned table goes through Tuppence's own filters (prices sorted out, shapes joined by region, normalised) and
stands in for its provider: Karpenter-Azure (68 zero prices), Cyclenerd's GCP (30 % of its region and type pairs do not
exist), coroot's AWS (pseudo types, dedicated prices). Plans are judged against the provider's own table: which offers
there are, and what they cost on the table's day, as no plan may be held to prices that came later; what the nodes of
coroot's old table cost two years on is told beside it. Exit code 1: a zero price, a phantom offer, a broken rule or an
overfull node was picked, a claimed cost is more than 0.5 % off the evaluated one, or egress does not turn the choice.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

import openb_track as track_of
import polars as pl
import price_tables
from openb_track import GBP_PER_USD, POLICIES, Track
from packing_evaluator import Machine, evaluate

from exporters.core.frames import EgressListPrice, FxRate, ListPrice, Offer, SetAside, Shape
from exporters.normalise.chosen import Chosen, sort_out_prices
from exporters.normalise.pipeline import normalise
from recommender.place.packing.problem import Effort
from recommender.place.packing.solve import pack

CLAIM_TARGET = 0.005
DEFAULT_POOLS_GBP = 56_630.0
POD_HOURS = 31_860.0
"""Of the track over its 34 days (its description, baseline B1)."""
DAYS = (1, 12, 23)
EFFORT = Effort(branches=1)
FX = FxRate.validate(
    pl.DataFrame(
        {"currency": ["USD"], "gbp_per_unit": [GBP_PER_USD], "rate_date": [date(2026, 8, 3)], "fx_source": ["ecb"]}
    ),
    cast=True,
)
MARKETS = {"on-demand": "od", "spot": "spot"}


@dataclass(frozen=True, slots=True)
class Tables:
    """Prices of one provider in USD by region and type, columns `on-demand` and `spot`.

    Args:
        poisoned: what the plan believes.
        real: what there is and what it costs on that day.
        later: what it costs two years later; None: the tables are of one season.
    """

    poisoned: pl.DataFrame
    real: pl.DataFrame
    later: pl.DataFrame | None = None


def azure_tables(prices: Path) -> Tables:
    """This will read Karpenter-Azure as it stands, and the Linux meters of the retail price list."""
    columns = {"instance_type": "sku", "on-demand": "on_demand_usd_per_hour"}
    poisoned = pl.read_csv(prices / "azure_ondemand_karpenter_2026-06/azure_ondemand.csv")
    real = pl.read_csv(prices / "azure_retail_radar_2026-08/azure_linux_vm_prices.csv")
    none = pl.lit(None, dtype=pl.Float64)
    return Tables(
        poisoned.select("region", **columns, spot=none),
        real.select("region", **columns, spot="spot_usd_per_hour"),
    )


def gcp_tables(prices: Path) -> Tables:
    """This will read Cyclenerd's last prices, phantoms included, and Karpenter-GCP."""
    columns = {"instance_type": "machine_type", "on-demand": "on_demand_usd_per_hour", "spot": "spot_usd_per_hour"}
    changes = pl.read_parquet(prices / "gcp_pricing_yml_cyclenerd_2026-07/gcp_weekly_changes_2022-2026.parquet")
    last = changes.sort("date").unique(["region", "machine_type"], keep="last", maintain_order=True)
    real = pl.read_parquet(prices / "gcp_karpenter_2026-08/gcp_history.parquet").filter(date="2026-08-03")
    return Tables(last.select("region", **columns), real.select("region", **columns))


def aws_tables(prices: Path) -> Tables:
    """This will read coroot's AWS prices of August 2024, hosts and dedicated ones included, and Vantage's of July 2026.

    On demand Vantage's stand for both years (AWS changed nine types of us-east-1 in four years). Spot moves from day to
    day: coroot's is a market price of its day and usable (its SOURCE.md), and no other table has that day.
    """
    file = prices / "multi_cloud_spot_daily_coroot_2023-2024/cloud-pricing_2024-08-09.json.gz"
    regions = json.loads(gzip.decompress(file.read_bytes()))["aws"]["compute"]
    rows = [
        (region, name, float(price["on_demand"]), float(price["spot"]))
        for region, types in regions.items()
        for name, price in types.items()
    ]
    poisoned = pl.DataFrame(rows, schema=["region", "instance_type", "on-demand", "spot"], orient="row")
    real = pl.read_parquet(prices / "aws_ec2_all_regions_2026-07/aws_linux.parquet").filter(kind="region")
    later = real.select(
        "instance_type", region="region_code", spot="spot_avg_usd_per_hour", **{"on-demand": "ondemand_usd_per_hour"}
    )
    of_the_day = poisoned.select("region", "instance_type", "spot")
    return Tables(poisoned, later.drop("spot").join(of_the_day, on=["region", "instance_type"], how="left"), later)


TABLES: dict[str, Callable[[Path], Tables]] = {
    "azure": azure_tables,
    "gcp": gcp_tables,
    "aws": aws_tables,
}


def filtered(provider: str, table: pl.DataFrame, real: pl.DataFrame, shapes: pl.DataFrame) -> pl.DataFrame:
    """This will send a table through the product's filters and print what was left out.

    Shapes are given by region, as DescribeInstanceTypes, machineTypes.list and the resource SKUs list them.
    """
    long = table.unpivot(
        ["on-demand", "spot"],
        index=["region", "instance_type"],
        variable_name="capacity_type",
        value_name="price_per_hour",
    ).filter(pl.col("price_per_hour").is_not_null())
    sorted_out = sort_out_prices(long, price="price_per_hour", example="instance_type")
    keyed = sorted_out.good.with_columns(
        provider=pl.lit(provider), zone=pl.lit(""), operating_system=pl.lit("linux"), currency=pl.lit("USD")
    )
    empty = ListPrice.create_empty()
    whole = keyed.with_columns(
        pl.lit(None, dtype=empty.schema[name]).alias(name) for name in empty.columns if name not in keyed.columns
    ).select(empty.columns)
    listed = real.select("region", "instance_type").unique().join(shapes.drop("region"), on="instance_type")
    chosen = Chosen(
        prices=ListPrice.validate(whole, cast=True),
        shapes=Shape.validate(listed.select(Shape.column_names()), cast=True),
        egress=EgressListPrice.create_empty(),
        rejects=sorted_out.rejects,
    )
    result = normalise(
        chosen,
        fx=FX,
        previous=Offer.create_empty(),
        set_aside=SetAside.create_empty(),
        source=provider,
        observed_at=datetime(2026, 11, 30, 12, tzinfo=UTC),
    )
    reasons = result.rejects.group_by("reason").agg(pl.col("rows").sum()).sort("reason").rows()
    print(f"{provider}: {table.height:,} rows, {result.offers.height:,} offers, left out {dict(reasons)}")
    return result.offers.filter(architecture="amd64")


def machines(provider: str, offers: Iterable[tuple[str, str, str, float, float, float, float]]) -> dict[str, Machine]:
    """This will turn rows of region, type, market, vCPUs, GiB, GPUs and USD into the evaluator's words."""
    return {
        f"{provider}/{region}/{market}/{name}": Machine(provider, region, market, vcpus, memory, gpus, usd)
        for region, name, market, vcpus, memory, gpus, usd in offers
    }


def poisoned(track: Track, provider: str, data: Path) -> bool:
    """This will plan on one poisoned table and have the plans judged against the real one."""
    tables = TABLES[provider](data / "prices")
    shapes = price_tables.SOURCES[provider](data / "prices", data / "reference").shapes
    offers = filtered(provider, tables.poisoned, tables.real, shapes)
    places = {machine.region for machine in track.catalogue.values() if machine.provider == provider}
    others = {name: one for name, one in track.catalogue.items() if one.provider != provider}
    usd = pl.col("gbp_per_hour") / GBP_PER_USD
    mine = offers.filter(pl.col("region").is_in(sorted(places))).select(
        "region", "instance_type", pl.col("capacity_type").replace_strict(MARKETS), "vcpus", "memory_gib", "gpus", usd
    )
    believed = others | machines(provider, mine.rows())
    real, later = (
        None if table is None else others | machines(provider, _rows(table, shapes, places))
        for table in (tables.real, tables.later)
    )
    assert real is not None
    return judged(track, provider, believed, real, later)


def _rows(
    table: pl.DataFrame, shapes: pl.DataFrame, places: set[str]
) -> list[tuple[str, str, str, float, float, float, float]]:
    """Every offer of a provider's own table; what it has no price for costs nothing, and picking it is a fault."""
    truth = table.join(shapes.drop("region"), on="instance_type").filter(pl.col("region").is_in(sorted(places)))
    shape = ("vcpus", "memory_gib", "gpus")
    return [
        row
        for column, market in MARKETS.items()
        for row in truth.select("region", "instance_type", pl.lit(market), *shape, pl.col(column).fill_null(0.0)).rows()
    ]


def judged(
    track: Track,
    provider: str,
    believed: dict[str, Machine],
    real: dict[str, Machine],
    later: dict[str, Machine] | None,
) -> bool:
    """This will plan with what is believed, judge with what is real, and say what the same nodes cost later."""
    policy = POLICIES["eu3_spot"]
    offers = track_of.node_offers(believed, policy)
    counts = {"zero prices": 0, "phantom offers": 0, "rule breaks": 0, "other faults": 0}
    claimed = evaluated = cost_later = 0.0
    picked = 0
    for day in DAYS:
        needs = track_of.snapshot(track, day)
        plan = pack(track_of.solver_pods(needs, offers), offers, effort=EFFORT)
        nodes = [(group.offer, contents) for group in plan.nodes for contents in group.packing]
        picked += sum(name.startswith(f"{provider}/") for name, _ in nodes)
        verdict = evaluate(
            nodes, pods=needs, catalogue=real, rules=track_of.rules(track, policy), gbp_per_usd=GBP_PER_USD
        )
        counts["zero prices"] += len(verdict.zero_prices)
        counts["phantom offers"] += len(verdict.phantom_offers)
        counts["rule breaks"] += len(verdict.rule_breaks)
        counts["other faults"] += len(verdict.unplaced) + len(verdict.placed_twice) + len(verdict.overfull)
        claimed, evaluated = claimed + plan.cost_gbp_per_hour, evaluated + verdict.gbp_per_hour
        cost_later += sum((later or real)[name].usd_per_hour for name, _ in nodes if name in real) * GBP_PER_USD
        for fault in (*verdict.zero_prices, *verdict.phantom_offers):
            print(f"  day {day}: {fault}")
    print(
        f"  {len(DAYS)} snapshots, {picked} nodes picked of it: {counts};"
        f" at the table's prices £{claimed:.2f}/h, at the real ones £{evaluated:.2f}/h"
    )
    if later is not None:
        print(f"  at the prices two years later £{cost_later:.2f}/h: spot moved by {cost_later - evaluated:+.2f}")
    off = abs(claimed / evaluated - 1.0)
    print(f"  claimed and evaluated differ by {off:.2%} (limit {CLAIM_TARGET:.1%})")
    return not any(counts.values()) and off <= CLAIM_TARGET


def egress(track: Track, data: Path) -> bool:
    """This will find where egress at 0.09 USD a GB eats up what leaving London for the EU and three clouds saves.

    The greedy packer saves more by leaving (about 3.7 GB on hourly snapshots) than the best plans do, because it packs
    badly at home; both are printed, and the share of pods that leave when each is free to.
    """
    gbp_per_gb = 0.09 * GBP_PER_USD
    hourly = _saved_per_pod_by_hours(data)
    print(f"egress: over all hours the track's greedy packer saves £{hourly:.3f}: even at {hourly / gbp_per_gb:.2f} GB")
    by_greedy, by_best = _saved_per_pod(track, "greedy"), _saved_per_pod(track, "best_plan")
    print(
        f"egress: leaving saves the greedy packer £{by_greedy:.3f} a pod-hour: even at {by_greedy / gbp_per_gb:.2f} GB"
    )
    print(f"egress: leaving saves the best plans £{by_best:.3f} a pod-hour: even at {by_best / gbp_per_gb:.2f} GB")
    shares = {gb: _share_abroad(track, gb * gbp_per_gb) for gb in (0.0, 1.0, 2.0, 3.0, 3.7, 5.0, 20.0)}
    print("  share of pods that leave: " + ", ".join(f"{gb:.1f} GB {share:.0%}" for gb, share in shares.items()))
    falls = [shares[gb] for gb in sorted(shares)]
    return falls == sorted(falls, reverse=True) and falls[0] > 0.9 and falls[-1] < 0.1


def _saved_per_pod_by_hours(data: Path) -> float:
    """The track's convention: its greedy packer on 816 hourly snapshots, on demand, as shares of the default pools."""
    results = pl.read_csv(data / "benchmark/reference_results.csv")
    shares = dict(results.select("policy", "greedy_upper_bound").iter_rows())
    return float(shares["home_od"] - shares["eu_3clouds_od"]) * DEFAULT_POOLS_GBP / POD_HOURS


def _saved_per_pod(track: Track, plan: str) -> float:
    def total(policy: str, column: str) -> float:
        return sum(row[column] for (_, name), row in track.bounds.items() if name == policy)

    column = f"{plan}_gbp_per_hour"
    return (total("home_od", column) - total("eu3_od", column)) / total("home_od", "pods")


def _share_abroad(track: Track, gbp_per_pod_hour: float) -> float:
    offers = track_of.node_offers(track.catalogue, POLICIES["eu3_od"])
    away = sorted({offer.offer_class for offer in offers if offer.cluster != "/".join(track_of.HOME)})
    surcharges = tuple((name, gbp_per_pod_hour) for name in away)
    gone = total = 0
    for day in DAYS:
        pods = track_of.solver_pods(track_of.snapshot(track, day), offers, surcharges)
        plan = pack(pods, offers, effort=EFFORT)
        gone += sum(not offer.startswith("/".join(track_of.HOME)) for _, offer, _ in plan.assignment)
        total += len(pods)
    return gone / total


def main() -> int:
    """This will run every trap."""
    data = Path(sys.argv[1])
    track = track_of.load(data)
    good = [poisoned(track, provider, data) for provider in TABLES]
    return 0 if all([*good, egress(track, data)]) else 1


if __name__ == "__main__":
    sys.exit(main())
