"""Azure price sheets: what an agreement pays for each meter beside what the list says, as evidence of a discount.

Pure but for the scan. Only consumption prices of the first tier: reservations and savings plans state totals of a term,
and a later tier is not what the first hour costs. Two prices of one meter and unit are ambiguous and left out.

Source: Microsoft Learn, "Price sheet schema" (EA and MCA, 2023-05-01): UnitPrice is what is paid, MarketPrice the
current list price, BasePrice that of the day on which the agreement was signed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import dataframely as dy
import polars as pl
from polars.exceptions import PolarsError

from exporters.core.errors import IntegrityError
from exporters.core.standing_frames import NegotiatedPrice
from exporters.fetch.azure_costs_rows import PROVIDER, region_expr
from exporters.fetch.focus_rows import NULLS

SPELLINGS: Final = {
    "meter_id": ("meterid",),
    "product": ("product", "productname"),
    "meter": ("metername",),
    "region": ("meterregion",),
    "unit": ("unitofmeasure",),
    "price": ("unitprice",),
    "market": ("marketprice",),
    "base": ("baseprice",),
    "currency": ("currency", "currencycode", "billingcurrency"),
    "effective_from": ("effectivestartdate",),
    "effective_to": ("effectiveenddate",),
    "price_type": ("pricetype",),
    "tier": ("tierminimumunits",),
}
_OPTIONAL: Final = ("base", "effective_to", "price_type", "tier", "region")
_DATES: Final = ("%m/%d/%Y", "%Y-%m-%d", "%Y-%m-%dT%H:%M:%SZ", "%m/%d/%Y %H:%M:%S", "%Y-%m-%dT%H:%M:%S")
_KEY: Final = ("meter_id", "product", "unit", "effective_from")
_NEEDED: Final = (*_KEY, "currency", "negotiated_price")
_PRICE: Final = pl.Decimal(38, 18)


def negotiated_prices(files: Sequence[Path], *, account: str, where: str) -> tuple[dy.DataFrame[NegotiatedPrice], int]:
    """This will return the prices of a price sheet, and how many were left out: of two, unreadable or without.

    Args:
        files: CSV.
        account: the billing account, or the profile of one.
        where: the sheet, for messages.

    Raises:
        IntegrityError: a column is missing, or a file cannot be read.
    """
    try:
        rows = pl.concat([_read(path, where) for path in files]).unique() if files else _read_none()
    except PolarsError as error:
        raise IntegrityError(
            f"the price sheet cannot be read ({str(error).splitlines()[0]})",
            where=where,
            next_step="It will be fetched again at the next refresh.",
        ) from error
    readable = rows.filter(
        pl.all_horizontal(pl.col(*_NEEDED).is_not_null()),
        pl.col("negotiated_price") >= 0,
        pl.col("list_price").is_null() | (pl.col("list_price") >= 0),
    )
    alone = readable.filter(pl.len().over(_KEY) == 1)
    told = {"source": PROVIDER, "provider": PROVIDER, "account": account}
    found = alone.with_columns(**{name: pl.lit(value) for name, value in told.items()})
    return NegotiatedPrice.validate(found.select(NegotiatedPrice.column_names()), cast=True), rows.height - alone.height


def _read_none() -> pl.DataFrame:
    return NegotiatedPrice.create_empty().drop("source", "provider", "account")


def _read(path: Path, where: str) -> pl.DataFrame:
    raw = pl.scan_csv(path, infer_schema=False, null_values=list(NULLS))
    names = {name.casefold().replace(" ", ""): name for name in raw.collect_schema().names()}
    theirs = {
        ours: next((names[one] for one in spellings if one in names), None) for ours, spellings in SPELLINGS.items()
    }
    missing = [ours for ours, name in theirs.items() if name is None and ours not in _OPTIONAL]
    if missing:
        raise IntegrityError(
            f"the price sheet lacks {', '.join(SPELLINGS[name][0] for name in missing)} "
            f"(its columns: {', '.join(list(names.values())[:8])} …)",
            where=where,
            next_step="Nothing of it was taken; report it with the header of the file.",
        )
    column = {ours: pl.lit(None, pl.String) if name is None else pl.col(name) for ours, name in theirs.items()}
    wanted = (column["price_type"].fill_null("Consumption").str.to_lowercase() == "consumption") & (
        column["tier"].fill_null("0").cast(pl.Float64, strict=False) == 0
    )
    # A sheet without a market price for a meter still has the price of the day of signing.
    listed = pl.coalesce(_price(column["market"]), _price(column["base"]))
    found = raw.filter(wanted).select(
        meter_id=column["meter_id"],
        product=column["product"].fill_null(""),
        meter=column["meter"].fill_null(""),
        region=region_expr(column["region"].fill_null("")),
        unit=column["unit"],
        list_price=listed,
        negotiated_price=_price(column["price"]),
        currency=column["currency"],
        effective_from=_day(column["effective_from"]),
        effective_to=_day(column["effective_to"]),
    )
    return found.collect()


def _price(text: pl.Expr) -> pl.Expr:
    return text.str.strip_chars().cast(_PRICE, strict=False)


def _day(text: pl.Expr) -> pl.Expr:
    return pl.coalesce(text.str.to_datetime(form, strict=False).dt.date() for form in _DATES)
