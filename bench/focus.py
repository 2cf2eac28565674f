"""A FOCUS export of 10,000,000 charges reduced to the metrics, against DuckDB doing the same grouping in the same run.

``PYTHONPATH=. python bench/focus.py [--rows N] [--folder DIR]``. Generates
Parquet files of a million rows as providers split them (costs as doubles, tags as JSON), reduces them with the
product's own reader and with one SQL statement over the same files, each in processes of their own and in turn, and
removes them. It fails when a limit is missed or the two disagree by a penny.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl

ROWS = 10_000_000
ROWS_PER_FILE = 1_000_000
ROUNDS = 3
MOST_RATIO = 1.5
MOST_MEMORY_MB = 1_500
MONTH = datetime(2026, 10, 1, tzinfo=UTC)
OWNERS = ("owner", "team", "cost[-_ ]?center")

VCPUS = """'(?i)"(?:x_)?(?:CoreCount|vCPUs)"\\s*:\\s*"?(\\d+(?:\\.\\d+)?)'"""
MACHINE = """'"(?:x_)?(?:InstanceType|ServiceType)"\\s*:\\s*"([^"]+)"'"""
VALUE = '(?:"((?:[^"\\\\]|\\\\.)+)"|(true|-?\\d[^,}\\s]*))'
OWNER = ", ".join(f"nullif(regexp_extract(Tags, '[{{,]\\s*\"(?i:{tag})\"\\s*:\\s*{VALUE}', 1), '')" for tag in OWNERS)

SQL = f"""
SELECT BillingPeriodStart::DATE, ChargePeriodStart::DATE, ProviderName, BillingAccountId, SubAccountId, ServiceName,
  RegionId, ChargeCategory, PricingCategory, CommitmentDiscountId, CommitmentDiscountStatus, BillingCurrency,
  coalesce({OWNER}) AS owner, ConsumedUnit,
  CASE WHEN ConsumedUnit IN ('Hours', 'Hour', 'hours', 'hour', 'Hrs', 'hrs', 'h')
    THEN regexp_extract(SkuPriceDetails, {MACHINE}, 1) END AS machine,
  CASE WHEN ChargeCategory <> 'Usage' THEN NULL
    WHEN regexp_matches(ConsumedUnit, '^(vCPU|CPU|Core)[ -]Hours?$') THEN ConsumedQuantity
    WHEN ConsumedUnit IN ('Hours', 'Hour', 'hours', 'hour', 'Hrs', 'hrs', 'h')
      THEN ConsumedQuantity * regexp_extract(SkuPriceDetails, {VCPUS}, 1)::DOUBLE
  END IS NOT NULL AS has_vcpu_hours,
  CASE WHEN BilledCost IS NULL OR EffectiveCost IS NULL OR ChargePeriodStart IS NULL OR BillingPeriodStart IS NULL
    THEN 'absent' WHEN ChargePeriodEnd < ChargePeriodStart THEN 'period-inside-out'
    WHEN CommitmentDiscountStatus = 'Unused' AND EffectiveCost < 0 THEN 'negative' END AS reject,
  sum(BilledCost::DECIMAL(38, 18)), sum(EffectiveCost::DECIMAL(38, 18)), sum(ListCost::DECIMAL(38, 18)),
  sum(ContractedCost::DECIMAL(38, 18)), sum(ConsumedQuantity), count(*), count(*) FILTER (WHERE ListCost IS NULL)
