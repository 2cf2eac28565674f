"""Azure, the egress rule: what a GiB costs when it leaves a region.

* To the internet: meter "Standard Data Transfer Out" of product "Rtn Preference: MGN" (Microsoft's global network, the
  default; routing over the internet is cheaper and not what is used unasked). Tiers by tierMinimumUnits. Of each meter
  only the newest effectiveStartDate holds, because older ladders with other tiers stay in the list;
  isPrimaryMeterRegion is False on all of them and means nothing here. A region without the meter takes its zone's
  ladder, marked.
* To a region of the same continent: the region's meter "Standard Inter-Region Data Transfer"; one row a pair.
* To any other region: the meter "Inter Continent Data Transfer Out" that names the continent.
* Between zones: meters "Standard Inter-Availability Zone Data Transfer" In and Out, added up: both ends are billed.
* A row of the settings' table `egress_overrides` replaces all tiers of what it names and carries its reason.

A ladder is whole (it begins at 0 and no tier has two prices) or it is not published. GB in the list is read as GiB:
its tiers are 40,960, 102,400 and 358,400 wide, which are 40, 100 and 350 binary TB.

Source: Azure Retail Prices API, service Bandwidth; tiers of meter 9995d93a-7d35-4d3f-9c69-7a7fea447ef4.
"""

from __future__ import annotations

from collections.abc import Sequence

import dataframely as dy
import polars as pl

from exporters.core.frames import EGRESS_KEY, EgressListPrice, Reject
from exporters.core.money import NATIVE
from exporters.core.words import RejectReason
from exporters.fetch.azure_bandwidth import BETWEEN_CONTINENTS, ZONE_METERS, azure_regions
from exporters.fetch.contract import Fetched
from exporters.normalise.chosen import count_rejects, merge_rejects

_DEFAULT_ROUTE = "Rtn Preference: MGN"
_INTERNET = "Standard Data Transfer Out"
_INTER_REGION = ("Standard Inter-Region Data Transfer", "Intra Continent Data Transfer Out")
_INTER_ZONE = r"^Standard Inter-Availability Zone Data Transfer (In|Out)$"
_INTER_CONTINENT = r"^Inter[ -]Continent Data Transfer Out\b"
_CONTINENT_WORDS = {
    "North America": r"\b(NAM|North America)\b",
    "Europe": r"\b(EU|EUR|Europe)\b",
    "Asia": r"\b(ASIA|Asia)\b",
    "Oceania": r"\b(OCE|OCN|Oceania|Australia)\b",
    "South America": r"\b(SAM|LATAM|South America)\b",
    "Middle East": r"\b(MEA|ME|Middle East)\b",
    "Africa": r"\b(MEA|AF|Africa)\b",
}
_LADDER = ("from_region", "destination", "to_region")


def choose_egress(fetched: Fetched) -> tuple[dy.DataFrame[EgressListPrice], dy.DataFrame[Reject]]:
    """This will return the egress rates of the fetched regions in dollars, and what was left out."""
    names = sorted(fetched.frames["vm_usd"].select(pl.col("asked").unique()).collect()["asked"])
    raw = fetched.frames["bandwidth"].collect()
    meters = _in_force(raw, fetched)
    found = pl.concat(
        [_internet(meters, names), _same_continent(meters, names), _between(meters, names), _zones(meters, names)]
    )
    whole, broken = _whole_ladders(found)
    overridden = _override(whole, fetched.frames["egress_overrides"].collect(), names)
    egress = EgressListPrice.validate(
        overridden.with_columns(provider=pl.lit("azure"), currency=pl.lit("USD"))
        .select(EgressListPrice.column_names())
        .sort(EGRESS_KEY),
        cast=True,
    )
    return egress, merge_rejects(_bad_units(raw), broken, _missing(overridden, names))


