"""Money as a UK reader expects it, and exact native prices."""

from __future__ import annotations

from decimal import Decimal

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporters.core import money


@pytest.mark.parametrize(
    ("amount", "text"),
    [(1234.56, "£1,234.56"), (-1234.56, "-£1,234.56"), (0.005, "£0.01"), (Decimal("2.675"), "£2.68"), (0, "£0.00")],
)
def test_pounds_are_printed_the_british_way(amount: float, text: str) -> None:
    assert money.pounds(amount) == text


def test_small_rates_keep_their_digits() -> None:
    assert money.rate(0.0425) == "£0.0425"


def test_pence_round_half_away_from_zero() -> None:
    assert money.pence(Decimal("-0.125")) == Decimal("-0.13")


@given(units=st.integers(0, 10**6), nanos=st.integers(0, 10**9 - 1))
def test_units_and_nanos_are_exact_in_a_native_column(units: int, nanos: int) -> None:
    exact = Decimal(units) + Decimal(nanos).scaleb(-9)
    column = pl.Series([str(exact.quantize(Decimal("1e-9")))]).cast(money.NATIVE)
    assert column[0] == exact
