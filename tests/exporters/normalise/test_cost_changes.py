"""Why a cost changed: parts that add up, each for its own reason and no other."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporters.core.cost_change_frames import Cause, Span
from exporters.normalise.cost_changes import ChangeBasis, cost_changes
from exporters.normalise.cost_spans import last_days
from tests.exporters.normalise.cost_rows import BEFORE, LAST, OF_AWS, Row, cost, known, series

CAUSES = [cause.column for cause in Cause]


def changes(rows: list[Row], *, span: Span = Span.DAY, basis: ChangeBasis = "effective", **of: Any) -> pl.DataFrame:
    """What changed, without the service that only makes the account known."""
    found = cost_changes(known(rows, **of), OF_AWS, span=span, basis=basis)
    return found.filter(pl.col("service") != "Known")


def parts(rows: list[Row], **of: Any) -> dict[str, float]:
    """The parts of the only change, those of nought left out."""
    [row] = changes(rows, **of).to_dicts()
    found = {cause.value: row[cause.column] for cause in Cause if abs(row[cause.column]) > 1e-9}
    assert sum(found.values()) == pytest.approx(float(row["change_gbp"]), abs=1e-9)
    return {name: pytest.approx(value) for name, value in found.items()}


def test_more_of_the_same_at_the_same_price_is_usage() -> None:
    assert parts([cost(BEFORE, 10, quantity=100), cost(LAST, 25, quantity=250)]) == {"usage": 15}


def test_a_dearer_unit_is_price() -> None:
    assert parts([cost(BEFORE, 10, quantity=100), cost(LAST, 12, quantity=100)]) == {"price": 2}


def test_usage_and_price_share_what_both_did_by_halves() -> None:
    """Q 100 → 150, P 0.10 → 0.12: ΔQ·P̄ = 50 × 0.11 = 5.50; Q̄·ΔP = 125 × 0.02 = 2.50; 18 − 10 = 8."""
    found = parts([cost(BEFORE, 10, quantity=100), cost(LAST, 18, quantity=150)])
    assert found == {"usage": 5.5, "price": 2.5}


def test_the_same_native_cost_at_another_rate_is_fx() -> None:
    rows = [
        cost(day, amount, currency="USD", rate=rate, quantity=4, charge_category=category)
        for day, rate in ((BEFORE, "0.75"), (LAST, "0.80"))
        for category, amount in (("Usage", 100), ("Tax", 20))
    ]
    assert parts(rows) == {"fx": 6}


def test_usage_that_grew_while_the_pound_fell_is_valued_at_the_mean_rate() -> None:
    """N 100 → 200 USD, r 0.70 → 0.80: FX = 0.10 × 150 = 15; usage = 100 × 0.75 = 75; 160 − 70 = 90."""
    rows = [
        cost(BEFORE, 100, currency="USD", rate="0.7", quantity=1),
        cost(LAST, 200, currency="USD", rate="0.8", quantity=2),
    ]
    assert parts(rows) == {"fx": 15, "usage": 75}


def test_a_bill_in_another_currency_at_the_same_value_is_no_change() -> None:
    assert parts([cost(BEFORE, 100, currency="USD", rate="0.8"), cost(LAST, 80)]) == {}


def test_hours_that_move_to_a_cheaper_family_are_mix() -> None:
    """60 of 100 hours move from 0.10 to 0.08."""
    rows = [
        cost(BEFORE, 10, quantity=100, instance_family="m5"),
        cost(LAST, 4, quantity=40, instance_family="m5"),
        cost(LAST, "4.8", quantity=60, instance_family="m7g"),
    ]
    assert parts(rows) == {"mix": -1.2}


@pytest.mark.parametrize(
    ("column", "value"), [("region", "us-east-1"), ("instance_family", "m7g"), ("pricing_category", "Dynamic")]
)
def test_regions_families_and_markets_are_groups(column: str, value: str) -> None:
    there: Any = {column: value}
    assert parts([cost(BEFORE, 10, quantity=100), cost(LAST, 3, quantity=100, **there)]) == {"mix": -7}


def test_the_same_hours_under_a_commitment_are_commitments_and_so_is_what_is_unused() -> None:
    """50 of 100 hours at 0.06 in place of 0.10 save 2; 0.50 of the plan lies unused."""
    rows = [
        cost(BEFORE, 10, quantity=100),
        cost(LAST, 5, quantity=50),
        cost(LAST, 3, quantity=50, pricing_category="Committed", commitment_status="Used"),
        cost(LAST, "0.5", quantity=0, pricing_category="Committed", commitment_status="Unused"),
    ]
    assert parts(rows) == {"commitments": -1.5}


def test_hours_and_gigabytes_are_not_added() -> None:
    rows = [
        cost(BEFORE, 10, quantity=100),
        cost(BEFORE, 2, quantity=20, unit="GB"),
        cost(LAST, 10, quantity=100),
        cost(LAST, 6, quantity=60, unit="GB"),
    ]
    assert parts(rows) == {"usage": 4}


def test_larger_machines_are_more_usage_where_vcpu_hours_are_known() -> None:
    rows = [
        cost(BEFORE, 10, quantity=100, vcpu_hours=200.0, has_vcpu_hours=True),
        cost(LAST, 20, quantity=100, vcpu_hours=400.0, has_vcpu_hours=True),
    ]
    assert parts(rows) == {"usage": 10}


def test_a_service_that_was_not_used_before_is_new_and_one_that_is_not_used_now_is_gone() -> None:
    assert parts([cost(LAST, 7)]) == {"new": 7}
    assert parts([cost(BEFORE, 7)]) == {"gone": -7}


@pytest.mark.parametrize("category", ["Tax", "Credit", "Purchase", "Adjustment"])
def test_what_is_no_usage_is_one_off(category: str) -> None:
    rows = [cost(day, 5, quantity=9) for day in (BEFORE, LAST)] + [cost(LAST, -3, charge_category=category)]
    assert parts(rows) == {"one-off": -3}


@pytest.mark.parametrize("unstated", [{"unit": ""}, {"quantity": 0}])
def test_usage_without_a_quantity_or_a_unit_is_unmeasured_and_no_price(unstated: dict[str, Any]) -> None:
    rows = [cost(BEFORE, 5, **unstated), cost(LAST, 8, **unstated)]
    assert parts([*rows, cost(BEFORE, 1, region="x"), cost(LAST, 2, region="x", quantity=2)]) == {
        "unmeasured": 3,
        "usage": 1,
    }


def test_billed_and_effective_cost_are_two_questions() -> None:
    rows = [cost(BEFORE, 10, effective=6, quantity=1), cost(LAST, 10, effective=9, quantity=1)]
    assert parts(rows, basis="effective") == {"price": 3}
    assert parts(rows, basis="billed") == {}


def test_a_week_is_seven_days_against_the_seven_before() -> None:
    found = changes(series([1] * 7 + [2] * 7, quantity=1), span=Span.WEEK)
    assert found.select("before_gbp", "after_gbp", "last_day").row(0) == (7, 14, LAST)


def test_the_region_that_changed_most_is_named() -> None:
    rows = [
        cost(day, amount, region=name)
        for day, amount, name in (
            (BEFORE, 5, "eu-west-2"),
            (LAST, 6, "eu-west-2"),
            (BEFORE, 9, "us-east-1"),
            (LAST, 5, "us-east-1"),
        )
    ]
    assert changes(rows).select("region", "region_change_gbp").row(0) == ("us-east-1", -4)


def test_accounts_stand_by_sub_account_and_where_there_is_none_by_billing_account() -> None:
    found = changes([cost(LAST, 1), cost(LAST, 1, sub_account="")])
    assert found["account"].to_list() == ["1111", "2222"]


def test_a_day_that_is_not_whole_is_not_compared() -> None:
    rows = [cost(BEFORE, 1), cost(LAST, 1)]
    assert changes(rows, whole_until=LAST - timedelta(days=1)).is_empty()


def test_a_week_with_one_day_that_nobody_stated_is_not_compared() -> None:
    """Known since 2 September; the week before the one that ends on the 15th begins on the 2nd, else on the 1st."""
    days = known(series([1] * 14, until=date(2024, 9, 15))).filter(pl.col("service") != "Known")

    def compared(day: date) -> int:
        return cost_changes(days, OF_AWS.with_columns(last_day=pl.lit(day)), span=Span.WEEK).height

    assert [compared(date(2024, 9, day)) for day in (14, 15)] == [0, 1]


def test_a_month_that_was_never_imported_is_not_taken_for_one_without_costs() -> None:
    october = date(2024, 10, 3)
    rows = known([cost(october, 9, reached=date(2024, 10, 5))], whole_until=date(2024, 10, 5))
    of_october = OF_AWS.with_columns(last_day=pl.lit(october))
    gap = rows.filter(pl.col("billing_period") != date(2024, 9, 1))
    assert cost_changes(gap, of_october, span=Span.DAY).is_empty()
    of_september = pl.when(pl.col("charge_day").dt.month() == 9).then(pl.lit(date(2024, 9, 30)))
    stated = rows.with_columns(reached=of_september.otherwise("reached"))
    assert cost_changes(stated, of_october, span=Span.DAY)["new_gbp"].to_list() == [9]


def test_each_account_is_taken_at_its_own_last_whole_day_and_one_far_behind_is_left_out() -> None:
    far = {"billing_account": "3333"}
    days = pl.concat(
        [known([cost()]), known([cost(BEFORE, **far)], whole_until=BEFORE).filter(pl.col("billing_account") == "3333")]
    )
    assert dict(last_days(days).select("billing_account", "last_day").iter_rows()) == {"1111": LAST, "3333": BEFORE}
    assert last_days(days, not_before_days=3)["billing_account"].to_list() == ["1111"]


@st.composite
def cells(draw: st.DrawFn) -> list[Row]:
    """Rows of a few services on both days, in two currencies, of every category, some without a quantity."""
    rates = {day: {"GBP": 1, "USD": draw(st.sampled_from(["0.75", "0.8", "0.72"]))} for day in (BEFORE, LAST)}
    rows = []
    for _ in range(draw(st.integers(1, 14))):
        day, currency = draw(st.sampled_from([BEFORE, LAST])), draw(st.sampled_from(["GBP", "USD"]))
        category = draw(st.sampled_from(["Usage", "Usage", "Usage", "Tax", "Credit", "Purchase"]))
        has_hours = draw(st.booleans())
        rows.append(
            cost(
                day,
                draw(st.decimals(-50 if category == "Credit" else 0, 50, places=2)),
                service=draw(st.sampled_from(["EC2", "S3"])),
                region=draw(st.sampled_from(["eu-west-2", "us-east-1"])),
                instance_family=draw(st.sampled_from(["m5", "m7i"])),
                pricing_category=draw(st.sampled_from(["Standard", "Committed", "Dynamic"])),
                commitment_status=draw(st.sampled_from(["", "", "Unused"])),
                unit=draw(st.sampled_from(["Hours", "GB", ""])),
                quantity=draw(st.integers(0, 20)),
                vcpu_hours=float(draw(st.integers(1, 9))) if has_hours else 0.0,
                has_vcpu_hours=has_hours,
                charge_category=category,
                currency=currency,
                rate=rates[day][currency],
            )
        )
    return rows


def swapped(rows: list[Row]) -> list[Row]:
    """The same rows with before and after exchanged."""
    return [row | {"charge_day": BEFORE if row["charge_day"] == LAST else LAST} for row in rows]


@settings(max_examples=25, deadline=None)
@given(cells())
def test_parts_add_up_to_the_change(rows: list[Row]) -> None:
    for row in changes(rows).to_dicts():
        assert sum(row[name] for name in CAUSES) == pytest.approx(float(row["change_gbp"]), abs=1e-9)
        of_cell = [one for one in rows if one["service"] == row["service"]]
        spent = {
            day: sum(one["effective_gbp"] for one in of_cell if one["charge_day"] == day) for day in (BEFORE, LAST)
        }
        assert (row["before_gbp"], row["after_gbp"]) == (spent[BEFORE], spent[LAST])


@settings(max_examples=25, deadline=None)
@given(cells())
def test_exchanging_before_and_after_turns_every_sign(rows: list[Row]) -> None:
    there, back = changes(rows), changes(swapped(rows))
    turned = {name: name for name in CAUSES} | {"new_gbp": "gone_gbp", "gone_gbp": "new_gbp"}
    for one, other in zip(there.to_dicts(), back.to_dicts(), strict=True):
        for name, opposite in turned.items():
            assert one[name] == pytest.approx(-other[opposite], abs=1e-9)


@settings(max_examples=15, deadline=None)
@given(cells(), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(rows: list[Row], random: Any) -> None:
    one, other = changes(rows), changes(random.sample(rows, len(rows)))
    for row, same in zip(one.to_dicts(), other.to_dicts(), strict=True):
        assert {name: row[name] for name in CAUSES} == pytest.approx({name: same[name] for name in CAUSES}, abs=1e-9)


@settings(max_examples=15, deadline=None)
@given(cells(), st.integers(2, 5))
def test_all_usage_times_n_gives_usage_and_nothing_else(rows: list[Row], times: int) -> None:
    usage = [
        row
        | {
            "charge_category": "Usage",
            "commitment_status": "",
            "consumed_unit": "Hours",
            "consumed_quantity": 2.0,
            "currency": "GBP",
            "gbp_per_unit": 1,
            "effective_gbp": abs(row["effective_cost"]),
            "effective_cost": abs(row["effective_cost"]),
        }
        for row in rows
    ]
    measures = ("effective_cost", "effective_gbp", "consumed_quantity", "vcpu_hours")
    more = [row | {"charge_day": LAST} | {name: row[name] * times for name in measures} for row in usage]
    for row in changes([row | {"charge_day": BEFORE} for row in usage] + more).to_dicts():
        assert row["usage_gbp"] == pytest.approx(float(row["change_gbp"]), abs=1e-9)
        assert all(row[name] == pytest.approx(0, abs=1e-9) for name in CAUSES if name != "usage_gbp")
