"""Fetch, AWS: the raw price-list frames, and how one GetProducts item becomes rows of them.

Both ways to the AWS Price List, the query API (GetProducts) and the bulk offer files (CSV), end in the same raw
columns, all text, so that one row rule serves both. One row is one price dimension of one term of one product.
Sources: AWS Price List API, GetProducts (format aws_v1); AWS bulk offer files, format v1.0.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from exporters.core.errors import TerminalSourceError


@dataclass(frozen=True, slots=True)
class Column:
    """One raw column.

    Args:
        name: in the raw frame.
        header: in the bulk CSV.
        attribute: the product attribute in GetProducts; empty: it comes from the product, the term or the price.
        required: whether a CSV without it is malformed; offer files leave out columns that hold nothing.
    """

    name: str
    header: str
    attribute: str = ""
    required: bool = True


PRICE_COLUMNS = (
    Column("sku", "SKU"),
    Column("term_type", "TermType"),
    Column("effective_date", "EffectiveDate"),
    Column("unit", "Unit"),
    Column("price_per_unit", "PricePerUnit"),
    Column("currency", "Currency"),
)
"""What every price has."""

PURCHASE_COLUMNS = (
    Column("lease_contract_length", "LeaseContractLength", required=False),
    Column("purchase_option", "PurchaseOption", required=False),
    Column("offering_class", "OfferingClass", required=False),
)

PRODUCT_COLUMNS = (
    *PRICE_COLUMNS,
    *PURCHASE_COLUMNS,
    Column("product_family", "Product Family"),
    Column("location_type", "Location Type", "locationType"),
    Column("region", "Region Code", "regionCode"),
    Column("instance_type", "Instance Type", "instanceType"),
    Column("instance_family", "Instance Family", "instanceFamily", required=False),
    Column("vcpu", "vCPU", "vcpu"),
    Column("memory", "Memory", "memory"),
    Column("gpu", "GPU", "gpu", required=False),
    Column("physical_processor", "Physical Processor", "physicalProcessor", required=False),
    Column("tenancy", "Tenancy", "tenancy"),
    Column("operating_system", "Operating System", "operatingSystem"),
    Column("license_model", "License Model", "licenseModel"),
    Column("pre_installed_software", "Pre Installed S/W", "preInstalledSw"),
    Column("capacity_status", "CapacityStatus", "capacitystatus"),
    Column("market_option", "MarketOption", "marketoption"),
    Column("operation", "operation", "operation"),
)
"""The frame `products`: prices of machines, service code AmazonEC2."""

TRANSFER_COLUMNS = (
    *PRICE_COLUMNS,
    Column("tier_start", "StartingRange"),
    Column("tier_end", "EndingRange"),
    Column("transfer_type", "Transfer Type", "transferType"),
    Column("from_location_type", "From Location Type", "fromLocationType"),
    Column("from_region", "From Region Code", "fromRegionCode"),
    Column("to_location_type", "To Location Type", "toLocationType"),
    Column("to_region", "To Region Code", "toRegionCode"),
    Column("usage_type", "usageType", "usagetype"),
    Column("operation", "operation", "operation", required=False),
)
"""The frame `transfers`: prices of data transfer, service code AWSDataTransfer."""


def raw_schema(columns: Sequence[Column]) -> pl.Schema:
    """This will return the schema of a raw frame: every column text."""
    return pl.Schema({column.name: pl.String for column in columns})


def read_item(text: str, columns: Sequence[Column], *, terms: Sequence[str], where: str) -> list[dict[str, str | None]]:
    """This will turn one GetProducts item into raw rows.

    Args:
        text: the item; a JSON object written as a JSON string.
        columns: of the raw frame.
        terms: wanted term types, "OnDemand" and "Reserved".
        where: for messages.

    Raises:
        TerminalSourceError: the item is not JSON, or lacks the product, its SKU or its terms.
    """
    try:
        item = json.loads(text)
        product: Mapping[str, Any] = item["product"]
        attributes: Mapping[str, Any] = product["attributes"]
        fixed = {column.name: _text(attributes.get(column.attribute)) for column in columns if column.attribute}
        fixed |= {"sku": str(product["sku"]), "product_family": _text(product.get("productFamily"))}
        names = [column.name for column in columns]
        return [
            {name: {**fixed, **price}.get(name) for name in names}
            for term_type in terms
            for price in _prices(item["terms"].get(term_type, {}), term_type)
        ]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise TerminalSourceError(
            f"an item of the price list is malformed ({type(error).__name__}: {error}): {text[:120]!r}",
            where=where,
            next_step="Check the endpoint setting; if it is right, the format has changed: please report it.",
        ) from error


def _prices(terms: Mapping[str, Any], term_type: str) -> Iterator[dict[str, str | None]]:
    """Every dimension of every term, one row for each currency it is priced in; without a price one row says so."""
    for term in terms.values():
        lease = term.get("termAttributes", {})
        for dimension in term["priceDimensions"].values():
            for currency, price in (dimension["pricePerUnit"] or {None: None}).items():
                yield {
                    "term_type": term_type,
                    "effective_date": _text(term.get("effectiveDate")),
                    "unit": _text(dimension.get("unit")),
                    "price_per_unit": _text(price),
                    "currency": currency,
                    "tier_start": _text(dimension.get("beginRange")),
                    "tier_end": _text(dimension.get("endRange")),
                    "lease_contract_length": _text(lease.get("LeaseContractLength")),
                    "purchase_option": _text(lease.get("PurchaseOption")),
                    "offering_class": _text(lease.get("OfferingClass")),
                }


def _text(value: object) -> str | None:
    return None if value is None else str(value)
