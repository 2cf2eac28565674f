"""How the split does on every real price at hand: do parts add up, how well are c, m, r reproduced, how fast is it.

Usage: python bench/split_all_prices.py DATA

DATA holds the folders aws_ec2_all_regions_2026-07, azure_ondemand_karpenter_2026-06, azure_retail_radar_2026-08 and
gcp_karpenter_2026-08; DATA/../reference the machine specifications. Exit code 1: the parts of some offer do not add up.
"""

from __future__ import annotations

import sys
import time
from datetime import UTC, date, datetime
from pathlib import Path

import polars as pl
from price_tables import SOURCES

from exporters.core.frames import FxRate, Offer, SetAside
from exporters.normalise.chosen import Chosen
from exporters.normalise.fit import MAX_ERROR, fit_groups
from exporters.normalise.pipeline import normalise

LARGEST_GAP = 1e-9
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
FX = FxRate.validate(
    pl.DataFrame(
        {"currency": ["USD"], "gbp_per_unit": [0.746330], "rate_date": [date(2026, 10, 30)], "fx_source": ["ecb"]}
    ),
    cast=True,
)


def report(name: str, chosen: Chosen) -> bool:
    """This will normalise one provider's prices, print what the split did with them, and tell whether parts add up."""
    started = time.perf_counter()
    result = normalise(
        chosen,
        fx=FX,
        previous=Offer.create_empty(),
        set_aside=SetAside.create_empty(),
        source=name,
        observed_at=NOW,
    )
    seconds = time.perf_counter() - started
    print(f"\n{name}: {result.offers.height:,} offers of {chosen.prices.height:,} prices in {seconds:.2f} s")
    gap = _largest_gap(result.offers)
    print(f"  largest relative error of the sum of parts: {gap:.1e}")
    for reason, rows in result.rejects.group_by("reason").agg(pl.col("rows").sum()).sort("reason").iter_rows():
        print(f"  rejected {reason}: {rows:,}")
    counts = result.offers.group_by("capacity_type", "split_method").len().sort("capacity_type", "split_method")
    for capacity, method, rows in counts.iter_rows():
        print(f"  {capacity} {method}: {rows:,}")
    _report_fits(result.offers)
    _report_devices(result.offers)
    return gap <= LARGEST_GAP


def _largest_gap(offers: pl.DataFrame) -> float:
    total = (
        pl.col("vcpus") * pl.col("gbp_per_vcpu_hour")
        + pl.col("memory_gib") * pl.col("gbp_per_gib_hour")
        + pl.col("gpus") * pl.col("gbp_per_gpu_hour").fill_null(0)
        + pl.col("accelerators") * pl.col("gbp_per_accelerator_hour").fill_null(0)
    )
    return float(offers.select((total / pl.col("gbp_per_hour") - 1).abs().max()).item())


def _report_fits(offers: pl.DataFrame) -> None:
    machines = offers.filter(capacity_type="on-demand").with_columns(devices=pl.col("gpus") + pl.col("accelerators"))
    fits = fit_groups(machines).with_columns(ratio=pl.col("vcpu_level") / pl.col("gib_level"))
    if fits.is_empty():
        return
    good = fits.filter(pl.col("max_error") <= MAX_ERROR)
    print(f"  groups with all three families: {fits.height}, within 5 %: {good.height}")
    print(f"  their offers: {fits['offers'].sum():,}, within 5 %: {good['offers'].sum():,}")
    per_generation = (
        fits.group_by("generation")
        .agg(
            regions=pl.len(),
            max_error=pl.col("max_error").max(),
            over=(pl.col("max_error") > MAX_ERROR).sum(),
            least_ratio=pl.col("ratio").min(),
            most_ratio=pl.col("ratio").max(),
        )
        .sort("generation")
    )
    with pl.Config(tbl_rows=-1, tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True):
        print(per_generation)
        print(fits.filter(pl.col("region").is_in(["eu-west-2", "uksouth"])).drop("provider", "operating_system"))


def _report_devices(offers: pl.DataFrame) -> None:
    share = 1 - (
        pl.col("vcpus") * pl.col("gbp_per_vcpu_hour") + pl.col("memory_gib") * pl.col("gbp_per_gib_hour")
    ) / pl.col("gbp_per_hour")
    carrying = offers.filter(pl.col("gpus") + pl.col("accelerators") > 0, pl.col("capacity_type") == "on-demand")
    if carrying.is_empty():
        return
    model = pl.when(pl.col("gpus") > 0).then("gpu_model").otherwise("accelerator_model")
    gbp = pl.coalesce("gbp_per_gpu_hour", "gbp_per_accelerator_hour")
    table = (
        carrying.with_columns(model=model, share=share, gbp=gbp)
        .group_by("model", "split_method")
        .agg(
            offers=pl.len(),
            least_share=pl.col("share").min(),
            median_share=pl.col("share").median(),
            least_gbp=pl.col("gbp").min(),
            median_gbp=pl.col("gbp").median(),
        )
        .sort("model", "split_method")
    )
    with pl.Config(tbl_rows=-1, tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True):
        print(table)
    typical = table.filter(split_method="remainder")["median_share"].median()
    print(f"  median over the models, of the share that the remainder leaves to devices: {typical:.2f}")


def main() -> int:
    """This will report on every cloud."""
    prices = Path(sys.argv[1])
    sums_hold = [report(name, load(prices, prices.parent / "reference")) for name, load in SOURCES.items()]
    return 0 if all(sums_hold) else 1


if __name__ == "__main__":
    sys.exit(main())