FROM read_parquet('FILES') GROUP BY ALL
"""


def generated(rows: int, seed: int) -> pl.DataFrame:
    """Charges of one cloud's account of 60 sub-accounts, 40 services and 12 regions over a month, hour by hour."""
    random = np.random.default_rng(seed)
    hours = random.integers(0, 31 * 24, rows)
    service = np.minimum(random.zipf(1.4, rows) - 1, 39)
    machine = random.integers(0, 50_000, rows)
    cost = np.round(random.gamma(0.5, 0.2, rows), 10)
    start = pl.Series(hours).cast(pl.Int64) * 3_600_000_000
    frame = pl.DataFrame(
        {"service": service, "machine": machine, "cost": cost, "hours": start, "any": random.random(rows)}
    )
    at = pl.lit(MONTH).cast(pl.Datetime("us", "UTC")) + pl.col("hours").cast(pl.Duration("us"))
    committed = (pl.col("service") == 0) & (pl.col("any") < 0.3)
    number = pl.col("machine")
    fixed = {
        "AvailabilityZone": pl.format("eu-west-2-{}", number % 3),
        "BillingAccountName": pl.lit("Example Holdings Limited"),
        "BillingAccountType": pl.lit("Consolidated"),
        "ChargeClass": pl.lit(None, pl.String),
        "ChargeDescription": pl.format("USD {} per hour of machine {} in this region, Linux", "cost", number),
        "ChargeFrequency": pl.lit("Usage-Based"),
        "CommitmentDiscountCategory": pl.when(committed).then(pl.lit("Spend")),
        "CommitmentDiscountName": pl.lit(None, pl.String),
        "CommitmentDiscountType": pl.when(committed).then(pl.lit("Compute Savings Plan")),
        "InvoiceId": pl.lit("EUINGB26-1234567"),
        "InvoiceIssuerName": pl.lit("Amazon Web Services EMEA SARL"),
        "PublisherName": pl.lit("Amazon Web Services, Inc."),
        "RegionName": pl.format("Region {}", number % 12),
        "ResourceId": pl.format("arn:aws:ec2:eu-west-{}:123456789012:instance/i-0abcdef0{}", number % 12, number),
        "ResourceName": pl.format("worker-{}", number),
        "ResourceType": pl.lit("instance"),
        "ServiceCategory": pl.format("Category {}", pl.col("service") % 9),
        "ServiceSubcategory": pl.format("Subcategory {}", pl.col("service") % 19),
        "SkuId": pl.format("SKU{}", number % 4_000),
        "SkuMeter": pl.lit("BoxUsage"),
        "SkuPriceId": pl.format("SKU{}.JRTCKXETXF.6YS6EN2CT7", number % 4_000),
        "SubAccountName": pl.format("team-{}", number % 60),
        "ContractedUnitPrice": pl.col("cost"),
        "ListUnitPrice": pl.col("cost"),
        "PricingQuantity": pl.lit(1.0),
        "PricingUnit": pl.lit("Hours"),
    }
    read = {
        "BilledCost": pl.when(committed).then(0.0).otherwise("cost"),
        "BillingAccountId": pl.lit("123456789012"),
        "BillingCurrency": pl.lit("USD"),
        "BillingPeriodStart": pl.lit(MONTH).cast(pl.Datetime("us", "UTC")),
        "BillingPeriodEnd": pl.lit(MONTH + timedelta(days=31)).cast(pl.Datetime("us", "UTC")),
        "ChargeCategory": pl.when(pl.col("any") < 0.999).then(pl.lit("Usage")).otherwise(pl.lit("Tax")),
        "ChargePeriodStart": at,
        "ChargePeriodEnd": at + timedelta(hours=1),
        "CommitmentDiscountId": pl.when(committed).then(
            pl.format("arn:aws:savingsplans::1:savingsplan/{}", number % 5)
        ),
        "CommitmentDiscountStatus": pl.when(committed).then(pl.lit("Used")),
        "ConsumedQuantity": pl.lit(1.0),
        "ConsumedUnit": pl.when(pl.col("service") == 0).then(pl.lit("Hours")).otherwise(pl.lit("GB")),
        "ContractedCost": pl.col("cost"),
        "EffectiveCost": pl.col("cost") * 0.8,
        "ListCost": pl.when(pl.col("any") < 0.999).then(pl.col("cost") * 1.25),
        "PricingCategory": pl.when(committed).then(pl.lit("Committed")).otherwise(pl.lit("Standard")),
        "ProviderName": pl.lit("AWS"),
        "RegionId": pl.format("eu-west-{}", number % 12),
        "ServiceName": pl.format("Amazon Service Number {}", "service"),
        "SkuPriceDetails": pl.concat_str(
            pl.lit('{"CoreCount":'),
            2 ** (number % 4),
            pl.lit(',"InstanceType":"m7i.xlarge","OperatingSystem":"Linux"}'),
        ),
        "SubAccountId": pl.format("{}", 200_000_000_000 + number % 60),
        "Tags": pl.when(number % 5 > 0).then(
            pl.concat_str(
                pl.lit('{"application": "app-'),
                number % 900,
                pl.lit('", "environment": "prod", "owner": "team-'),
                number % 60,
                pl.lit('"}'),
            )
        ),
    }
    return frame.select(**read, **fixed)


