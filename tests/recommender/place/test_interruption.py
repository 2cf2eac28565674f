"""What spot costs beside its price."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from recommender.place.interruption import interruption_terms
from tests.recommender.world import policy

RESTART_10_MINUTES = policy(spot={"interruptions_per_month": {"gcp": 0.22}})


def terms(**changes: Any) -> dict[str, float]:
    row = {
        "to_capacity_type": "spot",
        "to_provider": "aws",
        "gang_size": 1,
        "replicas_mean": 8.0,
        "checkpoint_minutes": 20.0,
        "compute": 4.0,
        "goal": "cost",
    } | changes
    found = pl.DataFrame([row]).select(interruption_terms(RESTART_10_MINUTES, compute="compute"))
    return found.row(0, named=True)


def test_replicas_on_their_own_are_lost_one_by_one() -> None:
    found = terms()
    events = 8 * 0.15 / 730
    assert found["interruptions_per_hour"] == pytest.approx(events)
    assert found["interruption_gbp_per_hour"] == pytest.approx(events * 1.50)
    # One replica costs 0.50 an hour; 10 minutes of work and 10 of restart are paid again.
    assert found["lost_work_gbp_per_hour"] == pytest.approx(events * 20 / 60 * 0.50)


def test_a_gang_is_lost_if_any_of_its_members_is() -> None:
    found = terms(gang_size=8)
    any_of_eight = 1 - (1 - 0.15 / 730) ** 8
    assert found["interruptions_per_hour"] == pytest.approx(any_of_eight)
    assert found["lost_work_gbp_per_hour"] == pytest.approx(any_of_eight * 20 / 60 * 4.0)


def test_a_gang_of_64_at_22_percent_a_month_survives_a_day_with_63_percent() -> None:
    # 1 − λ per node and hour with λ = 0.22 / 730; a day without loss is (1 − λ)^(64 × 24).
    found = terms(gang_size=64, replicas_mean=64.0, to_provider="gcp")
    assert (1 - found["interruptions_per_hour"]) ** 24 == pytest.approx((1 - 0.22 / 730) ** (64 * 24))
    assert (1 - found["interruptions_per_hour"]) ** 24 == pytest.approx(0.63, abs=0.005)


@pytest.mark.parametrize("capacity_type", ["on-demand", "owned", "committed-1y"])
def test_what_is_not_spot_is_not_interrupted(capacity_type: str) -> None:
    assert set(terms(to_capacity_type=capacity_type).values()) == {0.0}


def test_a_workload_that_never_ran_loses_nothing() -> None:
    assert set(terms(replicas_mean=0.0, compute=0.0).values()) == {0.0}
