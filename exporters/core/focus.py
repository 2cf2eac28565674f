"""FOCUS names for rows that leave Tuppence: one column map a version, used by CSV, JSON and Parquet exports.

Source: FinOps Open Cost and Usage Specification, https://focus.finops.org. Columns that FOCUS does not know
carry its prefix for custom columns, ``x_``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import polars as pl

from exporters.core.words import CapacityType

PRICING_CATEGORY: Final[Mapping[str, str]] = {
    CapacityType.ON_DEMAND.value: "Standard",
    CapacityType.SPOT.value: "Dynamic",
    CapacityType.COMMITTED_1Y.value: "Committed",
    CapacityType.COMMITTED_3Y.value: "Committed",
    CapacityType.OWNED.value: "Other",
}

OFFER_COLUMNS_1_2: Final[Mapping[str, str]] = {
    "provider": "ProviderName",
    "region": "RegionId",
    "zone": "AvailabilityZone",
    "sku_id": "SkuId",
    "pricing_category": "PricingCategory",
    "pricing_unit": "PricingUnit",
    "currency": "PricingCurrency",
    "price_per_hour": "ListUnitPrice",
    "instance_type": "x_InstanceType",
    "operating_system": "x_OperatingSystem",
    "capacity_type": "x_CapacityType",
    "vcpus": "x_Vcpus",
    "memory_gib": "x_MemoryGib",
    "gpu_model": "x_GpuModel",
    "gpus": "x_Gpus",
    "accelerator_model": "x_AcceleratorModel",
    "accelerators": "x_Accelerators",
    "architecture": "x_Architecture",
    "gbp_per_hour": "x_GbpPerHour",
    "gbp_per_vcpu_hour": "x_GbpPerVcpuHour",
    "gbp_per_gib_hour": "x_GbpPerGibHour",
    "gbp_per_gpu_hour": "x_GbpPerGpuHour",
    "gbp_per_accelerator_hour": "x_GbpPerAcceleratorHour",
    "marginal_gbp_per_hour": "x_MarginalGbpPerHour",
    "provider_gbp_per_hour": "x_ProviderGbpPerHour",
    "split_method": "x_SplitMethod",
    "gbp_per_unit": "x_GbpPerUnit",
    "fx_date": "x_FxDate",
    "fx_source": "x_FxSource",
    "source": "x_Source",
    "observed_at": "x_ObservedAt",
    "effective_from": "x_EffectiveFrom",
    "note": "x_Note",
}


def offers_as_focus(offers: pl.DataFrame) -> pl.DataFrame:
    """This will return offers under FOCUS 1.2 names; native prices become numbers that print their exact digits.

    Empty strings that stand for "none" become nulls, as FOCUS asks.
    """
    with_category = offers.with_columns(
        pricing_category=pl.col("capacity_type").replace_strict(dict(PRICING_CATEGORY)),
        pricing_unit=pl.lit("Hours"),
        price_per_hour=pl.col("price_per_hour").cast(pl.Float64),
    )
    text = [name for name in OFFER_COLUMNS_1_2 if with_category.schema[name] == pl.String]
    return with_category.select(
        (pl.when(pl.col(name) != "").then(pl.col(name)) if name in text else pl.col(name)).alias(focus_name)
        for name, focus_name in OFFER_COLUMNS_1_2.items()
    )