def product(folder: str) -> tuple[float, int]:
    """Seconds and a total in the smallest unit, by the product: files to series."""
    from exporters.core.clock import FixedClock  # noqa: PLC0415
    from exporters.core.frames import FxRate  # noqa: PLC0415
    from exporters.core.logging import LogFormat, LogLevel, configure_logging  # noqa: PLC0415
    from exporters.cost_import import CostImporter  # noqa: PLC0415
    from exporters.publish.costs import select_cost_series  # noqa: PLC0415
    from exporters.settings import ExporterSettings  # noqa: PLC0415
    from exporters.store.costs import read_costs  # noqa: PLC0415
    from exporters.store.shelf import open_shelf  # noqa: PLC0415
    from exporters.store.standing import Standing  # noqa: PLC0415

    configure_logging(form=LogFormat.AUTO, level=LogLevel.ERROR)
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as store:
        settings = ExporterSettings.model_validate({"store": {"url": store}})
        clock = FixedClock(MONTH + timedelta(days=40))
        CostImporter(settings=settings, shelf=open_shelf(store), clock=clock).run([folder])
        costs = read_costs(open_shelf(store))
        now = MONTH + timedelta(days=40)
        select_cost_series(costs, Standing(), FxRate.create_empty(), now=now, top_services=20, max_groups=1_000)
        return time.perf_counter() - started, round(costs.days["billed_cost"].sum() * 100)


def duckdb(folder: str) -> tuple[float, int]:
    """The same by DuckDB: files to groups."""
    import duckdb as engine  # noqa: PLC0415 - installed for this benchmark only

    started = time.perf_counter()
    groups = engine.sql(SQL.replace("FILES", f"{folder}/*.parquet")).fetchall()
    return time.perf_counter() - started, round(sum(row[17] for row in groups) * 100)


def main() -> None:
    """Generates, measures in turn, prints, fails when a limit is missed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--folder", help="where the files are made; default: the system's folder for temporary files")
    parser.add_argument("--one", choices=["product", "duckdb"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        seconds, total = {"product": product, "duckdb": duckdb}[options.one](options.folder)
        memory = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1_000
        print(json.dumps({"seconds": seconds, "cpu": time.process_time(), "total": total, "memory": memory}))
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for number in range(max(1, options.rows // ROWS_PER_FILE)):
            rows = min(options.rows, ROWS_PER_FILE)
            generated(rows, number).write_parquet(f"{folder}/export-{number:05}.parquet", compression="snappy")
        size = sum(path.stat().st_size for path in Path(folder).iterdir()) / 1e6
        sys.exit(compared(folder, rows=options.rows, size=size))


def compared(folder: str, *, rows: int, size: float) -> int:
    """Both in turn, each in a process of its own; 1 where a limit is missed."""
    found: dict[str, list[dict[str, float]]] = {"product": [], "duckdb": []}
    for _ in range(ROUNDS):
        for name, runs in found.items():
            command = [sys.executable, __file__, "--one", name, "--folder", folder]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            runs.append(json.loads(done.stdout.splitlines()[-1]))
    seconds = {name: statistics.median(run["seconds"] for run in runs) for name, runs in found.items()}
    memory = {name: max(run["memory"] for run in runs) for name, runs in found.items()}
    ratio = seconds["product"] / seconds["duckdb"]
    print(f"{rows:,} charges, {size:,.0f} MB of Parquet")
    for name, runs in found.items():
        cpu = statistics.median(run["cpu"] for run in runs)
        print(f"{name}: {seconds[name]:.2f} s, {cpu:.2f} of a processor (medians), peak {memory[name]:,.0f} MB")
    print(f"ratio {ratio:.2f}, limit {MOST_RATIO}; memory limit {MOST_MEMORY_MB:,} MB")
    agree = len({run["total"] for runs in found.values() for run in runs}) == 1
    print("totals agree to the penny" if agree else f"totals differ: {found}")
    return 0 if agree and ratio <= MOST_RATIO and memory["product"] < MOST_MEMORY_MB else 1


if __name__ == "__main__":
    main()
