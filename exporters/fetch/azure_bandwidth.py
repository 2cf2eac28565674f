"""Azure, egress: which lists of bandwidth meters a refresh needs, and where the meters of the price zones lie.

A region's internet rate is a meter of its bandwidth zone, listed under each region. Some regions have no row of their
own (polandcentral); for those the meter of the zone is read as well, across all regions, and its use is marked.

Source: Azure Retail Prices API, service "Bandwidth"; zones after Microsoft's bandwidth price page (zone 1 North
America and Europe, zone 2 Asia and Oceania, zone 3 South America, Middle East and Africa).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from exporters.core.geography import regions
from exporters.fetch.azure_retail import Query

ZONE_METERS: Mapping[str, str] = {
    "Europe": "9995d93a-7d35-4d3f-9c69-7a7fea447ef4",
    "North America": "9995d93a-7d35-4d3f-9c69-7a7fea447ef4",
    "Asia": "fe167397-a38d-43c3-9bb3-8e2907e56a41",
    "Oceania": "fe167397-a38d-43c3-9bb3-8e2907e56a41",
    "South America": "c089a13a-9dd0-44b5-aa9e-44a77bbd6788",
    "Middle East": "c089a13a-9dd0-44b5-aa9e-44a77bbd6788",
    "Africa": "c089a13a-9dd0-44b5-aa9e-44a77bbd6788",
}
"""Continent of a region → meter of its zone's standard data transfer out."""

BETWEEN_CONTINENTS = "between-continents"
_OTHER_CLOUDS = r"^(china|usgov|usdod)"


def bandwidth_queries(names: Sequence[str]) -> list[Query]:
    """This will return the queries for the bandwidth meters of the regions, of their zones, and between continents."""
    service = "serviceName eq 'Bandwidth' and priceType eq 'Consumption'"
    by_region = [
        Query("bandwidth", name, "USD", f"{service} and armRegionName eq '{name}'", one_region=False) for name in names
    ]
    continents = azure_regions().filter(pl.col("region").is_in(list(names)))["continent"].unique()
    meters = sorted({ZONE_METERS[continent] for continent in continents})
    zones = [
        Query("bandwidth", meter, "USD", f"{service} and meterId eq '{meter}'", one_region=False) for meter in meters
    ]
    between = f"{service} and contains(meterName, 'Continent Data Transfer Out')"
    return [*by_region, *zones, Query("bandwidth", BETWEEN_CONTINENTS, "USD", between, one_region=False)]


def azure_regions() -> pl.DataFrame:
    """This will return the regions of Azure's public cloud (not China's or the US government's): region, continent."""
    known = regions().filter(pl.col("provider") == "azure", ~pl.col("region").str.contains(_OTHER_CLOUDS))
    return known.select("region", "continent")
