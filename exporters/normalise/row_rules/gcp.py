"""Google Cloud: the arrow from SKUs and shapes to list prices.

The row rule. A machine's price is put together from the components that its billing family is sold in, in its region
and capacity type:

    vCPUs × core + GiB × ram + GPUs × gpu + local SSD GiB × ssd / 730      most families
    vCPUs × (core + premium) + GiB × (ram + premium)                       M2
    GPUs × slice + local SSD GiB × ssd / 730                               A4, whose slice covers vCPU, RAM and GPU
    the machine itself                                                     f1-micro, g1-small

Shared-core E2 machines are billed as 0.25, 0.5 and 1 vCPU (Compute Engine documentation, "E2 shared-core machine
types"). A component that is missing, ambiguous, zero or in another currency or unit leaves the machine without a price.
Only machine types that exist in the region are priced. Sustained-use discounts are not list prices and are not applied.
Check: a2-highgpu-1g in us-central1 = 12 × 0.031611 + 85 × 0.004237 + 2.933908 = 3.673385 USD.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

import dataframely as dy
import polars as pl

from exporters.core.errors import IntegrityError
from exporters.core.frames import OFFER_KEY, ListPrice, Reject, Shape
from exporters.core.money import NATIVE
from exporters.core.words import ANY_REGION, NO_ZONE, CapacityType, OperatingSystem, RejectReason
from exporters.fetch.contract import Fetched
from exporters.normalise.chosen import Chosen, Filters, count_rejects, merge_rejects
from exporters.normalise.row_rules.gcp_components import NATIVE_CURRENCY, components, families
from exporters.normalise.row_rules.gcp_compose import compose
from exporters.normalise.row_rules.gcp_egress import egress

PROVIDER = "gcp"

DEFAULT_CAPACITY_TYPES = (CapacityType.ON_DEMAND.value, CapacityType.SPOT.value)


def choose(fetched: Fetched, filters: Filters) -> Chosen:
    """This will return the one list price of every machine type that exists in the asked regions.

    Args:
        fetched: raw frames of the source gcp.
        filters: globs over family; capacity types (none: on-demand and spot); operating systems.

    Raises:
        IntegrityError: an asked region has no on-demand price at all.
    """
    skus = fetched.frames["skus"].collect()
    regions = fetched.frames["regions"].collect()["region"].to_list()
    wanted = filters.capacity_types or DEFAULT_CAPACITY_TYPES
    parts = components(skus, regions=regions, capacity_types=(*wanted, CapacityType.ON_DEMAND.value))
    machines = _machines(fetched)
    known = machines.filter(pl.col("reason").is_null())
    composed = compose(known, parts.prices)
    _refuse_empty_regions(composed, regions)
    chosen = _filtered(composed, filters, wanted)
    traffic = egress(skus, regions=regions)
    prices = _list_prices(chosen.filter(pl.col("price").is_not_null()), filters)
    return Chosen(
        prices=prices,
        shapes=_shapes(known, prices),
        egress=traffic.prices,
        rejects=merge_rejects(
            parts.rejects, traffic.rejects, _unpriceable(machines), _incomplete(chosen), _skipped(fetched)
        ),
    )


def _machines(fetched: Fetched) -> pl.DataFrame:
    """Every (region, machine type) with its shape and billing family; `reason` says why one cannot be priced."""
    prefixes = (
        families()
        .select("billing_family", "premium_labels", "bundle_labels", "machine_labels", "gpu_model", "machines")
        .with_columns(prefix=pl.col("machines").str.split("|"))
        .explode("prefix")
        .drop("machines")
        .rename({"gpu_model": "sold_gpu_model"})
    )
    shapes = fetched.frames["shapes"].collect()
    billed = (
        shapes.select("instance_type")
        .join(prefixes, how="cross")
        .filter(pl.col("instance_type").str.starts_with(pl.col("prefix")))
        .sort(pl.col("prefix").str.len_chars(), descending=True)
        .unique("instance_type", keep="first", maintain_order=True)
    )
    unknown_shape = pl.col("billing_family").is_null() | pl.col("local_ssd_gib").is_null()
    unknown_gpu = (pl.col("gpus") > 0) & (pl.col("gpu_model") != pl.col("sold_gpu_model"))
    return (
        fetched.frames["offerings"]
        .collect()
        .join(shapes, on="instance_type", how="left")
        .join(billed, on="instance_type", how="left")
        .with_columns(
            reason=pl.when(unknown_shape)
            .then(pl.lit(RejectReason.UNKNOWN_SHAPE.value))
            .when(unknown_gpu)
            .then(pl.lit(RejectReason.UNKNOWN_GPU.value))
        )
    )


def _refuse_empty_regions(composed: pl.DataFrame, regions: list[str]) -> None:
    on_demand = composed.filter(pl.col("capacity_type") == CapacityType.ON_DEMAND.value, pl.col("price").is_not_null())[
        "region"
    ]
    empty = sorted(set(regions) - set(on_demand))
    if empty:
        raise IntegrityError(
            f"no machine has an on-demand price in {', '.join(empty)}",
            where="sources.gcp",
            next_step="Check the spelling under sources.gcp.regions; if it is right the catalogue is not whole, "
            "and the last good prices stay until the next refresh.",
        )


def _filtered(offers: pl.DataFrame, filters: Filters, capacity_types: tuple[str, ...]) -> pl.DataFrame:
    kept = offers.filter(pl.col("capacity_type").is_in(list(capacity_types)))
    if not filters.families:
        return kept
    names = [
        family
        for family in kept["family"].unique()
        if any(fnmatchcase(family, pattern) for pattern in filters.families)
    ]
    return kept.filter(pl.col("family").is_in(names))


def _list_prices(offers: pl.DataFrame, filters: Filters) -> dy.DataFrame[ListPrice]:
    linux = not filters.operating_systems or OperatingSystem.LINUX.value in filters.operating_systems
    rows = (offers if linux else offers.clear()).select(
        "region",
        "instance_type",
        "capacity_type",
        "price_per_vcpu_hour",
        "price_per_gib_hour",
        "price_per_gpu_hour",
        "sku_id",
        "effective_from",
        provider=pl.lit(PROVIDER),
        zone=pl.lit(NO_ZONE),
        operating_system=pl.lit(OperatingSystem.LINUX.value),
        currency=pl.lit(NATIVE_CURRENCY),
        price_per_hour=pl.col("price"),
        marginal_price_per_hour=pl.lit(None, NATIVE),
        provider_gbp_per_hour=pl.col("gbp"),
        note=pl.lit(None, pl.String),
    )
    return ListPrice.validate(rows.select(ListPrice.column_names()).sort(OFFER_KEY), cast=True)


def _shapes(machines: pl.DataFrame, prices: pl.DataFrame) -> dy.DataFrame[Shape]:
    rows = (
        machines.join(prices.select("instance_type").unique(), on="instance_type", how="semi")
        .unique("instance_type", keep="first", maintain_order=True)
        .with_columns(provider=pl.lit(PROVIDER), region=pl.lit(ANY_REGION))
    )
    return Shape.validate(rows.select(Shape.column_names()).sort("instance_type"), cast=True)


def _unpriceable(machines: pl.DataFrame) -> dy.DataFrame[Reject]:
    return count_rejects(
        machines.filter(pl.col("reason").is_not_null()),
        reason=pl.col("reason"),
        example=pl.col("instance_type"),
        region=pl.col("region"),
    )


def _incomplete(offers: pl.DataFrame) -> dy.DataFrame[Reject]:
    return count_rejects(
        offers.filter(pl.col("price").is_null()),
        reason=pl.lit(RejectReason.MISSING_COMPONENT.value),
        example=pl.concat_str("instance_type", pl.lit(" "), "capacity_type", pl.lit(": no "), "lacking"),
        region=pl.col("region"),
    )


def _skipped(fetched: Fetched) -> dy.DataFrame[Reject]:
    rows = pl.DataFrame(
        [(item.region, item.why) for item in fetched.skipped],
        schema={"region": pl.String, "why": pl.String},
        orient="row",
    )
    return count_rejects(
        rows,
        reason=pl.lit(RejectReason.REGION_SKIPPED.value),
        example=pl.col("why"),
        region=pl.col("region"),
    )
