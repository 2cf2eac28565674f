"""Advice at list prices and at what is really paid: which counts, and where the other figure stands."""

from __future__ import annotations

from typing import Any

import pytest

from exporters.core.words import PriceBasis
from recommender.advise.plan import Plan
from recommender.advise.record import Recommendation
from recommender.explained import explained
from recommender.place.effective import at_basis
from recommender.report.notices import notices
from tests.recommender.world import BELGIUM, GENERAL, appraisal, discounts, pools, prices, workload

AWS_40: dict[str, Any] = {"region": "", "instance_family": ""}


def advised(basis: PriceBasis, *found: dict[str, Any]) -> Plan:
    """A workload in London for £0.184 an hour at list; Belgium has it for £0.128."""
    known = at_basis(prices(), discounts(*found), basis)
    fleet = pools(GENERAL, BELGIUM)
    return appraisal(workload(residency_class="anywhere"), prices=known, pools=fleet).plan


def only(plan: Plan) -> Recommendation:
    (one,) = (one for one in plan.recommendations if one.recommended.cluster == "gke-bel")
    return one


def test_list_says_move_and_what_is_really_paid_says_stay() -> None:
    # £0.184 less 40 % is £0.1104, which is less than £0.128.
    assert only(advised(PriceBasis.LIST, AWS_40)).recommended.gbp_per_hour == pytest.approx(0.128)
    stays = advised(PriceBasis.EFFECTIVE, AWS_40)
    assert stays.recommendations == ()
    assert stays.summary.current_gbp_per_hour == pytest.approx(0.1104)


def test_advice_at_list_prices_says_what_it_comes_to_at_what_is_really_paid() -> None:
    one = only(advised(PriceBasis.LIST, AWS_40))
    now, then = one.prices
    assert (now.gbp_per_hour, now.list_gbp_per_hour) == (0.184, 0.184)
    assert now.effective_gbp_per_hour == pytest.approx(0.1104)
    assert then.effective_gbp_per_hour is then.list_gbp_per_hour is None
    # (0.1104 − 0.128) × 730 = −12.848
    assert one.explanation[-1] == (
        "At what is really paid an hour would cost £0.1104 and £0.1280: £12.85 a month more "
        "(m5.xlarge on-demand is 40% below list)."
    )


def test_advice_at_what_is_really_paid_says_what_it_comes_to_at_list_prices() -> None:
    one = only(advised(PriceBasis.EFFECTIVE, AWS_40 | {"discount_ratio": 0.12}))
    now = one.prices[0]
    assert now.gbp_per_hour == now.effective_gbp_per_hour == pytest.approx(0.16192)
    assert now.list_gbp_per_hour == pytest.approx(0.184)
    assert now.price_per_hour == pytest.approx(0.184)
    # (0.184 − 0.128) × 730 = 40.88
    assert "At list prices an hour would cost £0.1840 and £0.1280: £40.88 a month less" in one.explanation[-1]
    assert "= £0.1619 an hour (really paid; £0.1840 at list)" in explained(one)


@pytest.mark.parametrize("basis", list(PriceBasis))
def test_up_to_a_tenth_apart_one_figure_is_shown(basis: PriceBasis) -> None:
    one = only(advised(basis, AWS_40 | {"discount_ratio": 0.1}))
    assert not [line for line in one.explanation if line.startswith("At ")]
    assert one.prices[0].list_gbp_per_hour == pytest.approx(0.184)


def test_a_price_above_list_is_shown_too() -> None:
    one = only(advised(PriceBasis.LIST, AWS_40 | {"discount_ratio": -0.25}))
    assert one.explanation[-1].endswith("(m5.xlarge on-demand is 25% above list).")
    assert "really paid, 25% above list" in explained(one)


def test_the_plan_names_its_basis_and_the_evidence() -> None:
    plan = advised(PriceBasis.EFFECTIVE, AWS_40 | {"discount_ratio": 0.2})
    assert plan.document()["inputs"]["price_basis"] == "effective"
    assert plan.document()["inputs"]["discounts"] == [
        {
            "provider": "aws",
            "capacity_type": "on-demand",
            "discount_ratio": 0.2,
            "list_gbp": 1000.0,
            "paid_gbp": 600.0,
            "days": 30,
            "last_day": plan.inputs.discounts[0].last_day.isoformat(),
        }
    ]
    assert [line for line in notices(plan) if "aws on-demand 20% below list, of £1,000.00 on 30 days" in line]


def test_list_prices_that_nobody_pays_are_noted() -> None:
    assert [line for line in notices(advised(PriceBasis.LIST, AWS_40)) if "set prices.price_basis to effective" in line]
    near = advised(PriceBasis.LIST, AWS_40 | {"discount_ratio": 0.1})
    assert not [line for line in notices(near) if "list prices" in line]


def test_without_bills_nothing_is_said_of_a_basis() -> None:
    plan = advised(PriceBasis.LIST)
    assert plan.inputs.price_basis is PriceBasis.LIST
    assert plan.inputs.discounts == ()
    assert only(plan).prices[0].list_gbp_per_hour is None
