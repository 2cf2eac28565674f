"""AWS for the packaged tables: machine shapes from a DescribeInstanceTypes answer, and a small choice of list prices.

The price table is the public AWS price list as of its date; only the types named here are carried, each as a single
fact. Its spot column is an average over the zones of a region, so such rows are marked illustrative.
"""

from __future__ import annotations

import gzip
import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
from packaged_table import Row, Shape, missing, offer

PRICES = "prices/aws_ec2_all_regions_2026-07/aws_linux.parquet"
TYPES = "reference/aws_instance_offerings_moto_2026-08/describe_instance_types.json.gz"
OFFERED = "reference/aws_instance_offerings_moto_2026-08/az_offerings.parquet"
DAY = "2026-07-05"
REGIONS = ("eu-west-1", "eu-west-2", "eu-central-1", "eu-north-1", "eu-west-3")

FAMILIES = tuple(letter + generation for letter in "cmr" for generation in ("5", "6a", "6g", "6i", "7g", "7i"))
SIZES = ("large", "xlarge", "2xlarge", "4xlarge", "8xlarge")
FURTHER = (
    "t3.medium", "t3.large", "t3.xlarge", "t3.2xlarge",
    *(f"g4dn.{size}" for size in ("xlarge", "2xlarge", "4xlarge", "8xlarge", "12xlarge")),
    *(f"{f}.{size}" for f in ("g5", "g6", "g6e") for size in ("xlarge", "2xlarge", "8xlarge", "12xlarge", "48xlarge")),
    "g6f.large", "g6f.xlarge", "g6f.2xlarge", "g6f.4xlarge", "p3.2xlarge", "p3.8xlarge", "p3.16xlarge",
    "p4d.24xlarge", "p5.4xlarge", "p5.48xlarge", "inf2.xlarge", "inf2.8xlarge", "trn1.2xlarge",
)  # fmt: skip
CHOSEN = (*(f"{family}.{size}" for family in FAMILIES for size in SIZES), *FURTHER)

GPU_WORDS = {
    ("A100", 40960): "A100-40GB", ("A100", 81920): "A100-80GB", ("V100", 16384): "V100", ("V100", 32768): "V100-32GB",
    ("T4g", 16384): "T4G", ("Radeon Pro V520", 8192): "V520", ("RTX PRO 4500", 32768): "RTX-4500",
    ("RTX PRO Server 6000", 98304): "RTX-6000",
}  # fmt: skip

V100_HOSTS = {"p3.2xlarge": (8, 61, 1), "p3.8xlarge": (32, 244, 4), "p3.16xlarge": (64, 488, 8)}
"""vCPUs, GiB, GPUs of P3 (AWS, EC2 accelerated computing instances); the recorded answer no longer lists them."""


def shapes(data: Path) -> dict[str, Shape]:
    """Every type of the recorded DescribeInstanceTypes answer, and P3."""
    with gzip.open(data / TYPES, "rt", encoding="utf-8") as answer:
        recorded = json.load(answer)
    found = {item["InstanceType"]: _shape(item) for item in recorded.values()}
    for name, (vcpus, gib, gpus) in V100_HOSTS.items():
        found[name] = Shape(Decimal(vcpus), Decimal(gib), "amd64", "p3", "3", gpu_model="V100", gpus=Decimal(gpus))
    return found


def _shape(item: dict[str, Any]) -> Shape:
    family, generation = family_of(item["InstanceType"])
    model, gpus = _gpus(item)
    accelerator, accelerators = _accelerators(item)
    arm = "arm64" in item["ProcessorInfo"]["SupportedArchitectures"][-1]
    return Shape(
        vcpus=Decimal(item["VCpuInfo"]["DefaultVCpus"]),
        memory_gib=Decimal(item["MemoryInfo"]["SizeInMiB"]) / 1024,
        architecture="arm64" if arm else "amd64",
        family=family,
        generation=generation,
        gpu_model=model,
        gpus=gpus,
        accelerator_model=accelerator,
        accelerators=accelerators,
    )


