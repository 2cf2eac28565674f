"""Normalise, AWS: what a machine type consists of, from EC2's description or, without credentials, from tables.

GPUs: the sum over devices of Count, or of LogicalGpuCount × GpuPartitionSize where Count is 0: a g6f.large is 0.125
of an L4. Accelerators (Inferentia, Trainium, FPGA, media): a device named in two of EC2's lists is counted once.
Without credentials the packaged table serves, then the price list's own columns; those name no GPU model, so a machine
with a device that the table does not know is rejected, not guessed.
Source: Amazon EC2 API, DescribeInstanceTypes.
"""

from __future__ import annotations

from dataclasses import dataclass

import dataframely as dy
import polars as pl

from exporters.core.frames import Reject, Shape
from exporters.core.geography import gpu_aliases
from exporters.core.units import MIB_PER_GIB, gib_from_text
from exporters.core.words import ANY_REGION, Architecture, RejectReason
from exporters.fetch.contract import Fetched
from exporters.normalise.chosen import count_rejects, merge_rejects

LIST_FACTS = ("vcpu", "memory", "gpu", "instance_family", "physical_processor")
"""Columns of the price list that say what a machine is."""

DEVICE_FAMILIES = (
    "GPU instance",
    "Machine Learning ASIC Instances",
    "FPGA Instances",
    "Media Accelerator Instances",
)
"""Families whose price holds a device that the price list does not describe."""

FACTS = ("vcpus", "memory_gib", "gpu_model", "gpus", "accelerator_model", "accelerators", "architecture")
PLACE = ("region", "instance_type")


@dataclass(frozen=True, slots=True)
class Shaped:
    """Prices whose machine is known, those machines, and the count of the others."""

    prices: pl.DataFrame
    shapes: dy.DataFrame[Shape]
    rejects: dy.DataFrame[Reject]


def choose_shapes(fetched: Fetched, prices: pl.DataFrame) -> Shaped:
    """This will describe the machine of each price; a price whose machine is not wholly known is rejected.

    Args:
        fetched: with `instance_types` and `devices`, or with `packaged_shapes`.
        prices: region, instance_type, family and, where they come from the price list, LIST_FACTS.
    """
    if "instance_types" in fetched.frames:
        facts = _described(fetched).with_columns(shape_source=pl.lit("api"))
    else:
        facts = _tabled(fetched, prices).with_columns(shape_source=pl.lit("packaged"))
    places = prices.select(*PLACE, "family").unique(PLACE).join(facts, on=PLACE, how="left")
    sound = pl.all_horizontal(pl.col("vcpus") > 0, pl.col("memory_gib") > 0, pl.col("architecture").is_not_null())
    known_devices = pl.col("gpu_model").is_not_null() & pl.col("gpus").is_not_null()
    sound = sound.fill_null(value=False)
    known = places.filter(sound & known_devices)
    rejects = merge_rejects(
        _count(places.filter(~sound), RejectReason.UNKNOWN_SHAPE),
        _count(places.filter(sound & ~known_devices), RejectReason.UNKNOWN_GPU),
    )
    return Shaped(
        prices=prices.join(known, on=PLACE, how="semi"),
        shapes=Shape.validate(_folded(known), cast=True),
        rejects=rejects,
    )


def _folded(known: pl.DataFrame) -> pl.DataFrame:
    """One row a type where it is the same in every region, one a region where it is not."""
    same = pl.struct(*FACTS).n_unique().over("instance_type") == 1
    return (
        known.with_columns(
            provider=pl.lit("aws"),
            region=pl.when(same).then(pl.lit(ANY_REGION)).otherwise(pl.col("region")),
            generation=pl.col("family").str.replace(r"^[a-z]+", ""),
        )
        .unique(["region", "instance_type"])
        .select(Shape.column_names())
        .sort("instance_type", "region")
    )


def _described(fetched: Fetched) -> pl.DataFrame:
    """Facts by region and type, as EC2 describes them; an unknown GPU leaves gpu_model null."""
    devices = fetched.frames["devices"].collect()
    architectures = pl.col("architectures").str.split(",")
    return (
        fetched.frames["instance_types"]
        .collect()
        .join(_gpus(devices), on=PLACE, how="left")
        .join(_accelerators(devices), on=PLACE, how="left")
        .with_columns(
            memory_gib=pl.col("memory_mib") / MIB_PER_GIB,
            architecture=pl.when(architectures.list.contains("x86_64"))
            .then(pl.lit(Architecture.AMD64.value))
            .when(architectures.list.contains("arm64"))
            .then(pl.lit(Architecture.ARM64.value)),
            gpu_model=pl.when(pl.col("has_gpu").is_null()).then(pl.lit("")).otherwise(pl.col("gpu_model")),
            gpus=pl.when(pl.col("has_gpu").is_null()).then(pl.lit(0.0)).otherwise(pl.col("gpus")),
            accelerator_model=pl.col("accelerator_model").fill_null(""),
            accelerators=pl.col("accelerators").fill_null(0.0),
        )
        .select(*PLACE, *FACTS)
    )


