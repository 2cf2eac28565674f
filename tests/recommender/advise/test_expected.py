"""The range around a saving, and how far it can be trusted."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from recommender.advise.expected import saving_range, trust
from recommender.advise.record import Confidence, PriceEvidence
from tests.builders import NOON


def price(**changes: Any) -> PriceEvidence:
    return PriceEvidence(
        **{
            "used_for": "recommended",
            "source": "aws",
            "snapshot_id": "aws/1",
            "origin": "live",
            "provider": "aws",
            "region": "eu-west-2",
            "instance_type": "m5.large",
            "capacity_type": "spot",
            "price_per_hour": 0.1,
            "currency": "USD",
            "gbp_per_hour": 0.07,
            "gbp_per_vcpu_hour": 0.03,
            "gbp_per_gib_hour": 0.003,
            "split_method": "fitted",
            "gbp_per_unit": 0.74633,
            "fx_date": date(2026, 10, 30),
            "fx_source": "ecb",
            "observed_at": NOON,
        }
        | changes
    )


def test_a_week_of_whole_observation_allows_a_seventh_either_way() -> None:
    # £1 an hour is £730 a month; a seventh of it is £104.29.
    found = saving_range(1.0, 2.0, days=7.0, coverage=1.0)
    assert (found.p10, found.p50, found.p90) == (Decimal("625.71"), Decimal("730.00"), Decimal("834.29"))


def test_the_range_never_leaves_zero_and_the_current_cost() -> None:
    found = saving_range(1.0, 1.1, days=0.5, coverage=0.8)
    assert (found.p10, found.p90) == (Decimal("0.00"), Decimal("803.00"))


@dataclass(frozen=True)
class Case:
    confidence: Confidence
    why: str
    price: PriceEvidence
    days: float = 7.0
    coverage: float = 1.0
    on_spot: bool = False


@pytest.mark.parametrize(
    "case",
    [
        Case(Confidence.HIGH, "live prices", price()),
        Case(Confidence.LOW, "illustrative", price(note="illustrative: share of on-demand")),
        Case(Confidence.MEDIUM, "packaged one of 30 November 2026", price(origin="packaged")),
        Case(Confidence.MEDIUM, "median ratio", price(split_method="fallback")),
        Case(Confidence.MEDIUM, "assumption of the policy", price(), on_spot=True),
        Case(Confidence.MEDIUM, "3.0 days", price(), days=3.0),
        Case(Confidence.LOW, "1.0 days", price(), days=1.0),
        Case(Confidence.MEDIUM, "90% of the window", price(), coverage=0.9),
    ],
    ids=lambda case: case.why,
)
def test_confidence_is_that_of_the_weakest_evidence_and_says_why(case: Case) -> None:
    found = trust((case.price,), days=case.days, coverage=case.coverage, on_spot=case.on_spot)
    assert found.confidence is case.confidence
    assert case.why in found.why[0]
    assert len(found.why) == 1
