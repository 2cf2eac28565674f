"""Discounts from what was paid: what is a price, what is not, and when there is enough to say so."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from exporters.core.cost_frames import PoundCost
from exporters.store.costs import read_costs
from exporters.store.discounts import discounts, that_hold
from tests.exporters.focus_exports import Row, days_of_september, importer, write_csv
from tests.properties import examples

TODAY = date(2024, 10, 5)
Found = dict[tuple[str, str, str], dict[str, Any]]


def paid(folder: Path, *charges: list[Row], until: date = TODAY, last_days: int = 30, usd: str = "0.75") -> Found:
    """What an export comes to, by family, region and capacity type; a dollar is 75 pence."""
    one = importer(folder)
    rows = [row for some in charges for row in some]
    one.run([str(write_csv(folder / "export.csv", rows))])
    found = discounts(read_costs(one.shelf).days, until=until, last_days=last_days)
    return {(row["instance_family"], row["region"], row["capacity_type"]): row for row in found.to_dicts()}


def machines(
    first: int = 1,
    last: int = 30,
    *,
    family: str = "m5",
    list_cost: str = "100",
    contracted: str = "77",
    **changes: Any,
) -> list[Row]:
    """A day's use of machines for each day of September: eight vCPUs all day, listed at $100, paid $77."""
    details = f'{{"InstanceType":"{family}.2xlarge","CoreCount":8}}'
    return days_of_september(
        first,
        last,
        **{
            "ListCost": list_cost,
            "ContractedCost": contracted,
            "EffectiveCost": contracted,
            "BilledCost": contracted,
            "ConsumedQuantity": "24",
            "SkuPriceDetails": details,
        }
        | changes,
    )


LONDON = ("m5", "eu-west-2", "on-demand")
FAMILY = ("m5", "", "on-demand")
ALL = ("", "", "on-demand")


def test_the_discount_of_a_family_in_a_region_comes_with_its_evidence(tmp_path: Path) -> None:
    row = paid(tmp_path, machines())[LONDON]
    assert (row["verdict"], row["discount_ratio"]) == ("holds", 0.23)
    assert row["list_gbp"] == 30 * 75
    assert row["paid_gbp"] == row["contracted_gbp"] == row["billed_gbp"] == pytest.approx(30 * 57.75)
    assert (row["days"], row["charges"], row["accounts"], row["vcpu_hours"]) == (30, 30, 1, 30 * 192)
    assert (row["first_day"], row["last_day"]) == (date(2024, 9, 1), date(2024, 9, 30))


def test_a_negotiated_price_counts_and_not_what_credits_left_of_it(tmp_path: Path) -> None:
    # Azure and Google state a negotiated cost; a promotion of $70 a day is no price.
    credit = machines(ChargeCategory="Credit", BilledCost="-70", EffectiveCost="-70", ListCost="0", ContractedCost="0")
    with_credit_inside = machines(EffectiveCost="7", BilledCost="7")
    row = paid(tmp_path, with_credit_inside, credit)[LONDON]
    assert row["discount_ratio"] == 0.23
    assert row["effective_gbp"] == pytest.approx(30 * 7 * 0.75)


def test_effective_cost_counts_where_no_negotiated_cost_is_stated(tmp_path: Path) -> None:
    assert paid(tmp_path, machines(ContractedCost=None, EffectiveCost="80"))[LONDON]["discount_ratio"] == 0.2


def test_usage_that_a_commitment_covered_is_kept_apart(tmp_path: Path) -> None:
    covered = machines(
        PricingCategory="Committed",
        CommitmentDiscountId="sp-1",
        CommitmentDiscountStatus="Used",
        ContractedCost="40",
        EffectiveCost="40",
        BilledCost="0",
    )
    row = paid(tmp_path, machines(), covered)[LONDON]
    assert (row["discount_ratio"], row["list_gbp"], row["charges"]) == (0.23, 30 * 75, 30)
    assert row["committed_list_gbp"] == 30 * 75
    assert row["committed_gbp"] == pytest.approx(30 * 30)


def test_only_commitments_give_no_discount_at_all(tmp_path: Path) -> None:
    assert paid(tmp_path, machines(PricingCategory="Committed", CommitmentDiscountId="sp-1")) == {}


def test_charges_without_a_list_cost_are_counted_and_never_a_discount_of_everything(tmp_path: Path) -> None:
    row = paid(tmp_path, machines(), machines(ListCost=None, SubAccountId="3333"))[LONDON]
    assert (row["discount_ratio"], row["charges"], row["charges_left_out"]) == (0.23, 30, 30)
    assert paid(tmp_path / "none", machines(ListCost=None)) == {}


