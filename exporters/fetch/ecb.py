"""Exchange rates into the flow: settings of the section `fx`, and one table of pounds per unit for a whole refresh.

The European Central Bank's reference rates are the default; HMRC's monthly rates, rates agreed by contract and the
packaged history stand beside them. Promises every wanted currency at one believable, dated rate, or an error; what
serves after an error (the last good table, then `packaged_rates`) is the refresh's decision, not this module's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Literal, Self
from xml.etree.ElementTree import Element

import dataframely as dy
import polars as pl
from pydantic import Field, StringConstraints, model_validator

from exporters.core.config_file import Section
from exporters.core.errors import IntegrityError, TerminalSourceError, TuppenceError
from exporters.core.frames import FxRate
from exporters.core.http import checked_endpoint
from exporters.core.money import GBP
from exporters.fetch.contract import Finding
from exporters.fetch.fx_hmrc import hmrc_quotes
from exporters.fetch.fx_packaged import packaged_quotes, packaged_rates
from exporters.fetch.fx_table import (
    LEAST_GBP_PER_UNIT,
    MOST_GBP_PER_UNIT,
    Quote,
    missing_currency,
    rate_table,
    read_number,
    wanted,
)
from exporters.fetch.fx_xml import download, read_xml

__all__ = ["FxSettings", "check_rates", "fetch_history", "fetch_rates", "packaged_rates"]

EUR = "EUR"
DAILY = "eurofxref-daily.xml"
HISTORY = "eurofxref-hist-90d.xml"
"""The ECB's names for the rates of today and of the last 90 days."""

Currency = Annotated[str, StringConstraints(pattern=r"^[A-Z]{3}$")]
ContractRate = Annotated[Decimal, Field(ge=LEAST_GBP_PER_UNIT, le=MOST_GBP_PER_UNIT)]


class FxSettings(Section):
    """Where exchange rates come from (section `sources.fx`)."""

    source: Literal["ecb", "hmrc", "contract", "packaged"] = Field(
        default="ecb",
        description="ecb: daily; hmrc: monthly; contract: only contract_rates; packaged: offline and dated.",
    )
    ecb_endpoint: str = Field(
        default="https://www.ecb.europa.eu/stats/eurofxref/eurofxref-daily.xml",
        description="Address of the ECB's XML file, or of a mirror; its 90 days are looked for beside it.",
    )
    hmrc_endpoint: str = Field(
        default="https://www.trade-tariff.service.gov.uk/api/v2/exchange_rates/files",
        description="Address of the folder with HMRC's monthly_xml_YYYY-MM.xml files.",
    )
    contract_rates: dict[Currency, ContractRate] = Field(
        default_factory=dict,
        description="Pounds for one unit of a currency, as agreed; they win over every other source.",
    )
    currencies: tuple[Currency, ...] = Field(
        default=("USD", "EUR"), description="Currencies that need a rate; the pound needs none."
    )
    refresh_minutes: int = Field(default=360, ge=5, description="Minutes between refreshes.")
    deadline_seconds: int = Field(default=120, ge=1, description="The longest one refresh may take.")
    max_age_hours: float = Field(
        default=120, gt=0, description="Age of a rate past which it is reported as stale; 120: Easter is not stale."
    )

    @model_validator(mode="after")
    def _contract_is_whole(self) -> Self:
        if GBP in self.contract_rates:
            raise ValueError("contract_rates: GBP is 1 by definition; take it out")
        missing = [currency for currency in wanted(self.currencies) if currency not in self.contract_rates]
        if self.source == "contract" and missing:
            raise ValueError(f"source is contract, but contract_rates has no rate for {', '.join(missing)}")
        return self


def fetch_rates(settings: FxSettings, now: datetime, *, last: pl.DataFrame | None = None) -> dy.DataFrame[FxRate]:
    """This will return pounds per unit of every wanted currency, of every contract currency, and of the pound.

    Currencies with a contract rate are not asked for elsewhere; when none is left nothing is called.

    Args:
        settings: section `sources.fx`.
        now: the moment of the refresh (UTC).
        last: the last good table; older dates than its own are refused.

    Raises:
        SettingsError: an endpoint is not acceptable.
        SourceError: the source could not be had.
        IntegrityError: what came is not whole or not believable.
    """
    contract = tuple(
        Quote(currency, rate, now.date(), "contract") for currency, rate in sorted(settings.contract_rates.items())
    )
    others = tuple(currency for currency in wanted(settings.currencies) if currency not in settings.contract_rates)
    quotes = _quotes(settings, others, now) if others else ()
    return rate_table((*contract, *quotes), now=now, where=f"sources.fx ({settings.source})", last=last)


