"""Money: exact native prices as Decimal, rates in pounds as float, and the British way to print both.

Prices in a provider's currency are exact decimal text and stay Decimal until they are converted; rates and forecasts
are floats; totals of money are Decimal. The conversions between the two are here and nowhere else.
"""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

import polars as pl
from babel.numbers import format_currency

GBP = "GBP"
NATIVE = pl.Decimal(precision=32, scale=12)
"""The column type of a native price: 12 places hold units + nanos times a fraction of a vCPU exactly."""

PENNY = Decimal("0.01")


def pence(amount: float | Decimal) -> Decimal:
    """This will round pounds to pennies, halves away from zero."""
    return Decimal(str(amount)).quantize(PENNY, rounding=ROUND_HALF_UP)


def pounds(amount: float | Decimal) -> str:
    """This will print an amount of pounds as ``£1,234.56``."""
    return format_currency(pence(amount), GBP, locale="en_GB")


def rate(gbp: float, *, digits: int = 4) -> str:
    """This will print a small rate in pounds with as many digits as it needs, as ``£0.0425``."""
    pattern = "¤#,##0." + "0" * digits
    return format_currency(gbp, GBP, format=pattern, locale="en_GB", currency_digits=False)