def test_what_nothing_was_paid_for_is_no_price(tmp_path: Path) -> None:
    free = machines(SubAccountId="3333", ContractedCost="0", EffectiveCost="0", BilledCost="0")
    row = paid(tmp_path, machines(), free)[LONDON]
    assert (row["discount_ratio"], row["charges_left_out"]) == (0.23, 30)


def test_a_discount_line_beside_the_usage_is_spread_over_it(tmp_path: Path) -> None:
    # AWS's older report: list $100, a line of −$9 each day for the agreement, no negotiated cost.
    usage = machines(ContractedCost=None, EffectiveCost="100", BilledCost="100")
    line: Row = {"ChargeCategory": "Adjustment", "PricingCategory": None, "ListCost": None, "ContractedCost": None}
    agreement = machines(**line, BilledCost="-9", EffectiveCost="-9")
    row = paid(tmp_path, usage, agreement)[LONDON]
    assert row["discount_ratio"] == pytest.approx(0.09)
    assert row["adjustment_gbp"] == pytest.approx(-30 * 9 * 0.75)


def test_a_discount_line_of_the_whole_service_is_borne_by_what_commitments_cover_too(tmp_path: Path) -> None:
    usage = machines(ContractedCost=None, EffectiveCost="100")
    covered = machines(PricingCategory="Committed", CommitmentDiscountId="sp-1", EffectiveCost="50")
    line: Row = {"ChargeCategory": "Adjustment", "PricingCategory": None, "ListCost": None, "ContractedCost": None}
    agreement = machines(**line, SkuPriceDetails=None, BilledCost="-15", EffectiveCost="-15")
    assert paid(tmp_path, usage, covered, agreement)[LONDON]["discount_ratio"] == pytest.approx(0.10)


def test_a_refund_is_no_discount_because_it_comes_once(tmp_path: Path) -> None:
    usage = machines(ContractedCost=None, EffectiveCost="100")
    refund = machines(3, 4, ChargeCategory="Adjustment", BilledCost="-900", EffectiveCost="-900", ListCost=None)
    row = paid(tmp_path, usage, refund)[LONDON]
    assert (row["discount_ratio"], row["adjustment_gbp"]) == (0.0, 0.0)


def test_a_negotiated_cost_already_has_the_discount_lines_in_it(tmp_path: Path) -> None:
    line = machines(ChargeCategory="Adjustment", BilledCost="-9", EffectiveCost="-9", ListCost=None)
    assert paid(tmp_path, machines(), line)[LONDON]["discount_ratio"] == 0.23


@pytest.mark.parametrize(
    ("charges", "verdict"),
    [
        (machines(1, 6), "too-little"),
        (machines(list_cost="2", contracted="1.5"), "too-little"),
        (machines(ConsumedQuantity="0.5"), "too-little"),
        (machines(contracted="4"), "implausible"),
        (machines(contracted="151"), "implausible"),
        (machines(contracted="120"), "holds"),
        (machines(ConsumedQuantity=None), "holds"),
    ],
    ids=["six-days", "forty-five-pounds", "few-hours", "almost-free", "far-dearer", "dearer", "hours-unknown"],
)
def test_a_discount_without_enough_behind_it_says_so(tmp_path: Path, charges: list[Row], verdict: str) -> None:
    assert paid(tmp_path, charges)[LONDON]["verdict"] == verdict


def test_only_the_last_whole_days_of_an_export_that_goes_on_count(tmp_path: Path) -> None:
    assert paid(tmp_path, machines(), last_days=10)[LONDON]["first_day"] == date(2024, 9, 21)
    assert paid(tmp_path / "old", machines(), until=date(2024, 11, 14))[LONDON]["verdict"] == "holds"
    assert paid(tmp_path / "older", machines(), until=date(2024, 11, 15)) == {}
    assert paid(tmp_path / "before", machines(), until=date(2024, 8, 31)) == {}


def test_a_day_that_may_still_grow_does_not_count(tmp_path: Path) -> None:
    one = importer(tmp_path, now=datetime(2024, 9, 20, 12, tzinfo=UTC))
    one.run([str(write_csv(tmp_path / "a.csv", machines(1, 20), made_at=datetime(2024, 9, 20, 12, tzinfo=UTC)))])
    assert discounts(read_costs(one.shelf).days, until=TODAY)["last_day"].max() == date(2024, 9, 18)


def test_families_that_agree_stand_for_all_and_one_family_never_does(tmp_path: Path) -> None:
    alike = paid(tmp_path, machines(), machines(family="c6i", contracted="80"))
    assert alike[ALL]["verdict"] == "holds"
    assert alike[ALL]["discount_ratio"] == pytest.approx(1 - 157 / 200)
    assert paid(tmp_path / "one", machines())[ALL]["verdict"] == "parts-differ"


