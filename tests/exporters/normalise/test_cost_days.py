"""Charges reduced to days: parts add up, and neither order nor repetition changes them."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from exporters.core.cost_frames import DAY_KEY, Charge, PoundCost
from exporters.normalise.cost_days import add_days, mark_whole, reduce_charges, replace_days, restated
from exporters.normalise.cost_fx import RATE_SCHEMA, in_pounds
from tests.properties import examples

NONE: dict[str, Any] = dict.fromkeys(Charge.column_names())

COSTS = st.decimals(min_value=-1000, max_value=1000, places=10)


@st.composite
def charges(draw: st.DrawFn) -> dict[str, Any]:
    """A charge with any cost on one of six days, of few accounts and services, one in a while unreadable."""
    start = datetime(2024, 9, draw(st.integers(1, 6)), draw(st.integers(0, 23)), tzinfo=UTC)
    return NONE | {
        "charge_start": start,
        "charge_end": start,
        "billing_period": date(2024, 9, 1),
        "provider": draw(st.sampled_from(["AWS", "Amazon Web Services", "aws", None])),
        "billing_account": draw(st.sampled_from(["1", "2"])),
        "service": draw(st.sampled_from(["s3", "ec2", None, "NULL", ""])),
        "region": draw(st.sampled_from(["eu-west-2", "EU-WEST-2", None])),
        "currency": draw(st.sampled_from(["USD", "GBP"])),
        "billed_cost": draw(COSTS),
        "effective_cost": draw(COSTS),
        "list_cost": draw(st.none() | COSTS),
        "owner": draw(st.sampled_from([None, "radiology", "studio"])),
        "machine": draw(st.sampled_from([None, "m7i.xlarge", "m7i.large"])),
        "vcpu_hours": draw(st.none() | st.just(1.0)),
        "reject": draw(st.sampled_from([None, None, None, "absent"])),
    }


def lazily(rows: list[dict[str, Any]]) -> pl.LazyFrame:
    """Rows as a scan gives them."""
    return pl.LazyFrame(rows, schema=Charge.create_empty().schema)


def reduced(rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Their days."""
    return add_days(reduce_charges(lazily(rows), file="f"))


RATES = pl.DataFrame(
    {"currency": ["USD"], "rate_date": [date.min], "gbp_per_unit": ["0.75"], "fx_source": ["contract"]}
)
HISTORY = RATES.cast(dict(RATE_SCHEMA))
LATER = datetime(2024, 9, 9, tzinfo=UTC)


def converted(rows: list[dict[str, Any]]) -> Any:
    """Their days in pounds; a dollar is 75 pence."""
    return in_pounds(mark_whole(reduced(rows), made_at=LATER, settle_hours=24), HISTORY, file="f").days


@settings(max_examples=examples(10, 100))
@given(st.lists(charges(), max_size=30))
def test_every_charge_is_in_one_day_or_counted_as_left_out(rows: list[dict[str, Any]]) -> None:
    result = reduce_charges(lazily(rows), file="f")
    good = [row for row in rows if row["reject"] is None and row["provider"] is not None]
    assert result.rows == len(rows)
    days = add_days(result)
    assert days["rows"].sum() == len(good)
    assert result.rejects["rows"].sum() == len(rows) - len(good)
    for name in ("billed_cost", "effective_cost", "list_cost"):
        assert (days[name].sum() or 0) == sum(row[name] or 0 for row in good)
    assert days["vcpu_hours"].sum() == sum(row["vcpu_hours"] or 0 for row in good)
    assert set(days["provider"]) <= {"aws"}
    assert set(days["region"]) <= {"", "eu-west-2"}
    assert set(days["service"]) <= {"", "s3", "ec2"}


@settings(max_examples=examples(10, 100))
@given(st.lists(charges(), max_size=20), st.randoms(use_true_random=False))
def test_the_order_of_charges_does_not_matter(rows: list[dict[str, Any]], random: Any) -> None:
    shuffled = random.sample(rows, len(rows))
    one, other = (reduce_charges(lazily(each), file="f") for each in (rows, shuffled))
    assert_frame_equal(add_days(one), add_days(other))
    assert_frame_equal(one.rejects, other.rejects)


@settings(max_examples=examples(10, 100))
@given(st.lists(charges(), max_size=20), st.integers(0, 20))
def test_parts_of_an_export_add_up_to_the_whole(rows: list[dict[str, Any]], cut: int) -> None:
    parts = [reduce_charges(lazily(part), file="f") for part in (rows[:cut], rows[cut:])]
    assert_frame_equal(add_days(*parts), reduced(rows))
    assert_frame_equal(add_days(*parts[::-1]), reduced(rows))


