"""Exchange rates, last step: quotes of one or several sources become the one table that a refresh converts at.

Promises a whole and believable table or an error: every rate inside wide bounds, no date from the future, none older
than the table before, each currency once, the pound itself at 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Literal

import dataframely as dy
import polars as pl

from exporters.core.errors import IntegrityError
from exporters.core.frames import FxRate
from exporters.core.money import GBP

FxSource = Literal["ecb", "hmrc", "contract", "packaged", "none"]

LEAST_GBP_PER_UNIT = Decimal("0.000001")
MOST_GBP_PER_UNIT = Decimal(100)
"""Wider than any currency in use: a rupiah is about 0.00004 pounds, a Kuwaiti dinar about 2.5."""

CLOCK_SKEW = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Quote:
    """What one unit of a currency is worth, by whom and of which day.

    Args:
        currency: ISO 4217.
        gbp_per_unit: pounds for one unit.
        rate_date: the day the source gives it for.
        fx_source: who says so.
    """

    currency: str
    gbp_per_unit: Decimal
    rate_date: date
    fx_source: FxSource


def rate_table(
    quotes: Sequence[Quote], *, now: datetime, where: str, last: pl.DataFrame | None = None
) -> dy.DataFrame[FxRate]:
    """This will check quotes and return them with the pound as a frame, sorted by currency.

    Args:
        quotes: one for each currency other than the pound.
        now: the moment of the refresh (UTC).
        where: the file or URL they came from, for messages.
        last: the last good table; a quote of the same source must not be older than it.

    Raises:
        IntegrityError: a rate out of bounds, a date in the future, or an older date than last time.
    """
    for quote in quotes:
        _check_rate(quote, where=where)
        _check_date(quote, now=now, where=where)
    _check_order(quotes, last, where=where)
    rows = [*quotes, Quote(GBP, Decimal(1), now.date(), "none")]
    frame = pl.DataFrame(
        {
            "currency": [row.currency for row in rows],
            "gbp_per_unit": [float(row.gbp_per_unit) for row in rows],
            "rate_date": [row.rate_date for row in rows],
            "fx_source": [row.fx_source for row in rows],
        }
    )
    return FxRate.validate(frame.sort("currency"), cast=True)


def read_number(text: str, *, what: str, where: str) -> Decimal:
    """This will read a published rate.

    Raises:
        IntegrityError: the text is not a positive number.
    """
    try:
        number = Decimal(text.strip())
    except ArithmeticError:
        number = Decimal("NaN")
    if not number.is_finite() or number <= 0:
        raise IntegrityError(
            f"the rate of {what} is {text!r}, which is not a positive number",
            where=where,
            next_step="The last good rates stay in use; look at the file at its source.",
        )
    return number


def wanted(currencies: Iterable[str]) -> tuple[str, ...]:
    """This will return the currencies other than the pound, each once, in order."""
    return tuple(sorted({currency for currency in currencies if currency != GBP}))


def missing_currency(currency: str, *, where: str) -> IntegrityError:
    """This will return the error for a currency that a source does not quote."""
    return IntegrityError(
        f"there is no rate for {currency}",
        where=where,
        next_step=f"Give sources.fx.contract_rates a rate for {currency}, or take it out of sources.fx.currencies.",
    )


def _check_rate(quote: Quote, *, where: str) -> None:
    if not LEAST_GBP_PER_UNIT <= quote.gbp_per_unit <= MOST_GBP_PER_UNIT:
        raise IntegrityError(
            f"1 {quote.currency} = {quote.gbp_per_unit:f} GBP is not believable "
            f"(outside {LEAST_GBP_PER_UNIT:f} to {MOST_GBP_PER_UNIT:f})",
            where=where,
            next_step="The last good rates stay in use; look at the rate at its source.",
        )


def _check_date(quote: Quote, *, now: datetime, where: str) -> None:
    if quote.rate_date > (now + CLOCK_SKEW).date():
        raise IntegrityError(
            f"the rate of {quote.currency} is dated {quote.rate_date}, but the clock here says {now.date()}",
            where=where,
            next_step="Set this machine's clock (NTP), or look at the file at its source.",
        )


def _check_order(quotes: Sequence[Quote], last: pl.DataFrame | None, *, where: str) -> None:
    before = {} if last is None else {(row["currency"], row["fx_source"]): row["rate_date"] for row in last.to_dicts()}
    for quote in quotes:
        known = before.get((quote.currency, quote.fx_source))
        if known is not None and quote.rate_date < known:
            raise IntegrityError(
                f"the rate of {quote.currency} is dated {quote.rate_date}, but {known} was already seen",
                where=where,
                next_step="The last good rates stay in use; a cache on the way may be serving an old file.",
            )
