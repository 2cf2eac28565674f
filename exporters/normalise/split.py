"""The split: every machine price becomes a price per vCPU, per GiB and per GPU or accelerator.

Promises, for each offer, vcpus·p + gib·q + devices·r = price to 1e-9 of it, no part negative, and a method that says
how it was done: components where the provider sells them apart, fitted where three families, or the sizes of one
family with the same GPU, determine them, remainder where GPUs take what the host leaves, fallback where a
neighbour's proportions had to be borrowed. Spot and committed prices are cut in the proportions of the same machine
on demand. docs/explanation/price-split.md.
"""

from __future__ import annotations

import polars as pl

from exporters.core.words import CapacityType, RejectReason, SplitMethod
from exporters.normalise.chosen import Sorted, count_rejects
from exporters.normalise.convert import in_pounds
from exporters.normalise.device_fit import with_device_fit
from exporters.normalise.fit import GROUP, MAX_ERROR, fit_groups, in_three_families, relative_miss
from exporters.normalise.levels import known_levels, with_nearest_level, with_nearest_ratio, with_nearest_share

_MACHINE = ("provider", "region", "instance_type", "operating_system")
_PARTS = ("part_vcpu", "part_gib", "part_device", "split_method")
_WORKING = (
    "host",
    "by_components",
    "vcpu_level",
    "gib_level",
    "ratio",
    "device_share",
    "method",
    "twin_price",
    "host_scale",
    "device_level",
)
"""Columns that one way of splitting needs and the others do not."""

LEAST_DEVICE_SHARE = MAX_ERROR
"""A remainder below this share of the price is within what the level of the host may miss: it counts as none."""

_OUT = ("gbp_per_vcpu_hour", "gbp_per_gib_hour", "gbp_per_gpu_hour", "gbp_per_accelerator_hour", "split_method")


def split(machines: pl.DataFrame) -> Sorted:
    """This will split the price of each machine into parts.

    Args:
        machines: rows of ListPrice with their shape, gbp_per_unit and gbp_per_hour.

    Returns:
        The rows with gbp_per_vcpu_hour, gbp_per_gib_hour, gbp_per_gpu_hour, gbp_per_accelerator_hour (null where
        there is none) and split_method; machines with both GPUs and accelerators, or with a count and no model or a
        model and no count, are counted as unsplittable.
    """
    bad = _is_unsplittable()
    rejects = count_rejects(
        machines.filter(bad),
        reason=pl.lit(RejectReason.UNSPLITTABLE.value),
        example=pl.col("instance_type"),
        region=pl.col("region"),
    )
    prepared = _prepare(machines.filter(~bad))
    borrowing = ~pl.col("by_components") & ~pl.col("capacity_type").is_in(
        [CapacityType.ON_DEMAND.value, CapacityType.OWNED.value]
    )
    twins = prepared.filter(capacity_type=CapacityType.ON_DEMAND.value).select(_MACHINE).unique()
    paired = prepared.filter(borrowing).join(twins, on=_MACHINE, how="semi")
    alone = prepared.join(paired, on=[*_MACHINE, "zone", "capacity_type"], how="anti")
    done = _split_alone(alone)
    both = pl.concat([done, _split_like_twin(paired, done)])
    return Sorted(good=_with_part_names(both).select(*machines.columns, *_OUT), rejects=rejects)


def _is_unsplittable() -> pl.Expr:
    both = (pl.col("gpus") > 0) & (pl.col("accelerators") > 0)
    odd_gpu = (pl.col("gpus") > 0) != (pl.col("gpu_model") != "")
    odd_accelerator = (pl.col("accelerators") > 0) != (pl.col("accelerator_model") != "")
    return both | odd_gpu | odd_accelerator


def _prepare(machines: pl.DataFrame) -> pl.DataFrame:
    """GPUs and accelerators follow one rule, so both are called devices; what the sold components of the host cost."""
    host = pl.col("vcpus") * in_pounds("price_per_vcpu_hour") + pl.col("memory_gib") * in_pounds("price_per_gib_hour")
    with_devices = machines.with_columns(
        devices=pl.col("gpus") + pl.col("accelerators"),
        device_model=pl.when(pl.col("gpus") > 0).then("gpu_model").otherwise("accelerator_model"),
        host=host,
    )
    leaves_room = (pl.col("devices") == 0) | (pl.col("host") < pl.col("gbp_per_hour"))
    return with_devices.with_columns(by_components=((pl.col("host") > 0) & leaves_room).fill_null(value=False))


def _split_alone(machines: pl.DataFrame) -> pl.DataFrame:
    """Everything that is cut by its own price: sold components first, because they tell the others the level."""
    sold = _split_components(machines.filter("by_components"))
    rest = machines.filter(~pl.col("by_components"))
    fits = fit_groups(rest)
    known = known_levels(fits, sold)
    plain = _split_plain(rest.filter(pl.col("devices") == 0), fits, known)
    carrying = with_device_fit(
        with_nearest_level(rest.filter(pl.col("devices") > 0), known).with_columns(
            host=pl.col("vcpus") * pl.col("vcpu_level") + pl.col("memory_gib") * pl.col("gib_level")
        )
    )
    in_families = _split_device_families(carrying.filter(pl.col("device_level").is_not_null()))
    carrying = carrying.filter(pl.col("device_level").is_null())
    left = 1 - pl.col("host") / pl.col("gbp_per_hour")
    has_room = (left > LEAST_DEVICE_SHARE).fill_null(value=False)
    remainders = _split_remainder(carrying.filter(has_room))
    shared = _split_by_share(carrying.filter(~has_room), pl.concat([sold, in_families, remainders]), known)
    return pl.concat([sold, plain, in_families, remainders, shared])


