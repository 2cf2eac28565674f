"""HMRC's monthly rates: units of a currency for one pound, for the month that it is in London."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
import stamina

from exporters.core.errors import IntegrityError, TerminalSourceError
from exporters.fetch.ecb import FxSettings, check_rates, fetch_rates
from tests.fakes.fx import Answer, RateServer

NOVEMBER = datetime(2026, 11, 30, 12, tzinfo=UTC)
ROWS = (("United States", "US", "USD", "1.25"), ("Ecuador", "EC", "USD", "1.25"), ("Eurozone", "EU", "EUR", "1.1500"))


def month_file(*rows: tuple[str, str, str, str], period: str = "01/Nov/2026 to 30/Nov/2026") -> bytes:
    entries = "".join(
        f"<exchangeRate><countryName>{name}</countryName><countryCode>{country}</countryCode>"
        f"<currencyName>x</currencyName><currencyCode>{code}</currencyCode><rateNew>{rate}</rateNew></exchangeRate>"
        for name, country, code, rate in rows
    )
    return (
        f'<?xml version="1.0" encoding="UTF-8"?><exchangeRateMonthList Period="{period}">{entries}'
        "</exchangeRateMonthList>"
    ).encode()


def rates(*answers: Answer | bytes, now: datetime = NOVEMBER):
    with RateServer(*answers) as server:
        table = fetch_rates(FxSettings(source="hmrc", hmrc_endpoint=f"{server.url}/files"), now)
    return server.requests, {row["currency"]: row for row in table.to_dicts()}


def test_units_per_pound_are_turned_round():
    _, table = rates(month_file(*ROWS))
    assert table["USD"]["gbp_per_unit"] == 0.8  # 1 / 1.25
    assert f"{table['EUR']['gbp_per_unit']:.6f}" == "0.869565"  # 1 / 1.15


def test_the_rate_is_dated_the_first_of_its_month():
    _, table = rates(month_file(*ROWS))
    assert (table["USD"]["rate_date"], table["USD"]["fx_source"]) == (date(2026, 11, 1), "hmrc")


def test_the_file_of_the_month_in_london_is_asked_for():
    late_in_june = datetime(2026, 6, 30, 23, 30, tzinfo=UTC)  # 00:30 on 1 July in London
    asked, _ = rates(month_file(*ROWS, period="01/Jul/2026 to 31/Jul/2026"), now=late_in_june)
    assert asked == ["/files/monthly_xml_2026-07.xml"]


def test_the_file_of_another_month_is_refused():
    with pytest.raises(IntegrityError, match=r"2026-10-01 to 2026-10-31, not today \(2026-11-30\)"):
        rates(month_file(*ROWS, period="01/Oct/2026 to 31/Oct/2026"))


def test_a_currency_with_two_rates_is_ambiguous():
    with pytest.raises(IntegrityError, match=r"two rates \(1.25 and 1.26\)"):
        rates(month_file(*ROWS, ("Panama", "PA", "USD", "1.26")))


def test_a_currency_that_nobody_asked_for_may_be_odd():
    _, table = rates(month_file(*ROWS, ("Liberia", "LR", "LRD", "1"), ("Liberia", "LR", "LRD", "200")))
    assert set(table) == {"USD", "EUR", "GBP"}


def test_a_missing_currency_is_named():
    with pytest.raises(IntegrityError, match="no rate for EUR"):
        rates(month_file(*ROWS[:2]))


def test_a_rate_of_zero_is_refused():
    with pytest.raises(IntegrityError, match="not a positive number"):
        rates(month_file(("United States", "US", "USD", "0"), ROWS[2]))


@pytest.mark.parametrize(
    "body", [month_file(*ROWS, period=""), month_file(*ROWS, period="next month"), b"<Envelope Period='x to y'/>"]
)
def test_a_file_without_a_period_is_not_hmrcs(body: bytes):
    with pytest.raises(IntegrityError, match=r"not HMRC's monthly file.*hmrc_endpoint"):
        rates(body)


def test_a_month_that_is_not_published_is_a_terminal_error():
    with stamina.set_testing(True, attempts=1), pytest.raises(TerminalSourceError, match="404"):
        rates(Answer(b"{}", status=404))


def test_a_monthly_rate_is_not_called_old_at_the_end_of_its_month():
    with RateServer(month_file(*ROWS)) as server:
        findings = check_rates(FxSettings(source="hmrc", hmrc_endpoint=server.url), NOVEMBER)
    assert [item.state for item in findings] == ["ok", "ok"]
