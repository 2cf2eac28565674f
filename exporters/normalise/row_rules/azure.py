"""Azure, the row rule: which retail price is the price of a machine.

About six rows stand for one size and region: Linux and Windows, each standard, spot and low priority, and more under
look-alike products. A row of service Virtual Machines is

* a machine's price if armSkuName begins with ``Standard_`` and is no ``_Promo``; the product is not Cloud Services
  (spelt with and without a space), Dedicated Host (likewise), Promo or Basic; SKU and meter are neither Low Priority
  (Batch only, not spot) nor Expired; the unit is ``1 Hour``; tierMinimumUnits is 0; effectiveStartDate has come and
  effectiveEndDate has not;
* Windows if the product holds the word Windows or ends in `` Win`` ("… Srs Win"), else Linux;
* spot if SKU or meter ends in `` Spot``, else on-demand, when the type is Consumption (never DevTestConsumption);
* committed for one or three years when the type is Reservation and the product is not Windows: retailPrice is then the
  whole term's total, whatever the unit says, and is spread over 8,760 or 26,280 hours.

Of several rows the greatest effectiveStartDate holds, then isPrimaryMeterRegion; equal prices fold, different ones are
ambiguous. The same rule read on the pound list, joined by meter, SKU and tier, gives provider_gbp; a meter that is not
there, or has two prices, has none. Spot is never inferred from on-demand.

Source: Azure Retail Prices API and its rows; Microsoft Learn, "Azure Retail Prices overview" (reservations, types).
"""

from __future__ import annotations

from fnmatch import fnmatchcase

import dataframely as dy
import polars as pl

from exporters.core.errors import IntegrityError
from exporters.core.frames import OFFER_KEY, ListPrice, Reject, Shape
from exporters.core.geography import gpu_aliases
from exporters.core.money import NATIVE
from exporters.core.units import HOURS_PER_YEAR
from exporters.core.words import CapacityType, OperatingSystem, RejectReason
from exporters.fetch.azure_sizes import read_name
from exporters.fetch.contract import Fetched
from exporters.normalise.chosen import Chosen, Filters, count_rejects, merge_rejects, one_per_key, sort_out_prices
from exporters.normalise.row_rules.azure_egress import choose_egress

PROVIDER = "azure"

_OTHER_PRODUCT = r"(?i)cloud ?services|dedicated ?host|\bpromo\b|\bbasic\b"
_OTHER_SKU = r"(?i)\blow priority\b|\bexpired\b"
_WINDOWS_PRODUCT = r"(?i)\bwindows\b|\swin$"
_TERM_HOURS = {"1 Year": HOURS_PER_YEAR, "3 Years": 3 * HOURS_PER_YEAR}
_METER = ("meter_id", "sku_id", "tier", "instance_type", "capacity_type", "operating_system", "region")


def choose(fetched: Fetched, filters: Filters) -> Chosen:
    """This will choose one price an offer, with its shape, and the egress rates.

    Raises:
        IntegrityError: a region of the list without a single Linux on-demand price.
    """
    dollars = _machines(fetched.frames["vm_usd"].collect(), fetched)
    _refuse_empty_regions(fetched.frames["vm_usd"].collect(), dollars)
    units = dollars.filter(pl.col("unit") != "1 Hour")
    priced = sort_out_prices(
        _wanted(dollars.filter(pl.col("unit") == "1 Hour"), filters), price="retail_price", example="sku_name"
    )
    single = one_per_key(_per_hour(_in_force(priced.good, [*OFFER_KEY])), key=OFFER_KEY, example="sku_name")
    pounds = _pounds(_machines(fetched.frames["vm_gbp"].collect(), fetched))
    shaped, shapes, unshaped = _with_shapes(single.good, fetched.frames["shapes"].collect())
    egress, egress_rejects = choose_egress(fetched)
    return Chosen(
        prices=_list_prices(shaped.join(pounds, on=_METER, how="left")),
        shapes=shapes,
        egress=egress,
        rejects=merge_rejects(
            count_rejects(
                _wanted(units, filters),
                reason=pl.lit(RejectReason.UNIT.value),
                example=pl.format("{}: {}", "sku_name", "unit"),
                region=pl.col("region"),
            ),
            priced.rejects, single.rejects, unshaped, egress_rejects, _skipped(fetched),
        ),
    )  # fmt: skip


