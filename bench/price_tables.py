"""Real list prices of three clouds with the shapes of their machines, as row rules would have given them.

Google's components are read off pairs of machines that differ only in memory, because the price table has no SKUs.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import dataframely as dy
import polars as pl

from exporters.core.frames import OFFER_KEY, EgressListPrice, ListPrice, Reject, Shape
from exporters.core.money import NATIVE
from exporters.fetch.azure_sizes import read_name
from exporters.normalise.chosen import Chosen

SHAPE = (
    "vcpus",
    "memory_gib",
    "gpu_model",
    "gpus",
    "accelerator_model",
    "accelerators",
    "architecture",
    "family",
    "generation",
)


def offers_of(rows: pl.DataFrame, provider: str) -> Chosen:
    """This will turn a table of region, instance_type, price columns and shape columns into what a row rule gives."""
    prices = (
        rows.unpivot(
            ["on-demand", "spot"],
            index=["region", "instance_type"],
            variable_name="capacity_type",
            value_name="price",
        )
        .filter(pl.col("price") > 0)
        .with_columns(
            provider=pl.lit(provider),
            zone=pl.lit(""),
            operating_system=pl.lit("linux"),
            currency=pl.lit("USD"),
            price_per_hour=pl.col("price").round(12).cast(NATIVE),
        )
    )
    empty = ListPrice.create_empty()
    filled = prices.with_columns(
        pl.lit(None, dtype=empty.schema[name]).alias(name) for name in empty.columns if name not in prices.columns
    )
    shapes = rows.select("instance_type", *SHAPE).unique("instance_type", keep="first", maintain_order=True)
    known = shapes.filter(pl.col("vcpus") > 0, pl.col("memory_gib") > 0).with_columns(
        provider=pl.lit(provider), region=pl.lit(""), shape_source=pl.lit("packaged")
    )
    return Chosen(
        prices=ListPrice.validate(filled.select(empty.columns), cast=True),
        shapes=Shape.validate(known.select(Shape.column_names()), cast=True),
        egress=EgressListPrice.create_empty(),
        rejects=Reject.create_empty(),
    )


def aws(prices: Path, reference: Path) -> Chosen:
    """This will load AWS, 36 regions; devices as DescribeInstanceTypes lists them."""
    rows = pl.read_parquet(prices / "aws_ec2_all_regions_2026-07/aws_linux.parquet").filter(
        pl.col("kind") == "region", pl.col("ondemand_usd_per_hour") > 0
    )
    described = _aws_devices(reference / "aws_instance_offerings_moto_2026-08/describe_instance_types.json.gz")
    family = pl.col("instance_type").str.split(".").list.first()
    listed = rows.join(described, on="instance_type", how="left").with_columns(
        pl.col("accelerators").fill_null(0.0), pl.col("accelerator_model").fill_null("")
    )
    gpus = pl.when(pl.col("accelerators") > 0).then(0.0).otherwise(pl.col("gpu_count"))
    table = listed.select(
        "instance_type",
        "accelerator_model",
        "accelerators",
        region="region_code",
        vcpus=pl.col("vcpu_count").cast(pl.Float64),
        memory_gib="memory_gib",
        gpus=gpus,
        gpu_model=pl.when(gpus > 0).then(pl.coalesce("gpu_model", family)).otherwise(pl.lit("")),
        architecture=pl.when(pl.col("physical_processor").str.contains("Graviton"))
        .then(pl.lit("arm64"))
        .otherwise(pl.lit("amd64")),
        family=family,
        generation=family.str.extract(r"(\d.*)$").fill_null(""),
        **{"on-demand": "ondemand_usd_per_hour", "spot": "spot_avg_usd_per_hour"},
    )
    return offers_of(table, "aws")


def _aws_devices(path: Path) -> pl.DataFrame:
    with gzip.open(path) as file:
        types = json.load(file)
    found = []
    for described in types.values() if isinstance(types, dict) else types:
        gpus = described.get("GpuInfo", {}).get("Gpus", [])
        neuron = described.get("NeuronInfo", {}).get("NeuronDevices", [])
        other = described.get("InferenceAcceleratorInfo", {}).get("Accelerators", [])
        accelerators = neuron or other
        found.append(
            {
                "instance_type": described["InstanceType"],
                "gpu_model": f"{gpus[0]['Name']} {gpus[0]['MemoryInfo']['SizeInMiB']}" if gpus else None,
                "accelerator_model": accelerators[0]["Name"] if accelerators else "",
                "accelerators": float(sum(item["Count"] for item in accelerators)),
            }
        )
    return pl.DataFrame(
        found,
        schema_overrides={"gpu_model": pl.String},
    )


def specs(reference: Path, vendor: str) -> pl.DataFrame:
    """This will load machine specifications: those packaged with Tuppence, then those of the reference folder."""
    with files("exporters.fetch.data").joinpath(f"{vendor}_shapes.csv").open("rb") as table:
        packaged = pl.read_csv(table, infer_schema_length=None)
    servers = pl.read_parquet(reference / "instance_specs_sparecores_2026-01/servers_aws_azure_gcp.parquet")
    gpus = pl.col("gpu_count").fill_null(0).cast(pl.Float64)
    others = servers.filter(vendor_id=vendor).select(
        instance_type=pl.col("api_reference") if vendor == "azure" else pl.col("name"),
        vcpus=pl.col("vcpus").cast(pl.Float64),
        memory_gib=pl.col("memory_mib") / 1024,
        gpus=gpus,
        gpu_model=pl.when(gpus > 0).then(pl.coalesce("gpu_model", "family")).otherwise(pl.lit("")),
        architecture=pl.when(pl.col("cpu_architecture").str.contains("arm"))
        .then(pl.lit("arm64"))
        .otherwise(pl.lit("amd64")),
    )
    ours = packaged.select(
        "instance_type",
        pl.col("vcpus", "memory_gib", "gpus").cast(pl.Float64),
        pl.col("gpu_model").fill_null(""),
        "architecture",
    ).select(others.columns)
    return (
        pl.concat([ours, others])
        .unique("instance_type", keep="first", maintain_order=True)
        .with_columns(accelerator_model=pl.lit(""), accelerators=pl.lit(0.0))
    )


def azure(prices: Path, reference: Path) -> Chosen:
    """This will load Azure: on-demand of 57 regions, the five regions with spot from the retail meters."""
    radar = pl.read_csv(prices / "azure_retail_radar_2026-08/azure_linux_vm_prices.csv").select(
        "region",
        instance_type="sku",
        **{"on-demand": "on_demand_usd_per_hour", "spot": "spot_usd_per_hour"},
    )
    karpenter = pl.read_csv(prices / "azure_ondemand_karpenter_2026-06/azure_ondemand.csv").select(
        "region",
        instance_type="sku",
        **{"on-demand": "on_demand_usd_per_hour", "spot": pl.lit(None, dtype=pl.Float64)},
    )
    rest = karpenter.filter(~pl.col("region").is_in(radar["region"].unique().implode()))
    rows = pl.concat([radar, rest])
    names = [(size, read_name(size)) for size in rows["instance_type"].unique().sort()]
    named = pl.DataFrame(
        [(size, name.family, name.generation) for size, name in names],
        schema=["instance_type", "family", "generation"],
        orient="row",
    )
    table = rows.join(named, on="instance_type").join(specs(reference, "azure"), on="instance_type", how="left")
    return offers_of(table, "azure")


def gcp(prices: Path, reference: Path) -> Chosen:
    """This will load Google Cloud, 43 regions, on-demand and spot of 3 August 2026."""
    rows = pl.read_parquet(prices / "gcp_karpenter_2026-08/gcp_history.parquet").filter(date="2026-08-03")
    family = pl.col("instance_type").str.split("-").list.first()
    table = (
        rows.select(
            "region",
            instance_type="machine_type",
            **{"on-demand": "on_demand_usd_per_hour", "spot": "spot_usd_per_hour"},
        )
        .with_columns(family=family, generation=family)
        .join(specs(reference, "gcp"), on="instance_type", how="left")
    )
    chosen = offers_of(table, "gcp")
    return replace(chosen, prices=with_components(chosen))


def with_components(chosen: Chosen) -> dy.DataFrame[ListPrice]:
    """This will add vCPU and GiB prices of families in which machines differ only in memory."""
    shapes = chosen.shapes.select("instance_type", "family", "vcpus", "memory_gib", "gpus")
    machines = chosen.prices.join(shapes, on="instance_type").with_columns(
        price=pl.col("price_per_hour").cast(pl.Float64)
    )
    plain = machines.filter(~pl.col("instance_type").str.ends_with("-lssd"), pl.col("gpus") == 0)
    place = ["region", "capacity_type", "family"]
    pairs = plain.join(plain, on=[*place, "vcpus"], suffix="_more").filter(
        pl.col("memory_gib_more") > pl.col("memory_gib") * 1.5
    )
    gib = (pl.col("price_more") - pl.col("price")) / (pl.col("memory_gib_more") - pl.col("memory_gib"))
    levels = (
        pairs.with_columns(gib=gib)
        .with_columns(vcpu=(pl.col("price") - pl.col("memory_gib") * pl.col("gib")) / pl.col("vcpus"))
        .group_by(place)
        .agg(pl.col("gib", "vcpu").median())
        .filter(pl.col("gib") >= 0, pl.col("vcpu") >= 0)
    )
    filled = machines.join(levels, on=place, how="left").with_columns(
        price_per_vcpu_hour=pl.col("vcpu").round(9).cast(NATIVE), price_per_gib_hour=pl.col("gib").round(9).cast(NATIVE)
    )
    rest = chosen.prices.join(filled, on=OFFER_KEY, how="anti")
    return ListPrice.validate(pl.concat([filled.select(ListPrice.column_names()), rest]), cast=True)


SOURCES: dict[str, Callable[[Path, Path], Chosen]] = {"aws": aws, "azure": azure, "gcp": gcp}
