"""Sanity: an implausible price waits, is not shown, and is believed only after three equal refreshes."""

from __future__ import annotations

import pytest

from exporters.core.errors import IntegrityError

TYPES = [f"m5.{size}xlarge" for size in range(2, 102)]
"""A hundred machines, so that one of them is 1 % of the refresh."""


@pytest.fixture
def refresh(run, chosen, price, shape):
    """One refresh of a hundred machines at 1 USD; named ones (m5.2xlarge …) at another price or currency."""

    def build(*, last=None, types=TYPES, currency="USD", **prices):
        changed = {name.replace("_", "."): usd for name, usd in prices.items() if name.startswith("m5_")}
        more = {name: value for name, value in prices.items() if not name.startswith("m5_")}
        rows = [price(name, changed.get(name, "1"), currency=currency if name in changed else "USD") for name in types]
        return run(chosen(rows, [shape(name, 8, 32) for name in types]), last=last, **more)

    return build


def priced(result, name="m5.2xlarge"):
    found = result.offers.filter(instance_type=name)["price_per_hour"].to_list()
    return float(found[0]) if found else None


@pytest.mark.parametrize("plausible", ["0.1", "10", "0.99", "1"])
def test_a_move_of_up_to_tenfold_is_published_at_once(refresh, plausible):
    assert priced(refresh(last=refresh(), m5_2xlarge=plausible)) == float(plausible)


@pytest.mark.parametrize("implausible", ["0.099999999999", "10.000000000001"])
def test_a_larger_move_is_set_aside_and_neither_price_is_shown(refresh, implausible):
    result = refresh(last=refresh(), m5_2xlarge=implausible)

    assert priced(result) is None
    assert result.offers.height == 99
    assert result.rejects.select("reason", "region", "rows").rows() == [("implausible", "eu-west-2", 1)]
    assert result.set_aside.select("instance_type", "times_seen").rows() == [("m5.2xlarge", 1)]


def test_three_equal_refreshes_in_a_row_confirm_it(refresh):
    first = refresh(last=refresh(), m5_2xlarge="0.01")
    second = refresh(last=first, m5_2xlarge="0.01")
    third = refresh(last=second, m5_2xlarge="0.01")

    assert [priced(first), priced(second), priced(third)] == [None, None, 0.01]
    assert second.set_aside["times_seen"].to_list() == [2]
    assert third.set_aside.is_empty()


def test_another_implausible_price_begins_the_count_anew(refresh):
    first = refresh(last=refresh(), m5_2xlarge="0.01")
    second = refresh(last=first, m5_2xlarge="0.02")

    assert priced(second) is None
    assert second.set_aside.select("times_seen", "believed_price_per_hour").row(0) == (1, 1)


def test_the_old_price_is_shown_again_as_soon_as_it_comes_back(refresh):
    glitch = refresh(last=refresh(), m5_2xlarge="0.01")
    after = refresh(last=glitch)

    assert priced(after) == 1
    assert after.set_aside.is_empty()


def test_an_offer_that_stays_away_while_it_waits_does_not_come_back_as_a_new_one(refresh):
    glitch = refresh(last=refresh(), m5_2xlarge="0.01")
    glitch = refresh(last=glitch, m5_2xlarge="0.01")
    away = refresh(last=glitch, types=TYPES[1:])
    back = refresh(last=away, m5_2xlarge="0.01")

    assert away.set_aside["times_seen"].to_list() == [1]
    assert priced(back) is None
    assert back.set_aside["times_seen"].to_list() == [2]


def test_another_source_that_says_the_same_confirms_it_at_once(refresh):
    other = refresh(m5_2xlarge="0.01")

    result = refresh(last=refresh(), m5_2xlarge="0.01", confirming=other.offers)

    assert priced(result) == 0.01
    assert result.set_aside.is_empty()


def test_another_source_also_confirms_what_already_waits(refresh):
    waiting = refresh(last=refresh(), m5_2xlarge="0.01")
    other = refresh(m5_2xlarge="0.01")

    assert priced(refresh(last=waiting, m5_2xlarge="0.01", confirming=other.offers)) == 0.01