def family_of(instance_type: str) -> tuple[str, str]:
    """``c6i.large`` is of family c6i and generation 6i; the generation joins c6i, m6i and r6i."""
    family = instance_type.split(".", 1)[0]
    match = re.match(r"[a-z]+-?(.*)$", family)
    return family, match.group(1) if match else ""


def _gpus(item: dict[str, Any]) -> tuple[str, Decimal]:
    """Whole GPUs: Count, or where that is 0 the partitions times their share (g6f.large is 0.125 of an L4)."""
    found = item.get("GpuInfo", {}).get("Gpus", [])
    if not found:
        return "", Decimal(0)
    gpu = found[0]
    count = sum(
        (Decimal(g["Count"]) or Decimal(g["LogicalGpuCount"]) * Decimal(str(g["GpuPartitionSize"])) for g in found),
        Decimal(0),
    )
    return GPU_WORDS.get((gpu["Name"], gpu["MemoryInfo"]["SizeInMiB"]), gpu["Name"]), count


def _accelerators(item: dict[str, Any]) -> tuple[str, Decimal]:
    """Inferentia stands in two places of the answer (InferenceAcceleratorInfo and NeuronInfo); it is counted once."""
    listed = (
        item.get("NeuronInfo", {}).get("NeuronDevices")
        or item.get("InferenceAcceleratorInfo", {}).get("Accelerators")
        or item.get("FpgaInfo", {}).get("Fpgas")
        or item.get("MediaAcceleratorInfo", {}).get("Accelerators")
        or []
    )
    if not listed:
        return "", Decimal(0)
    return listed[0]["Name"].removeprefix("Qualcomm "), sum((Decimal(device["Count"]) for device in listed), Decimal(0))


def offers(data: Path, known: dict[str, Shape]) -> tuple[list[Row], list[Row]]:
    """The chosen offers that some zone really has, on-demand and spot, and what could not be carried over."""
    table = pl.read_parquet(data / PRICES).filter(
        pl.col("kind") == "region", pl.col("region_code").is_in(REGIONS), pl.col("instance_type").is_in(CHOSEN)
    )
    zones = pl.read_parquet(data / OFFERED).select(pl.col("region", "instance_type").cast(pl.String)).unique()
    offered = set(zones.iter_rows())
    book: list[Row] = []
    lost: list[Row] = []
    for row in table.sort("region_code", "instance_type").iter_rows(named=True):
        region, name = row["region_code"], row["instance_type"]
        if (region, name) not in offered:
            lost.append(missing("aws", region, name, "priced, but no zone of the region offers it any more"))
            continue
        shape = known[name]
        _same_shape(row, shape)
        listed = Decimal(repr(row["ondemand_usd_per_hour"]))
        if not listed > 0:
            continue
        book.append(offer("aws", region, name, shape, capacity="on-demand", price=listed, day=DAY, note=""))
        spot = Decimal(repr(row["spot_avg_usd_per_hour"])) if row["spot_avg_usd_per_hour"] else Decimal(0)
        if 0 < spot <= listed:
            book.append(offer("aws", region, name, shape, capacity="spot", price=spot, day=DAY, note="illustrative"))
    lost += [
        missing("aws", region, "committed-1y, committed-3y", "the dated source lists only all-upfront reservations")
        for region in REGIONS
    ]
    lost += [
        missing("aws", region, "spot by zone", "no zone-level source newer than 12 months; region averages instead")
        for region in REGIONS
    ]
    return book, lost


def _same_shape(row: dict[str, Any], shape: Shape) -> None:
    if Decimal(row["vcpu_count"]) != shape.vcpus or Decimal(repr(row["memory_gib"])) != shape.memory_gib:
        raise ValueError(f"aws {row['instance_type']}: the price table and the recorded types disagree on the shape")
