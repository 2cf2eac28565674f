"""Normalise, AWS: from the raw price list to one list price an offer, by the written row rule.

On-demand. A price-list row is an offer's price if and only if its capacity status is Used, its market option OnDemand,
its pre-installed software NA, its licence model "No License required", its location an AWS Region (no Local Zone, no
Wavelength Zone), its term OnDemand, its unit Hrs, and
- Linux: operating system Linux, operation RunInstances;
- Windows: operating system Windows, operation RunInstances:0002 (licence included);
- product family "Compute Instance": tenancy Shared;
- product family "Compute Instance (bare metal)": tenancy Shared, or Dedicated where the type is not listed as Shared
  (the Dedicated row of a type that is listed twice carries the surcharge of dedicated instances).
Of a product's terms the one with the greatest effective date that is not in the future holds. Two products with
different prices under one key are ambiguous. Committed: the same rows with a standard Reserved term, No Upfront,
of 1yr or 3yr, whose hourly price is all that is paid.

Spot: the newest price of each zone id and type, the VPC spelling of a product folded into the plain one. Zone names are
shuffled between accounts, so the zone column holds the zone id.

Sources: AWS Price List API, GetProducts; Amazon EC2 API, DescribeSpotPriceHistory. What each filter guards against is
in docs/sources/aws.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

import polars as pl

from exporters.core.errors import IntegrityError
from exporters.core.frames import OFFER_KEY, ListPrice
from exporters.core.money import NATIVE
from exporters.core.words import NO_ZONE, CapacityType, OperatingSystem, RejectReason
from exporters.fetch.contract import Fetched
from exporters.normalise.chosen import Chosen, Filters, count_rejects, merge_rejects, one_per_key, sort_out_prices
from exporters.normalise.row_rules.aws_egress import choose_egress
from exporters.normalise.row_rules.aws_raw import collected, currency_of, in_force, in_own_currency
from exporters.normalise.row_rules.aws_shapes import LIST_FACTS, choose_shapes

MACHINE = "Compute Instance"
BARE_METAL = "Compute Instance (bare metal)"
OPERATIONS = {
    OperatingSystem.LINUX.value: ("Linux", "RunInstances"),
    OperatingSystem.WINDOWS.value: ("Windows", "RunInstances:0002"),
}
LEASES = {CapacityType.COMMITTED_1Y.value: "1yr", CapacityType.COMMITTED_3Y.value: "3yr"}
SPOT_PRODUCTS = {
    "Linux/UNIX": OperatingSystem.LINUX.value,
    "Linux/UNIX (Amazon VPC)": OperatingSystem.LINUX.value,
    "Windows": OperatingSystem.WINDOWS.value,
    "Windows (Amazon VPC)": OperatingSystem.WINDOWS.value,
}
CHECKED = (CapacityType.ON_DEMAND.value, CapacityType.SPOT.value)
"""Capacity types that every AWS region sells: a region with none of them did not answer whole."""


def choose(fetched: Fetched, filters: Filters) -> Chosen:
    """This will choose the one row of each offer, its shape, and the egress prices.

    Raises:
        IntegrityError: a region that answered has no price left for a capacity type that was asked.
    """
    systems = filters.operating_systems or tuple(OPERATIONS)
    capacities = filters.capacity_types or tuple(word.value for word in CapacityType)
    parts = []
    if "products" in fetched.frames:
        parts.append(_listed(fetched, systems, capacities))
    if "spot" in fetched.frames and CapacityType.SPOT.value in capacities:
        parts.append(_spot(fetched, systems))
    prices = pl.concat([good for good, _ in parts], how="diagonal")
    _check_regions(prices, fetched, capacities)
    kept = prices.filter(pl.col("family").is_in(_let_through(prices["family"], filters.families)))
    shaped = choose_shapes(fetched, kept)
    egress, egress_rejects = choose_egress(fetched)
    return Chosen(
        prices=ListPrice.validate(_as_list_prices(shaped.prices), cast=True),
        shapes=shaped.shapes,
        egress=egress,
        rejects=merge_rejects(*(bad for _, bad in parts), shaped.rejects, egress_rejects, _skipped(fetched)),
    )


def rule_rows(products: pl.LazyFrame, systems: Sequence[str], capacities: Sequence[str]) -> pl.LazyFrame:
    """This will keep the rows that the rule admits by their attributes, whatever their price, unit, currency and date.

    Plain comparisons on raw text, so that they are pushed down into the reader of an offer file.
    """
    system = pl.any_horizontal(
        (pl.col("operating_system") == name) & (pl.col("operation") == operation)
        for name, operation in (OPERATIONS[word] for word in systems)
    )
    family = ((pl.col("product_family") == MACHINE) & (pl.col("tenancy") == "Shared")) | (
        (pl.col("product_family") == BARE_METAL) & pl.col("tenancy").is_in(["Shared", "Dedicated"])
    )
    return products.filter(
        pl.col("capacity_status") == "Used",
        pl.col("market_option") == "OnDemand",
        pl.col("pre_installed_software") == "NA",
        pl.col("license_model") == "No License required",
        pl.col("location_type") == "AWS Region",
        system,
        family,
        _term(capacities),
    )


def _term(capacities: Sequence[str]) -> pl.Expr:
    leases = [LEASES[word] for word in capacities if word in LEASES]
    committed = (
        (pl.col("term_type") == "Reserved")
        & (pl.col("offering_class") == "standard")
        & (pl.col("purchase_option") == "No Upfront")
        & pl.col("lease_contract_length").is_in(leases)
    )
    on_demand = pl.col("term_type") == "OnDemand"
    if CapacityType.ON_DEMAND.value not in capacities:
        return committed
    return on_demand | committed if leases else on_demand


def _listed(fetched: Fetched, systems: Sequence[str], capacities: Sequence[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    names = {name: word for word, (name, _) in OPERATIONS.items()}
    lengths = {length: word for word, length in LEASES.items()}
    rows = (
        collected(rule_rows(fetched.frames["products"], systems, capacities))
        .sort("sku", "effective_date")
        .with_columns(
            provider=pl.lit("aws"),
            zone=pl.lit(NO_ZONE),
            operating_system=pl.col("operating_system").replace_strict(names, return_dtype=pl.String),
            capacity_type=pl.when(pl.col("term_type") == "OnDemand")
            .then(pl.lit(CapacityType.ON_DEMAND.value))
            .otherwise(pl.col("lease_contract_length").replace_strict(lengths, default=None, return_dtype=pl.String)),
            price_per_hour=pl.col("price_per_unit"),
            family=_family(),
        )
    )
    unit = rows.filter(pl.col("unit").ne_missing("Hrs"))
    usable, money = in_own_currency(rows.filter(pl.col("unit") == "Hrs"), region="region", price="price_per_unit")
    current, not_yet = in_force(usable, fetched.observed_at, per=["sku", "capacity_type"])
    priced = sort_out_prices(current, price="price_per_hour", example="sku")
    single = one_per_key(_shared_first(priced.good), example="sku")
    good = single.good.select(
        *OFFER_KEY, "family", "currency", "price_per_hour", *LIST_FACTS, sku_id="sku", effective_from="effective"
    )
    return good, merge_rejects(
        _count(unit, RejectReason.UNIT),
        _count(money, RejectReason.CURRENCY),
        _count(not_yet, RejectReason.ABSENT),
        priced.rejects,
        single.rejects,
    )


def _shared_first(rows: pl.DataFrame) -> pl.DataFrame:
    """Dedicated rows (bare metal only) stand in only where the type has no Shared row."""
    shared = (pl.col("tenancy") == "Shared").any().over(OFFER_KEY)
    return rows.filter((pl.col("tenancy") == "Shared") | ~shared)


def _spot(fetched: Fetched, systems: Sequence[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    rows = (
        fetched.frames["spot"]
        .collect()
        .with_columns(
            operating_system=pl.col("product_description").replace_strict(
                SPOT_PRODUCTS, default=None, return_dtype=pl.String
            )
        )
        .filter(
            pl.col("operating_system").is_in(list(systems)),
            pl.col("zone").str.replace(r"[a-z]$", "") == pl.col("region"),
        )
        .with_columns(
            provider=pl.lit("aws"),
            capacity_type=pl.lit(CapacityType.SPOT.value),
            currency=currency_of("region"),
            price_per_hour=pl.col("price"),
            family=_family(),
            sku_id=pl.lit(None, pl.String),
        )
    )
    zoneless = rows.filter(pl.col("zone_id").is_null() | (pl.col("zone_id") == ""))
    named = rows.filter(pl.col("zone_id") != "").drop("zone").rename({"zone_id": "zone", "timestamp": "effective_from"})
    newest = named.filter(pl.col("effective_from") == pl.col("effective_from").max().over(OFFER_KEY))
    priced = sort_out_prices(newest, price="price_per_hour", example="instance_type")
    single = one_per_key(priced.good, example="instance_type")
    good = single.good.select(*OFFER_KEY, "family", "currency", "price_per_hour", "sku_id", "effective_from")
    counted = _count(zoneless, RejectReason.MISSING_COMPONENT, example="zone")
    return good, merge_rejects(counted, priced.rejects, single.rejects)


def _check_regions(prices: pl.DataFrame, fetched: Fetched, capacities: Sequence[str]) -> None:
    regions = fetched.frames["regions"].collect()["region"].to_list()
    asked = [word for word in CHECKED if word in capacities]
    if "spot" not in fetched.frames:
        asked = [word for word in asked if word != CapacityType.SPOT.value]
    found = set(prices.select("region", "capacity_type").unique().iter_rows())
    missing = [f"{region} ({word})" for region in regions for word in asked if (region, word) not in found]
    if missing:
        raise IntegrityError(
            f"no usable price is left for {', '.join(missing)}",
            where="aws",
            next_step="The last good prices stay. If it lasts, check this machine's clock and the rejects of: "
            "tuppence fetch aws",
        )


def _let_through(families: pl.Series, globs: Sequence[str]) -> list[str]:
    return [name for name in families.unique() if not globs or any(fnmatchcase(name, glob) for glob in globs)]


def _family() -> pl.Expr:
    return pl.col("instance_type").str.split(".").list.first()


def _count(rows: pl.DataFrame, reason: RejectReason, *, example: str = "sku") -> pl.DataFrame:
    return count_rejects(rows, reason=pl.lit(reason.value), example=pl.col(example), region=pl.col("region"))


def _skipped(fetched: Fetched) -> pl.DataFrame:
    rows = pl.DataFrame(
        [(one.region, one.why) for one in fetched.skipped],
        schema={"region": pl.String, "why": pl.String},
        orient="row",
    )
    return _count(rows, RejectReason.REGION_SKIPPED, example="why")


def _as_list_prices(prices: pl.DataFrame) -> pl.DataFrame:
    """AWS sells no components and quotes no pounds."""
    return (
        prices.with_columns(
            *(
                pl.lit(None, NATIVE).alias(name)
                for name in (
                    "price_per_vcpu_hour",
                    "price_per_gib_hour",
                    "price_per_gpu_hour",
                    "marginal_price_per_hour",
                )
            ),
            provider_gbp_per_hour=pl.lit(None, pl.Float64),
            note=pl.lit(None, pl.String),
        )
        .select(ListPrice.column_names())
        .sort(OFFER_KEY)
    )
