"""Bench: how fast an AWS offer file of a million rows becomes list prices, against merely reading its columns.

Writes an offer file of real width (91 columns, about 800 bytes a row) with a fixed content, then runs two programs on
it in turn, each in its own process: the product (scan, row rule, shapes) and `polars.scan_csv(...).select(the needed
columns).collect(engine="streaming")`. Prints the medians, their ratio, and the peak resident size of each. Fails when
the ratio is above 1.5 or the product needs 1 GB or more.
"""

from __future__ import annotations

import argparse
import itertools
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from exporters.fetch.aws_bulk import PREAMBLE_LINES, packaged_shapes, scan_offer_file
from exporters.fetch.aws_price_list import PRODUCT_COLUMNS, TRANSFER_COLUMNS, raw_schema
from exporters.fetch.contract import Fetched
from exporters.normalise.chosen import Filters
from exporters.normalise.row_rules.aws import choose

REGION = "eu-west-2"
NOW = datetime(2026, 7, 21, tzinfo=UTC)
MOST_TIMES = 1.5
MOST_BYTES = 1_000_000_000
PREAMBLE = (
    '"FormatVersion","v1.0"\n"Disclaimer","This pricing list is for a benchmark only."\n'
    '"Publication Date","2026-07-20T00:00:00Z"\n"Version","20260720000000"\n"OfferCode","AmazonEC2"\n'
)
HEADER = (
    '"SKU","OfferTermCode","RateCode","TermType","PriceDescription","EffectiveDate","StartingRange","EndingRange",'
    '"Unit","PricePerUnit","Currency","RelatedTo","LeaseContractLength","PurchaseOption","OfferingClass",'
    '"Product Family","serviceCode","Location","Location Type","Instance Type","Current Generation","Instance Family",'
    '"vCPU","Physical Processor","Clock Speed","Memory","Storage","Network Performance","Processor Architecture",'
    '"Storage Media","Volume Type","Max Volume Size","Max IOPS/volume","Max IOPS Burst Performance",'
    '"Max throughput/volume","Provisioned","Tenancy","EBS Optimized","Operating System","License Model","Group",'
    '"Group Description","Transfer Type","From Location","From Location Type","To Location","To Location Type",'
    '"usageType","operation","AvailabilityZone","CapacityStatus","ClassicNetworkingSupport",'
    '"Dedicated EBS Throughput","ECU","Elastic Graphics Type","Enhanced Networking Supported","From Region Code",'
    '"GPU","GPU Memory","Instance","Instance Capacity - 10xlarge","Instance Capacity - 12xlarge",'
    '"Instance Capacity - 16xlarge","Instance Capacity - 18xlarge","Instance Capacity - 24xlarge",'
    '"Instance Capacity - 2xlarge","Instance Capacity - 32xlarge","Instance Capacity - 4xlarge",'
    '"Instance Capacity - 8xlarge","Instance Capacity - 9xlarge","Instance Capacity - large",'
    '"Instance Capacity - medium","Instance Capacity - metal","Instance Capacity - xlarge","instanceSKU",'
    '"Intel AVX2 Available","Intel AVX Available","Intel Turbo Available","MarketOption","Normalization Size Factor",'
    '"Physical Cores","Pre Installed S/W","Processor Features","Product Type","Region Code","Resource Type",'
    '"serviceName","SnapshotArchiveFeeType","To Region Code","Volume API Name","VPCNetworkingSupport"\n'
)
"""The columns of an AmazonEC2 offer file, format v1.0."""

PRODUCT = (
    '"Compute Instance","AmazonEC2","Europe (London)","AWS Region","{name}","Yes",'
    '"General purpose","{vcpu}","Intel Xeon 8375C (Ice Lake)","3.5 GHz","{memory} GiB","1 x 474 NVMe SSD",'
    '"Up to 12500 Megabit","64-bit",,,,,,,,"{tenancy}",,"{system}","No License required",,,,,,,,'
    '"EUW2-{usage}:{name}","{operation}","NA","{status}","false","Up to 10000 Mbps","NA",,"Yes",,,"NA",'
    ',,,,,,,,,,,,,,,,"Yes","Yes","Yes","OnDemand","16",,"{software}",'
    '"Intel AVX; Intel AVX2; Intel AVX512; Intel Turbo",,"eu-west-2",,"Amazon Elastic Compute Cloud",,,,"true"\n'
)
"""All of a row after its price, with the fields of a plain machine filled in."""

SYSTEMS = (("Linux", "RunInstances"), ("Windows", "RunInstances:0002"), ("RHEL", "RunInstances:0010"))
SOFTWARE = ("NA", "SQL Std", "SQL Web")
TENANCIES = ("Shared", "Dedicated", "Host")
STATUSES = (
    ("Used", "BoxUsage"),
    ("UnusedCapacityReservation", "UnusedBox"),
    ("AllocatedCapacityReservation", "Reservation"),
)
TERMS = (
    ("OnDemand", "JRTCKXETXF", "", "", ""),
    *(
        ("Reserved", f"{lease}{option[:3]}{offering[:4]}".upper(), lease, option, offering)
        for lease in ("1yr", "3yr")
        for option in ("No Upfront", "Partial Upfront", "All Upfront")
        for offering in ("standard", "convertible")
    ),
)