def _in_force(raw: pl.DataFrame, fetched: Fetched) -> pl.DataFrame:
    """Rows in force with tier and price as numbers; of each meter and region only the newest start."""
    start = (
        pl.col("effective_start").str.slice(0, 19).str.to_datetime("%Y-%m-%dT%H:%M:%S", time_unit="us", strict=False)
    )
    meter = ["asked", "region", "meter_id"]
    rows = raw.filter(pl.col("price_type") == "Consumption", pl.col("unit") == "1 GB").select(
        *meter,
        "meter_name",
        "product_name",
        effective_from=start.dt.replace_time_zone("UTC"),
        tier_start_gib=pl.col("tier_minimum_units").cast(pl.Float64, strict=False),
        price_per_gib=pl.col("retail_price").cast(NATIVE, strict=False),
    )
    begun = rows.filter(pl.col("effective_from") <= pl.lit(fetched.observed_at).cast(pl.Datetime("us", "UTC")))
    return begun.filter(pl.col("effective_from") == pl.col("effective_from").max().over(meter))


def _rates(rows: pl.DataFrame, destination: str, *, to_region: pl.Expr, note: pl.Expr) -> pl.DataFrame:
    return rows.select(
        "from_region",
        destination=pl.lit(destination),
        to_region=to_region,
        tier_start_gib=pl.col("tier_start_gib"),
        price_per_gib=pl.col("price_per_gib"),
        effective_from=pl.col("effective_from"),
        note=note.cast(pl.String),
    )


_NO_NOTE = pl.lit(None, dtype=pl.String)
_ANY = pl.lit("")


