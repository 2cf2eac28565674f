"""Components to machines: the sum that a Google Cloud machine's price is, exact in USD, and what it is in Google's GBP.

Part of the row rule of gcp.py, which says the formula of each kind of machine.
"""

from __future__ import annotations

import polars as pl

from exporters.core.money import NATIVE
from exporters.core.units import HOURS_PER_MONTH
from exporters.normalise.row_rules.gcp_components import UNITS

BILLED_VCPUS = {"e2-micro": 0.25, "e2-small": 0.5, "e2-medium": 1.0}
"""What the E2 core SKU is multiplied by for shared-core machines, whatever a shape table calls their vCPUs."""


def compose(machines: pl.DataFrame, parts: pl.DataFrame) -> pl.DataFrame:
    """This will put machines together from components: one row a machine and capacity type, price null if one lacks.

    Args:
        machines: region, instance_type, shape, billing_family and its labels.
        parts: component prices (gcp_components.COMPONENT_KEY).

    Returns:
        The machines with capacity_type, price, price_per_vcpu_hour, price_per_gib_hour, price_per_gpu_hour, gbp,
        sku_id (of all components), effective_from (of the newest) and `lacking` (the first missing component).
    """
    wide = _by_component(parts)
    offers = machines.join(parts.select("capacity_type").unique(maintain_order=True), how="cross").join(
        wide, on=["region", "billing_family", "capacity_type"], how="left"
    )
    needed = _amounts()
    lacking = pl.coalesce(
        pl.when((amount > 0) & pl.col(f"price_{part}").is_null()).then(pl.lit(part)) for part, amount in needed.items()
    )
    return offers.with_columns(
        lacking=lacking,
        price=pl.when(lacking.is_null()).then(
            pl.sum_horizontal(
                _an_hour(part, amount.cast(NATIVE) * pl.col(f"price_{part}")).cast(NATIVE)
                for part, amount in needed.items()
            )
        ),
        gbp=_pounds(needed),
        **_unit_prices(needed),
        sku_id=pl.concat_str(
            (pl.when(amount > 0).then(pl.col(f"sku_id_{part}")) for part, amount in needed.items()),
            separator="+",
            ignore_nulls=True,
        ),
        effective_from=pl.max_horizontal(
            pl.when(amount > 0).then(pl.col(f"effective_time_{part}")) for part, amount in needed.items()
        ),
    )


def _by_component(parts: pl.DataFrame) -> pl.DataFrame:
    """One row a region, billing family and capacity type; price_vcpu, sku_id_gpu …, null if not sold."""
    values = ["price", "gbp", "sku_id", "effective_time"]
    wide = parts.pivot("component", index=["region", "billing_family", "capacity_type"], values=values)
    return wide.with_columns(
        pl.lit(None, parts.schema[value]).alias(f"{value}_{part}")
        for value in values
        for part in UNITS
        if f"{value}_{part}" not in wide.columns
    )


def _amounts() -> dict[str, pl.Expr]:
    """How much of each component a machine takes."""
    bundled, whole = pl.col("bundle_labels") != "", pl.col("machine_labels") != ""
    host = ~bundled & ~whole
    billed = pl.col("instance_type").replace_strict(BILLED_VCPUS, default=pl.col("vcpus"), return_dtype=pl.Float64)
    nothing = pl.lit(0.0)
    premium = host & (pl.col("premium_labels") != "")

    def only(condition: pl.Expr, amount: pl.Expr) -> pl.Expr:
        return pl.when(condition).then(amount).otherwise(nothing)

    return {
        "vcpu": only(host, billed),
        "gib": only(host, pl.col("memory_gib")),
        "vcpu_premium": only(premium, billed),
        "gib_premium": only(premium, pl.col("memory_gib")),
        "gpu": only(host, pl.col("gpus")),
        "slice": only(bundled, pl.col("gpus")),
        "machine": only(whole, pl.lit(1.0)),
        "local_ssd": pl.col("local_ssd_gib"),
    }


def _pounds(needed: dict[str, pl.Expr]) -> pl.Expr:
    """What Google's own GBP list makes of the machine; null if it lacks one of the components."""
    lacks = pl.any_horizontal((amount > 0) & pl.col(f"gbp_{part}").is_null() for part, amount in needed.items())
    return pl.when(~lacks).then(
        pl.sum_horizontal(_an_hour(part, amount * pl.col(f"gbp_{part}")) for part, amount in needed.items())
    )


def _an_hour(part: str, money: pl.Expr) -> pl.Expr:
    """Money an hour: local SSD is sold by the month; divided last, so that it is rounded once."""
    return money / pl.lit(HOURS_PER_MONTH) if UNITS[part].endswith(".mo") else money


def _unit_prices(needed: dict[str, pl.Expr]) -> dict[str, pl.Expr]:
    """The native component prices per unit of the shape; null where vCPU, RAM and GPU are not sold apart."""
    host = (pl.col("bundle_labels") == "") & (pl.col("machine_labels") == "")

    def with_premium(part: str) -> pl.Expr:
        premium = pl.when(pl.col("premium_labels") != "").then(pl.col(f"price_{part}_premium"))
        return pl.col(f"price_{part}") + premium.fill_null(0)

    share = (needed["vcpu"] / pl.col("vcpus")).cast(NATIVE)
    return {
        "price_per_vcpu_hour": pl.when(host).then((with_premium("vcpu") * share).cast(NATIVE)),
        "price_per_gib_hour": pl.when(host).then(with_premium("gib").cast(NATIVE)),
        "price_per_gpu_hour": pl.when(host & (pl.col("gpus") > 0)).then(pl.col("price_gpu")),
    }
