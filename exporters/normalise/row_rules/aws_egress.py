"""Normalise, AWS: from the raw data-transfer list to egress list prices, by the written row rule.

Rows with an operation belong to one service and are left out; so are rows that do not start in an AWS Region.
- internet: transfer type "AWS Outbound", usage type …DataTransfer-Out-Bytes, in monthly tiers;
- region: "InterRegion Outbound", usage type …-AWS-Out-Bytes, to another AWS Region, billed to the sender;
- zone: "IntraRegion", usage type …DataTransfer-Regional-Bytes, billed to the sender and to the receiver: twice the
  listed price for each GiB that moves (the rows named IntraRegion-xAZ are informational zeros).
The unit GB is 2^30 bytes: the listed tier edges are multiples of 1,024 (10,240 is 10 TB). The 100 GB a month that are
free for a whole account are not in the list and are not subtracted.
Source: AWS Price List API, service code AWSDataTransfer.
"""

from __future__ import annotations

import dataframely as dy
import polars as pl

from exporters.core.frames import EGRESS_KEY, EgressListPrice, Reject
from exporters.core.words import ANY_REGION, EgressDestination, RejectReason
from exporters.fetch.contract import Fetched
from exporters.normalise.chosen import count_rejects, merge_rejects, one_per_key, sort_out_prices
from exporters.normalise.row_rules.aws_raw import collected, in_force, in_own_currency

BOTH_ENDS = "twice the listed price: billed to the sender and to the receiver"


def choose_egress(fetched: Fetched) -> tuple[dy.DataFrame[EgressListPrice], dy.DataFrame[Reject]]:
    """This will choose one price for each tier of each way out of each region that answered."""
    regions = fetched.frames["regions"].collect()["region"]
    rows = (
        collected(fetched.frames["transfers"].filter(pl.col("from_region").is_in(regions.to_list()), _admitted()))
        .sort("sku", "effective_date")
        .with_columns(provider=pl.lit("aws"), destination=_destination())
        .with_columns(
            to_region=pl.when(pl.col("destination") == EgressDestination.REGION.value)
            .then(pl.col("to_region"))
            .otherwise(pl.lit(ANY_REGION)),
            tier_start_gib=pl.col("tier_start").cast(pl.Float64, strict=False),
            price_per_gib=pl.col("price_per_unit"),
        )
    )
    unit = rows.filter(pl.col("unit").ne_missing("GB"))
    usable, money = in_own_currency(rows.filter(pl.col("unit") == "GB"), region="from_region", price="price_per_unit")
    current, not_yet = in_force(usable, fetched.observed_at, per=["sku"])
    whole, torn = _whole_ladders(current)
    priced, bad = _priced(whole)
    single = one_per_key(priced, key=EGRESS_KEY, price="price_per_gib", example="sku")
    rejects = merge_rejects(
        _count(unit, RejectReason.UNIT),
        _count(money, RejectReason.CURRENCY),
        _count(not_yet, RejectReason.ABSENT),
        _count(torn, RejectReason.MISSING_COMPONENT),
        bad,
        single.rejects,
        _without_internet(single.good, regions),
    )
    return EgressListPrice.validate(_as_list_prices(single.good), cast=True), rejects


def _priced(rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Parts rows by their price; 0 is a listed price here (a free tier), not a mistake."""
    free = (pl.col("price_per_gib").cast(pl.Float64, strict=False) == 0).fill_null(value=False)
    paid = sort_out_prices(rows.filter(~free), price="price_per_gib", example="sku", region="from_region")
    nothing = pl.lit(0, paid.good.schema["price_per_gib"])
    return pl.concat([paid.good, rows.filter(free).with_columns(price_per_gib=nothing)]), paid.rejects


def _admitted() -> pl.Expr:
    no_operation = pl.col("operation").is_null() | (pl.col("operation") == "")
    from_region = pl.col("from_location_type") == "AWS Region"
    return (pl.col("term_type") == "OnDemand") & no_operation & from_region & _destination().is_not_null()


def _destination() -> pl.Expr:
    kind, usage = pl.col("transfer_type"), pl.col("usage_type")
    return (
        pl.when((kind == "AWS Outbound") & usage.str.contains(r"^([A-Z0-9]+-)?DataTransfer-Out-Bytes$"))
        .then(pl.lit(EgressDestination.INTERNET.value))
        .when(
            (kind == "InterRegion Outbound")
            & usage.str.ends_with("-AWS-Out-Bytes")
            & (pl.col("to_location_type") == "AWS Region")
            & (pl.col("to_region") != pl.col("from_region"))
        )
        .then(pl.lit(EgressDestination.REGION.value))
        .when((kind == "IntraRegion") & usage.str.contains(r"^([A-Z0-9]+-)?DataTransfer-Regional-Bytes$"))
        .then(pl.lit(EgressDestination.ZONE.value))
    )


def _whole_ladders(rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Parts rows by whether their product's tiers run from 0 to Inf without a gap; half a ladder is no price."""
    end = pl.col("tier_end").replace("Inf", "inf").cast(pl.Float64, strict=False)
    before = end.shift(1).over("sku", order_by="tier_start_gib").fill_null(0.0)
    last = end == end.max().over("sku")
    fits = (pl.col("tier_start_gib") == before) & (~last | end.is_infinite())
    marked = rows.with_columns(__whole=fits.fill_null(value=False).all().over("sku"))
    return marked.filter("__whole").drop("__whole"), marked.filter(~pl.col("__whole")).drop("__whole")


def _without_internet(prices: pl.DataFrame, regions: pl.Series) -> pl.DataFrame:
    priced = prices.filter(pl.col("destination") == EgressDestination.INTERNET.value)
    missing = pl.DataFrame({"region": regions}).join(priced, left_on="region", right_on="from_region", how="anti")
    return count_rejects(
        missing,
        reason=pl.lit(RejectReason.ABSENT.value),
        example=pl.lit("no internet egress price"),
        region=pl.col("region"),
    )


def _as_list_prices(prices: pl.DataFrame) -> pl.DataFrame:
    zone = pl.col("destination") == EgressDestination.ZONE.value
    return (
        prices.with_columns(
            price_per_gib=pl.when(zone).then(pl.col("price_per_gib") * 2).otherwise(pl.col("price_per_gib")),
            effective_from=pl.col("effective"),
            note=pl.when(zone).then(pl.lit(BOTH_ENDS)),
        )
        .select(EgressListPrice.column_names())
        .sort(EGRESS_KEY)
    )


def _count(rows: pl.DataFrame, reason: RejectReason) -> pl.DataFrame:
    return count_rejects(rows, reason=pl.lit(reason.value), example=pl.col("sku"), region=pl.col("from_region"))
