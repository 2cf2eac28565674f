"""Fetch, AWS: the raw frames of machine types and spot prices, and how an answer of EC2 becomes rows of them.

Nothing is counted or chosen here: a device stands once for each list that EC2 names it in, and the row rule counts.
Sources: Amazon EC2 API, DescribeInstanceTypes and DescribeSpotPriceHistory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

INSTANCE_TYPE_SCHEMA = pl.Schema(
    {
        "region": pl.String,
        "instance_type": pl.String,
        "vcpus": pl.Float64,
        "memory_mib": pl.Float64,
        "architectures": pl.String,
    }
)
"""The frame `instance_types`: one row a region and type; architectures joined by commas."""

DEVICE_SCHEMA = pl.Schema(
    {
        "region": pl.String,
        "instance_type": pl.String,
        "kind": pl.String,
        "name": pl.String,
        "memory_mib": pl.Float64,
        "count": pl.Float64,
        "logical_count": pl.Float64,
        "partition_size": pl.Float64,
    }
)
"""The frame `devices`: one row a device of a type; kind is gpu, inference, neuron, fpga or media."""

SPOT_SCHEMA = pl.Schema(
    [
        ("region", pl.String()),
        ("zone", pl.String()),
        ("zone_id", pl.String()),
        ("instance_type", pl.String()),
        ("product_description", pl.String()),
        ("price", pl.String()),
        ("timestamp", pl.Datetime("us", "UTC")),
    ]
)
"""The frame `spot`: one row a price in force, by zone, type and product."""

DEVICE_LISTS = {
    "gpu": ("GpuInfo", "Gpus"),
    "inference": ("InferenceAcceleratorInfo", "Accelerators"),
    "neuron": ("NeuronInfo", "NeuronDevices"),
    "fpga": ("FpgaInfo", "Fpgas"),
    "media": ("MediaAcceleratorInfo", "Accelerators"),
}
"""Where EC2 lists each kind of device."""


def instance_type_row(region: str, item: Mapping[str, Any]) -> dict[str, Any]:
    """This will return the row of one InstanceTypeInfo; what EC2 leaves out is null."""
    return {
        "region": region,
        "instance_type": item["InstanceType"],
        "vcpus": item.get("VCpuInfo", {}).get("DefaultVCpus"),
        "memory_mib": item.get("MemoryInfo", {}).get("SizeInMiB"),
        "architectures": ",".join(item.get("ProcessorInfo", {}).get("SupportedArchitectures", [])),
    }


def device_rows(region: str, item: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """This will yield one row for each device list entry of one InstanceTypeInfo."""
    for kind, (info, devices) in DEVICE_LISTS.items():
        for device in item.get(info, {}).get(devices, []):
            yield {
                "region": region,
                "instance_type": item["InstanceType"],
                "kind": kind,
                "name": device.get("Name"),
                "memory_mib": device.get("MemoryInfo", {}).get("SizeInMiB"),
                "count": device.get("Count"),
                "logical_count": device.get("LogicalGpuCount"),
                "partition_size": device.get("GpuPartitionSize"),
            }


def spot_row(region: str, item: Mapping[str, Any]) -> dict[str, Any]:
    """This will return the row of one SpotPrice."""
    return {
        "region": region,
        "zone": item.get("AvailabilityZone"),
        "zone_id": item.get("AvailabilityZoneId"),
        "instance_type": item.get("InstanceType"),
        "product_description": item.get("ProductDescription"),
        "price": item.get("SpotPrice"),
        "timestamp": item.get("Timestamp"),
    }
