"""Exchange rates: the ECB's files over a real connection, whole and believable or refused."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal

import polars as pl
import pytest
import stamina
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from exporters.core.errors import IntegrityError, SettingsError, TerminalSourceError, TransientSourceError
from exporters.fetch.ecb import FxSettings, check_rates, ecb_quotes, fetch_history, fetch_rates
from tests.fakes.fx import Answer, RateServer

FRIDAY = date(2026, 10, 30)
ON_FRIDAY_EVENING = datetime(2026, 10, 30, 18, tzinfo=UTC)
ON_SUNDAY = datetime(2026, 11, 1, 12, tzinfo=UTC)
ALL_RATES = {"USD": "1.1172", "JPY": "175.68", "GBP": "0.83380", "CNY": "7.4326", "IDR": "20275.17"}
"""From the ECB's reference rates of 30 October 2026."""


def ecb_file(*days: tuple[str, dict[str, str]]) -> bytes:
    cubes = "".join(
        f"<Cube time='{day}'>" + "".join(f"<Cube currency='{c}' rate='{r}'/>" for c, r in rates.items()) + "</Cube>"
        for day, rates in days
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>'
        '<gesmes:Envelope xmlns:gesmes="http://www.gesmes.org/xml/2002-08-01" '
        'xmlns="http://www.ecb.int/vocabulary/2002-08-01/eurofxref">'
        "<gesmes:subject>Reference rates</gesmes:subject>"
        "<gesmes:Sender><gesmes:name>European Central Bank</gesmes:name></gesmes:Sender>"
        f"<Cube>{cubes}</Cube></gesmes:Envelope>"
    ).encode()


FRIDAYS_FILE = ecb_file(("2026-10-30", ALL_RATES))


@pytest.fixture(autouse=True)
def _retries_without_pauses() -> Iterator[None]:
    with stamina.set_testing(True, attempts=3):
        yield


def rates(*answers: Answer | bytes, now: datetime = ON_SUNDAY, last: pl.DataFrame | None = None, **settings: object):
    with RateServer(*answers) as server:
        table = fetch_rates(FxSettings(ecb_endpoint=f"{server.url}/daily.xml", **settings), now, last=last)
    return {row["currency"]: row for row in table.to_dicts()}


def test_a_dollar_is_the_pounds_of_a_euro_over_the_dollars_of_a_euro():
    table = rates(FRIDAYS_FILE)
    assert f"{table['USD']['gbp_per_unit']:.6f}" == "0.746330"  # 0.8338 / 1.1172
    assert table["USD"]["rate_date"] == FRIDAY
    assert table["USD"]["fx_source"] == "ecb"


def test_a_euro_is_worth_the_pound_rate_itself():
    assert rates(FRIDAYS_FILE)["EUR"]["gbp_per_unit"] == 0.8338


def test_the_pound_is_one_and_nobodys_rate():
    pound = rates(FRIDAYS_FILE)["GBP"]
    assert (pound["gbp_per_unit"], pound["fx_source"]) == (1.0, "none")


def test_any_currency_of_the_file_can_be_had_however_small():
    table = rates(FRIDAYS_FILE, currencies=("CNY", "IDR"))
    assert set(table) == {"CNY", "IDR", "GBP"}
    assert f"{table['CNY']['gbp_per_unit']:.6f}" == "0.112181"  # 0.8338 / 7.4326
    assert f"{table['IDR']['gbp_per_unit']:.8f}" == "0.00004112"  # 0.8338 / 20275.17


def test_at_a_weekend_the_friday_rate_serves_with_its_own_date():
    assert rates(FRIDAYS_FILE, now=ON_SUNDAY)["USD"]["rate_date"] == FRIDAY


@pytest.mark.parametrize("newest_first", [True, False])
def test_of_a_history_the_newest_day_counts_wherever_it_stands(newest_first: bool):
    days = [("2026-10-30", ALL_RATES), ("2026-10-29", {"USD": "1.1500", "GBP": "0.8636"})]
    table = rates(ecb_file(*(days if newest_first else reversed(days))))
    assert table["USD"]["rate_date"] == FRIDAY
    assert f"{table['USD']['gbp_per_unit']:.6f}" == "0.746330"


def test_a_contract_rate_wins_for_its_currency_and_leaves_the_others_to_the_ecb():
    table = rates(FRIDAYS_FILE, contract_rates={"USD": 0.78})
    assert (table["USD"]["gbp_per_unit"], table["USD"]["fx_source"]) == (0.78, "contract")
    assert table["USD"]["rate_date"] == ON_SUNDAY.date()
    assert (table["EUR"]["gbp_per_unit"], table["EUR"]["fx_source"]) == (0.8338, "ecb")


def test_nobody_is_called_when_every_currency_has_a_contract_rate():
    with RateServer(FRIDAYS_FILE) as server:
        settings = FxSettings(ecb_endpoint=server.url, currencies=("USD",), contract_rates={"USD": "0.78"})
        fetch_rates(settings, ON_SUNDAY)
        assert server.requests == []