def test_a_discount_agreed_for_one_family_is_not_given_to_others(tmp_path: Path) -> None:
    found = paid(tmp_path, machines(contracted="60"), machines(family="c6i", contracted="100"))
    assert found[ALL]["verdict"] == "parts-differ"
    assert (found[LONDON]["discount_ratio"], found["c6i", "eu-west-2", "on-demand"]["discount_ratio"]) == (0.4, 0.0)


def test_a_family_stands_for_other_regions_where_its_regions_agree(tmp_path: Path) -> None:
    dublin = machines(RegionId="eu-west-1", contracted="79")
    assert paid(tmp_path, machines(), dublin)[FAMILY]["verdict"] == "holds"
    dear = machines(RegionId="eu-west-1", contracted="100")
    assert paid(tmp_path / "apart", machines(), dear)[FAMILY]["verdict"] == "parts-differ"


def test_spot_listed_at_the_on_demand_price_is_no_discount_from_the_spot_price(tmp_path: Path) -> None:
    spot: Row = {"PricingCategory": "Dynamic"}
    listed_on_demand = machines(contracted="30", **spot)
    found = paid(tmp_path, machines(), listed_on_demand)
    assert found["m5", "eu-west-2", "spot"]["verdict"] == "list-is-on-demand"
    own_list = machines(list_cost="35", contracted="30", **spot)
    row = paid(tmp_path / "own", machines(), own_list)["m5", "eu-west-2", "spot"]
    assert (row["verdict"], row["discount_ratio"]) == ("holds", pytest.approx(1 - 30 / 35, abs=1e-6))
    alone = paid(tmp_path / "alone", own_list)
    assert alone["m5", "eu-west-2", "spot"]["verdict"] == "list-is-on-demand"
    assert ("", "", "spot") not in alone


def test_without_costs_there_are_no_discounts() -> None:
    assert discounts(PoundCost.create_empty(), until=TODAY).is_empty()


def test_the_order_of_days_does_not_matter(tmp_path: Path) -> None:
    one = importer(tmp_path)
    one.run([str(write_csv(tmp_path / "a.csv", [*machines(contracted="77.77"), *machines(family="c6i")]))])
    days = read_costs(one.shelf).days
    assert_frame_equal(discounts(days, until=TODAY), discounts(days.reverse(), until=TODAY))


AMOUNT = st.decimals(min_value=-200, max_value=200, places=2)
CATEGORY = st.sampled_from(["Usage", "Credit", "Adjustment"])


@settings(max_examples=examples(15, 100), deadline=None)
@given(
    rows=st.lists(st.tuples(AMOUNT, AMOUNT, AMOUNT, CATEGORY, st.sampled_from(["m5", "r5"])), min_size=1, max_size=8)
)
def test_whatever_was_charged_a_discount_that_holds_leaves_a_positive_price(rows: list[tuple[Any, ...]]) -> None:
    dates = [date(2024, 9, day) for day in range(1, 10)]
    days = pl.DataFrame([_day(one, *row) for row in rows for one in dates], schema=PoundCost.create_empty().schema)
    found = discounts(days, until=TODAY)
    held = that_hold(found)
    assert held["discount_ratio"].is_between(-0.5, 0.95).all()
    priced = (found["list_gbp"] * (1 - found["discount_ratio"])).to_list()
    assert found["paid_gbp"].to_list() == pytest.approx(priced, abs=0.1)
    assert (found["paid_gbp"] > 0).all()
    assert (found["adjustment_gbp"] <= 0).all()


def _day(day: date, listed: object, contracted: object, effective: object, category: str, family: str) -> Row:
    """A row of PoundCost."""
    texts = {name: "" for name, kind in PoundCost.create_empty().schema.items() if kind == pl.String}
    dates = dict.fromkeys(("billing_period", "charge_day", "fx_date", "reached"), day)
    row: Row = {
        **dict.fromkeys(("effective_cost", "effective_gbp", "billed_cost", "billed_gbp"), effective),
        "provider": "aws",
        "billing_account": "1",
        "region": "eu-west-2",
        "service": "EC2",
        "currency": "GBP",
        "instance_family": family,
        "charge_category": category,
        "pricing_category": "Standard",
        "list_cost": listed,
        "list_gbp": listed,
        "contracted_cost": contracted,
        "gbp_per_unit": 1,
        "consumed_quantity": 0.0,
        "vcpu_hours": 0.0,
        "rows": 1,
        "rows_without_list_cost": 0,
        "is_whole": True,
        "has_vcpu_hours": False,
    }
    return texts | dates | row
