"""Raw SKUs to component prices: the arrow from what Google sells to what a machine is put together from.

A SKU is recognised by its whole description. Its capacity type and place are taken off, and what is left must equal a
label of data/gcp_families.csv (one row a billing family), so that "N2D AMD Instance Core" is never read as N2,
"A100 80GB" never as A100, and "Sole Tenancy Premium for G2 Instance Core" as nothing. Descriptions with a word of
EXCLUDED are set aside before that. Spot is what the description calls spot: the usage type of bundled GPU slices
says OnDemand for both. Source of the wording: Cloud Billing Catalog API, services.skus.list, as mapped by
Cyclenerd/google-cloud-pricing-cost-calculator (build/mapping.csv).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import polars as pl

from exporters.core.money import GBP
from exporters.core.words import CapacityType, RejectReason
from exporters.normalise.chosen import count_rejects, merge_rejects, one_per_key, sort_out_prices

NATIVE_CURRENCY = "USD"

EXCLUDED = (
    "Sole Tenancy",
    "Reserved",
    "DWS",
    "Calendar Mode",
    "Defined Duration",
    "Capacity Optimized",
    "Custom",
    "Extended",
    "Licensing Fee",
    "Suspended",
)
"""Words of SKUs that are not a predefined machine's hour: premiums, reservations, queued capacity, custom shapes."""

UNITS = {
    "vcpu": "h",
    "gib": "GiBy.h",
    "vcpu_premium": "h",
    "gib_premium": "GiBy.h",
    "gpu": "h",
    "slice": "h",
    "machine": "h",
    "local_ssd": "GiBy.mo",
}
"""The one unit in which each component is sold; only local SSD is sold by the month."""

COMPONENT_KEY = ("region", "billing_family", "component", "capacity_type")

_SPOT_PREFIX = r"^Spot Preemptible "
_SPOT_SUFFIX = " attached to Spot Preemptible VMs"
_TAIL = r"(?: attached to Spot Preemptible VMs)?(?: running)?(?: [Ii]n .+)?$"
_COMMITMENT = r"^Commitment(?: v1)?: (.+?)(?: running)?(?: [Ii]n .+)? for ([13]) Years?$"


@dataclass(frozen=True, slots=True)
class Components:
    """Component prices (COMPONENT_KEY, price, gbp, sku_id, effective_time) and the counts of SKUs left out."""

    prices: pl.DataFrame
    rejects: pl.DataFrame


@cache
def families() -> pl.DataFrame:
    """This will return data/gcp_families.csv; cells with several values separate them by ``|``."""
    with files("exporters.normalise.row_rules").joinpath("data", "gcp_families.csv").open("rb") as table:
        return pl.read_csv(table, infer_schema=False).with_columns(pl.all().fill_null(""))


@cache
def labels() -> pl.DataFrame:
    """This will return every label as a row: committed, label, billing_family, component."""
    return pl.concat(
        [
            *(_labels("labels", suffix, part) for suffix, part in ((" Core", "vcpu"), (" Ram", "gib"))),
            _labels("premium_labels", " Core", "vcpu_premium"),
            _labels("premium_labels", " Ram", "gib_premium"),
            _labels("gpu_labels", "", "gpu"),
            _labels("bundle_labels", "", "slice"),
            _labels("machine_labels", "", "machine"),
            _labels("local_ssd_labels", "", "local_ssd"),
            _labels("commitment_labels", " Cpu", "vcpu", committed=True),
            _labels("commitment_labels", " Ram", "gib", committed=True),
            _labels("gpu_labels", "", "gpu", committed=True),
            _labels("bundle_labels", "", "slice", committed=True),
            _committed_local_ssd(),
        ]
    )


def _labels(column: str, suffix: str, component: str, *, committed: bool = False) -> pl.DataFrame:
    """N1's commitments name no family ("Commitment v1: Cpu in …"); its cell is ``_``."""
    return (
        families()
        .filter(pl.col(column) != "")
        .select("billing_family", label=pl.col(column).str.split("|"))
        .explode("label")
        .select(
            "billing_family",
            label=(pl.col("label").str.replace("^_$", "") + suffix).str.strip_chars(),
            component=pl.lit(component),
            committed=pl.lit(committed),
        )
    )