def _split_components(machines: pl.DataFrame) -> pl.DataFrame:
    """Sold components; what the price holds beyond them (a local SSD) goes to the devices, else to both alike."""
    scale = pl.when(pl.col("devices") == 0).then(pl.col("gbp_per_hour") / pl.col("host")).otherwise(1.0)
    owned = (pl.col("capacity_type") == CapacityType.OWNED.value) | (
        pl.col("shape_source") == SplitMethod.RATE_CARD.value
    )
    return _parts(
        machines,
        vcpu=in_pounds("price_per_vcpu_hour") * scale,
        gib=in_pounds("price_per_gib_hour") * scale,
        method=pl.when(owned).then(pl.lit(SplitMethod.RATE_CARD.value)).otherwise(pl.lit(SplitMethod.COMPONENTS.value)),
    )


def _split_plain(machines: pl.DataFrame, fits: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
    """No devices: the group's own fit for its three families, else the region's ratio; scaled so that parts add up."""
    good = fits.filter(pl.col("max_error") <= MAX_ERROR).select(*GROUP, "vcpu_level", "gib_level")
    rows = with_nearest_ratio(machines, known).join(good, on=list(GROUP), how="left")
    fitted = in_three_families() & (relative_miss() <= MAX_ERROR).fill_null(value=False)
    levels = rows.with_columns(
        vcpu_level=pl.when(fitted).then("vcpu_level").otherwise("ratio"),
        gib_level=pl.when(fitted).then("gib_level").otherwise(1.0),
        method=pl.when(fitted).then(pl.lit(SplitMethod.FITTED.value)).otherwise(pl.lit(SplitMethod.FALLBACK.value)),
    )
    scale = pl.col("gbp_per_hour") / (
        pl.col("vcpus") * pl.col("vcpu_level") + pl.col("memory_gib") * pl.col("gib_level")
    )
    return _parts(levels, vcpu=pl.col("vcpu_level") * scale, gib=pl.col("gib_level") * scale, method=pl.col("method"))


def _split_device_families(machines: pl.DataFrame) -> pl.DataFrame:
    """Host and devices at the prices of their family, both scaled so that they add up to the machine."""
    host = pl.col("host") * pl.col("host_scale")
    scale = pl.col("gbp_per_hour") / (host + pl.col("devices") * pl.col("device_level")) * pl.col("host_scale")
    method = pl.lit(SplitMethod.FITTED.value)
    return _parts(machines, vcpu=pl.col("vcpu_level") * scale, gib=pl.col("gib_level") * scale, method=method)


def _split_remainder(machines: pl.DataFrame) -> pl.DataFrame:
    """The host at the level of its region and generation; the devices get the rest."""
    method = pl.lit(SplitMethod.REMAINDER.value)
    return _parts(machines, vcpu=pl.col("vcpu_level"), gib=pl.col("gib_level"), method=method)


def _split_by_share(machines: pl.DataFrame, split_before: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
    """The host's level would leave nothing for the devices: they get the share that their model has elsewhere."""
    share = pl.col("devices") * pl.col("part_device") / pl.col("gbp_per_hour")
    elsewhere = split_before.filter(pl.col("devices") > 0).select(
        "provider", "instance_type", "device_model", device_share=share
    )
    rows = with_nearest_ratio(with_nearest_share(machines, elsewhere), known)
    host = pl.col("gbp_per_hour") * (1 - pl.col("device_share"))
    gib = host / (pl.col("vcpus") * pl.col("ratio") + pl.col("memory_gib"))
    return _parts(rows, vcpu=gib * pl.col("ratio"), gib=gib, method=pl.lit(SplitMethod.FALLBACK.value))


def _split_like_twin(machines: pl.DataFrame, done: pl.DataFrame) -> pl.DataFrame:
    """In the proportions of the same machine on demand: the price is this offer's own, only the cut is borrowed."""
    on_demand = (
        done.filter(capacity_type=CapacityType.ON_DEMAND.value)
        .sort("zone")
        .unique(_MACHINE, keep="first", maintain_order=True)
        .select(*_MACHINE, *_PARTS, twin_price="gbp_per_hour")
    )
    rows = machines.join(on_demand, on=_MACHINE)
    scale = pl.col("gbp_per_hour") / pl.col("twin_price")
    return _parts(rows, vcpu=pl.col("part_vcpu") * scale, gib=pl.col("part_gib") * scale, method=pl.col("split_method"))


def _parts(machines: pl.DataFrame, *, vcpu: pl.Expr, gib: pl.Expr, method: pl.Expr) -> pl.DataFrame:
    """Parts of the host as given; the devices take exactly what is left, so that the sum holds."""
    left = pl.col("gbp_per_hour") - pl.col("vcpus") * pl.col("part_vcpu") - pl.col("memory_gib") * pl.col("part_gib")
    return (
        machines.with_columns(part_vcpu=vcpu, part_gib=gib, split_method=method)
        .with_columns(part_device=pl.when(pl.col("devices") > 0).then(left.clip(0) / pl.col("devices")))
        .select(*(name for name in machines.columns if name not in (*_WORKING, *_PARTS)), *_PARTS)
    )


def _with_part_names(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.with_columns(
        gbp_per_vcpu_hour="part_vcpu",
        gbp_per_gib_hour="part_gib",
        gbp_per_gpu_hour=pl.when(pl.col("gpus") > 0).then("part_device"),
        gbp_per_accelerator_hour=pl.when(pl.col("accelerators") > 0).then("part_device"),
    )