def _internet(meters: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """The region's own ladder, else its zone's."""
    ladders = meters.filter(pl.col("product_name") == _DEFAULT_ROUTE, pl.col("meter_name") == _INTERNET)
    own = ladders.filter(pl.col("asked").is_in(list(names))).with_columns(from_region=pl.col("asked"))
    bare = pl.DataFrame(
        {"from_region": sorted(set(names) - set(own["from_region"]))}, schema={"from_region": pl.String}
    )
    zone_of = azure_regions().select(
        from_region="region",
        asked=pl.col("continent").replace_strict(ZONE_METERS, default=None, return_dtype=pl.String),
    )
    newest = ladders.filter(pl.col("effective_from") == pl.col("effective_from").max().over("asked"))
    tiers = newest.select("asked", "tier_start_gib", "price_per_gib", "effective_from").unique()
    borrowed = bare.join(zone_of, on="from_region").join(tiers, on="asked")
    zone_note = pl.format("the list has no meter of this region; rate of its bandwidth zone ({})", "asked")
    return pl.concat(
        [
            _rates(_newest(own, ["from_region"]), "internet", to_region=_ANY, note=_NO_NOTE),
            _rates(borrowed, "internet", to_region=_ANY, note=zone_note),
        ]
    )


def _newest(rows: pl.DataFrame, key: list[str]) -> pl.DataFrame:
    """Where several meters serve the same purpose, the one that began last."""
    return rows.filter(pl.col("effective_from") == pl.col("effective_from").max().over(key))


def _same_continent(meters: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    rows = meters.filter(pl.col("asked").is_in(list(names)), pl.col("meter_name").is_in(_INTER_REGION))
    placed = _newest(rows, ["asked"]).with_columns(from_region=pl.col("asked"))
    of = _continents()
    pairs = (
        of.rename({"region": "from_region"})
        .join(of.rename({"region": "to_region"}), on="continent")
        .filter(pl.col("from_region") != pl.col("to_region"))
    )
    return _rates(placed.join(pairs, on="from_region"), "region", to_region=pl.col("to_region"), note=_NO_NOTE)


def _continents() -> pl.DataFrame:
    """Region and continent as bandwidth is priced: the Middle East and Africa are one."""
    merged = pl.col("continent").replace({"Middle East": "Africa"})
    return azure_regions().with_columns(merged)


def _between(meters: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """From a continent to any other; a meter's name says which continents it leaves."""
    source = pl.col("meter_name").str.replace(_INTER_CONTINENT, "").str.replace(r"(?i)\bto any\b.*$", "")
    rows = meters.filter(pl.col("asked") == BETWEEN_CONTINENTS, pl.col("meter_name").str.contains(_INTER_CONTINENT))
    leaving = pl.concat(
        [
            rows.filter(source.str.contains(word)).with_columns(continent=pl.lit(name))
            for name, word in _CONTINENT_WORDS.items()
        ]
    )
    placed = azure_regions().filter(pl.col("region").is_in(list(names))).rename({"region": "from_region"})
    found = placed.join(_newest(leaving, ["continent"]), on="continent")
    return _rates(found, "region", to_region=_ANY, note=_NO_NOTE).unique(maintain_order=True)


def _zones(meters: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    rows = meters.filter(pl.col("asked").is_in(list(names)), pl.col("meter_name").str.contains(_INTER_ZONE))
    ends = rows.unique(["asked", "meter_name", "tier_start_gib", "price_per_gib"])
    both = (
        ends.group_by(from_region="asked", tier_start_gib="tier_start_gib")
        .agg(
            pl.col("price_per_gib").sum(),
            pl.col("effective_from").max(),
            ends=pl.col("meter_name").n_unique(),
            rows=pl.len(),
        )
        .filter(pl.col("ends") == 2, pl.col("rows") == 2)
    )
    return _rates(both, "zone", to_region=_ANY, note=pl.lit("both ends"))


def _whole_ladders(rates: pl.DataFrame) -> tuple[pl.DataFrame, dy.DataFrame[Reject]]:
    """Ladders that begin at 0 and have one price a tier; the rest are rejects, never half a ladder."""
    tiers = rates.unique([*EGRESS_KEY[1:], "price_per_gib"], keep="first", maintain_order=True)
    price = pl.col("price_per_gib")
    reason = (
        pl.when((price.is_null() | pl.col("tier_start_gib").is_null()).any().over(_LADDER))
        .then(pl.lit(RejectReason.NOT_A_NUMBER.value))
        .when((price < 0).any().over(_LADDER))
        .then(pl.lit(RejectReason.NEGATIVE.value))
        .when(pl.col("tier_start_gib").is_duplicated().any().over(_LADDER))
        .then(pl.lit(RejectReason.AMBIGUOUS.value))
        .when(pl.col("tier_start_gib").min().over(_LADDER) != 0)
        .then(pl.lit(RejectReason.ABSENT.value))
    )
    marked = tiers.with_columns(reason=reason)
    broken = marked.filter(pl.col("reason").is_not_null())
    example = pl.format("egress to {} {} from {} GiB", "destination", "to_region", "tier_start_gib")
    return (
        marked.filter(pl.col("reason").is_null()).drop("reason"),
        count_rejects(broken, reason=pl.col("reason"), example=example, region=pl.col("from_region")),
    )


def _override(rates: pl.DataFrame, overrides: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Rates with the settings' table in place of what it names; an override of no region holds for every one."""
    for row in overrides.iter_rows(named=True):
        where = [row["from_region"]] if row["from_region"] else list(names)
        named = (
            pl.col("from_region").is_in(where)
            & (pl.col("destination") == row["destination"])
            & ((pl.col("to_region") == row["to_region"]) | pl.lit(row["to_region"] == ""))
        )
        placed = pl.DataFrame({"from_region": where}).with_columns(
            destination=pl.lit(row["destination"]),
            to_region=pl.lit(row["to_region"]),
            tier_start_gib=pl.lit(0.0),
            price_per_gib=pl.lit(row["price_per_gib"]).cast(NATIVE),
            effective_from=pl.lit(None, dtype=pl.Datetime("us", "UTC")),
            note=pl.lit(row["note"]),
        )
        rates = pl.concat([rates.filter(~named), placed.select(rates.columns)])
    return rates


def _bad_units(raw: pl.DataFrame) -> dy.DataFrame[Reject]:
    known = pl.col("meter_name").is_in([_INTERNET, *_INTER_REGION]) | pl.col("meter_name").str.contains(_INTER_ZONE)
    rows = raw.filter(pl.col("unit") != "1 GB", known)
    example = pl.format("{}: {}", "meter_name", "unit")
    return count_rejects(rows, reason=pl.lit(RejectReason.UNIT.value), example=example, region=pl.col("asked"))


def _missing(rates: pl.DataFrame, names: Sequence[str]) -> dy.DataFrame[Reject]:
    """Regions without any rate to a destination: absent is said, never filled."""
    wanted = pl.DataFrame({"from_region": list(names)}).join(
        pl.DataFrame({"destination": ["internet", "region", "zone"]}), how="cross"
    )
    gone = wanted.join(rates, on=["from_region", "destination"], how="anti")
    example = pl.format("egress to {}", "destination")
    absent = pl.lit(RejectReason.ABSENT.value)
    return count_rejects(gone, reason=absent, example=example, region=pl.col("from_region"))