def _machines(rows: pl.DataFrame, fetched: Fetched) -> pl.DataFrame:
    """Rows that are a machine's price in force, with the columns of the offer's key; prices are still text."""
    product, sku, meter = pl.col("product_name"), pl.col("sku_name"), pl.col("meter_name")
    windows = product.str.contains(_WINDOWS_PRODUCT)
    spot = sku.str.ends_with(" Spot") | meter.str.ends_with(" Spot")
    bought = (
        pl.when((pl.col("price_type") == "Consumption") & spot)
        .then(pl.lit(CapacityType.SPOT.value))
        .when(pl.col("price_type") == "Consumption")
        .then(pl.lit(CapacityType.ON_DEMAND.value))
        .when((pl.col("price_type") == "Reservation") & ~windows & (pl.col("reservation_term") == "1 Year"))
        .then(pl.lit(CapacityType.COMMITTED_1Y.value))
        .when((pl.col("price_type") == "Reservation") & ~windows & (pl.col("reservation_term") == "3 Years"))
        .then(pl.lit(CapacityType.COMMITTED_3Y.value))
    )
    keyed = rows.with_columns(
        pl.col("region").str.to_lowercase(),
        pl.col("instance_type").str.strip_chars(),
        provider=pl.lit(PROVIDER),
        zone=pl.lit(""),
        operating_system=pl.when(windows).then(pl.lit("windows")).otherwise(pl.lit("linux")),
        capacity_type=bought,
        tier=pl.col("tier_minimum_units").cast(pl.Float64, strict=False).fill_null(0.0),
        effective_from=_moment("effective_start"),
        effective_to=_moment("effective_end"),
    )
    now = pl.lit(fetched.observed_at).cast(pl.Datetime("us", "UTC"))
    return keyed.filter(
        pl.col("instance_type").str.starts_with("Standard_") & ~pl.col("instance_type").str.ends_with("_Promo"),
        ~product.str.contains(_OTHER_PRODUCT),
        ~sku.str.contains(_OTHER_SKU) & ~meter.str.contains(_OTHER_SKU),
        pl.col("capacity_type").is_not_null(),
        pl.col("tier") == 0,
        (pl.col("effective_from") <= now) | pl.col("effective_from").is_null(),
        (pl.col("effective_to") > now) | pl.col("effective_to").is_null(),
    )


def _moment(column: str) -> pl.Expr:
    """The API's times: ISO 8601, UTC, sometimes with fractions of a second."""
    seconds = pl.col(column).str.slice(0, 19)
    return seconds.str.to_datetime("%Y-%m-%dT%H:%M:%S", time_unit="us", strict=False).dt.replace_time_zone("UTC")


def _refuse_empty_regions(rows: pl.DataFrame, machines: pl.DataFrame) -> None:
    priced = machines.filter(
        pl.col("capacity_type") == CapacityType.ON_DEMAND.value,
        pl.col("operating_system") == OperatingSystem.LINUX.value,
        pl.col("retail_price").cast(pl.Float64, strict=False) > 0,
    )
    empty = sorted(set(rows["asked"].str.to_lowercase()) - set(priced["region"]))
    if empty:
        raise IntegrityError(
            "the price list arrived, but holds no Linux on-demand price of a machine",
            where=f"azure region {', '.join(empty)}",
            next_step="The list may have changed its form; the last good prices stay. Please report it.",
        )


def _wanted(rows: pl.DataFrame, filters: Filters) -> pl.DataFrame:
    """Rows that the settings let through; families are matched on the family in the size's name."""
    if filters.capacity_types:
        rows = rows.filter(pl.col("capacity_type").is_in(list(filters.capacity_types)))
    if filters.operating_systems:
        rows = rows.filter(pl.col("operating_system").is_in(list(filters.operating_systems)))
    if filters.families:
        sizes = [
            size
            for size in rows["instance_type"].unique()
            if any(fnmatchcase(read_name(size).family, glob) for glob in filters.families)
        ]
        rows = rows.filter(pl.col("instance_type").is_in(sizes))
    return rows


def _in_force(rows: pl.DataFrame, key: list[str]) -> pl.DataFrame:
    """Of each key the rows with the greatest effectiveStartDate; of those the primary meter's, if any."""
    start = pl.col("effective_from").fill_null(pl.datetime(1970, 1, 1, time_zone="UTC"))
    latest = rows.filter(start == start.max().over(key))
    primary = (pl.col("is_primary") == "true").fill_null(value=False)
    return latest.filter(primary == primary.max().over(key))


