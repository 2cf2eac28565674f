"""Why a week cost more than the week before: the parts add up, and each part is what only it changed.

The web workload asks 4 vCPU and 16 GiB of a London machine that sells a vCPU-hour at $0.04 and a GiB-hour at $0.005, so
$0.24 an hour: at £0.75 a dollar £0.18 an hour and £30.24 a week of 168 hours.
"""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporters.store.read import Prices, combine
from recommender.advise.decision import Question
from recommender.week.spend import SpendChange, WeekAsked, spend_changes
from tests.builders import NOON, fx_table, snapshot
from tests.properties import examples
from tests.recommender import world

FLEET = world.pools(world.GENERAL)
LAST_WEEK = NOON - timedelta(days=7)


def _prices(*, usd: float = 1.0, gbp_per_usd: float = 0.75) -> Prices:
    in_pounds = {"gbp_per_vcpu_hour": 0.04 * usd * 0.75, "gbp_per_gib_hour": 0.005 * usd * 0.75}
    native = {"currency": "USD", "gbp_per_unit": 0.75, "price_per_hour": f"{0.24 * usd:.9f}"}
    offers = world.machine("aws", "eu-west-2", "m5.xlarge", "on-demand", **in_pounds, **native)
    fx = snapshot("fx", fx=fx_table(USD=gbp_per_usd))
    return combine([snapshot("aws", offers=offers), fx], now=NOON)


def _week(*rows: dict[str, Any], prices: Prices, end: Any = NOON) -> WeekAsked:
    question = Question(
        prices=prices,
        workloads=world.workloads(*rows),
        pools=FLEET,
        policy=world.policy(),
        at=NOON,
        usage_window=(end - timedelta(days=7), end),
        expires_after_hours=168.0,
        min_coverage_ratio=0.8,
    )
    return WeekAsked(question, world.flows())


def _web(size: float = 1.0, name: str = "web") -> dict[str, Any]:
    return world.workload(name, vcpu_request_mean=4.0 * size, memory_gib_request_mean=16.0 * size)


def _change(before: WeekAsked, after: WeekAsked) -> SpendChange:
    return spend_changes(before, after, FLEET).whole


def test_only_usage_changed() -> None:
    same = _prices()
    found = _change(_week(_web(), prices=same, end=LAST_WEEK), _week(_web(1.5), prices=same))
    assert (found.before_gbp, found.after_gbp) == (Decimal("30.24"), Decimal("45.36"))
    assert (found.usage_gbp, found.price_gbp, found.exchange_rate_gbp) == (Decimal("15.12"), Decimal(0), Decimal(0))
    assert found.contributions[0].because == "usage"


def test_only_the_price_changed() -> None:
    found = _change(_week(_web(), prices=_prices(), end=LAST_WEEK), _week(_web(), prices=_prices(usd=1.1)))
    assert (found.usage_gbp, found.price_gbp, found.exchange_rate_gbp) == (Decimal(0), Decimal("3.02"), Decimal(0))


def test_only_the_exchange_rate_changed() -> None:
    found = _change(_week(_web(), prices=_prices(), end=LAST_WEEK), _week(_web(), prices=_prices(gbp_per_usd=0.8)))
    # $0.24 × £0.05 × 168 h
    assert (found.usage_gbp, found.price_gbp, found.exchange_rate_gbp) == (Decimal(0), Decimal(0), Decimal("2.02"))
    assert found.contributions[0].because == "exchange rate"


def test_new_and_gone_workloads_are_usage() -> None:
    same = _prices()
    found = _change(_week(_web(name="old"), prices=same, end=LAST_WEEK), _week(_web(2.0, name="new"), prices=same))
    assert found.usage_gbp == Decimal("30.24")
    assert {(one.key[-1], one.because) for one in found.contributions} == {("new", "new"), ("old", "gone")}


def test_a_workload_without_a_price_is_in_neither_sum_and_is_counted() -> None:
    unknown = world.workload("odd", instance_type="x9.mystery")
    same = _prices()
    found = _change(_week(_web(), unknown, prices=same, end=LAST_WEEK), _week(_web(), unknown, prices=same))
    assert (found.compared, found.not_compared, found.after_gbp) == (1, 1, Decimal("30.24"))


def test_a_price_that_was_not_kept_changes_nothing_by_itself() -> None:
    nothing = combine([snapshot("fx", fx=fx_table(USD=0.75))], now=NOON)
    found = _change(_week(prices=nothing, end=LAST_WEEK), _week(_web(), prices=_prices(usd=1.1)))
    assert found.without_old_price == 1
    assert (found.usage_gbp, found.price_gbp) == (Decimal("33.26"), Decimal(0))


def test_usage_of_a_week_whose_price_is_not_kept_counts_at_this_weeks_price() -> None:
    nothing = combine([snapshot("fx", fx=fx_table(USD=0.75))], now=NOON)
    found = _change(_week(_web(), prices=nothing, end=LAST_WEEK), _week(_web(1.5), prices=_prices(usd=1.1)))
    # $0.264 × £0.75 × 168 h, and half as much again
    assert (found.before_gbp, found.after_gbp) == (Decimal("33.26"), Decimal("49.90"))
    assert (found.usage_gbp, found.price_gbp, found.without_old_price) == (Decimal("16.64"), Decimal(0), 1)


def test_each_owners_change_is_of_its_own_workloads() -> None:
    same = _prices()
    shop, data = _web(1.5, "web"), {**_web(2.0, "lake"), "owner": "data"}
    found = spend_changes(_week(_web(), prices=same, end=LAST_WEEK), _week(shop, data, prices=same), FLEET)
    assert {name: (one.before_gbp, one.after_gbp) for name, one in found.by_owner.items()} == {
        "data": (Decimal(0), Decimal("60.48")),
        "shop-team": (Decimal("30.24"), Decimal("45.36")),
    }
    assert {one.key[-1] for one in found.by_owner["data"].contributions} == {"lake"}
    assert found.whole.after_gbp == Decimal("105.84")


def test_two_empty_weeks_change_nothing() -> None:
    same = _prices()
    found = _change(_week(prices=same, end=LAST_WEEK), _week(prices=same))
    assert (found.before_gbp, found.after_gbp, found.contributions) == (Decimal(0), Decimal(0), ())


@settings(max_examples=examples(6, 40))
@given(
    before=st.lists(st.floats(0.01, 50), max_size=4),
    after=st.lists(st.floats(0.01, 50), max_size=4),
    usd=st.floats(0.5, 2),
    gbp_per_usd=st.floats(0.5, 1),
)
def test_the_parts_add_up_to_the_penny(before: list[float], after: list[float], usd: float, gbp_per_usd: float) -> None:
    found = _change(
        _week(*(_web(size, f"w{n}") for n, size in enumerate(before)), prices=_prices(), end=LAST_WEEK),
        _week(*(_web(size, f"w{n}") for n, size in enumerate(after)), prices=_prices(usd=usd, gbp_per_usd=gbp_per_usd)),
    )
    steps = found.usage_gbp + found.price_gbp + found.exchange_rate_gbp
    assert found.before_gbp + steps == found.after_gbp
    assert float(found.after_gbp) == pytest.approx(30.24 * usd * gbp_per_usd / 0.75 * sum(after), abs=0.011)