def _committed_local_ssd() -> pl.DataFrame:
    """Commitments call "C4 Instance Local SSD" plainly "C4 Local SSD", and "SSD backed Local Storage" "Local SSD"."""
    return _labels("local_ssd_labels", "", "local_ssd", committed=True).with_columns(
        pl.col("label").str.replace(" Instance", "").str.replace("^SSD backed Local Storage$", "Local SSD")
    )


def components(skus: pl.DataFrame, *, regions: Sequence[str], capacity_types: Sequence[str]) -> Components:
    """This will return the component prices of the regions, one a key, and the counts of the rest.

    Args:
        skus: the raw frame ``skus`` of the source.
        regions: regions to keep.
        capacity_types: capacity types to keep.
    """
    named = recognised(skus).filter(pl.col("capacity_type").is_in(list(capacity_types)))
    placed = (
        named.explode("service_regions").rename({"service_regions": "region"}).filter(pl.col("region").is_in(regions))
    )
    wrong_currency = pl.col("currency").is_not_null() & (pl.col("currency") != NATIVE_CURRENCY)
    wrong_unit = pl.col("usage_unit").is_not_null() & (
        pl.col("usage_unit") != pl.col("component").replace_strict(UNITS, return_dtype=pl.String)
    )
    refused = placed.with_columns(
        reason=pl.when(wrong_currency)
        .then(pl.lit(RejectReason.CURRENCY.value))
        .when(wrong_unit)
        .then(pl.lit(RejectReason.UNIT.value))
    )
    priced = sort_out_prices(
        _without_free_tier(refused.filter(pl.col("reason").is_null())), price="price", example="example"
    )
    single = one_per_key(_in_pounds(priced.good), key=COMPONENT_KEY, price="price", example="example")
    bad = count_rejects(
        refused.filter(pl.col("reason").is_not_null()),
        reason=pl.col("reason"),
        example=pl.col("example"),
        region=pl.col("region"),
    )
    return Components(
        prices=single.good.select(*COMPONENT_KEY, "price", "gbp", "sku_id", "effective_time"),
        rejects=merge_rejects(bad, priced.rejects, single.rejects),
    )


def recognised(skus: pl.DataFrame) -> pl.DataFrame:
    """This will return the SKUs whose description is a component's, with billing_family, component, capacity_type."""
    text = pl.col("description")
    excluded = pl.any_horizontal(text.str.contains(word, literal=True) for word in EXCLUDED)
    commitment = text.str.extract_groups(_COMMITMENT)
    spot = text.str.contains(_SPOT_PREFIX) | text.str.contains(_SPOT_SUFFIX, literal=True)
    committed = {"Commit1Yr": "1", "Commit3Yr": "3"}
    years = pl.col("usage_type").replace_strict(committed, default=None, return_dtype=pl.String)
    plain = pl.when(spot).then(pl.lit(CapacityType.SPOT.value)).when(pl.col("usage_type") == "OnDemand")
    return (
        skus.filter(~excluded)
        .with_columns(
            committed=years.is_not_null(),
            label=pl.when(years.is_not_null())
            .then(commitment.struct.field("1"))
            .otherwise(text.str.replace(_SPOT_PREFIX, "").str.replace(_TAIL, "")),
            capacity_type=pl.when(years.is_not_null())
            .then(
                pl.when(commitment.struct.field("2") == years)
                .then(pl.concat_str(pl.lit("committed-"), years, pl.lit("y")))
                .otherwise(None)
            )
            .otherwise(plain.then(pl.lit(CapacityType.ON_DEMAND.value))),
            example=pl.concat_str("sku_id", pl.lit(" "), text),
        )
        .filter(pl.col("capacity_type").is_not_null())
        .join(labels(), on=["committed", "label"], how="inner")
    )


def _without_free_tier(rows: pl.DataFrame) -> pl.DataFrame:
    """A leading tier at 0 that costs nothing, before a tier that does, is an account's free allowance, not a price."""
    number = pl.col("price").cast(pl.Float64, strict=False)
    later = (pl.len() > 1).over("sku_id", "region", "billing_family", "component")
    return rows.filter(~(later & (pl.col("tier_start") == 0) & (number == 0)).fill_null(value=False))


def _in_pounds(rows: pl.DataFrame) -> pl.DataFrame:
    """`gbp`: the GBP listing's price, only where that listing really quoted pounds."""
    quoted = pl.when(pl.col("gbp_currency") == GBP).then(pl.col("gbp_price").cast(pl.Float64, strict=False))
    return rows.with_columns(gbp=quoted)