def test_a_file_without_the_pound_is_refused():
    without = {currency: rate for currency, rate in ALL_RATES.items() if currency != "GBP"}
    with pytest.raises(IntegrityError, match="have no pound"):
        rates(ecb_file(("2026-10-30", without)))


def test_a_currency_that_the_ecb_no_longer_quotes_is_named_with_what_to_do():
    with pytest.raises(IntegrityError, match=r"no rate for RUB.*contract_rates"):
        rates(FRIDAYS_FILE, currencies=("USD", "RUB"))


@pytest.mark.parametrize("rate", ["0", "-1.1172", "N/A", "", "NaN", "Infinity"])
def test_a_rate_that_is_not_a_positive_number_is_refused(rate: str):
    with pytest.raises(IntegrityError, match="USD"):
        rates(ecb_file(("2026-10-30", {**ALL_RATES, "USD": rate})))


@pytest.mark.parametrize("rate", ["0.0083", "900000"])
def test_a_rate_beyond_all_currencies_is_refused(rate: str):
    # 0.8338 / 0.0083 = 100.46 pounds for a dollar; 0.8338 / 900000 = 0.0000009
    with pytest.raises(IntegrityError, match="not believable"):
        rates(ecb_file(("2026-10-30", {**ALL_RATES, "USD": rate})))


def test_a_web_page_is_not_a_rate_file():
    with pytest.raises(TerminalSourceError, match="web page"):
        rates(b"\n<!DOCTYPE html><html><body>Sign in</body></html>")


def test_another_kind_of_xml_is_not_a_rate_file():
    with pytest.raises(TerminalSourceError, match=r"root 'feed'.*ecb_endpoint"):
        rates(b"<feed><entry/></feed>")