def fetch_history(settings: FxSettings) -> dy.DataFrame[FxRate]:
    """This will return the ECB's rates of the last 90 days, a row a day and wanted currency, oldest first.

    A currency that a day lacks has no row of that day; the pound has none, and a contract's currency has none. Nothing
    is asked for where the endpoint is not named as the ECB names its daily file.

    Raises:
        SettingsError: the endpoint is not acceptable.
        SourceError: the source could not be had.
        IntegrityError: what came is not whole or not believable.
    """
    url = checked_endpoint(settings.ecb_endpoint, setting="sources.fx.ecb_endpoint")
    if not url.endswith(DAILY):
        return FxRate.create_empty()
    url = url.removesuffix(DAILY) + HISTORY
    currencies = [one for one in wanted(settings.currencies) if one not in settings.contract_rates]
    root = read_xml(download(url, deadline_seconds=settings.deadline_seconds), where=url)
    quotes = [
        quote
        for day, cube in _days(root, where=url)
        for quote in _quotes_of(day, _per_euro(cube), currencies, where=url, skip_missing=True)
    ]
    rows = [(one.currency, float(one.gbp_per_unit), one.rate_date, one.fx_source) for one in quotes]
    table = pl.DataFrame(rows, schema=FxRate.create_empty().schema, orient="row")
    beyond = ~pl.col("gbp_per_unit").is_between(float(LEAST_GBP_PER_UNIT), float(MOST_GBP_PER_UNIT))
    if table.filter(beyond).height:
        raise IntegrityError(
            f"a rate is not believable ({table.filter(beyond).row(0)})",
            where=url,
            next_step="Rates that were known stay in use; look at the file at its source.",
        )
    return FxRate.cast(table.sort("rate_date", "currency"))


def check_rates(settings: FxSettings, now: datetime) -> tuple[Finding, ...]:
    """This will fetch the rates once and say what came: date and rate of each currency, or what to do."""
    try:
        table = fetch_rates(settings, now)
    except TuppenceError as error:
        return (
            Finding(f"exchange rates ({settings.source})", "failed", f"{error.where}: {error.what}", error.next_step),
        )
    quotes = table.filter(pl.col("currency") != GBP).iter_rows()
    return tuple(_finding(Quote(*row), now.date(), settings.max_age_hours) for row in quotes)


def _finding(quote: Quote, today: date, max_age_hours: float) -> Finding:
    subject = f"exchange rate {quote.currency}"
    detail = f"1 {quote.currency} = {quote.gbp_per_unit:.6f} GBP ({quote.fx_source}, {quote.rate_date})"
    holds_a_month = quote.fx_source == "hmrc"
    if holds_a_month or (today - quote.rate_date).days * 24 <= max_age_hours:
        return Finding(subject, "ok", detail)
    return Finding(subject, "warning", detail, "The rate is old: check sources.fx.source, or agree a contract rate.")


def _quotes(settings: FxSettings, currencies: tuple[str, ...], now: datetime) -> tuple[Quote, ...]:
    if settings.source == "hmrc":
        endpoint = checked_endpoint(settings.hmrc_endpoint, setting="sources.fx.hmrc_endpoint")
        return hmrc_quotes(endpoint, currencies, now=now, deadline_seconds=settings.deadline_seconds)
    if settings.source == "packaged":
        return packaged_quotes(currencies, now)
    url = checked_endpoint(settings.ecb_endpoint, setting="sources.fx.ecb_endpoint")
    return ecb_quotes(download(url, deadline_seconds=settings.deadline_seconds), currencies, where=url)


def ecb_quotes(body: bytes, currencies: tuple[str, ...], *, where: str) -> tuple[Quote, ...]:
    """This will read an ECB file: units of each currency for one euro; pounds per unit are rate_GBP / rate_unit.

    The file nests ``<Cube time="2026-10-30"><Cube currency="USD" rate="1.1172"/>…``; of a file with several days the
    newest is taken wherever it stands. Source: ECB, euro foreign exchange reference rates.

    Raises:
        TerminalSourceError: it is another kind of XML, or one that declares entities.
        IntegrityError: it is cut off, or the pound or a wanted currency is missing or not a number.
    """
    day, cube = max(_days(read_xml(body, where=where), where=where), key=lambda item: item[0])
    return tuple(_quotes_of(day, _per_euro(cube), currencies, where=where))


def _per_euro(cube: Element) -> dict[str, str]:
    return {entry.get("currency", ""): entry.get("rate", "") for entry in cube.iter("Cube") if entry.get("currency")}


def _quotes_of(
    day: date, per_euro: Mapping[str, str], currencies: Iterable[str], *, where: str, skip_missing: bool = False
) -> list[Quote]:
    if GBP not in per_euro:
        raise IntegrityError(
            f"the rates of {day} have no pound, and without it nothing converts",
            where=where,
            next_step="The last good rates stay in use; look at the file at its source.",
        )
    rates = {EUR: Decimal(1)}
    chosen = [one for one in currencies if one in per_euro or one == EUR or not skip_missing]
    for currency in (GBP, *chosen):
        if currency != EUR and currency not in per_euro:
            raise missing_currency(currency, where=where)
        if currency != EUR:
            rates[currency] = read_number(per_euro[currency], what=currency, where=where)
    return [Quote(currency, rates[GBP] / rates[currency], day, "ecb") for currency in chosen]


def _days(root: Element, *, where: str) -> list[tuple[date, Element]]:
    try:
        days = [(date.fromisoformat(cube.get("time", "")), cube) for cube in root.iter("Cube") if cube.get("time")]
    except ValueError:
        days = []
    if not days:
        raise TerminalSourceError(
            f"this is not the ECB's rate file (root {root.tag!r}, no day of rates in it)",
            where=where,
            next_step="Check sources.fx.ecb_endpoint.",
        )
    return days