@settings(max_examples=examples(10, 100))
@given(st.lists(charges(), max_size=20))
def test_the_same_export_again_changes_nothing(rows: list[dict[str, Any]]) -> None:
    days = converted(rows)
    for whole_span in (True, False):
        assert_frame_equal(replace_days(days, days, whole_span=whole_span), days)
    assert restated(days, days).is_empty()


@settings(max_examples=examples(10, 100))
@given(st.lists(charges(), max_size=20), st.lists(charges(), max_size=20))
def test_a_later_export_stands_and_days_that_it_does_not_state_stay(
    old: list[dict[str, Any]], new: list[dict[str, Any]]
) -> None:
    before, after = converted(old), converted(new)
    kept = replace_days(before, after, whole_span=False)
    assert_frame_equal(kept.join(after.select(DAY_KEY).unique(), on=DAY_KEY, how="semi"), after)
    others = before.join(after.select(DAY_KEY).unique(), on=DAY_KEY, how="anti")
    assert kept.height == after.height + others.height
    assert kept["billed_cost"].sum() == after["billed_cost"].sum() + others["billed_cost"].sum()


@settings(max_examples=examples(10, 100))
@given(st.lists(charges(), max_size=20))
def test_pounds_are_the_native_amounts_at_the_rate_of_each(rows: list[dict[str, Any]]) -> None:
    days = converted(rows)
    for currency, rate in (("USD", Decimal("0.75")), ("GBP", Decimal(1))):
        of_currency = days.filter(pl.col("currency") == currency)
        gap = (of_currency["billed_gbp"].sum() or 0) - (of_currency["billed_cost"].sum() or 0) * rate
        assert abs(gap) <= Decimal("1e-16") * max(of_currency.height, 1)


def test_a_whole_span_drops_days_that_are_gone_and_other_bills_stay() -> None:
    def days(*of: int, account: str = "1") -> Any:
        row = {"provider": "aws", "billing_account": account, "currency": "USD", "billing_period": date(2024, 9, 1)}
        amounts = {"billed_cost": Decimal(1), "effective_cost": Decimal(1), "owner": None}
        starts = [datetime(2024, 9, day, tzinfo=UTC) for day in of]
        return converted([NONE | row | amounts | {"charge_start": start, "charge_end": start} for start in starts])

    before = PoundCost.validate(pl.concat([days(1, 2, 3, 4), days(2, account="2")]), cast=True)
    kept = replace_days(before, days(1, 3), whole_span=True)
    assert sorted(kept.select("billing_account", pl.col("charge_day").dt.day()).iter_rows()) == [
        ("1", 1),
        ("1", 3),
        ("1", 4),
        ("2", 2),
    ]


def test_machines_are_told_apart_by_family_in_the_words_of_prices() -> None:
    rows = [
        NONE
        | {
            "charge_start": datetime(2024, 9, 1, tzinfo=UTC),
            "charge_end": datetime(2024, 9, 1, tzinfo=UTC),
            "billing_period": date(2024, 9, 1),
            "provider": provider,
            "billing_account": "1",
            "currency": "GBP",
            "billed_cost": Decimal(1),
            "effective_cost": Decimal(1),
            "machine": machine,
        }
        for provider, machine in (
            ("AWS", "m7i.xlarge"),
            ("AWS", "m7i.large"),
            ("Microsoft", "Standard_D4s_v5"),
            ("Google Cloud", "n2-standard-4"),
            ("Google Cloud", "N2"),
            ("AWS", None),
        )
    ]
    days = reduced(rows).group_by("provider", "instance_family").agg(pl.col("billed_cost").sum().cast(pl.Float64))
    assert set(days.rows()) == {("aws", "m7i", 2), ("azure", "Dsv5", 1), ("gcp", "n2", 2), ("aws", "", 1)}


def test_an_azure_account_has_one_name_whether_a_file_says_its_path_or_the_api_its_id() -> None:
    charge = NONE | {
        "charge_start": datetime(2024, 9, 1, tzinfo=UTC),
        "billing_period": date(2024, 9, 1),
        "provider": "Microsoft",
        "currency": "GBP",
        "billed_cost": Decimal(1),
        "effective_cost": Decimal(1),
    }
    by_path = {
        "billing_account": "/providers/Microsoft.Billing/billingAccounts/8611537",
        "sub_account": "/subscriptions/0000000a-0000-0000-0000-000000000000",
    }
    by_id = {"billing_account": "8611537", "sub_account": "0000000a-0000-0000-0000-000000000000"}
    (day,) = reduced([charge | by_path, charge | by_id]).to_dicts()
    assert (day["billing_account"], day["sub_account"]) == tuple(by_id.values())
    assert day["billed_cost"] == Decimal(2)