def _gpus(devices: pl.DataFrame) -> pl.DataFrame:
    models = gpu_aliases().select("alias", "gpu_model").unique("alias")
    size = pl.col("memory_mib").cast(pl.Int64).cast(pl.String)
    whole = pl.col("count").fill_null(0)
    counted = (
        devices.filter(pl.col("kind") == "gpu")
        .with_columns(
            # A100 alone does not tell 40 GB from 80 GB, so the name with the memory is looked up first.
            sized=pl.concat_str("name", pl.lit(" "), size),
            number=pl.when(whole > 0).then(whole).otherwise(pl.col("logical_count") * pl.col("partition_size")),
        )
        .join(models, left_on="sized", right_on="alias", how="left")
        .join(models, left_on="name", right_on="alias", how="left", suffix="_by_name")
        .with_columns(gpu_model=pl.coalesce("gpu_model", "gpu_model_by_name"))
    )
    complete = pl.col("number").is_not_null().all() & (pl.col("number").sum() > 0)
    one_model = (pl.col("gpu_model").n_unique() == 1) & pl.col("gpu_model").is_not_null().all()
    return counted.group_by(PLACE).agg(
        has_gpu=pl.lit(value=True),
        gpus=pl.when(complete).then(pl.col("number").sum()),
        gpu_model=pl.when(one_model).then(pl.col("gpu_model").first()),
    )


def _accelerators(devices: pl.DataFrame) -> pl.DataFrame:
    return (
        devices.filter(pl.col("kind") != "gpu", pl.col("count") > 0)
        # The one name that repeats its manufacturer: Qualcomm AI100.
        .with_columns(pl.col("name").str.strip_prefix("Qualcomm "))
        .group_by(*PLACE, "name")
        .agg(pl.col("count").max())
        .sort("name")
        .group_by(PLACE, maintain_order=True)
        .agg(accelerator_model=pl.col("name").str.join("+"), accelerators=pl.col("count").sum())
    )


def _tabled(fetched: Fetched, prices: pl.DataFrame) -> pl.DataFrame:
    """Facts by region and type from the packaged table, else from the price list where that is enough."""
    table = fetched.frames["packaged_shapes"].select("instance_type", *FACTS).collect()
    processor = pl.col("physical_processor")
    plain = ~pl.col("instance_family").is_in(DEVICE_FAMILIES).fill_null(value=False) & (
        pl.col("gpu").fill_null("").is_in(["", "0", "NA"])
    )
    own = prices.unique(PLACE, keep="first", maintain_order=True).select(
        *PLACE,
        vcpus=pl.col("vcpu").str.replace_all(",", "").cast(pl.Float64, strict=False),
        memory_gib=gib_from_text("memory"),
        gpu_model=pl.when(plain).then(pl.lit("")),
        gpus=pl.when(plain).then(pl.lit(0.0)),
        accelerator_model=pl.lit(""),
        accelerators=pl.lit(0.0),
        architecture=pl.when(processor.str.contains("Graviton"))
        .then(pl.lit(Architecture.ARM64.value))
        .when(~processor.str.contains("Apple"))
        .then(pl.lit(Architecture.AMD64.value)),
    )
    # A table row without the device that the list's family says is there would put its price on the vCPUs.
    devices = prices.filter(pl.col("instance_family").is_in(DEVICE_FAMILIES)).select(PLACE).unique()
    packaged = (
        own.select(PLACE)
        .join(table, on="instance_type", how="inner")
        .join(devices.with_columns(device=pl.lit(value=True)), on=PLACE, how="left")
        .with_columns(
            gpu_model=pl.when(pl.col("device").is_null() | (pl.col("gpus") > 0) | (pl.col("accelerators") > 0)).then(
                pl.col("gpu_model")
            )
        )
        .select(*PLACE, *FACTS)
    )
    return pl.concat([packaged, own.join(table, on="instance_type", how="anti")], how="vertical_relaxed")


def _count(places: pl.DataFrame, reason: RejectReason) -> pl.DataFrame:
    return count_rejects(places, reason=pl.lit(reason.value), example=pl.col("instance_type"), region=pl.col("region"))