def machine_types() -> list[tuple[str, float, float]]:
    """Types that the packaged table knows and that hold no device, with their vCPUs and GiB."""
    plain = packaged_shapes().filter(pl.col("gpus") == 0, pl.col("accelerators") == 0)
    return plain.select("instance_type", "vcpus", "memory_gib").collect().rows()


def lines(count: int) -> Iterator[str]:
    """The first `count` rows of: every type with 81 products each, reserved terms on those that a customer runs.

    When the known types are used up they come again under names that the packaged table does not know.
    """
    known = machine_types()
    types = ((f"x{n}{name}" if n else name, *facts) for n in itertools.count() for name, *facts in known)
    numbers = itertools.count()
    every = (line for name, vcpus, gib in types for line in _products(name, vcpus, gib, numbers))
    return itertools.islice(every, count)


def _products(name: str, vcpus: float, gib: float, numbers: Iterator[int]) -> Iterator[str]:
    for (system, operation), software, tenancy, (status, usage) in itertools.product(
        SYSTEMS, SOFTWARE, TENANCIES, STATUSES
    ):
        product = PRODUCT.format(
            name=name,
            vcpu=f"{vcpus:g}",
            memory=f"{gib:g}",
            tenancy=tenancy,
            system=system,
            usage=usage,
            operation=operation if software == "NA" else f"{operation}:sw",
            status=status,
            software=software,
        )
        sku = f"{next(numbers):016d}"
        for term, code, lease, option, offering in TERMS if status == "Used" and tenancy != "Host" else TERMS[:1]:
            description = f"{system} with {software} (Amazon VPC), {name} instance applied"
            yield (
                f'"{sku}","{code}","{sku}.{code}.6YS6EN2CT7","{term}","{description}","2026-07-01","0","Inf","Hrs",'
                f'"{0.05 * vcpus:.10f}","USD",,"{lease}","{option}","{offering}",{product}'
            )


def write_offer_file(path: Path, count: int) -> None:
    """This will write the offer file."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines([PREAMBLE, HEADER])
        file.writelines(lines(count))


def run_product(path: Path) -> int:
    """The product's way: scan, row rule, shapes, list prices."""
    nothing = pl.LazyFrame(schema=raw_schema(TRANSFER_COLUMNS))
    fetched = Fetched(
        source="aws",
        observed_at=NOW,
        frames={
            "products": scan_offer_file(path, PRODUCT_COLUMNS, where="bench"),
            "transfers": nothing,
            "packaged_shapes": packaged_shapes(),
            "regions": pl.LazyFrame({"region": [REGION]}),
        },
    )
    chosen = choose(fetched, Filters(operating_systems=("linux",), capacity_types=("on-demand", "spot")))
    return chosen.prices.height


def run_scan(path: Path) -> int:
    """The yardstick: only reading the columns that the product needs."""
    wanted = [column.header for column in PRODUCT_COLUMNS]
    scan = pl.scan_csv(path, skip_rows=PREAMBLE_LINES, infer_schema=False).select(wanted)
    return scan.collect(engine="streaming").height


RUNS = {"product": run_product, "scan": run_scan}


def one_run(what: str, path: Path) -> None:
    """This will time one run in this process and print seconds, peak bytes and rows; imports are not timed."""
    start = time.perf_counter()
    height = RUNS[what](path)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"seconds": seconds, "peak_bytes": peak, "rows": height}))


def measure(path: Path, rounds: int) -> dict[str, dict[str, float]]:
    """This will run both in turn, each in its own process, and return medians of seconds and the highest peak."""
    runs: dict[str, list[dict[str, float]]] = {what: [] for what in RUNS}
    for _ in range(rounds):
        for what, results in runs.items():
            command = [sys.executable, __file__, "--run", what, "--file", str(path)]
            results.append(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
    return {
        what: {
            "seconds": statistics.median(result["seconds"] for result in results),
            "peak_bytes": max(result["peak_bytes"] for result in results),
            "rows": results[0]["rows"],
        }
        for what, results in runs.items()
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--run", choices=tuple(RUNS), help="one run in this process")
    parser.add_argument("--file", type=Path)
    options = parser.parse_args()
    if options.run:
        one_run(options.run, options.file)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "offers.csv"
        write_offer_file(path, options.rows)
        size = path.stat().st_size
        print(f"offer file: {options.rows:,} rows, {size / 1e6:,.0f} MB, {len(HEADER.split(','))} columns")
        results = measure(path, options.rounds)
    for what, result in results.items():
        print(
            f"{what:8} {result['seconds']:6.2f} s (median of {options.rounds})  "
            f"peak {result['peak_bytes'] / 1e6:5,.0f} MB  {result['rows']:,} rows out"
        )
    ratio = results["product"]["seconds"] / results["scan"]["seconds"]
    peak = results["product"]["peak_bytes"]
    holds = ratio <= MOST_TIMES and peak < MOST_BYTES
    print(f"ratio    {ratio:6.2f} (at most {MOST_TIMES}), peak {peak / 1e6:,.0f} MB (under {MOST_BYTES / 1e6:,.0f})")
    print("holds" if holds else "DOES NOT HOLD")
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
