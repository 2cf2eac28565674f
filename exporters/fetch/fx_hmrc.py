"""Exchange rates by HMRC: the rates that UK finance books a calendar month at.

The UK Trade Tariff service publishes one XML file a month (monthly_xml_YYYY-MM.xml), on the penultimate Thursday of
the month before. Root ``exchangeRateMonthList`` with the attribute ``Period`` ("01/Nov/2026 to 30/Nov/2026"), one
``exchangeRate`` a country with ``currencyCode`` and ``rateNew``: units of the currency for one pound, the inverse of
what we keep.
Source: HMRC Exchange Rate Service on trade-tariff.service.gov.uk (since November 2023).
"""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from xml.etree.ElementTree import Element

from exporters.core.clock import LONDON
from exporters.core.errors import IntegrityError
from exporters.fetch.fx_table import Quote, missing_currency, read_number
from exporters.fetch.fx_xml import download, read_xml

ROOT = "exchangeRateMonthList"
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def hmrc_url(endpoint: str, day: date) -> str:
    """This will return the address of the file for a day's month."""
    return f"{endpoint}/monthly_xml_{day.year}-{day.month:02d}.xml"


def hmrc_quotes(
    endpoint: str, currencies: tuple[str, ...], *, now: datetime, deadline_seconds: float
) -> tuple[Quote, ...]:
    """This will fetch the current month's rates (the month in London), dated its first day.

    Raises:
        SourceError: the file could not be had.
        IntegrityError: it is cut off, for another month, contradicts itself, or lacks a currency.
    """
    today = now.astimezone(LONDON).date()
    url = hmrc_url(endpoint, today)
    root = read_xml(download(url, deadline_seconds=deadline_seconds), where=url)
    start, end = _period(root, where=url)
    if not start <= today <= end:
        raise IntegrityError(
            f"the rates hold from {start} to {end}, not today ({today})",
            where=url,
            next_step="Check this machine's clock; the last good rates stay in use.",
        )
    per_pound = _units_per_pound(root, currencies, where=url)
    return tuple(Quote(currency, 1 / per_pound[currency], start, "hmrc") for currency in currencies)


def _period(root: Element, *, where: str) -> tuple[date, date]:
    first, _, last = root.get("Period", "").partition(" to ")
    try:
        if root.tag == ROOT:
            return _day(first), _day(last)
    except ValueError:
        pass
    raise IntegrityError(
        f"this is not HMRC's monthly file (root {root.tag!r}, Period {root.get('Period')!r})",
        where=where,
        next_step="Check sources.fx.hmrc_endpoint.",
    )


def _day(text: str) -> date:
    """A day such as 01/Nov/2026; month names are English whatever the locale."""
    day, month, year = text.strip().split("/")
    return date(int(year), MONTHS.index(month) + 1, int(day))


def _units_per_pound(root: Element, currencies: tuple[str, ...], *, where: str) -> dict[str, Decimal]:
    """Each wanted currency once, though every country that uses it has a row."""
    rates: dict[str, Decimal] = {}
    for row in root.iter("exchangeRate"):
        currency = (row.findtext("currencyCode") or "").strip()
        if currency not in currencies:
            continue
        rate = read_number(row.findtext("rateNew") or "", what=currency, where=where)
        if rates.setdefault(currency, rate) != rate:
            raise IntegrityError(
                f"{currency} stands with two rates ({rates[currency]} and {rate})",
                where=where,
                next_step=f"Give sources.fx.contract_rates a rate for {currency}, or use source: ecb.",
            )
    for currency in currencies:
        if currency not in rates:
            raise missing_currency(currency, where=where)
    return rates