@pytest.mark.parametrize(
    "other",
    [{"m5_2xlarge": "0.010000000001"}, {"m5_2xlarge": "0.01", "currency": "EUR"}, {"m5_3xlarge": "0.01"}],
    ids=["another price", "another currency", "another offer"],
)
def test_what_is_not_the_same_offer_at_the_same_price_confirms_nothing(refresh, other):
    result = refresh(last=refresh(), m5_2xlarge="0.01", confirming=refresh(**other).offers)

    assert priced(result) is None
    assert result.set_aside["times_seen"].to_list() == [1]


def test_confirmed_prices_do_not_count_towards_the_two_per_cent(refresh):
    cut = {f"m5_{size}xlarge": "0.01" for size in range(2, 12)}

    assert refresh(last=refresh(), confirming=refresh(**cut).offers, **cut).offers.height == 100


def test_a_change_of_currency_is_set_aside_too(refresh):
    result = refresh(last=refresh(), m5_2xlarge="1", currency="EUR")

    assert priced(result) is None
    assert "from 1.0 USD to 1.0 EUR" in result.rejects["example"][0]


def test_a_new_offer_has_nothing_to_be_compared_with(refresh):
    assert priced(refresh(last=refresh(types=TYPES[1:]), m5_2xlarge="0.0001")) == 0.0001


def test_two_per_cent_set_aside_are_borne(refresh):
    assert refresh(last=refresh(), m5_2xlarge="0.01", m5_3xlarge="0.01").offers.height == 98


def test_more_than_two_per_cent_stop_the_refresh_and_say_how_to_accept_it(refresh):
    with pytest.raises(IntegrityError) as caught:
        refresh(last=refresh(), m5_2xlarge="0.01", m5_3xlarge="0.01", m5_4xlarge="200")

    assert "3 of 100 offers" in caught.value.what
    assert "eu-west-2 m5.2xlarge on-demand from 1.0 USD to 0.01 USD" in caught.value.what
    assert "tuppence fetch aws --accept" in caught.value.next_step


def test_in_a_short_list_one_jump_is_set_aside_and_the_rest_stands(refresh):
    """A rate card or price book of ten machines: one of them is 10 %, but one correction is no broken refresh."""
    result = refresh(last=refresh(types=TYPES[:10]), types=TYPES[:10], m5_2xlarge="0.01")

    assert result.offers.height == 9
    assert result.set_aside["instance_type"].to_list() == ["m5.2xlarge"]


def test_in_a_short_list_two_jumps_stop_the_refresh(refresh):
    with pytest.raises(IntegrityError, match="2 of 10 offers"):
        refresh(last=refresh(types=TYPES[:10]), types=TYPES[:10], m5_2xlarge="0.01", m5_3xlarge="0.01")


def test_the_only_offer_of_a_source_keeps_its_price_until_somebody_accepts_the_new_one(refresh):
    last = refresh(types=TYPES[:1])

    with pytest.raises(IntegrityError, match=r"1 of 1 offers.*--accept"):
        refresh(last=last, types=TYPES[:1], m5_2xlarge="0.01")
    assert priced(refresh(last=last, types=TYPES[:1], m5_2xlarge="0.01", accept_changes=True)) == 0.01


def test_a_person_may_accept_what_moved(refresh):
    prices = {"m5_2xlarge": "0.01", "m5_3xlarge": "0.01", "m5_4xlarge": "200"}

    result = refresh(last=refresh(), accept_changes=True, **prices)

    assert [priced(result), priced(result, "m5.4xlarge")] == [0.01, 200]
    assert result.set_aside.is_empty()


def test_half_of_the_offers_gone_from_the_same_regions_stops_the_refresh(refresh):
    last = refresh()

    assert refresh(last=last, types=TYPES[:50]).offers.height == 50
    with pytest.raises(IntegrityError, match="only 49 offers arrived for the same regions that had 100 last time"):
        refresh(last=last, types=TYPES[:49])
    assert refresh(last=last, types=TYPES[:49], accept_changes=True).offers.height == 49


def test_fewer_regions_are_a_matter_of_settings_and_not_of_lost_pages(run, chosen, price, shape):
    shapes = [shape(name, 8, 32) for name in TYPES]
    both = [price(name, "1", region=region) for name in TYPES for region in ("eu-west-1", "eu-west-2")]
    one = [price(name, "1") for name in TYPES[:30]]

    assert run(chosen(one, shapes), last=run(chosen(both, shapes))).offers.height == 30