def _per_hour(rows: pl.DataFrame) -> pl.DataFrame:
    """The price of one hour; a reservation's total is spread over its term."""
    hours = pl.col("reservation_term").replace_strict(_TERM_HOURS, default=None, return_dtype=NATIVE)
    total = pl.col("retail_price")
    spread = (total / hours).cast(NATIVE)
    reserved = pl.col("price_type") == "Reservation"
    note = pl.format("reservation total {} {} spread over {}", pl.col("retail_price").cast(pl.Float64), "currency",
                     "reservation_term")  # fmt: skip
    return rows.with_columns(
        price_per_hour=pl.when(reserved).then(spread).otherwise(total),
        note=pl.when(reserved).then(note),
    )


def _pounds(rows: pl.DataFrame) -> pl.DataFrame:
    """Pounds an hour by meter, SKU and tier; a meter with two prices, or none above zero, is left out."""
    priced = sort_out_prices(rows.filter(pl.col("unit") == "1 Hour"), price="retail_price", example="sku_name").good
    hourly = _per_hour(_in_force(priced, [*_METER]))
    return (
        hourly.group_by(_METER)
        .agg(pl.col("price_per_hour").first(), prices=pl.col("price_per_hour").n_unique())
        .filter(pl.col("prices") == 1)
        .select(*_METER, provider_gbp_per_hour=pl.col("price_per_hour").cast(pl.Float64))
    )


def _with_shapes(
    prices: pl.DataFrame, told: pl.DataFrame
) -> tuple[pl.DataFrame, dy.DataFrame[Shape], dy.DataFrame[Reject]]:
    """Prices whose size is known, the shapes they use, and the rejects of the rest."""
    usable = told.filter(pl.col("vcpus") > 0, pl.col("memory_gib") > 0).with_columns(provider=pl.lit(PROVIDER))
    anywhere = usable.filter(pl.col("region") == "").drop("region")
    regions = prices.select("region").unique()
    by_region = pl.concat(
        [usable.filter(pl.col("region") != ""), anywhere.join(regions, how="cross").select(usable.columns)]
    ).unique(["region", "instance_type"], keep="first", maintain_order=True)
    joined = prices.join(
        by_region.select("region", "instance_type", "gpu_model", "shape_source"),
        on=["region", "instance_type"],
        how="left",
    )
    models = ["", *gpu_aliases()["gpu_model"].unique()]
    reason = (
        pl.when(pl.col("shape_source").is_null())
        .then(pl.lit(RejectReason.UNKNOWN_SHAPE.value))
        .when(pl.col("gpu_model").is_null() | ~pl.col("gpu_model").is_in(models))
        .then(pl.lit(RejectReason.UNKNOWN_GPU.value))
    )
    marked = joined.with_columns(reason=reason)
    good = marked.filter(pl.col("reason").is_null())
    used = good.select("region", "instance_type").unique()
    kept = usable.join(
        pl.concat([used, used.with_columns(region=pl.lit(""))]).unique(), on=["region", "instance_type"], how="semi"
    ).sort("region", "instance_type")
    rejects = count_rejects(
        marked.filter(pl.col("reason").is_not_null()),
        reason=pl.col("reason"),
        example=pl.col("instance_type"),
        region=pl.col("region"),
    )
    return good, Shape.validate(kept.select(Shape.column_names()), cast=True), rejects


def _list_prices(rows: pl.DataFrame) -> dy.DataFrame[ListPrice]:
    absent = ("price_per_vcpu_hour", "price_per_gib_hour", "price_per_gpu_hour", "marginal_price_per_hour")
    frame = rows.with_columns(pl.lit(None, dtype=NATIVE).alias(name) for name in absent).sort(OFFER_KEY)
    return ListPrice.validate(frame.select(ListPrice.column_names()), cast=True)


def _skipped(fetched: Fetched) -> dy.DataFrame[Reject]:
    rows = pl.DataFrame(
        {"region": [item.region for item in fetched.skipped], "why": [item.why for item in fetched.skipped]},
        schema={"region": pl.String, "why": pl.String},
    )
    skipped = pl.lit(RejectReason.REGION_SKIPPED.value)
    return count_rejects(rows, reason=skipped, example=pl.col("why"), region=pl.col("region"))