@pytest.mark.parametrize("body", [b"", b"  \n", FRIDAYS_FILE[:-40], FRIDAYS_FILE[: len(FRIDAYS_FILE) // 2]])
def test_an_empty_or_cut_off_file_is_refused(body: bytes):
    with pytest.raises(IntegrityError, match=r"empty|not whole"):
        rates(body)


def test_a_connection_cut_half_way_is_tried_again():
    cut = Answer(FRIDAYS_FILE[:200], promised_length=len(FRIDAYS_FILE))
    assert rates(cut, FRIDAYS_FILE)["USD"]["rate_date"] == FRIDAY


def test_a_body_far_larger_than_a_rate_file_is_refused():
    with pytest.raises(IntegrityError, match="8,000,001 bytes"):
        rates(b"<" * 8_000_001)


def test_entities_are_refused_before_they_are_expanded():
    bomb = (
        b'<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY a "lol"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">'
        b'<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">]><Envelope>&c;</Envelope>'
    )
    with pytest.raises(TerminalSourceError, match="entities"):
        rates(bomb)


def test_a_file_of_this_machine_cannot_be_pulled_in():
    external = b'<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/hostname">]><x>&f;</x>'
    with pytest.raises(TerminalSourceError, match="entities"):
        rates(external)


@pytest.mark.parametrize("headers", [{}, {"Retry-After": "0"}])
def test_a_throttle_is_waited_out(headers: dict[str, str]):
    assert rates(Answer(b"slow down", status=429, headers=headers), FRIDAYS_FILE)["USD"]["fx_source"] == "ecb"


def test_a_throttle_that_never_ends_is_a_transient_error():
    with pytest.raises(TransientSourceError, match="429"):
        rates(Answer(b"slow down", status=429))


def test_a_silent_server_is_given_up_at_the_deadline():
    started = time.monotonic()
    with stamina.set_testing(False), pytest.raises(TransientSourceError, match="connection failed"):
        rates(Answer(FRIDAYS_FILE, delay_seconds=60), deadline_seconds=1)
    assert time.monotonic() - started < 5


def test_a_throttle_beyond_the_deadline_is_not_waited_for():
    started = time.monotonic()
    with stamina.set_testing(False), pytest.raises(TransientSourceError, match="throttling"):
        rates(Answer(b"slow down", status=429, headers={"Retry-After": "100"}), deadline_seconds=2)
    assert time.monotonic() - started < 2


def test_a_page_that_is_gone_is_a_terminal_error():
    with pytest.raises(TerminalSourceError, match="404"):
        rates(Answer(b"gone", status=404))


def test_a_date_in_the_future_points_at_the_clock():
    with pytest.raises(IntegrityError, match=r"dated 2026-10-30, but the clock here says 2026-10-28.*clock"):
        rates(FRIDAYS_FILE, now=datetime(2026, 10, 28, 12, tzinfo=UTC))


def test_a_clock_one_day_behind_is_forgiven():
    assert rates(FRIDAYS_FILE, now=datetime(2026, 10, 29, 23, tzinfo=UTC))["USD"]["rate_date"] == FRIDAY


def test_an_older_day_than_the_last_one_is_refused():
    with RateServer(FRIDAYS_FILE) as server:
        last = fetch_rates(FxSettings(ecb_endpoint=server.url), ON_SUNDAY)
    with pytest.raises(IntegrityError, match="2026-10-30 was already seen"):
        rates(ecb_file(("2026-10-29", ALL_RATES)), last=last)


def test_the_same_day_again_is_accepted():
    with RateServer(FRIDAYS_FILE) as server:
        last = fetch_rates(FxSettings(ecb_endpoint=server.url), ON_FRIDAY_EVENING)
    assert rates(FRIDAYS_FILE, last=last)["USD"]["rate_date"] == FRIDAY


def test_plain_http_to_another_machine_is_refused():
    with pytest.raises(SettingsError, match=r"sources\.fx\.ecb_endpoint"):
        fetch_rates(FxSettings(ecb_endpoint="http://rates.example/daily.xml"), ON_SUNDAY)


def test_contract_as_the_only_source_needs_a_rate_for_each_currency():
    with pytest.raises(ValidationError, match="no rate for EUR"):
        FxSettings(source="contract", contract_rates={"USD": "0.78"})


@pytest.mark.parametrize("contract", [{"USD": 0}, {"USD": -0.7}, {"USD": 780}, {"usd": 0.78}, {"GBP": 1}])
def test_a_contract_rate_that_cannot_be_meant_is_refused(contract: dict[str, float]):
    with pytest.raises(ValidationError):
        FxSettings(contract_rates=contract)


def test_check_tells_rate_day_and_source():
    with RateServer(FRIDAYS_FILE) as server:
        findings = check_rates(FxSettings(ecb_endpoint=server.url, currencies=("USD",)), ON_SUNDAY)
    assert [(item.state, item.detail) for item in findings] == [("ok", "1 USD = 0.746330 GBP (ecb, 2026-10-30)")]


def test_check_warns_of_an_old_rate():
    with RateServer(FRIDAYS_FILE) as server:
        now = datetime(2026, 11, 5, 12, tzinfo=UTC)
        findings = check_rates(FxSettings(ecb_endpoint=server.url, currencies=("USD",)), now)
    assert [item.state for item in findings] == ["warning"]  # six days; 120 hours are five


def test_check_reports_a_failure_instead_of_raising():
    with RateServer(Answer(b"no", status=403)) as server:
        (finding,) = check_rates(FxSettings(ecb_endpoint=server.url), ON_SUNDAY)
    assert finding.state == "failed"
    assert finding.next_step


@given(
    pound=st.decimals("0.4", "1.5", places=5),
    dollar=st.decimals("0.5", "2.0", places=4),
)
def test_there_and_back_is_the_same_money(pound: Decimal, dollar: Decimal):
    body = ecb_file(("2026-10-30", {"GBP": str(pound), "USD": str(dollar)}))
    (usd, eur) = ecb_quotes(body, ("USD", "EUR"), where="test")
    assert abs(usd.gbp_per_unit * dollar - eur.gbp_per_unit) < Decimal("1e-24")


MONDAYS_RATES = {"USD": "1.1102", "GBP": "0.83180"}


def history(*answers: Answer | bytes, name: str = "eurofxref-daily.xml", **settings: object):
    with RateServer(*answers) as server:
        table = fetch_history(FxSettings(ecb_endpoint=f"{server.url}/stats/{name}", **settings))
    return {(row["currency"], row["rate_date"]): row["gbp_per_unit"] for row in table.to_dicts()}, server.requests


def test_the_last_90_days_lie_beside_the_daily_file_a_rate_a_day():
    found, asked = history(ecb_file(("2026-10-30", ALL_RATES), ("2026-10-26", MONDAYS_RATES)), currencies=["USD"])
    assert asked == ["/stats/eurofxref-hist-90d.xml"]
    assert {key: round(rate, 6) for key, rate in found.items()} == {
        ("USD", date(2026, 10, 26)): 0.749234,  # 0.8318 / 1.1102
        ("USD", FRIDAY): 0.746330,
    }


def test_a_currency_that_one_day_lacks_has_no_rate_of_that_day():
    found, _ = history(ecb_file(("2026-10-30", ALL_RATES), ("2026-10-26", MONDAYS_RATES)), currencies=["USD", "JPY"])
    assert ("JPY", FRIDAY) in found
    assert ("JPY", date(2026, 10, 26)) not in found


def test_of_a_mirror_under_another_name_and_of_contract_currencies_no_history_is_asked_for():
    assert history(FRIDAYS_FILE, name="rates.xml") == ({}, [])
    found, _ = history(FRIDAYS_FILE, currencies=["USD", "EUR"], contract_rates={"USD": "0.75"})
    assert {currency for currency, _ in found} == {"EUR"}


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (Answer(b"gone", status=404), TerminalSourceError),
        (ecb_file(("2026-10-30", {"USD": "1.1"})), IntegrityError),
        (ecb_file(("2026-10-30", {"USD": "0.00001", "GBP": "0.8"})), IntegrityError),
    ],
)
def test_a_history_that_is_not_whole_or_not_believable_is_refused(answer: Answer | bytes, error: type[Exception]):
    with pytest.raises(error):
        history(answer, currencies=["USD"])
